"""``everlearn mode`` and ``everlearn promotion``: what an agent is in charge of, in a directory or in a service."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from everlearn.cli.live import AgentName, find_agent
from everlearn.cli.options import AsJson, parse_settings
from everlearn.cli.output import print_json, say
from everlearn.cli.remote import Deadline, Place, TokenFile, connected, is_address
from everlearn.cli.shadow import print_rule
from everlearn.errors import Held, require

if TYPE_CHECKING:
    from everlearn.client.operator import Operator
    from everlearn.durable.control import StoredAgent


def mode(
    place: Place,
    to: Annotated[str | None, typer.Argument(metavar="MODE", help="The new mode: learn, frozen or shadow.")] = None,
    agent: AgentName = None,
    token_file: TokenFile = None,
    deadline: Deadline = 10.0,
    as_json: AsJson = False,
) -> None:
    """Print the mode of a durable agent, or change it.

    If a service uses the directory, pass the address of the service instead of the directory to change the mode.
    """
    from everlearn.durable.entry import MODES, usual_mode

    to = usual_mode(to)
    require(to is None or to in MODES, "MODE", to, f"known: {', '.join(MODES)}")
    if to is None:
        _print(_inspect(place, agent, token_file, deadline), as_json)
        return
    with _control(place, agent, token_file, deadline) as control:
        {"learn": control.learn, "frozen": control.freeze, "shadow": control.shadow}[to]()
        _print(control.inspect(), as_json)


def promotion(
    place: Place,
    agent: AgentName = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Set a condition of the rule, as in gain=0.05; may be repeated."
        ),
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
    if not asked:
        _print(_inspect(place, agent, token_file, deadline), as_json)
        return
    with _control(place, agent, token_file, deadline) as control:
        if demote:
            control.demote()
        else:
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


def _inspect(place: str, agent: str | None, token_file: str | None, deadline: float) -> dict[str, Any]:
    """Return the document of an agent, which may be in use."""
    if is_address(place, token_file):
        with connected(place, agent, token_file, deadline) as operator:
            return operator.inspect()
    from everlearn.durable.control import describe
    from everlearn.durable.reader import Reader

    directory, name = find_agent(place, agent)
    with Reader(directory) as reader:
        return describe(name, reader.look(name))


@contextmanager
def _control(
    place: str, agent: str | None, token_file: str | None, deadline: float
) -> Iterator[Operator | StoredAgent]:
    """Yield an agent to change."""
    if is_address(place, token_file):
        with connected(place, agent, token_file, deadline) as operator:
            yield operator
        return
    from everlearn.durable.control import StoredAgent
    from everlearn.durable.store import Store

    directory, name = find_agent(place, agent)
    try:
        store = Store(directory)
    except Held as error:
        remedy = "change it in that process, or pass the address of its service instead of the directory"
        raise Held(f"{error.problem.rpartition('; ')[0]}; {remedy}", error.path) from None
    with store:
        yield StoredAgent(store, name)
