"""Estimate how much memory a plan takes before it runs, and raise if this machine does not have it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from everlearn.agents.design import Design
from everlearn.agents.guard import build_knowledge
from everlearn.agents.knowledge import arrays
from everlearn.engine.plan import Plan
from everlearn.errors import InputError
from everlearn.machine import available, cores, shown
from everlearn.tables import OUTCOME_BYTES
from everlearn.tasks.indexed import IndexedTask

MEMORY = 1 << 30
"""The bytes that the knowledge of the runs in a batch may take together, unless one run takes more."""

OVERHEAD = 512
"""The bytes that a run takes besides its knowledge and its curves: its position, streams and objects."""


class Need(NamedTuple):
    """The bytes that a plan takes, and how many of them each further run adds."""

    total: int
    per_run: int


def need(plan: Plan, known: int, workers: int = 1) -> Need:
    """Return what a plan takes if the knowledge of one run takes ``known`` bytes: the table, a batch, and the curves.

    The curves are held twice: where they are written, and where they are returned or committed.
    """
    shape = plan.policy_shape
    recorded = 8 * plan.times.size * (1 if shape is None else 1 + shape[0] * shape[1])
    batch = max(known * min(plan.runs, workers), min(MEMORY, known * plan.runs))
    per_run = 2 * recorded + OVERHEAD
    return Need(_table_bytes(plan) + batch + per_run * plan.runs, per_run)


def _table_bytes(plan: Plan) -> int:
    """Return the bytes of a table that is made at once; a table that is expanded grows as far as there is room."""
    if plan.task.arrays is None:
        return 0
    matrices = plan.task.arrays[0]
    width = max(int((matrix.indptr[1:] - matrix.indptr[:-1]).max()) for matrix in matrices)
    return OUTCOME_BYTES * int(matrices[0].shape[0]) * len(matrices) * width


def bytes_known(design: Design, indexed: IndexedTask) -> int:
    """Return how many bytes the knowledge of one run takes."""
    try:
        return sum(array.nbytes for array in arrays(build_knowledge(design, indexed)).values())
    except MemoryError as error:
        remedy = f"what it knows does not fit into memory ({error}); give a task with fewer states, or another agent"
        raise InputError("agent", design.name, remedy) from None


def refuse_beyond_memory(plans: Sequence[Plan], *, jobs: int = 1, row: int = 0) -> None:
    """Raise if plans, of which ``jobs`` run at the same time, take more memory than there is.

    ``row`` is the number of bytes of each recorded number in the table that is made of all of them at the end.
    """
    needs = [need(plan, bytes_known(plan.design, IndexedTask(plan.task)), cores()) for plan in plans]
    rows = sum(row * plan.times.size * plan.runs for plan in plans)
    total = sum(sorted(each.total for each in needs)[-jobs:]) + rows
    if total <= available():
        return
    plan, largest = max(zip(plans, needs, strict=True), key=lambda pair: pair[1].total)
    per_run = largest.per_run + row * plan.times.size
    if per_run * plan.runs < largest.total / 2:
        agent = f"with the agent {plan.design.name!r} it takes about {shown(total)} of memory"
        remedy = f"{agent}, more than this machine has; give a task with fewer states, or another agent"
        raise InputError("task", plan.task.name, remedy)
    remedy = f"takes about {shown(total)} of memory, {shown(per_run)} per run, more than this machine has; give fewer"
    raise InputError("runs", plan.runs, remedy)
