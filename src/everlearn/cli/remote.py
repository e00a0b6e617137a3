"""An agent of a service, for the commands that take a directory or the address of a service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from everlearn.cli.move import read_token
from everlearn.errors import InputError, require

if TYPE_CHECKING:
    from everlearn.client.operator import Operator

MOST_NAMES = 20
"""How many agents a message names."""

Place = Annotated[
    str, typer.Argument(metavar="DIR|URL", help="A directory of durable agents, or the address of a service.")
]
TokenFile = Annotated[
    str | None, typer.Option(metavar="FILE", help="A file with a token of the service, in its first line.")
]
Deadline = Annotated[float, typer.Option(metavar="SECONDS", help="Seconds that a request to a service may take.")]


def is_address(place: str, token_file: str | None) -> bool:
    """Return whether a place is the address of a service; if it is not, there must be no token."""
    remote = place.lower().startswith(("http://", "https://"))
    require(remote or token_file is None, "--token-file", token_file, "a directory needs no token; leave it out")
    return remote


@contextmanager
def connected(address: str, agent: str | None, token_file: str | None, deadline: float) -> Iterator[Operator]:
    """Yield the operator of an agent of a service; the agent need not be named if it is the only one."""
    from everlearn.client.operator import Operator

    token = read_token(token_file)
    operator = Operator(address, agent or only_agent(address, token, deadline), token=token, deadline=deadline)
    try:
        yield operator
    finally:
        operator.disconnect()


def only_agent(address: str, token: str | None, deadline: float) -> str:
    """Return the name of the only agent of a service; raise if there are others."""
    from everlearn.client.operator import Operator

    service = Operator(address, "", token=token, deadline=deadline)
    try:
        names = service.names()
    finally:
        service.disconnect()
    if len(names) != 1:
        known = ", ".join(names[:MOST_NAMES]) + (", ..." if len(names) > MOST_NAMES else "")
        raise InputError("--agent", None, f"there are {len(names)} agents" + (f"; name one: {known}" if names else ""))
    return names[0]
