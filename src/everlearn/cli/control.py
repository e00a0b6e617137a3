"""``everlearn mode`` and ``everlearn promotion``: what an agent is in charge of, in a directory or in a service."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, Protocol

import typer

from everlearn.cli.live import AgentName, find_agent
from everlearn.cli.move import read_token
from everlearn.cli.options import AsJson, parse_settings
from everlearn.cli.output import print_json, say
from everlearn.cli.shadow import print_rule
from everlearn.errors import Held, InputError, require

SAME = {"freeze": "frozen"}
"""Other words for modes."""

MOST_NAMES = 20
"""How many agents a message names."""

Place = Annotated[
    str, typer.Argument(metavar="DIR|URL", help="A directory of durable agents, or the address of a service.")
]
TokenFile = Annotated[
    str | None, typer.Option(metavar="FILE", help="A file with a token of the service, in its first line.")
]
Deadline = Annotated[float, typer.Option(metavar="SECONDS", help="Seconds that a request to a service may take.")]


class Control(Protocol):
    """An agent in a directory or in a service."""

    def inspect(self) -> dict[str, Any]:
        """Return the document of the agent."""

    def learn(self) -> None:
        """Switch to learn mode."""

    def freeze(self) -> None:
        """Switch to frozen mode."""

    def shadow(self) -> None:
        """Switch to shadow mode."""

    def promotion(self, rule: Mapping[str, Any] | None) -> object:
        """Set the promotion rule, or remove it."""

    def demote(self) -> object:
        """Return to shadow mode after a promotion."""


def mode(
    place: Place,
    to: Annotated[str | None, typer.Argument(metavar="MODE", help="learn, frozen or shadow.")] = None,
    agent: AgentName = None,
    token_file: TokenFile = None,
    deadline: Deadline = 10.0,
    as_json: AsJson = False,
) -> None:
    """Print the mode of a durable agent, or change it. A directory must not be in use; name its service then."""
    from everlearn.durable.entry import MODES

    to = SAME.get(to or "", to)
    require(to is None or to in MODES, "MODE", to, f"known: {', '.join(MODES)}")
    with _control(place, agent, token_file, deadline) as control:
        if to is not None:
            {"learn": control.learn, "frozen": control.freeze, "shadow": control.shadow}[to]()
        _print(control.inspect(), as_json)


def promotion(
    place: Place,
    agent: AgentName = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Set a rule, as in gain=0.05; may be repeated."),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the rule.")] = False,
    demote: Annotated[
        bool, typer.Option("--demote", help="Undo a promotion: return to shadow mode, and disarm the rule.")
    ] = False,
    token_file: TokenFile = None,
    deadline: Deadline = 10.0,
    as_json: AsJson = False,
) -> None:
    """Print the promotion rule of a durable agent, set it, remove it, or undo a promotion."""
    asked = [name for name, given in (("--set", settings), ("--remove", remove), ("--demote", demote)) if given]
    require(len(asked) <= 1, asked[-1] if asked else "--set", True, f"give one of {', '.join(asked)}")
    rule = {key: _value(text) for key, text in parse_settings(settings, "gain=0.05").items()}
    with _control(place, agent, token_file, deadline) as control:
        if demote:
            control.demote()
        elif rule or remove:
            control.promotion(rule or None)
        _print(control.inspect(), as_json)


def _value(text: str) -> object:
    """Return the number, the truth value or the text that is written."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # the latter of very many brackets
        return text


def _print(document: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json({name: document[name] for name in ("name", "step", "mode", "promotion")})
        return
    say(f"agent {document['name']}: {document['mode']}, at step {document['step']:,}")
    rule = document["promotion"]
    if rule is None or rule["rule"] is None:
        say("no promotion rule")
    print_rule(rule)


@contextmanager
def _control(place: str, agent: str | None, token_file: str | None, deadline: float) -> Iterator[Control]:
    if place.lower().startswith(("http://", "https://")):
        from everlearn.client.operator import Operator

        token = read_token(token_file)
        operator = Operator(place, agent or _only_agent(place, token, deadline), token=token, deadline=deadline)
        try:
            yield operator
        finally:
            operator.disconnect()
        return
    require(token_file is None, "--token-file", token_file, "a directory needs no token; leave it out")
    from everlearn.durable.control import StoredAgent
    from everlearn.durable.store import Store

    directory, name = find_agent(place, agent)
    try:
        store = Store(directory)
    except Held as error:
        remedy = "change it in that process, or pass the address of its service instead of the directory"
        raise Held(f"{str(error).rpartition('; ')[0]}; {remedy}") from None
    with store:
        yield StoredAgent(store, name)


def _only_agent(url: str, token: str | None, deadline: float) -> str:
    """Return the name of the only agent of a service; raise if there are others."""
    from everlearn.client.operator import Operator

    service = Operator(url, "", token=token, deadline=deadline)
    try:
        names = service.names()
    finally:
        service.disconnect()
    if len(names) != 1:
        known = ", ".join(names[:MOST_NAMES]) + (", ..." if len(names) > MOST_NAMES else "")
        raise InputError("--agent", None, f"there are {len(names)} agents" + (f"; name one: {known}" if names else ""))
    return names[0]
