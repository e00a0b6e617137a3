"""What travels to a worker: tables, names and numbers; never a function.

The worker makes the agent from its name, and compares it with what the sender has; the task it never sees, only its
table and its labels.
"""

from __future__ import annotations

import zlib
from dataclasses import asdict, replace
from typing import Any, NoReturn

import numpy as np

from everlearn.agents.spec import AgentSpec
from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.state import AleatoricState
from everlearn.engine.checkpoint import Checkpoint
from everlearn.engine.curves import concatenate
from everlearn.engine.plan import Plan
from everlearn.errors import EverlearnError, InputError
from everlearn.experiments.variants import Variant
from everlearn.tables import OUTCOME, AnyTable, FixedTable
from everlearn.tasks.indexed import IndexedTask
from everlearn.tasks.task import Task


def packed_table(table: AnyTable | None, variant: Variant) -> dict[str, Any]:
    """Return a whole table as numbers and labels."""
    task = variant.plan.task
    if not isinstance(table, FixedTable):
        why = "has no model" if table is None else "is too large to be sent whole"
        raise InputError("--cluster", variant.place.label, f"the task {why}; run it on one machine")
    return {
        "rows": zlib.compress(table.rows.tobytes(), 1),
        "width": table.width,
        "start": table.start,
        "digest": table.digest(),
        "actions": task.actions,
        "observations": task.observations,
        "states": task.states,
        "first": task.aleatoric.start,
        "range": (task.reward.low, task.reward.high, task.reward.raw),
        "name": task.name,
    }


def unpacked_table(packed: dict[str, Any]) -> FixedTable:
    """Return the table on the worker's side; its task has labels, and neither dynamics nor f nor r."""
    task = Task(
        packed["actions"],
        packed["observations"],
        AleatoricState(packed["first"], _gone, packed["states"]),
        Reward(_gone, *packed["range"]),
        name=packed["name"],
    )
    rows = np.frombuffer(zlib.decompress(packed["rows"]), dtype=OUTCOME)
    table = FixedTable(IndexedTask(task), rows, None, packed["width"], packed["start"])
    if table.digest() != packed["digest"]:
        raise EverlearnError(f"the table of {packed['name']!r} arrived altered")
    return table


def _gone(*_arguments: Any) -> NoReturn:
    raise EverlearnError("a worker has the table of a task, and not its functions; use what the table tells")


def packed_plan(variant: Variant, folder: str | None) -> dict[str, Any]:
    """Return what a worker needs to make the plan: names and parameters."""
    contender, plan = variant.contender, variant.plan
    if not contender.agent.is_named:
        what = "schedule" if isinstance(contender.agent.given, str) else "agent"
        raise InputError(what, contender.label, "functions do not travel; name it as module:attribute on a cluster")
    return {
        "agent": asdict(contender.agent),
        "steps": plan.steps,
        "seed": plan.seed,
        "per_decade": plan.per_decade,
        "folder": folder,
    }


def unpacked_plan(packed: dict[str, Any], task: Task, runs: int) -> Plan:
    """Return the plan on the worker's side."""
    design = AgentSpec(**packed["agent"]).make(packed["steps"])
    return Plan(task, design, packed["steps"], runs, packed["seed"], packed["per_decade"])


def without_records(checkpoint: Checkpoint) -> Checkpoint:
    """Return a checkpoint without its curves, which a worker does not need."""
    return replace(checkpoint, curves=checkpoint.curves.columns(slice(0, 0)))


def records_after(checkpoint: Checkpoint, t: int) -> Checkpoint:
    """Return a checkpoint with only those entries of its curves that were recorded after a time."""
    return replace(checkpoint, curves=checkpoint.curves.columns(checkpoint.curves.times > t))


def with_records_of(checkpoint: Checkpoint, before: Checkpoint | None) -> Checkpoint:
    """Return a checkpoint whose curves begin with those of an earlier checkpoint."""
    if before is None:
        return checkpoint
    earlier = before.curves.columns(np.isin(before.curves.times, checkpoint.curves.times, invert=True))
    return replace(checkpoint, curves=concatenate([earlier, checkpoint.curves], axis=1))
