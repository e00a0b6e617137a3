"""How much memory a plan takes, told before any of it is taken: arithmetic on the plan, and what the machine has."""

from __future__ import annotations

import os
import resource
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from everlearn.agents.agent import arrays
from everlearn.agents.design import Design
from everlearn.agents.own import build_knowledge
from everlearn.engine.plan import Plan, policy_shape
from everlearn.errors import InputError
from everlearn.tasks.interface import Interface

MEMORY = 1 << 30
"""Bytes that the runs that advance together may take for what they know, unless one run takes more."""

OVERHEAD = 512
"""Bytes that a run takes beside what it knows and what is recorded of it: its place, its streams, its objects."""

OUTCOME_BYTES = 48
"""Bytes of an outcome in the table of a task, with its probability."""

CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Where a container says how much memory it may take."""


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
    shape = policy_shape(plan)
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


def cores() -> int:
    """Return how many cores this process may use, which can be fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available() -> int:
    """Return how many bytes this process could still take: what the machine has free, within its limits.

    Examples
    --------
    >>> available() > 0
    True

    """
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    limits = [limit for limit in limits if limit != resource.RLIM_INFINITY]
    limits += [int(text) for path in CGROUPS if (text := _read(path)).isdecimal()]
    return min([_free(), *limits])


def _free() -> int:
    for line in _read("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return 1024 * int(line.split()[1])
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def shown(number: float) -> str:
    """Return a number of bytes as people say it.

    Examples
    --------
    >>> shown(1234), shown(7.5e12)
    ('1.2 kB', '7.5 TB')

    """
    units = ["bytes", "kB", "MB", "GB", "TB", "PB"]
    while number >= 1000 and len(units) > 1:
        number /= 1000
        units.pop(0)
    return f"{number:.2g} {units[0]}" if number < 100 else f"{number:,.0f} {units[0]}"
