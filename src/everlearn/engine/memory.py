"""How much memory a plan takes, told before any of it is taken: arithmetic on the plan, and what the machine has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from everlearn.agents.agent import arrays
from everlearn.agents.design import Design
from everlearn.agents.own import build_knowledge
from everlearn.engine.plan import Plan
from everlearn.errors import InputError
from everlearn.machine import available, cores, shown
from everlearn.tables import OUTCOME_BYTES
from everlearn.tasks.interface import Interface

MEMORY = 1 << 30
"""Bytes that the runs that advance together may take for what they know, unless one run takes more."""

OVERHEAD = 512
"""Bytes that a run takes beside what it knows and what is recorded of it: its place, its streams, its objects."""


class Need(NamedTuple):
    """Bytes that a plan takes while it is advanced, and those of them that grow with the number of runs, per run."""

    total: int
    per_run: int


def need(plan: Plan, known: int, workers: int = 1) -> Need:
    """Return what a plan takes where one run knows so many bytes: the table, a batch of runs, and what is recorded.

    What is recorded is held twice: where it is written, and in what is returned or committed.

    Examples
    --------
    >>> from everlearn.agents.registry import make_design
    >>> from everlearn.tasks.registry import make_task
    >>> plan = Plan(make_task("riverswim"), make_design("always"), steps=10**6, runs=10**12, seed=0)
    >>> found = need(plan, known=96)
    >>> shown(found.total), shown(found.per_run)
    ('23 PB', '23 kB')

    """
    shape = plan.policy_shape
    recorded = 8 * plan.times.size * (1 if shape is None else 1 + shape[0] * shape[1])
    batch = max(known * min(plan.runs, workers), min(MEMORY, known * plan.runs))
    per_run = 2 * recorded + OVERHEAD
    return Need(_table_bytes(plan) + batch + per_run * plan.runs, per_run)


def _table_bytes(plan: Plan) -> int:
    """Return the bytes of a table that is made at once; one that is expanded grows as far as there is room."""
    if plan.task.arrays is None:
        return 0
    matrices = plan.task.arrays[0]
    width = max(int((one.indptr[1:] - one.indptr[:-1]).max()) for one in matrices)
    return OUTCOME_BYTES * int(matrices[0].shape[0]) * len(matrices) * width


def bytes_known(design: Design, interface: Interface) -> int:
    """Return how much memory one run takes for what it knows."""
    try:
        return sum(array.nbytes for array in arrays(build_knowledge(design, interface)).values())
    except MemoryError as error:
        remedy = f"what it knows does not fit into memory ({error}); give a task with fewer states, or another agent"
        raise InputError("agent", design.name, remedy) from None


def refuse_beyond_memory(plans: Sequence[Plan], *, jobs: int = 1, row: int = 0) -> None:
    """Refuse plans that take more memory than there is, so many at a time.

    ``row`` is how many bytes each recorded number takes in a table that is made of all of them at the end.
    """
    needs = [need(plan, bytes_known(plan.design, Interface(plan.task)), cores()) for plan in plans]
    rows = sum(row * plan.times.size * plan.runs for plan in plans)
    total = sum(sorted(one.total for one in needs)[-jobs:]) + rows
    if total <= available():
        return
    plan, largest = max(zip(plans, needs, strict=True), key=lambda pair: pair[1].total)
    each = largest.per_run + row * plan.times.size
    if each * plan.runs < largest.total / 2:
        agent = f"with the agent {plan.design.name!r} it takes about {shown(total)} of memory"
        remedy = f"{agent}, more than this machine has; give a task with fewer states, or another agent"
        raise InputError("task", plan.task.name, remedy)
    remedy = f"takes about {shown(total)} of memory, {shown(each)} per run, more than this machine has; give fewer"
    raise InputError("runs", plan.runs, remedy)
