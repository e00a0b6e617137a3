"""Agents of a service: the command ``everlearn move``, and what commands that take a directory or an address share."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from everlearn.cli.options import AsJson, integer
from everlearn.cli.output import print_json
from everlearn.errors import InputError, require
from everlearn.files import expanded

if TYPE_CHECKING:
    from everlearn.client.operator import Operator

logging.getLogger("everlearn.client").addHandler(logging.NullHandler())  # the error of a command says it all

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

    operator = Operator(address, agent or "", token=read_token(token_file), deadline=deadline)
    try:
        operator.agent = agent or only_agent(operator.names())
        yield operator
    finally:
        operator.disconnect()


def only_agent(names: list[str]) -> str:
    """Return the name of the only agent of a service; raise if there are others."""
    if len(names) != 1:
        known = ", ".join(names[:MOST_NAMES]) + (", ..." if len(names) > MOST_NAMES else "")
        raise InputError("--agent", None, f"there are {len(names)} agents" + (f"; name one: {known}" if names else ""))
    return names[0]


def read_token(path: str | None) -> str | None:
    """Return the token in the first line of a file."""
    if path is None:
        return None
    try:
        with expanded(path).open(encoding="utf-8") as file:
            words = next((line.split() for line in file if line.split() and not line.startswith("#")), [])
    except OSError as error:
        raise InputError("--token-file", path, f"it cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError("--token-file", path, "it is not text; write the token into its first line") from None
    require(bool(words), "--token-file", path, "it has no token; write one into its first line")
    return words[0]


def move(
    url: Annotated[str, typer.Argument(metavar="URL", help="The address of the service that has the agent.")],
    agent: Annotated[str, typer.Argument(metavar="NAME", help="The agent.")],
    to: Annotated[str | None, typer.Option(metavar="URL", help="The address of the service to move it to.")] = None,
    to_shard: Annotated[int | None, integer("--shard", help="The shard of the same service to move it to.")] = None,
    cancel: Annotated[bool, typer.Option("--cancel", help="Cancel a move that was interrupted.")] = False,
    token_file: TokenFile = None,
    to_token_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="The same for the other service; by default the same token.")
    ] = None,
    deadline: Annotated[float, typer.Option(metavar="SECONDS", help="Seconds that each request may take.")] = 60.0,
    as_json: AsJson = False,
) -> None:
    """Move an agent to another service or shard. If this is interrupted, run the same command again."""
    from everlearn.client.operator import Operator

    require((to is None) != (to_shard is None), "--to", to, "name a service with --to, or a shard with --shard")
    token = read_token(token_file)
    operator = Operator(url, agent, token=token, deadline=deadline)
    other = token if to_token_file is None else read_token(to_token_file)
    if cancel:
        require(to is not None, "--cancel", True, "name the service with --to; a move to a shard completes if repeated")
        operator.stay(str(to), token=other)
        moved = {"name": agent, "to": None}
    else:
        operator.move(str(to) if to_shard is None else to_shard, token=other)
        moved = {"name": agent, "to": to if to_shard is None else f"shard-{to_shard}"}
    if as_json:
        print_json(moved)
    else:
        typer.echo(f"agent {agent}: stays" if moved["to"] is None else f"agent {agent}: moved to {moved['to']}")
