"""A Dask cluster as a workforce: workers run legs, and this process commits every checkpoint that they return.

Workers write nothing.  If a worker is lost, its legs are repeated on another one, from the last commit.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from everlearn.cluster import legs
from everlearn.engine.checkpoint import Checkpoint
from everlearn.engine.plan import Progress
from everlearn.errors import InputError
from everlearn.experiments.cells import Tables
from everlearn.experiments.work import Commit, Job
from everlearn.notices import Notice
from everlearn.registry import whole

LEG = 5.0
"""The least duration of a leg in seconds: much longer than sending and committing take, but cheap to repeat.

With many workers legs are longer, so that this process commits for at most half of the time."""

FIRST_LEG = 1.0
"""The duration of the first leg of a job in seconds; it is short, so that progress shows early."""

LOSSES = 10
"""The number of workers that a leg may lose before the leg itself is taken to be the cause."""

LOOK = 5.0
"""The seconds between two checks whether there are workers."""

PATIENCE = 10.0
"""The seconds to wait for an answer of the scheduler."""

_INSTALL = "needs Dask; install it with: pip install 'everlearn[cluster]'"


class WorkerWarning(Notice):
    """A worker would give other results, and is not used: ``worker`` is its address, and ``reason`` says why."""

    def __init__(self, worker: str, reason: str) -> None:
        self.worker, self.reason = worker, reason
        super().__init__(f"worker {worker} is not used: {reason}")


@dataclass
class RunningJob:
    """A job, its last checkpoint, and what is sent with each of its legs."""

    job: Job
    order: legs.Order
    table: Any
    """The Dask future of the packed table."""
    checkpoint: Checkpoint | None
    losses: int = 0

    @property
    def t(self) -> int:
        """The number of steps taken."""
        return 0 if self.checkpoint is None else self.checkpoint.t


class Cluster:
    """The workers at an address: ``tcp://host:8786``, or ``local:N`` for N processes on this machine."""

    def __init__(self, address: str, threads: int | None = None, folder: str | None = None) -> None:
        if threads is not None:
            raise InputError("--threads", threads, "a cluster has the threads it has; leave it out")
        self.address, self.folder = address, folder
        self._local = _local_number(address)
        self._refused: dict[str, str] = {}
        self.workers = self._local or 1
        self._commit_seconds = 0.0
        """The moving average of the seconds that it takes to commit a leg."""
        self._local_cluster: Any = None

    @contextmanager
    def open(self) -> Iterator[None]:
        """Connect to the cluster, after starting it if it is local."""
        try:
            from distributed import Client, LocalCluster
        except ImportError:
            raise InputError("--cluster", self.address, _INSTALL) from None
        if self._local is None:
            with _connect(Client, self.address) as self.client:
                if not self.client.nthreads():
                    warnings.warn(f"{self.address} has no workers yet; waiting for some", stacklevel=2)
                    self.client.wait_for_workers(1)
                self.workers = sum(self.client.nthreads().values())
                yield
            return
        options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
        local = LocalCluster(n_workers=self._local, **options)
        with local as self._local_cluster, Client(self._local_cluster) as self.client:
            yield

    def run(
        self, jobs: Sequence[Job], tables: Tables, commit: Commit, progress: Progress, stop: threading.Event
    ) -> None:
        """Run all jobs to their end, leg by leg."""
        from distributed import as_completed

        futures = {self._submit(running): running for running in self._prepare(jobs, tables)}
        completed = as_completed(list(futures), with_results=False)
        try:
            with self._watch_workers():
                for future in completed:
                    running = futures.pop(future)
                    self._receive(running, future, commit, progress)
                    if running.t < running.job.plan.steps and not stop.is_set():
                        next_leg = self._submit(running)
                        futures[next_leg] = running
                        completed.add(next_leg)
        finally:
            self.client.cancel(list(futures))

    @contextmanager
    def _watch_workers(self) -> Iterator[None]:
        """Restart the workers of a local cluster that are lost; warn if another cluster has none left."""
        done = threading.Event()

        def watch() -> None:
            warned = False
            while not done.wait(LOOK):
                workers = len(self.client.nthreads())
                if self._local_cluster is not None and workers < self.workers:
                    self._local_cluster.scale(self.workers)
                elif workers == 0 and not warned:
                    warnings.warn(f"{self.address} has no workers left; waiting for some", stacklevel=2)
                    warned = True

        watching = threading.Thread(target=watch, daemon=True)
        watching.start()
        try:
            yield
        finally:
            done.set()
            watching.join()

    def _prepare(self, jobs: Sequence[Job], tables: Tables) -> Iterator[RunningJob]:
        sent: dict[str, Any] = {}
        for job in jobs:
            variant, table = job.cells[0].variant, tables.of(job.plan.task)
            packed = legs.pack_table(table, variant)
            if job.engine != "compiled" or table is None:
                raise InputError("--cluster", self.address, "only the compiled engine runs there; give engine = 'auto'")
            if packed.digest not in sent:
                # A Dask task that returns the table, because scattered data would be lost with the worker that has it.
                sent[packed.digest] = self.client.submit(_identity, packed, key=f"table-{packed.digest}")
            order = legs.make_order(variant, job.runs, table.indexed, self.folder)
            yield RunningJob(job, order, sent[packed.digest], job.checkpoint)

    def _submit(self, running: RunningJob) -> Any:
        first = running.checkpoint is running.job.checkpoint
        seconds = FIRST_LEG if first else max(LEG, 2 * self.workers * self._commit_seconds)
        start = None if running.checkpoint is None else legs.without_curves(running.checkpoint)
        order = replace(running.order, seconds=seconds)
        return self.client.submit(legs.run_leg, order, running.table, start, pure=False, workers=self._accepted())

    def _accepted(self) -> list[str] | None:
        """Return the workers that may be used; None for all."""
        if not self._refused:
            return None
        accepted = [worker for worker in self.client.nthreads() if worker not in self._refused]
        if not accepted:
            worker, reason = next(iter(self._refused.items()))
            message = f"no worker is left that would give the same results; {worker}: {reason}"
            raise legs.ClusterError(message, worker)
        return accepted

    def _receive(self, running: RunningJob, future: Any, commit: Commit, progress: Progress) -> None:
        """Commit the checkpoint that a leg returned; if there is none, the job stays as it was."""
        from distributed import KilledWorker

        try:
            returned = future.result()
        except KilledWorker:
            running.losses += 1
            if running.losses > LOSSES:
                raise legs.ClusterError(f"{self.address}: {LOSSES} workers were lost on one block of runs") from None
            return
        if isinstance(returned, legs.Refusal):
            if returned.worker not in self._refused:
                warnings.warn(WorkerWarning(returned.worker, returned.reason), stacklevel=2)
            self._refused[returned.worker] = returned.reason
            return
        began = time.perf_counter()
        reached, seconds = returned
        steps = (reached.t - running.t) * len(running.job.runs)
        running.checkpoint = legs.join_curves(running.checkpoint, reached)
        running.job.commit(running.checkpoint, commit, seconds)
        self._commit_seconds += 0.1 * (time.perf_counter() - began - self._commit_seconds)
        progress(steps)


def _identity(packed: legs.PackedTable) -> legs.PackedTable:
    return packed


def _local_number(address: str) -> int | None:
    kind, colon, number = address.partition(":")
    if kind != "local":
        if "://" not in address:
            raise InputError("--cluster", address, "give an address such as tcp://host:8786, or local:N")
        return None
    return whole(number, "--cluster local", least=1) if colon else 2


@contextmanager
def _connect(client: Any, address: str) -> Iterator[Any]:
    try:
        connected = client(address, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise InputError("--cluster", address, f"cannot be reached ({error}); is a scheduler running there?") from None
    with connected:
        yield connected
