"""Work: the cells that remain are put into jobs, advanced, and committed now and then.

A job is cells of one variant that are at the same time, so that they share the schedule, which depends on time alone.
A job commits each of its cells at intervals that its cost sets.  All of this is the same wherever the work is done.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Protocol, TypeAlias

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
"""How much of a job's time may go into committing."""

LEAST = 0.5
"""Seconds between two commits, at least."""

Commit: TypeAlias = Callable[[Cell, Checkpoint, float], None]
"""Called with a cell, the checkpoint it has reached, and the seconds that were worked on it."""

Batch: TypeAlias = CompiledBatch | ReferenceBatch


class Stop(Protocol):
    """What tells that work should stop soon."""

    def is_set(self) -> bool:
        """Return whether to stop."""


@dataclass(frozen=True)
class Job:
    """Cells of one variant that are at the same time, and their checkpoint there; None at the beginning."""

    cells: tuple[Cell, ...]
    engine: str
    checkpoint: Checkpoint | None = None

    @property
    def plan(self) -> Plan:
        """What is to be run."""
        return self.cells[0].variant.plan

    @property
    def runs(self) -> tuple[int, ...]:
        """The runs of all cells."""
        return tuple(run for cell in self.cells for run in cell.runs)

    @property
    def steps_left(self) -> int:
        """Steps of all runs together that remain."""
        return (self.plan.steps - (self.checkpoint.t if self.checkpoint else 0)) * len(self.runs)


class Pacer:
    """Says when to commit: often enough to lose little, and seldom enough to cost little.

    Examples
    --------
    >>> pacer = Pacer(least=0.0)
    >>> pacer.due()
    True

    """

    def __init__(self, share: float = SHARE, least: float = LEAST) -> None:
        self.share, self.least = share, least
        self.cost = 0.0
        self.last = time.monotonic()

    def due(self) -> bool:
        """Return whether it is time."""
        return time.monotonic() - self.last >= max(self.least, self.cost / self.share)

    def committed(self, began: float) -> None:
        """Take in how long a commit took."""
        self.last = time.monotonic()
        self.cost = self.last - began


def jobs(
    cells: Sequence[tuple[Cell, Checkpoint | None]],
    engine: Callable[[Cell], str],
    tables: Tables,
    at_least: int = 1,
) -> list[Job]:
    """Put cells, with the checkpoint each is in, into jobs: at least so many, where there are enough cells.

    What the runs of a job know fits into memory together.
    """
    alike: dict[tuple[int, int], list[tuple[Cell, Checkpoint | None]]] = {}
    for cell, checkpoint in cells:
        alike.setdefault((id(cell.variant), checkpoint.t if checkpoint else 0), []).append((cell, checkpoint))
    made = []
    for group in alike.values():
        parts = -(-at_least // len(alike))
        number = min(max(1, len(group) // parts), _fitting(group[0][0], tables))
        made += [_job(group[begin : begin + number], engine) for begin in range(0, len(group), number)]
    return made


def _fitting(cell: Cell, tables: Tables) -> int:
    table, plan = tables.of(cell.variant.plan.task), cell.variant.plan
    indexed = IndexedTask(plan.task) if table is None else table.indexed
    return max(1, MEMORY // max(bytes_known(plan.design, indexed) * len(cell.runs), 1))


def _job(group: Sequence[tuple[Cell, Checkpoint | None]], engine: Callable[[Cell], str]) -> Job:
    cells, checkpoints = zip(*group, strict=True)
    known = [checkpoint for checkpoint in checkpoints if checkpoint is not None]
    return Job(cells, engine(cells[0]), merge(known) if known else None)


def make_batch(job: Job, table: AnyTable | None, workers: int) -> Batch:
    """Return what advances the runs of a job."""
    if job.engine == "compiled" and table is not None:
        return CompiledBatch(job.plan, table, job.runs, workers, job.checkpoint)
    return ReferenceBatch(job.plan, job.runs, job.checkpoint)


def work(
    job: Job,
    table: AnyTable | None,
    commit: Commit,
    *,
    pool: ThreadPoolExecutor,
    threads: int,
    progress: Progress | None,
    stop: Stop,
) -> None:
    """Advance a job to its end, committing now and then; told to stop, commit and leave it there."""
    batch, pacer, since = make_batch(job, table, threads), Pacer(), time.perf_counter()
    for t in batch.advance(pool, progress):
        if t == job.plan.steps or stop.is_set() or pacer.due():
            began = time.monotonic()
            seconds, since = time.perf_counter() - since, time.perf_counter()
            commit_cells(job, batch.checkpoint(), commit, seconds)
            pacer.committed(began)
        if stop.is_set():
            return


def commit_cells(job: Job, checkpoint: Checkpoint, commit: Commit, seconds: float) -> None:
    """Commit every cell of a job, with its share of the seconds; what cannot go on is committed at its end alone."""
    for cell in job.cells:
        if checkpoint.resumable or checkpoint.t == job.plan.steps:
            share = len(cell.runs) / len(job.runs)
            commit(cell, checkpoint.of(cell.runs), seconds * share)


def work_here(
    todo: Sequence[Job],
    tables: Tables,
    commit: Commit,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
) -> None:
    """Do jobs on this machine: as many at once as there are threads, which take from whichever job has work."""
    workers, halt = threads or cores(), stop or threading.Event()
    with ThreadPoolExecutor(workers) as pool, ThreadPoolExecutor(workers) as coordinators:
        waiting = [
            coordinators.submit(
                work,
                job,
                tables.of(job.plan.task),
                commit,
                pool=pool,
                threads=workers,
                progress=progress,
                stop=halt,
            )
            for job in todo
        ]
        try:
            _until_done(waiting)
        except BaseException:
            halt.set()  # what is under way commits, and what was not begun is dropped
            for future in waiting:
                future.cancel()
            raise


def _until_done(waiting: Sequence[Future[None]]) -> None:
    done, _ = wait(waiting, return_when=FIRST_EXCEPTION)
    for future in done:
        future.result()
    for future in waiting:
        future.result()
