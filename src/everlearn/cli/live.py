"""The commands on a directory of durable agents: accept, backup, check, journal, policy and warm."""

from __future__ import annotations

import json
from typing import Any

import typer

from everlearn.cli.options import documents
from everlearn.cli.output import console, print_json
from everlearn.errors import LiveError
from everlearn.labels import show
from everlearn.live.audit import export
from everlearn.live.backup import backup
from everlearn.live.checking import Report, check
from everlearn.live.logs import read_log, warmed
from everlearn.live.reader import Reader
from everlearn.live.repair import repair
from everlearn.live.store import Store
from everlearn.live.views import policy_table

DAMAGED = 1
"""What ``everlearn check`` exits with where something is damaged and was not repaired."""


def backup_and_print(directory: str, file: str, as_json: bool) -> None:
    """Copy a store, and say what is in the copy."""
    made = backup(directory, file)
    if as_json:
        print_json(made)
    else:
        typer.echo(f"{made['file']}: {made['bytes']:,} bytes, checked")
        _print_agents(made["agents"])


def check_and_print(directory: str, repairing: bool, as_json: bool) -> None:
    """Check a store, repair it if asked, and exit with 1 where damage is left."""
    report = check(directory)
    saved = repair(directory) if repairing and not report.sound else None
    if as_json:
        print_json({**report.to_dict(), "repaired": saved})
    else:
        _print_report(report, saved)
    if saved is None and not report.sound:
        raise typer.Exit(DAMAGED)


def _print_report(report: Report, saved: dict[str, Any] | None) -> None:
    for finding in report.findings:
        typer.echo(f"damaged: {finding}")
    if report.sound:
        typer.echo(f"{report.directory}: sound{', and in use' if report.in_use else ''}")
        _print_agents(report.agents)
    elif saved is None:
        typer.echo("To go on with what can be trusted, the damaged file being kept: everlearn check DIR --repair")
    if saved is not None:
        typer.echo(f"repaired; the damaged file is kept as {saved['damaged_file']}")
        for agent in saved["agents"]:
            lost = f", {agent['lost_rows']:,} rows are lost" if agent["lost_rows"] else ""
            typer.echo(f"agent {agent['name']}: saved up to step {agent['step']:,}{lost}")
        for name in saved["lost_agents"]:
            typer.echo(f"agent {name}: lost")


def _print_agents(agents: list[dict[str, Any]]) -> None:
    for agent in agents:
        counted = f"step {agent['step']:,}, {agent['rows']:,} rows, {agent['snapshots']:,} snapshots"
        typer.echo(f"agent {agent['name']}: {counted}")


def journal_and_print(directory: str, agent: str | None, first: int | None, last: int | None, as_json: bool) -> None:
    """Print the rows of a journal as they are read: a line each, as JSON if asked."""
    for row in export(directory, _named(directory, agent), first, last):
        documents().write((json.dumps(row) if as_json else _line(row)) + "\n")


def _line(row: dict[str, Any]) -> str:
    if row["kind"] not in ("observed", "warm"):
        told = "; ".join(row.get("changes", [row.get("to", "")]))
        return f"{row['step']:>8}  {row['at']}  {row['kind']} {told}".rstrip()
    executed = "" if row["executed"] == row["proposed"] else f" (proposed: {_shown(row['proposed'])})"
    moved = f"{_shown(row['state'])} -> {_shown(row['next_state'])}"
    told = f"{_shown(row['executed'])}{executed}, {_shown(row['observation'])}, {row['reward']:g}"
    return f"{row['step']:>8}  {row['at']}  {row['mode']}: {moved}: {told}"


def _shown(label: Any) -> str:
    return "nothing" if label is None else show(label)


def policy_and_print(directory: str, agent: str | None, as_json: bool) -> None:
    """Print the greedy policy of an agent."""
    with Reader(directory) as reader:
        core = reader.look(_named(directory, agent))
    table = policy_table(core)
    if as_json:
        print_json(table)
        return
    from rich.table import Table

    screen = console()
    screen.print(f"step {table['step']:,}, t = {table['t']:,}, {table['agent']}")
    rows = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("state", "action", "value", "count"):
        rows.add_column(column, justify="left" if column in ("state", "action") else "right")
    for row in table["actions"]:
        numbers = ("" if row[name] is None else f"{row[name]:.6g}" for name in ("value", "count"))
        rows.add_row(show(row["state"]), show(row["action"]), *numbers)
    screen.print(rows)


def accept_and_print(directory: str, agent: str | None, as_json: bool) -> None:
    """Let an agent resume although its task changed, and say what changed."""
    name = _named(directory, agent)
    with Store(directory) as store:
        before = store.enrolled(name).changed
        core = store.open(name, accept=True)
        accepted = store.enrolled(name).changed != before
    changes = core.changed["changes"] if accepted and core.changed else []
    if as_json:
        print_json({"step": core.step, "changes": changes})
    else:
        typer.echo("\n".join(f"accepted: {change}" for change in changes) or "nothing changed")


def warm_and_print(directory: str, file: str, agent: str | None, as_json: bool) -> None:
    """Let an agent learn from a log of the past."""
    name = _named(directory, agent)
    with Store(directory) as store:
        core = store.open(name)
        copy, entries = warmed(core, read_log(file, core))
        store.append([(copy.number, entry) for entry in entries], [copy])
    if as_json:
        print_json({"rows": len(entries), "step": copy.step, "t": copy.t})
    else:
        typer.echo(f"learned from {len(entries):,} rows; step {copy.step:,}")


def _named(directory: str, agent: str | None) -> str:
    """Return the agent that is meant: the one that is named, or the only one there is."""
    with Reader(directory) as reader:
        names: list[str] = reader.names()
    if agent is not None:
        return agent
    if len(names) != 1:
        raise LiveError(f"{directory}: there are {len(names)} agents; name one with --agent: {', '.join(names)}")
    return names[0]
