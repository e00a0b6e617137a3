"""What operators request, done in the committer's thread: inspect, change modes, roll back, import, export."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from everlearn.durable import audit, control, database, views
from everlearn.durable.core import Core
from everlearn.durable.entry import Entry, Kind, checksum
from everlearn.durable.promotion import Rule
from everlearn.durable.reader import Reader
from everlearn.errors import Absent, InputError, LiveError, SnapshotError
from everlearn.service.agents import Agents, Missing, Stale
from everlearn.service.logs import log


def list_agents(agents: Agents) -> dict[str, Any]:
    """Return every agent by name; what only an agent that is loaded can tell is None of the others."""
    return {"agents": [{"name": name, **_listed(agents.cores.get(name))} for name in sorted(agents.names)]}


def _listed(core: Core | None) -> dict[str, Any]:
    if core is None:
        return {"step": None, "mode": None, "quarantined": None, "promoted": None}
    promoted = core.rule_state.in_control
    return {"step": core.step, "mode": core.mode, "quarantined": core.failure is not None, "promoted": promoted}


def add_standings(listed: list[dict[str, Any]], path: Path) -> None:
    """Add step and mode of the agents that are not loaded, as last recorded.  Any thread may call this."""
    unknown = [agent for agent in listed if agent["step"] is None]
    if not unknown:
        return
    try:
        with database.errors(path), Reader.on(database.connect_to_read(path), path) as reader:
            standings = reader.standings()
    except LiveError as error:  # the list of names is worth more than an error
        log(logging.ERROR, "the steps of agents cannot be read", error=str(error))
        return
    for agent in unknown:
        agent["step"], agent["mode"] = standings.get(agent["name"], (None, None))


def inspect(agents: Agents, name: str) -> dict[str, Any]:
    """Return what an agent is and what it knows; its tables are yet to be labelled."""
    core = agents.core(name)
    return {"name": name, "version": version(core), **views.glance(core)}


def version(core: Core) -> str:
    """Return the number of the last row of the journal, and its check, which depends on all rows before."""
    return f"{core.seq}-{core.check:08x}"


def require_version(core: Core, expected: str | None) -> None:
    """Raise if a request expects another version of an agent; ``expected`` is the header If-Match, if there is one."""
    tags = ["*"] if expected is None else [tag.strip().strip('"') for tag in expected.split(",")]
    if "*" not in tags and version(core) not in tags:
        raise Stale(version(core))


def _write(agents: Agents, core: Core, entry: Entry, expected: str | None, alike: Iterable[bytes] = ()) -> None:
    """Commit an entry if the agent is as expected; if the same was done to that version already, all is well."""
    if _is_new(agents, core, entry, expected, alike):
        agents.write(core, entry)


def _is_new(agents: Agents, core: Core, entry: Entry, expected: str | None, alike: Iterable[bytes] = ()) -> bool:
    """Return whether an entry is yet to be committed; raise if the agent is not as expected.

    ``alike`` are other payloads that the same request could have had at the version that it expects.
    """
    try:
        require_version(core, expected)
    except Stale:
        row = _row_after(agents, core, expected or "")
        if row is None or row.kind != entry.kind or row.payload not in (entry.payload, *alike):
            raise
        return False
    return True


def _row_after(agents: Agents, core: Core, expected: str) -> Entry | None:
    """Return the row that followed a version of the agent, if the journal has that version."""
    seq, _, check = expected.strip().strip('"').partition("-")
    if not (seq.isdecimal() and len(seq) < 18 and re.fullmatch("[0-9a-f]{8}", check)):
        return None
    row = next(agents.store.rows(core.number, int(seq)), None)
    follows = row is not None and row.seq == int(seq) + 1 and checksum(int(check, 16), row[:-1]) == row.check
    return row if follows else None


def change_mode(agents: Agents, name: str, mode: str, expected: str | None = None) -> dict[str, Any]:
    """Let an agent learn, freeze or shadow; a mode that it has already is not journalled again."""
    core = agents.core(name)
    if core.mode == mode and expected is None:  # nothing to do, even if its design can no longer act so
        return inspect(agents, name)
    if _is_new(agents, core, core.change_mode(mode), expected):
        control.change_mode(core, mode, partial(agents.write, core))
    return inspect(agents, name)


def change_forgetting(agents: Agents, name: str, forgetting: float, expected: str | None = None) -> dict[str, Any]:
    """Let an agent forget faster or slower; what it does already is not journalled again."""
    core = agents.core(name)
    present = core.setup.document["parameters"]
    parameters = control.with_forgetting(core, present, forgetting)
    if present != parameters:
        require_version(core, expected)
        agents.change_parameters(name, parameters)
    else:
        _require_latest_change(agents, core, expected)
    return inspect(agents, name)


def _require_latest_change(agents: Agents, core: Core, expected: str | None) -> None:
    """Raise if an agent is not as expected, unless what followed that version is the latest change of its setup."""
    try:
        require_version(core, expected)
    except Stale:
        row = _row_after(agents, core, expected or "")
        if row is None or row.kind != Kind.CHANGE or core.changed is None:
            raise
        if row.accepted.changes != core.changed["changes"]:
            raise


def demote(agents: Agents, name: str, expected: str | None = None) -> dict[str, Any]:
    """Undo a promotion: back to shadow mode, and the rule is disarmed until it is set again."""
    core = agents.core(name)
    if _is_new(agents, core, core.demote(), expected):
        control.demote(core, partial(agents.write, core))
    return inspect(agents, name)


def arm(agents: Agents, name: str, rule: dict[str, Any] | None, expected: str | None = None) -> dict[str, Any]:
    """Set the promotion rule of an agent, or the same one again; None removes it."""
    core, known = agents.core(name), Rule.read(rule)
    if _is_new(agents, core, core.arm(known), expected):
        control.arm(agents.store, name, core, known, partial(agents.apply, core))
    return inspect(agents, name)


def roll_back(
    agents: Agents, name: str, snapshot: tuple[int, int | None], expected: str | None = None
) -> dict[str, Any]:
    """Restore what an agent knew at a snapshot, given by its step and, if the step has several, by its row."""
    core, (step, seq) = agents.core(name), snapshot
    known = [each["seq"] for each in agents.store.snapshots(core.number) if each["step"] == step]
    rows = [row for row in known if seq in (None, row)]
    if not rows:
        raise Missing(_lacking(agents, core, step, seq))
    entry = _rollback(agents, core, step, seq)
    states = (agents.store.snapshot_at(core.number, step, row).state for row in rows)
    _write(agents, core, entry, expected, states)
    return inspect(agents, name)


def _lacking(agents: Agents, core: Core, step: int, seq: int | None) -> str:
    """Return that there is no such snapshot, and which there are."""
    try:
        agents.store.snapshot_at(core.number, step, seq)
    except Absent as error:
        return str(error)
    return f"there is no snapshot of step {step}"  # it was taken just now


def _rollback(agents: Agents, core: Core, step: int, seq: int | None) -> Entry:
    """Return the entry of a rollback; raise :class:`InputError` if the snapshot is from before an accepted change."""
    try:
        return agents.store.roll_back(core, step, seq)
    except LiveError as error:
        if core.changed is None or not isinstance(error.__context__, SnapshotError):
            raise
        change = f"the change at step {core.changed['step']} ({'; '.join(core.changed['changes'])})"
        raise InputError("snapshot", step, f"is from before {change}, and does not fit; give a later one") from None


def policy(agents: Agents, name: str) -> dict[str, Any]:
    """Return the greedy policy of an agent and its state update; its rows are yet to be labelled."""
    core = agents.core(name)
    return {"name": name, "aleatoric": core.setup.document["aleatoric"], **views.greedy_policy(core)}


def import_state(agents: Agents, name: str, data: bytes, expected: str | None = None) -> dict[str, Any]:
    """Replace what an agent knows by an exported agent state."""
    core = agents.core(name)
    _write(agents, core, core.import_state(data), expected)
    return inspect(agents, name)


def page(agents: Agents, name: str, steps: tuple[int, int | None], after: int, limit: int) -> list[dict[str, Any]]:
    """Return some rows of a journal, with labels."""
    core = agents.core(name)
    return audit.page(agents.store, (core.number, core.agent.task), steps, after, limit)


def gauges(agents: Agents) -> tuple[int, dict[str, dict[str, float]]]:
    """Return how many agents there are, and the numbers of those that are loaded, for Prometheus."""
    return len(agents.names), {name: views.gauges(core) for name, core in sorted(agents.cores.items())}


def delete(agents: Agents, name: str, expected: str | None = None) -> None:
    """Remove an agent and all that is recorded of it."""
    if expected is not None:
        require_version(agents.core(name), expected)
    agents.delete(name)
