"""Work: group the unfinished cells into jobs, and advance the jobs with regular commits.

A job is a group of cells of one variant at the same time step, so that they share the schedule, which depends on time
alone.  Jobs are the same on this machine and on a cluster.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from everlearn.engine.checkpoint import Checkpoint, merge
from everlearn.engine.compiled import CompiledBatch
from everlearn.engine.memory import MEMORY, bytes_known
from everlearn.engine.plan import Plan, Progress
from everlearn.engine.reference import ReferenceBatch
from everlearn.experiments.cells import Cell, Tables
from everlearn.machine import cores
from everlearn.tables import AnyTable
from everlearn.tasks.indexed import IndexedTask

SHARE = 0.01
"""The largest share of a job's time that is spent on commits."""

LEAST = 0.5
"""The least number of seconds between two commits."""

Commit: TypeAlias = Callable[[Cell, Checkpoint, float], None]
"""A function that stores a cell: its checkpoint, and the seconds of work since the last commit."""


class Pending(NamedTuple):
    """A cell that is not finished, and its last checkpoint; None if it has not begun."""

    cell: Cell
    checkpoint: Checkpoint | None

    @property
    def t(self) -> int:
        """The number of steps taken."""
        return 0 if self.checkpoint is None else self.checkpoint.t


@dataclass(frozen=True)
class Job:
    """Cells of one variant at the same time step, and their common checkpoint; None if they have not begun."""

    cells: tuple[Cell, ...]
    engine: str
    checkpoint: Checkpoint | None = None

    @property
    def plan(self) -> Plan:
        """The plan of the variant."""
        return self.cells[0].variant.plan

    @property
    def runs(self) -> tuple[int, ...]:
        """The runs of all cells."""
        return tuple(run for cell in self.cells for run in cell.runs)

    def commit(self, checkpoint: Checkpoint, commit: Commit, seconds: float) -> None:
        """Commit every cell with its share of the seconds; if runs cannot be resumed, only at the end."""
        if checkpoint.resumable or checkpoint.t == self.plan.steps:
            runs = self.runs
            for cell in self.cells:
                commit(cell, checkpoint.of(cell.runs), seconds * (len(cell.runs) / len(runs)))


class Workforce(Protocol):
    """Something that runs jobs: the threads of this machine, or a cluster."""

    workers: int
    """The number of jobs that are needed to keep all workers busy."""

    def open(self) -> AbstractContextManager[object]:
        """Return a context in which jobs can be run."""

    def run(
        self, jobs: Sequence[Job], tables: Tables, commit: Commit, progress: Progress, stop: threading.Event
    ) -> None:
        """Run all jobs to their end, with regular commits; after ``stop`` is set, commit and return."""


class Threads:
    """The threads of this machine; by default as many as there are cores."""

    workers = 1  # one job is enough, because threads share the runs of a job

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads

    def open(self) -> AbstractContextManager[object]:
        """Return an empty context."""
        return nullcontext()

    def run(
        self, jobs: Sequence[Job], tables: Tables, commit: Commit, progress: Progress, stop: threading.Event
    ) -> None:
        """Run as many jobs at a time as there are threads; every thread takes work from any of them."""
        threads = self.threads or cores()
        with ThreadPoolExecutor(threads) as pool, ThreadPoolExecutor(threads) as coordinators:

            def advance(job: Job) -> None:
                batch, pacer, since = _make_batch(job, tables.of(job.plan.task), threads), Pacer(), time.perf_counter()
                for t in batch.advance(pool, progress):
                    if t == job.plan.steps or stop.is_set() or pacer.due():
                        began = time.monotonic()
                        seconds, since = time.perf_counter() - since, time.perf_counter()
                        job.commit(batch.checkpoint(), commit, seconds)
                        pacer.committed(began)
                    if stop.is_set():
                        return

            futures = [coordinators.submit(advance, job) for job in jobs]
            try:
                done, _ = wait(futures, return_when=FIRST_EXCEPTION)
                for future in (*done, *futures):
                    future.result()
            except BaseException:
                stop.set()  # running jobs commit and end; the others do not start
                for future in futures:
                    future.cancel()
                raise


class Pacer:
    """Decides when to commit: often enough to lose little work, and rarely enough to cost little."""

    def __init__(self, share: float = SHARE, least: float = LEAST) -> None:
        self.share, self.least = share, least
        self.cost = 0.0
        self.last = time.monotonic()

    def due(self) -> bool:
        """Return whether it is time to commit."""
        return time.monotonic() - self.last >= max(self.least, self.cost / self.share)

    def committed(self, began: float) -> None:
        """Record that a commit that began at this time has ended."""
        self.last = time.monotonic()
        self.cost = self.last - began


def make_jobs(
    pending: Sequence[Pending], engine_of: Callable[[Cell], str], tables: Tables, at_least: int = 1
) -> list[Job]:
    """Group cells into jobs whose knowledge fits into memory: at least so many jobs, if there are enough cells."""
    groups: dict[tuple[int, int], list[Pending]] = {}
    for entry in pending:
        groups.setdefault((id(entry.cell.variant), entry.t), []).append(entry)
    parts = -(-at_least // max(len(groups), 1))
    jobs = []
    for group in groups.values():
        size = min(max(1, len(group) // parts), _fitting(group[0].cell, tables))
        for first in range(0, len(group), size):
            cells, checkpoints = zip(*group[first : first + size], strict=True)
            begun = [checkpoint for checkpoint in checkpoints if checkpoint is not None]
            jobs.append(Job(cells, engine_of(cells[0]), merge(begun) if begun else None))
    return jobs


def _fitting(cell: Cell, tables: Tables) -> int:
    """Return how many cells of this variant fit into memory."""
    plan, table = cell.variant.plan, tables.of(cell.variant.plan.task)
    indexed = IndexedTask(plan.task) if table is None else table.indexed
    return max(1, MEMORY // max(bytes_known(plan.design, indexed) * len(cell.runs), 1))


def _make_batch(job: Job, table: AnyTable | None, threads: int) -> CompiledBatch | ReferenceBatch:
    if job.engine == "compiled" and table is not None:
        return CompiledBatch(job.plan, table, job.runs, threads, job.checkpoint)
    return ReferenceBatch(job.plan, job.runs, job.checkpoint)
