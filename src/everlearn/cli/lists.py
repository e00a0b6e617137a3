"""Listing a registry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from everlearn.cli.output import console, print_json
from everlearn.registry import locate, parameters, summary


def list_factories(kind: str, known: Mapping[str, str], as_json: bool) -> None:
    """Print the names of a registry with their summaries and parameters."""
    rows = [_describe(kind, name, known) for name in known]
    if as_json:
        print_json(rows)
        return
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 1, 0), show_header=False)
    for row in rows:
        settable = ", ".join(f"{key}={value}" for key, value in row["parameters"].items())
        table.add_row(f"[bold]{row['name']}[/bold]", f"{row['summary']}\n[dim]{settable or 'no parameters'}[/dim]")
    console().print(table)


def _describe(kind: str, name: str, known: Mapping[str, str]) -> dict[str, Any]:
    factory = locate(name, known, kind)
    settable = {
        f"{kind}.{parameter.name}": parameter.default
        for parameter in parameters(factory).values()
        if parameter.name != "schedule"
    }
    return {"name": name, "summary": summary(factory), "parameters": settable}
