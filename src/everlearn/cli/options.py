"""Options that commands share: numbers as people write them, names that a shell can complete, and ``--json``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from typing import Annotated, Any, TextIO

import typer

from everlearn.agents.names import AGENTS, SCHEDULES
from everlearn.errors import InputError
from everlearn.registry import MOST_STEPS, convert, whole
from everlearn.tasks.names import PREFIXES, TASKS


def integer(*names: str, help: str, least: int = 0, most: int | None = None) -> Any:  # noqa: A002 - typer's name
    """Return an option that takes a whole number, as in 250 or 1e6; or several, if it may be repeated."""
    return _number(names, help, "<int>", lambda text, name: whole(text, name, least, most))


def steps(help: str) -> Any:  # noqa: A002
    """Return the option ``--steps``."""
    return integer("--steps", help=help, least=1, most=MOST_STEPS)


def number(*names: str, help: str) -> Any:  # noqa: A002
    """Return an option that takes a number, or several, if it may be repeated."""
    return _number(names, help, "<float>", lambda text, name: convert(text, float, name))


def _number(names: tuple[str, ...], help: str, metavar: str, read: Callable[[str, str], Any]) -> Any:  # noqa: A002
    def callback(param: typer.CallbackParam, value: Any) -> Any:
        if isinstance(value, list):
            return [read(text, param.opts[0]) for text in value]
        return None if value is None else read(value, param.opts[0])

    return typer.Option(*names, help=help, metavar=metavar, parser=str, callback=callback)


def completing(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Return a function that completes one of these names."""
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]


task_names = completing([*TASKS, *(f"{prefix}:" for prefix in PREFIXES)])
agent_names = completing(AGENTS)
engine_names = completing(["auto", "compiled", "reference"])

TASK = typer.Argument(
    metavar="TASK",
    help="The task: a registered name, gymnasium:ID, pomdp:FILE, qgym:FILE or module:attribute.",
    autocompletion=task_names,
)
AGENT = typer.Option(help="The agent: a registered name or module:attribute.", autocompletion=agent_names)
SCHEDULE = typer.Option(
    help="The schedule, for agents that take one. Default: practical.", autocompletion=completing(SCHEDULES)
)

_documents: list[TextIO] = []
"""Standard output, while everything else that is printed goes to standard error."""


def documents() -> TextIO:
    """Return where documents are printed."""
    return _documents[0] if _documents else sys.stdout


def _keep_for_json(context: typer.Context, chosen: bool) -> bool:
    """Keep standard output for documents if ``--json`` was passed: a user's module may print as well."""
    if chosen and not context.resilient_parsing:
        _documents[:] = [sys.stdout]
        context.with_resource(redirect_stdout(sys.stderr))
        context.call_on_close(_documents.clear)
    return chosen


def json_option(help: str) -> Any:  # noqa: A002
    """Return the option ``--json``, for a command in which it does not do the usual thing."""
    return typer.Option("--json", help=help, callback=_keep_for_json)


AsJson = Annotated[bool, json_option("Print one JSON document and nothing else.")]
Threads = Annotated[int | None, integer(help="Threads of the compiled engine. Default: one per core.", least=1)]
Cluster = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="A Dask cluster, as in tcp://host:8786; local:N starts one on this machine."),
]
OUT_HELP = "The directory for the results. Results that it already holds are reused."
Out = Annotated[str, typer.Option(metavar="DIR", help=OUT_HELP)]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set a parameter, as in task.window=6; may be repeated."),
]


def parse_settings(settings: list[str] | None, example: str = "task.window=6") -> dict[str, str]:
    """Turn ``KEY=VALUE`` texts into a mapping: ``["task.window=6"]`` becomes ``{"task.window": "6"}``."""
    parsed: dict[str, str] = {}
    for setting in settings or []:
        key, equals, value = setting.partition("=")
        if not equals or not key:
            raise InputError("--set", setting, f"write KEY=VALUE, as in {example}")
        if key.strip() in parsed:
            raise InputError("--set", setting, f"gives {key.strip()} a second time; give it once")
        parsed[key.strip()] = value.strip()
    return parsed
