"""The commands on a directory of durable agents: accept, backup, check, journal, policy and warm."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from everlearn.cli.options import AsJson, documents, integer, json_option
from everlearn.cli.output import Cell, print_json, print_table, say
from everlearn.errors import InputError, LiveError, require
from everlearn.files import expanded

if TYPE_CHECKING:
    from everlearn.durable.checking import Report

DAMAGED = 1
"""The exit code of ``everlearn check`` if something is damaged and was not repaired."""

Directory = Annotated[str, typer.Argument(metavar="DIR", help="A directory of durable agents.")]
AgentName = Annotated[str | None, typer.Option(metavar="NAME", help="The agent, if there are several.")]


def accept(directory: Directory, agent: AgentName = None, as_json: AsJson = False) -> None:
    """Accept that the setup of a durable agent has changed, so that it can resume; record the change in its journal."""
    from everlearn.durable.store import Store

    place, name = find_agent(directory, agent)
    with Store(place) as store:
        before = store.enrolled(name).changed
        core = store.open(name, accept=True)
        accepted = store.enrolled(name).changed != before
    changes = core.changed["changes"] if accepted and core.changed else []
    if as_json:
        print_json({"step": core.step, "changes": changes})
    else:
        typer.echo("\n".join(f"accepted: {change}" for change in changes) or "nothing changed")


def backup(
    directory: Directory,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Where to write the copy; an existing file is replaced.")],
    follow: Annotated[
        bool, typer.Option("--follow", help="Copy again and again, whenever the directory has changed, until Ctrl-C.")
    ] = False,
    every: Annotated[float, typer.Option(metavar="SECONDS", help="With --follow: seconds between two copies.")] = 60.0,
    as_json: Annotated[bool, json_option("Print one JSON document per copy and nothing else.")] = False,
) -> None:
    """Copy a directory of durable agents to a file, and check the copy. The directory may be in use."""
    from everlearn.durable.backup import backup as back_up
    from everlearn.durable.backup import follow as copies_of

    if not follow:
        copy = back_up(directory, file)
        if as_json:
            print_json(copy)
            return
        typer.echo(f"{copy['file']}: {copy['bytes']:,} bytes, checked")
        _print_agents(copy["agents"])
        return
    for each in copies_of(directory, file, every):
        if isinstance(each, LiveError):
            typer.echo(f"everlearn: {each}; the copy before it is kept", err=True)
        elif as_json:
            documents().write(json.dumps(each) + "\n")
            documents().flush()
        else:
            typer.echo(f"{each['file']}: {each['bytes']:,} bytes, checked, in {each['seconds']:.1f} s")


def check(
    directory: Directory,
    repair: Annotated[
        bool, typer.Option("--repair", help="Write a sound file from what is undamaged; the damaged one is kept.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check a directory of durable agents; the exit code is 1 if something is damaged."""
    from everlearn.durable.checking import check as check_directory
    from everlearn.durable.layout import require_agents
    from everlearn.durable.repair import repair as repair_directory

    remedy = "is a file; to check a backup, copy it to everlearn.db in a new directory, and check that"
    require(not expanded(directory).is_file(), "DIR", directory, remedy)
    require_agents(directory, "DIR")
    report = check_directory(directory)
    if repair and (shards := _damaged_shards(report)):
        command = f"everlearn check {directory}/{shards[0]} --repair"
        raise LiveError(f"{', '.join(shards)} damaged; repair each shard by itself, as in {command}", directory)
    repaired = repair_directory(directory) if repair and not report.sound else None
    if as_json:
        print_json({**report.to_dict(), "repaired": repaired})
    else:
        _print_report(report, repaired)
    if repaired is None and not report.sound:
        raise typer.Exit(DAMAGED)


def _damaged_shards(report: Report) -> list[str]:
    return sorted({damage.file.partition("/")[0] for damage in report.findings if "/" in damage.file})


def _print_report(report: Report, repaired: dict[str, Any] | None) -> None:
    for finding in report.findings:
        typer.echo(f"damaged: {finding}")
    for warning in report.warnings:
        typer.echo(f"warning: {warning}")
    if report.sound:
        typer.echo(f"{report.directory}: sound{', and in use' if report.in_use else ''}")
    if repaired is None:
        _print_agents(report.agents)
        if not report.sound:
            for place in [f"{report.directory}/{shard}" for shard in _damaged_shards(report)] or [report.directory]:
                typer.echo(
                    f"To resume from what is undamaged, and keep the damaged file: everlearn check {place} --repair"
                )
    else:
        _print_repaired(repaired)


def _print_repaired(repaired: dict[str, Any]) -> None:
    typer.echo(f"repaired; the damaged file is kept as {repaired['damaged_file']}")
    for agent in repaired["agents"]:
        lost = f", {agent['lost_rows']:,} rows are lost" if agent["lost_rows"] else ""
        typer.echo(f"agent {agent['name']}: saved up to step {agent['step']:,}{lost}")
        if agent["unsaved_rows"]:
            left = f"what can be read of them is in {repaired['damaged_file']}"
            typer.echo(f"  {agent['unsaved_rows']:,} journal rows could not be saved; {left}")
    for name in repaired["lost_agents"]:
        typer.echo(f"agent {name}: lost")
    for key in repaired["damaged_notes"]:
        typer.echo(f"note {key!r}: lost; docs/runbook.md says how to find out which service owns the agent")


def _print_agents(agents: list[dict[str, Any]]) -> None:
    from everlearn.labels import counted

    for agent in agents:
        size = f"step {agent['step']:,}, {counted(agent['rows'], 'row')}, {counted(agent['snapshots'], 'snapshot')}"
        if agent.get("verdict") == "damaged":
            size = f"damaged; {size}"
        reason = agent.get("reason")
        unknown = f"; undamaged, but not opened for a test: {reason}"
        typer.echo(f"agent {agent['name']}: {size}{unknown if reason else ''}")


def journal(
    directory: Directory,
    agent: AgentName = None,
    first: Annotated[int | None, integer("--from", help="The first step.")] = None,
    last: Annotated[int | None, integer("--to", help="The last step.")] = None,
    as_json: Annotated[bool, json_option("Print one JSON document per line and nothing else.")] = False,
) -> None:
    """Print what a durable agent did and observed, one line per step."""
    from everlearn.durable.audit import export, tell

    if first is not None and last is not None and first > last:
        raise InputError("--from", first, f"is after --to {last}; give a step of at most {last}")
    for row in export(*find_agent(directory, agent), first, last):
        line = json.dumps(row) if as_json else f"{row['step']:>8}  {row['at']}  {tell(row)}".rstrip()
        documents().write(f"{line}\n")


def policy(directory: Directory, agent: AgentName = None, as_json: AsJson = False) -> None:
    """Print the greedy policy of a durable agent, for use in a controller without everlearn."""
    from everlearn.durable.reader import Reader
    from everlearn.durable.views import policy_table
    from everlearn.labels import show

    place, name = find_agent(directory, agent)
    with Reader(place) as reader:
        table = policy_table(reader.look(name))
    if as_json:
        print_json(table)
        return
    say(f"step {table['step']:,}, t = {table['t']:,}, {table['agent']}", wrap=True)
    rows: list[list[Cell]] = []
    for row in table["actions"]:
        numbers = ("" if row[name] is None else f"{row[name]:.6g}" for name in ("value", "count"))
        rows.append([show(row["state"]), show(row["action"]), *numbers])
    print_table(["state", "action", "value", "count"], rows, left=2)


def warm(
    directory: Directory,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A log: CSV with a header, or JSON lines (.jsonl).")],
    agent: AgentName = None,
    as_json: AsJson = False,
) -> None:
    """Let a durable agent learn from a log of past observations, actions and rewards."""
    from everlearn.durable.logs import read_log, warmed
    from everlearn.durable.store import Store

    place, name = find_agent(directory, agent)
    with Store(place) as store:
        core = store.open(name)
        copy, entries = warmed(core, read_log(file, core))
        store.append([(copy.number, entry) for entry in entries], [copy])
    if as_json:
        print_json({"rows": len(entries), "step": copy.step, "t": copy.t})
    else:
        typer.echo(f"learned from {len(entries):,} rows; step {copy.step:,}")


def find_agent(directory: str, agent: str | None) -> tuple[Path, str]:
    """Return the directory of the agent that was passed, or of the only one there is, and its name."""
    from everlearn.durable.layout import require_agents
    from everlearn.durable.reader import opened

    require_agents(directory, "DIR")
    with opened(directory, agent) as (reader, name):
        return reader.directory, name
