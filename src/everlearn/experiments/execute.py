"""Execute an experiment: keep the finished cells, compute the missing ones, and write the tables."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from everlearn.engine.checkpoint import Checkpoint
from everlearn.engine.memory import refuse_beyond_memory
from everlearn.engine.runner import choose_engine
from everlearn.errors import Damaged, InputError, StoreError
from everlearn.experiments.cells import Cell, Tables, make_cells
from everlearn.experiments.directory import Directory
from everlearn.experiments.manifest import Manifest, make_manifest, warn_of_other_platforms
from everlearn.experiments.references import Optimum
from everlearn.experiments.spec import Spec
from everlearn.experiments.tables import write_tables
from everlearn.experiments.variants import make_variants
from everlearn.experiments.work import Pending, Threads, Workforce, make_jobs
from everlearn.files import refuse_unwritable
from everlearn.locks import gathering, working
from everlearn.machine import cores
from everlearn.results.provenance import provenance
from everlearn.results.store import DamageWarning, Notes

ROW = 64
"""The approximate number of bytes in a row of the table of runs."""


class Shard(NamedTuple):
    """One of several parts into which the cells of an experiment are divided.

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
        """The name of its lock."""
        return f"{self.number}-of-{self.of}"


class Watcher:
    """Receives the progress of an experiment; override the methods that you need."""

    def stage(self, name: str) -> None:
        """Report which of several experiments begins."""

    def begin(self, cells: int, done: int, steps: int, steps_done: int) -> None:
        """Report how much work there is, and how much of it was done before."""

    def steps(self, number: int) -> None:
        """Report how many steps were taken since the last report."""

    def cell(self) -> None:
        """Report that a cell is finished."""


def execute(
    spec: Spec,
    path: str | Path,
    *,
    workforce: Workforce | None = None,
    shard: Shard | None = None,
    watcher: Watcher | None = None,
    stop: threading.Event | None = None,
    gathered: bool = True,
    optima: Mapping[str, Optimum] | None = None,
) -> Directory:
    """Run what is missing of an experiment in a directory, and write its tables.

    Call it again to resume after an interruption; the tables are then the same to the last byte.  With fewer steps than
    the directory has, the tables are those of fewer steps, and the later steps are kept.

    Parameters
    ----------
    spec:
        the experiment
    path:
        its directory
    workforce:
        what runs the cells; by default the threads of this machine
    shard:
        run these cells only
    watcher:
        receives the progress
    stop:
        an event that, when set, makes the workforce commit and return early
    gathered:
        whether to write the tables; without them the cells still hold everything
    optima:
        the optima that are known, by the label of the task; others are computed

    """
    refuse_unwritable(path)
    Directory(path).refuse_agents()
    execution = _Execution(spec, Directory(path), shard, watcher or Watcher(), optima or {})
    directory = execution.directory
    with working(directory.path, shard.name if shard else None):
        pending = execution.prepare()
        began = time.perf_counter()
        if pending:
            execution.run(pending, workforce or Threads(), stop or threading.Event())
        if gathered:
            with gathering(directory.path):
                write_tables(directory, seconds=time.perf_counter() - began)
    return directory


def extend(path: str | Path, spec: Spec, **options: Any) -> Directory:
    """Continue finished runs to more steps; the result equals that of runs of this length, bit for bit.

    ``spec`` is that of the directory, with the new number of steps, and ``options`` are those of :func:`execute`.
    """
    manifest = Directory(path).read_manifest()
    reached = manifest["tables_steps"] or manifest["steps"]  # an interrupted extension may be continued to fewer steps
    if spec.steps <= reached:
        remedy = f"the experiment has {reached:,}; give more, or run its spec with fewer"
        raise InputError("steps", spec.steps, remedy)
    for variant in make_variants(spec):
        if variant.knows_duration:
            why = f"the agent {variant.agent.label!r} uses the duration, so that a longer run is another run"
            raise InputError("steps", spec.steps, f"{why}; raise steps in the spec and run that")
    return execute(spec, path, **options)


class _Execution:
    """An experiment that is being executed in a directory."""

    def __init__(
        self, spec: Spec, directory: Directory, shard: Shard | None, watcher: Watcher, optima: Mapping[str, Optimum]
    ) -> None:
        self.spec, self.directory, self.watcher, self.optima = spec, directory, watcher, optima
        self.tables, self.provenance = Tables(spec.max_pairs), provenance()
        variants = make_variants(spec)
        refuse_beyond_memory([variant.plan for variant in variants], jobs=cores(), row=ROW)
        self.cells = make_cells(variants, self.tables)
        self.own_cells = self.cells[shard.number - 1 :: shard.of] if shard else self.cells
        self.engines = {
            id(variant): choose_engine(variant.plan, spec.engine, self.tables.of(variant.plan.task))
            for variant in variants
        }
        self.seconds: dict[str, float] = {}
        """The seconds of work on each cell."""
        self.lock = threading.Lock()

    def engine_of(self, cell: Cell) -> str:
        return self.engines[id(cell.variant)]

    def prepare(self) -> list[Pending]:
        """Write the manifest, and return the cells that are not finished."""
        manifest = self._previous_manifest()
        if manifest is not None and manifest["provenance"]["arithmetic"] != self.provenance["arithmetic"]:
            raise StoreError(
                "was computed on a machine whose arithmetic differs in the last bit "
                f"({manifest['provenance']['host']}); resume it there, or give another directory",
                self.directory.path,
            )
        pending, notes = self._read_cells()
        if pending:
            begun = [notes[cell.name] for cell, checkpoint in pending if checkpoint is not None]
            warn_of_other_platforms(self.directory.path, manifest, begun)
        self.seconds = {name: stored.get("seconds", 0.0) for name, stored in notes.items()}
        with gathering(self.directory.path):
            previous = self._previous_manifest(quiet=True)  # another shard may have written it in the meantime
            sources = self.spec, self.cells, self.engine_of, self.tables, self.provenance, previous
            self.directory.write_manifest(make_manifest(*sources, computing=bool(pending), known=self.optima))
        return pending

    def run(self, pending: list[Pending], workforce: Workforce, stop: threading.Event) -> None:
        with workforce.open():
            jobs = make_jobs(pending, self.engine_of, self.tables, workforce.workers)
            workforce.run(jobs, self.tables, self._commit, self.watcher.steps, stop)

    def _previous_manifest(self, quiet: bool = False) -> Manifest | None:
        """Return the manifest in the directory; None if it is damaged, because all else is in the cells."""
        try:
            return self.directory.manifest
        except Damaged as error:
            if not quiet:
                warnings.warn(DamageWarning(error, "it is written again"), stacklevel=4)
            return None

    def _read_cells(self) -> tuple[list[Pending], dict[str, Notes]]:
        """Return the cells that are not finished, and the notes of all cells that were begun."""
        pending: list[Pending] = []
        notes: dict[str, Notes] = {}
        damaged: list[Damaged] = []
        steps = steps_done = 0
        by_name = {cell.name: cell for cell in self.own_cells}
        for name, stored in self.directory.read_cells(list(by_name), damaged):
            cell, checkpoint = by_name[name], None
            length = cell.variant.plan.steps
            if stored is not None:
                notes[name] = stored.notes
                checkpoint = self._usable(stored.checkpoint, cell)
            entry = Pending(cell, checkpoint)
            steps += length * len(cell.runs)
            steps_done += min(entry.t, length) * len(cell.runs)
            if entry.t < length:
                pending.append(entry)
        for error in damaged:
            warnings.warn(DamageWarning(error, "it is computed again"), stacklevel=4)
        self.watcher.begin(len(by_name), len(by_name) - len(pending), steps, steps_done)
        return pending, notes

    def _usable(self, checkpoint: Checkpoint, cell: Cell) -> Checkpoint | None:
        """Return the checkpoint if it is finished or can be resumed; raise if the end lies between recorded times."""
        steps, times = cell.variant.plan.steps, checkpoint.curves.times
        if checkpoint.t > steps and steps not in times:
            after = int(times.searchsorted(steps))
            recorded = " and ".join(f"{t:,}" for t in times[max(after - 1, 0) : after + 1])
            passed = f"the runs in {self.directory.path} have {checkpoint.t:,} already, and were recorded at {recorded}"
            raise InputError("steps", steps, f"{passed}; give one of these, or another directory")
        resumable = checkpoint.resumable and checkpoint.engine == self.engine_of(cell)
        return checkpoint if checkpoint.t >= steps or resumable else None

    def _commit(self, cell: Cell, checkpoint: Checkpoint, seconds: float) -> None:
        with self.lock:
            self.seconds[cell.name] = self.seconds.get(cell.name, 0.0) + seconds
        notes: Notes = {
            "identity": dict(cell.identity),
            "seconds": self.seconds[cell.name],
            "host": self.provenance["host"],
            "everlearn": self.provenance["everlearn"],
            "arithmetic": self.provenance["arithmetic"],
            "platform": self.provenance["platform"],
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        self.directory.cells.write(cell.name, checkpoint, notes)
        if checkpoint.t == cell.variant.plan.steps:
            self.watcher.cell()
