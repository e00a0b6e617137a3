"""Cells: the pieces in which an experiment is done, each known by a hash of everything that determines its result.

A cell is a block of runs of one variant.  How long it has run is not part of what it is: the agent does not know, so
that a cell can always go on.  An agent that is told the duration is another agent for each.
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
from everlearn.agents.knowledge import arrays
from everlearn.agents.schedule import Schedule
from everlearn.engine.memory import MEMORY, bytes_known
from everlearn.experiments.variants import Variant, named
from everlearn.protocol import Knowledge
from everlearn.registry import plain
from everlearn.sources import source_of
from everlearn.tables import AnyTable, FixedTable, settled_table
from everlearn.tasks.indexed import IndexedTask
from everlearn.tasks.task import Task

REVISION = 1
"""Raised when the same task, agent and seed come to give other results: the randomness contract, say."""

BLOCK = 25
"""Runs in a cell: a hundred or two share out evenly among a few threads or workers."""


@dataclass(frozen=True)
class Cell:
    """A block of runs of a variant."""

    name: str
    """The hash of what determines its result."""
    identity: Mapping[str, Any]
    variant: Variant
    runs: range


class Tables:
    """The tables of the tasks of an experiment, each made once; None for a task without a model.

    Examples
    --------
    >>> from everlearn.tasks.service_station import service_station
    >>> station, tables = service_station(), Tables(1_000_000)
    >>> tables.of(station) is tables.of(station)
    True

    """

    def __init__(self, max_pairs: int) -> None:
        self.max_pairs = max_pairs
        self._known: dict[int, tuple[Task, AnyTable | None, str]] = {}

    def of(self, task: Task) -> AnyTable | None:
        """Return the table of a task."""
        return self._entry(task)[1]

    def identity(self, task: Task) -> str:
        """Return a hash of what the task does."""
        return self._entry(task)[2]

    def _entry(self, task: Task) -> tuple[Task, AnyTable | None, str]:
        if id(task) not in self._known:
            table = None if task.model is None else settled_table(task, self.max_pairs)
            self._known[id(task)] = task, table, _task_identity(task, table)
        return self._known[id(task)]


def cells(variants: list[Variant], tables: Tables) -> list[Cell]:
    """Return every cell of the variants, in their order."""
    return [cell for variant in variants for cell in _cells(variant, tables)]


def _cells(variant: Variant, tables: Tables) -> Iterator[Cell]:
    plan = variant.plan
    indexed = IndexedTask(plan.task)
    with named(variant.contender.key):
        knowledge = build_knowledge(plan.design, indexed)
    identity = {
        "revision": REVISION,
        "task": tables.identity(plan.task),
        "agent": agent_identity(plan.design, knowledge),
        "parameters": plain(plan.design.parameters),
        "duration": plan.design.duration,
        "seed": plan.seed,
        "per_decade": plan.per_decade,
    }
    size = max(1, min(BLOCK, MEMORY // 4 // max(bytes_known(plan.design, indexed), 1)))
    for first in range(0, plan.runs, size):
        runs = range(variant.first_run + first, variant.first_run + min(first + size, plan.runs))
        whole = {**identity, "runs": [runs.start, runs.stop]}
        yield Cell(_hash(whole)[:32], whole, variant, runs)


def _task_identity(task: Task, table: AnyTable | None) -> str:
    """Return a hash of the whole table; of its beginning and of the source, where it is not whole; else of the source.

    The source goes with the parameters, since what a function closes over may not show in it, and with what the task
    says of where it comes from, which names the version of a library whose environment it is.
    """
    if isinstance(table, FixedTable):
        return table.digest()
    functions = [task.aleatoric.update, task.reward.function, task.model.rho if task.model else task.environment]
    parts = [source_of(function) for function in functions]
    labels = [task.actions, task.observations, task.states, task.aleatoric.start]
    parts += [json.dumps(plain([labels, task.parameters, task.reward.scaling, task.source]))]
    return _hash([*parts, table.digest() if table is not None else ""])


def agent_identity(design: Design, knowledge: Knowledge) -> str:
    """Return a hash of what an agent does: its functions, what it knows at the beginning, its schedule."""
    parts = [source_of(function) for function in (design.act, design.learn, design.policy)]
    known = arrays(knowledge)
    parts += [f"{name} {array.dtype.str} {array.shape} {_sha(array)}" for name, array in known.items()]
    parts += [repr((name, value)) for name, value in knowledge._asdict().items() if name not in known]
    return _hash([parts, _schedule_identity(design.schedule)])


def _schedule_identity(schedule: Schedule | None) -> str | None:
    """Return a hash of a schedule's source and of its values at times from 1 to 2 ** 40."""
    if schedule is None:
        return None
    functions = (schedule.horizon, schedule.optimism, schedule.value_shift, schedule.count_scale)
    times = sorted({*range(1, 65), *(2**power for power in range(41))})
    values = [[_value(function, t) for t in times] for function in functions]
    source = [source_of(schedule.formula)] if schedule.formula else [source_of(one) for one in functions]
    return _hash([source, values, schedule.ceiling, schedule.scales_counts, schedule.constants])


def _value(function: Any, t: int) -> str:
    try:
        return float(function(t)).hex()
    except (ArithmeticError, TypeError, ValueError):
        return str(math.nan)  # refused where a run reaches it; here it only tells schedules apart


def _sha(array: Any) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
