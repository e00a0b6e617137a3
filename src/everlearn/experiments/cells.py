"""Cells: blocks of runs of one variant, each named by a hash of everything that determines its result.

The number of steps is not part of the hash, because agents do not know it; so a cell can always be extended.  An agent
that takes the duration as a parameter is a different agent for each duration.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from everlearn.agents.design import Design
from everlearn.agents.guard import build_knowledge
from everlearn.agents.schedule import Schedule
from everlearn.engine.memory import MEMORY, bytes_known
from everlearn.experiments.variants import Variant, blame_entry
from everlearn.protocol import Knowledge
from everlearn.registry import plain
from everlearn.sources import source_of
from everlearn.tables import AnyTable, FixedTable, settled_table
from everlearn.tasks.indexed import IndexedTask
from everlearn.tasks.task import Task

REVISION = 1
"""Increase this if the same task, agent and seed give other results, for instance after a change of random streams."""

BLOCK = 25
"""The number of runs in a cell: small enough to distribute a hundred runs evenly among a few threads or workers."""


@dataclass(frozen=True)
class Cell:
    """A block of runs of a variant."""

    name: str
    """The hash of ``identity``."""
    identity: Mapping[str, Any]
    """Everything that determines the result."""
    variant: Variant
    runs: range


class Tables:
    """A cache of the tables and hashes of tasks."""

    def __init__(self, max_pairs: int) -> None:
        self.max_pairs = max_pairs
        # The task is kept with its entry, so that its id is not given to another object.
        self._entries: dict[int, tuple[Task, AnyTable | None, str]] = {}

    def of(self, task: Task) -> AnyTable | None:
        """Return the table of a task; None if the task has no model."""
        return self._entry(task)[1]

    def identity(self, task: Task) -> str:
        """Return the hash of a task."""
        return self._entry(task)[2]

    def _entry(self, task: Task) -> tuple[Task, AnyTable | None, str]:
        if id(task) not in self._entries:
            table = None if task.model is None else settled_table(task, self.max_pairs)
            self._entries[id(task)] = task, table, _hash_task(task, table)
        return self._entries[id(task)]


def make_cells(variants: list[Variant], tables: Tables) -> list[Cell]:
    """Return all cells of the variants, in order."""
    return [cell for variant in variants for cell in _split(variant, tables)]


def _split(variant: Variant, tables: Tables) -> Iterator[Cell]:
    plan = variant.plan
    indexed = IndexedTask(plan.task)
    with blame_entry(variant.agent.key):
        knowledge = build_knowledge(plan.design, indexed)
    identity = {
        "revision": REVISION,
        "task": tables.identity(plan.task),
        "agent": hash_agent(plan.design, knowledge),
        "parameters": plain(plan.design.parameters),
        "duration": plan.design.duration,
        "seed": plan.seed,
        "per_decade": plan.per_decade,
    }
    size = max(1, min(BLOCK, MEMORY // 4 // max(bytes_known(plan.design, indexed), 1)))
    for first in range(0, plan.runs, size):
        runs = range(variant.first_run + first, variant.first_run + min(first + size, plan.runs))
        cell_identity = {**identity, "runs": [runs.start, runs.stop]}
        yield Cell(_hash(cell_identity)[:32], cell_identity, variant, runs)


def _hash_task(task: Task, table: AnyTable | None) -> str:
    """Return the hash of a complete table, or else of the source code and of the part of the table that there is.

    The parameters are hashed with the source code, because what a function closes over may not show in it.  So is the
    source that the task states, which contains the version of the library that an environment comes from.
    """
    if isinstance(table, FixedTable):
        return table.digest()
    functions = [task.aleatoric.update, task.reward.function, task.model.rho if task.model else task.environment]
    parts = [source_of(function) for function in functions]
    labels = [task.actions, task.observations, task.states, task.aleatoric.start]
    parts += [json.dumps(plain([labels, task.parameters, task.reward.scaling, task.source]))]
    return _hash([*parts, table.digest() if table is not None else ""])


def hash_agent(design: Design, knowledge: Knowledge) -> str:
    """Return a hash of an agent: its functions, its initial knowledge and its schedule."""
    parts = [source_of(function) for function in (design.act, design.learn, design.policy)]
    named_arrays = {name: value for name, value in knowledge._asdict().items() if isinstance(value, np.ndarray)}
    for name, array in named_arrays.items():
        digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
        parts.append(f"{name} {array.dtype.str} {array.shape} {digest}")
    parts += [repr((name, value)) for name, value in knowledge._asdict().items() if name not in named_arrays]
    return _hash([parts, _hash_schedule(design.schedule)])


def _hash_schedule(schedule: Schedule | None) -> str | None:
    """Return a hash of a schedule's source code and of its values at times from 1 to 2 ** 40."""
    if schedule is None:
        return None
    functions = (schedule.horizon, schedule.optimism, schedule.value_shift, schedule.count_scale)
    times = sorted({*range(1, 65), *(2**power for power in range(41))})
    values = [[_value(function, t) for t in times] for function in functions]
    source = [source_of(function) for function in ([schedule.formula] if schedule.formula else functions)]
    return _hash([source, values, schedule.ceiling, schedule.scales_counts, schedule.constants])


def _value(function: Any, t: int) -> str:
    try:
        return float(function(t)).hex()
    except (ArithmeticError, TypeError, ValueError):
        return str(math.nan)  # a run that reaches t raises; here it only has to be deterministic


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
