"""Options that commands share: numbers as people write them, and names that a shell can complete."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any, TextIO

import typer

from everlearn.registry import MOST_STEPS, convert, whole


def integer(*names: str, help: str, least: int = 0, most: int | None = None) -> Any:  # noqa: A002 - typer's name
    """Return an option that takes a whole number, as in 250 or 1e6; or several, where it may be repeated."""

    def read(text: str, name: str) -> int:
        return whole(text, name, least, most)

    return typer.Option(*names, help=help, metavar="<int>", parser=str, callback=_reading(read))


def steps(help: str) -> Any:  # noqa: A002
    """Return the option ``--steps``."""
    return integer("--steps", help=help, least=1, most=MOST_STEPS)


def number(*names: str, help: str) -> Any:  # noqa: A002
    """Return an option that takes a number, or several, where it may be repeated."""

    def read(text: str, name: str) -> Any:
        return convert(text, float, name)

    return typer.Option(*names, help=help, metavar="<float>", parser=str, callback=_reading(read))


def _reading(read: Callable[[str, str], Any]) -> Callable[..., Any]:
    def callback(param: typer.CallbackParam, value: Any) -> Any:
        if isinstance(value, list):
            return [read(text, param.opts[0]) for text in value]
        return None if value is None else read(value, param.opts[0])

    return callback


def tasks(incomplete: str) -> list[str]:
    """Complete the name of a task."""
    from everlearn.tasks.names import PREFIXES, TASKS

    return _beginning(incomplete, [*TASKS, *(f"{prefix}:" for prefix in PREFIXES)])


def agents(incomplete: str) -> list[str]:
    """Complete the name of an agent."""
    from everlearn.agents.names import AGENTS

    return _beginning(incomplete, AGENTS)


def schedules(incomplete: str) -> list[str]:
    """Complete the name of a schedule."""
    from everlearn.agents.names import SCHEDULES

    return _beginning(incomplete, SCHEDULES)


def engines(incomplete: str) -> list[str]:
    """Complete the name of an engine."""
    return _beginning(incomplete, ("auto", "compiled", "reference"))


def _beginning(text: str, names: Any) -> list[str]:
    return [name for name in names if name.startswith(text)]


_documents: list[TextIO] = []
"""Standard output, while everything else that is printed goes to standard error."""


def json_alone(context: typer.Context, chosen: bool) -> bool:
    """Keep standard output for documents if ``--json`` was given: a user's module may print as well."""
    if chosen and not context.resilient_parsing:
        _documents[:] = [sys.stdout]
        context.with_resource(redirect_stdout(sys.stderr))
        context.call_on_close(_documents.clear)
    return chosen


def documents() -> TextIO:
    """Return where documents are printed."""
    return _documents[0] if _documents else sys.stdout
