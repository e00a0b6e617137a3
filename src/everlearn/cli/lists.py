"""The commands ``everlearn tasks``, ``agents`` and ``schedules``: list what is registered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from everlearn.agents.names import AGENTS, DEFAULT_AGENT, DEFAULT_SCHEDULE, SCHEDULES
from everlearn.cli.options import AsJson
from everlearn.cli.output import Cell, print_json, print_pairs
from everlearn.registry import locate, parameters, summary
from everlearn.tasks.names import TASKS


def tasks(as_json: AsJson = False) -> None:
    """List the registered tasks and their parameters."""
    list_factories("task", TASKS, as_json)


def agents(as_json: AsJson = False) -> None:
    """List the registered agents and their parameters."""
    list_factories("agent", AGENTS, as_json, DEFAULT_AGENT)


def schedules(as_json: AsJson = False) -> None:
    """List the registered schedules and their parameters."""
    list_factories("schedule", SCHEDULES, as_json, DEFAULT_SCHEDULE)


def list_factories(kind: str, known: Mapping[str, str], as_json: bool, default: str | None = None) -> None:
    """Print the names of a registry with their summaries and parameters; mark the default, if there is one."""
    rows = [_describe(kind, name, known) for name in known]
    if default is not None:
        rows = [{**row, "default": row["name"] == default} for row in rows]
    if as_json:
        print_json(rows)
        return
    cells: list[list[Cell]] = []
    for row in rows:
        settings = ", ".join(f"{key}={value}" for key, value in row["parameters"].items())
        mark = "The default.  " if row.get("default") else ""
        cells.append([(row["name"], "bold"), [f"{mark}{row['summary']}\n", (settings or "no parameters", "dim")]])
    print_pairs(cells, apart=True)


def _describe(kind: str, name: str, known: Mapping[str, str]) -> dict[str, Any]:
    factory = locate(name, known, kind)
    defaults = {f"{kind}.{parameter.name}": parameter.default for parameter in parameters(factory).values()}
    defaults.pop(f"{kind}.schedule", None)
    return {"name": name, "summary": summary(factory), "parameters": defaults}
