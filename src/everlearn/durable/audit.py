"""The audit: the rows of a journal by labels, from a directory that may be in use."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from everlearn.durable.reader import Reader
from everlearn.labels import show
from everlearn.tasks.task import Task

PAGE = 1000
"""How many rows are read at a time, so that a reader never holds up the write-ahead log for long."""


def export(
    directory: str | os.PathLike[str], name: str = "agent", first: int | None = None, last: int | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the rows of an agent's journal from step ``first`` to step ``last``, by labels.

    Each row is checked against the one before it.

    Examples
    --------
    >>> import tempfile
    >>> from everlearn.durable.live import live
    >>> directory = tempfile.mkdtemp()
    >>> with live(directory, task="service-station", seed=1) as agent:
    ...     _ = agent.act(), agent.observe("arrival")
    >>> [(row["step"], row["proposed"], row["observation"]) for row in export(directory)]
    [(1, 'fast', 'arrival')]

    """
    with Reader(directory) as reader:
        record = reader.enrolled(name)
        task = record.stored_setup().task
        after = -1
        while True:
            rows = page(reader, (record.number, task), (first or 0, last), after, PAGE)
            yield from rows
            if len(rows) < PAGE:
                return
            after = rows[-1]["seq"]


def page(
    reader: Reader, agent: tuple[int, Task], steps: tuple[int, int | None], after: int, limit: int
) -> list[dict[str, Any]]:
    """Return up to ``limit`` rows after row ``after`` by labels, given the number and the task of an agent."""
    (number, task), (first, last) = agent, steps
    rows: list[dict[str, Any]] = []
    for entry in reader.rows(number, max(after, first - 1)):  # rows are numbered no lower than steps
        if last is not None and entry.step > last:
            break
        if entry.step >= first:
            rows.append(entry.described(task))
        if len(rows) == limit:
            break
    return rows


def tell(row: dict[str, Any], name: Callable[[Any], str] = show) -> str:
    """Return in words what a row says, without its step and time; ``name`` writes an aleatoric state."""
    if row["kind"] == "reward":
        return f"reward of step {row['rewarded']}: {row['reward']:g}"
    if row["kind"] not in ("observed", "warm"):
        event = f" ({_rule_event(row)})" if "promotion" in row else ""
        changes = "; ".join(row.get("changes", [row.get("to", "") + event]))
        return f"{row['kind']} {changes}".rstrip()
    state, next_state = ("nothing" if row[key] is None else name(row[key]) for key in ("state", "next_state"))
    executed, proposed, observation = (
        "nothing" if row[key] is None else show(row[key]) for key in ("executed", "proposed", "observation")
    )
    if row["executed"] != row["proposed"]:
        executed = f"{executed} (proposed: {proposed})"
    reward = "no reward yet" if row["reward"] is None else f"{row['reward']:g}"
    return f"{row['mode']}: {state} -> {next_state}: {executed}, {observation}, {reward}"


def _rule_event(row: dict[str, Any]) -> str:
    """Return what the promotion rule did, in words."""
    note = row["promotion"]
    evidence = note.get("evidence") or {}
    bound = "not enough evidence"
    if evidence.get("supported"):
        bound = f"gain {evidence['gain']:.4g}, {evidence['lower']:.4g} to {evidence['upper']:.4g}"
    if note["event"] == "armed":
        return "promotion rule removed" if note["rule"] is None else "promotion rule set"
    if note["event"] == "candidate":
        return "the rule fixed another candidate" if evidence else "the rule fixed a candidate"
    if note["event"] == "look":
        what = "the agent in control" if row["mode"] != "shadow" else f"candidate {evidence['candidate']}"
        return f"look {evidence['look']} at {what}: {bound}"
    if note["event"] == "promoted":
        return f"promoted by the rule: {bound}"
    return f"demoted: {note.get('reason', 'by the rule')}"
