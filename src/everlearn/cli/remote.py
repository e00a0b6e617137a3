"""An agent of a service, for the commands that take a directory or the address of a service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from everlearn.cli.move import read_token
from everlearn.errors import InputError

if TYPE_CHECKING:
    from everlearn.client.operator import Operator

DEADLINE = 10.0
"""Seconds that a request to a service may take."""

Place = Annotated[
    str, typer.Argument(metavar="DIR|URL", help="A directory of durable agents, or the address of a service.")
]
TokenFile = Annotated[
    str | None, typer.Option(metavar="FILE", help="A file with a token of the service, in its first line.")
]


def is_address(place: str) -> bool:
    """Return whether a place is the address of a service."""
    return place.startswith(("http://", "https://"))


@contextmanager
def connected(
    address: str, agent: str | None, token_file: str | None, deadline: float = DEADLINE
) -> Iterator[Operator]:
    """Yield the operator of an agent of a service."""
    from everlearn.client.operator import Operator

    if agent is None:
        raise InputError("--agent", "", "name the agent of the service")
    operator = Operator(address, agent, token=read_token(token_file), deadline=deadline)
    try:
        yield operator
    finally:
        operator.disconnect()
