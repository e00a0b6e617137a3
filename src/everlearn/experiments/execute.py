"""Doing an experiment: what is there is kept, what is missing is done, and tables are made of all of it."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from everlearn.engine.checkpoint import Checkpoint
from everlearn.engine.memory import refuse_beyond_memory
from everlearn.engine.plan import Progress
from everlearn.engine.runner import choose_engine
from everlearn.errors import InputError, StoreError
from everlearn.experiments.cells import Cell, Tables, cells
from everlearn.experiments.directory import Directory
from everlearn.experiments.gather import gather
from everlearn.experiments.manifest import manifest_of
from everlearn.experiments.platforms import warn_of_others
from everlearn.experiments.spec import Spec
from everlearn.experiments.variants import Variant, variants
from everlearn.experiments.work import Commit, Job, jobs, work_here
from everlearn.files import refuse_unwritable
from everlearn.locks import gathering, working
from everlearn.machine import cores
from everlearn.results.provenance import provenance
from everlearn.results.store import Damaged

ROW = 64
"""Bytes of a row of the table of runs, about."""


class Shard(NamedTuple):
    """One of several parts into which the cells are dealt out.

    Examples
    --------
    >>> Shard.read("2/8")
    Shard(number=2, of=8)

    """

    number: int
    of: int

    @classmethod
    def read(cls, text: str) -> Shard:
        """Read ``I/N``."""
        number, slash, of = text.partition("/")
        if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
            raise InputError("--shard", text, "write I/N with I from 1 to N, as in 2/8")
        return cls(int(number), int(of))

    @property
    def name(self) -> str:
        """What its lock is called."""
        return f"{self.number}-of-{self.of}"


class Workforce(Protocol):
    """What does jobs: this machine's threads, or a cluster."""

    workers: int
    """How many jobs there should be, at least, so that none idles."""

    def opened(self) -> AbstractContextManager[object]:
        """Be there for as long as the context lasts."""

    def __call__(
        self,
        todo: Sequence[Job],
        tables: Tables,
        commit: Commit,
        *,
        progress: Progress | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        """Do all jobs, committing on the way."""


class Threads:
    """The threads of this machine."""

    workers = 1  # jobs need not be many: threads share them

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads

    def opened(self) -> AbstractContextManager[object]:
        """Be there."""
        return nullcontext()

    def __call__(
        self,
        todo: Sequence[Job],
        tables: Tables,
        commit: Commit,
        *,
        progress: Progress | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        """Do all jobs."""
        work_here(todo, tables, commit, threads=self.threads, progress=progress, stop=stop)


class Watcher:
    """Told how an experiment goes; this one says nothing."""

    def stage(self, name: str) -> None:
        """Take in which of several experiments begins."""

    def begin(self, cells: int, done: int, steps: int, steps_done: int) -> None:
        """Take in how much there is, and how much of it was there already."""

    def steps(self, number: int) -> None:
        """Take in steps done."""

    def cell(self) -> None:
        """Take in that a cell is finished."""


def execute(
    spec: Spec,
    path: str | Path,
    *,
    workforce: Workforce | None = None,
    shard: Shard | None = None,
    watcher: Watcher | None = None,
    stop: threading.Event | None = None,
    gathered: bool = True,
) -> Directory:
    """Do what is missing of an experiment in a directory, and make its tables.

    Killed at any moment and called again, it goes on where it was, and comes to the same tables to the last byte.
    With fewer steps than the directory has, the tables are those of fewer steps, and nothing is lost: what was recorded
    on the way depends on t alone.
    Without ``gathered`` no tables are made: the cells hold everything, and intervals of hundreds of agents take time.
    """
    refuse_unwritable(path)
    directory, watcher, workforce = Directory(path), watcher or Watcher(), workforce or Threads()
    chosen, tables, here = variants(spec), Tables(spec.max_pairs), provenance()
    refuse_beyond_memory([one.plan for one in chosen], jobs=cores(), row=ROW)
    everything = cells(chosen, tables)
    engines = {id(one): choose_engine(one.plan, spec.engine, tables.of(one.plan.task)) for one in chosen}
    mine = everything[shard.number - 1 :: shard.of] if shard else everything
    with working(directory.path, shard.name if shard else None):
        before = _before(directory)
        _refuse_other(directory, before, here)
        left, notes = _left(mine, _engine_of(engines), directory, watcher)
        if left:
            warn_of_others(directory.path, before, [notes[cell.name] for cell, checkpoint in left if checkpoint])
        spent = {name: found.get("seconds", 0.0) for name, found in notes.items()}
        with gathering(directory.path):
            known = _before(directory, quiet=True)
            directory.describe(manifest_of(spec, everything, engines, tables, here, known, and_here=bool(left)))
        began = time.perf_counter()
        _do(left, spent, engines, directory, tables, workforce, watcher, here, stop)
        if gathered:
            with gathering(directory.path):
                gather(directory, seconds=time.perf_counter() - began)
    return directory


def extend(path: str | Path, spec: Spec, **options: Any) -> Directory:
    """Go on from finished runs to more steps; equal to a run of that length from the start, bit for bit.

    ``spec`` is that of the directory, with the new number of steps.
    """
    before = Directory(path).described()
    reached = before["tables_steps"] or before["steps"]  # an extension that was interrupted may be to fewer steps
    if spec.steps <= reached:
        remedy = f"the experiment has {reached:,}; give more, or run its spec with fewer"
        raise InputError("steps", spec.steps, remedy)
    told = [one for one in variants(spec) if one.told_duration]
    if told:
        why = f"the agent {told[0].contender.label!r} is told the duration, so that a longer run is another run"
        remedy = f"{why}; raise steps in the spec and run that"
        raise InputError("steps", spec.steps, remedy)
    return execute(spec, path, **options)


def _before(directory: Directory, quiet: bool = False) -> dict[str, Any] | None:
    """Return the manifest that is there; a damaged one is made anew, since the cells hold everything else."""
    try:
        return directory.manifest
    except Damaged as error:
        if not quiet:
            warnings.warn(f"{error}; it is made anew", stacklevel=2)
        return None


def _refuse_other(directory: Directory, before: dict[str, Any] | None, here: dict[str, Any]) -> None:
    """Refuse a directory whose results could not stand beside new ones."""
    if before is None:
        return
    if before["provenance"]["arithmetic"] != here["arithmetic"]:
        raise StoreError(
            f"{directory.path}: was computed on a machine whose arithmetic differs in the last bit "
            f"({before['provenance']['host']}); go on there, or give another directory"
        )


def _do(
    left: Sequence[tuple[Cell, Checkpoint | None]],
    spent: dict[str, float],
    engines: dict[int, str],
    directory: Directory,
    tables: Tables,
    workforce: Workforce,
    watcher: Watcher,
    here: dict[str, Any],
    stop: threading.Event | None,
) -> None:
    lock = threading.Lock()

    def commit(cell: Cell, checkpoint: Checkpoint, seconds: float) -> None:
        with lock:
            spent[cell.name] = spent.get(cell.name, 0.0) + seconds
        directory.cells.write(cell.name, checkpoint, _notes(cell, spent[cell.name], here))
        if checkpoint.t == cell.variant.plan.steps:
            watcher.cell()

    if left:
        with workforce.opened():
            todo = jobs(left, _engine_of(engines), tables, workforce.workers)
            workforce(todo, tables, commit, progress=watcher.steps, stop=stop)


def _engine_of(engines: dict[int, str]) -> Callable[[Cell], str]:
    return lambda cell: engines[id(cell.variant)]


def _left(
    mine: Sequence[Cell], engine: Callable[[Cell], str], directory: Directory, watcher: Watcher
) -> tuple[list[tuple[Cell, Checkpoint | None]], dict[str, dict[str, Any]]]:
    """Return the cells that are not finished, each with the checkpoint it is in, and the notes of those begun."""
    left: list[tuple[Cell, Checkpoint | None]] = []
    notes: dict[str, dict[str, Any]] = {}
    damaged: list[str] = []
    steps = done = 0
    by_name = {cell.name: cell for cell in mine}
    for name, found in directory.read_cells(list(by_name), damaged):
        cell = by_name[name]
        checkpoint = None if found is None else _usable(found[0], cell.variant, engine(cell))
        if found is not None:
            notes[name] = found[1]
        length = cell.variant.plan.steps
        if checkpoint is not None and checkpoint.t > length:
            _refuse_between(checkpoint, length, directory)
        steps += length * len(cell.runs)
        done += min(checkpoint.t if checkpoint else 0, length) * len(cell.runs)
        if checkpoint is None or checkpoint.t < length:
            left.append((cell, checkpoint))
    for message in damaged:
        warnings.warn(f"{message}; it is computed anew", stacklevel=2)
    watcher.begin(len(by_name), len(by_name) - len(left), steps, done)
    return left, notes


def _refuse_between(checkpoint: Checkpoint, steps: int, directory: Directory) -> None:
    """Refuse a number of steps that runs have passed without recording: what was not recorded is not known."""
    if steps not in checkpoint.curves.times:
        after = int(checkpoint.curves.times.searchsorted(steps))
        recorded = " and ".join(f"{t:,}" for t in checkpoint.curves.times[max(after - 1, 0) : after + 1])
        passed = f"the runs in {directory.path} have {checkpoint.t:,} already, and were recorded at {recorded}"
        raise InputError("steps", steps, f"{passed}; give one of these, or another directory")


def _usable(checkpoint: Checkpoint, variant: Variant, engine: str) -> Checkpoint | None:
    """Return a checkpoint that can be gone on from, or is finished; else None."""
    if checkpoint.t >= variant.plan.steps:
        return checkpoint
    return checkpoint if checkpoint.resumable and checkpoint.engine == engine else None


def _notes(cell: Cell, seconds: float, here: dict[str, Any]) -> dict[str, Any]:
    return {
        "identity": dict(cell.identity),
        "seconds": seconds,
        "host": here["host"],
        "everlearn": here["everlearn"],
        "arithmetic": here["arithmetic"],
        "platform": here["platform"],
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
    }
