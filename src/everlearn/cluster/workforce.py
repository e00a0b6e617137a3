"""A Dask cluster as a workforce: jobs are walked in legs, and every leg that comes back is committed here.

Workers write nothing.  A worker that is lost costs the legs that it was walking: each is begun again, elsewhere, from
the last commit.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from everlearn.agents.guard import build_knowledge
from everlearn.cluster.legs import Order, Refusal, walk
from everlearn.cluster.travel import packed_plan, packed_table, with_records_of, without_records
from everlearn.engine.checkpoint import Checkpoint
from everlearn.engine.plan import Progress
from everlearn.errors import EverlearnError, InputError
from everlearn.experiments.cells import Tables, agent_identity
from everlearn.experiments.work import Commit, Job, commit_cells
from everlearn.registry import whole
from everlearn.results.provenance import arithmetic

LEG = 5.0
"""Seconds of a leg, at least: what a lost worker costs, and what travelling and committing are small beside.

With many workers legs are longer, so that the one who commits them is busy for at most half of the time."""

FIRST_LEG = 1.0
"""Seconds of a job's first leg, so that a short job is seen to move."""

LOSSES = 10
"""How often a leg may lose its worker before that is taken for its fault."""

LOOK = 5.0
"""Seconds between two looks at whether workers are there."""

PATIENCE = 10.0
"""Seconds to wait for a scheduler to answer."""

_INSTALL = "needs Dask; install it with: pip install 'everlearn[cluster]'"


@dataclass
class Walk:
    """A job under way."""

    job: Job
    order: Order
    table: Any
    checkpoint: Checkpoint | None
    losses: int = 0

    @property
    def t(self) -> int:
        """How far it is."""
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
        self._cost = 0.0
        self.here: Any = None

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Hold a connection to the cluster, started here where it is local."""
        try:
            from distributed import Client, LocalCluster
        except ImportError:
            raise InputError("--cluster", self.address, _INSTALL) from None
        if self._local is None:
            with _connected(Client, self.address) as self.client:
                if not self.client.nthreads():
                    warnings.warn(f"{self.address} has no workers yet; waiting for some", stacklevel=2)
                    self.client.wait_for_workers(1)
                self.workers = sum(self.client.nthreads().values())
                yield
            return
        options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
        with LocalCluster(n_workers=self._local, **options) as self.here, Client(self.here) as self.client:
            yield

    def __call__(
        self,
        todo: Sequence[Job],
        tables: Tables,
        commit: Commit,
        *,
        progress: Progress | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        """Walk all jobs to their end."""
        from distributed import as_completed

        walks = {future: one for one in self._walks(todo, tables) for future in [self._submit(one)]}
        returning = as_completed(list(walks), with_results=False)
        try:
            with self._manned():
                for future in returning:
                    one = walks.pop(future)
                    self._arrived(one, future, commit, progress)
                    if one.t < one.job.plan.steps and not (stop is not None and stop.is_set()):
                        again = self._submit(one)
                        walks[again] = one
                        returning.add(again)
        finally:
            self.client.cancel(list(walks))

    @contextmanager
    def _manned(self) -> Iterator[None]:
        """See to it that there are workers: start lost ones anew where they are ours, else say that none is there."""
        done = threading.Event()

        def look() -> None:
            said = False
            while not done.wait(LOOK):
                there = len(self.client.nthreads())
                if self.here is not None and there < self.workers:
                    self.here.scale(self.workers)
                elif there == 0 and not said:
                    warnings.warn(f"{self.address} has no workers left; waiting for some", stacklevel=2)
                    said = True

        looking = threading.Thread(target=look, daemon=True)
        looking.start()
        try:
            yield
        finally:
            done.set()
            looking.join()

    def _walks(self, todo: Sequence[Job], tables: Tables) -> Iterator[Walk]:
        sent: dict[str, Any] = {}
        for job in todo:
            variant = job.cells[0].variant
            table = tables.of(job.plan.task)
            packed = packed_table(table, variant)
            if job.engine != "compiled" or table is None:
                raise InputError("--cluster", self.address, "only the compiled engine runs there; give engine = 'auto'")
            if packed["digest"] not in sent:
                # A task that returns it, rather than scattered data, which would be lost with the worker that holds it.
                sent[packed["digest"]] = self.client.submit(_itself, packed, key=f"table-{packed['digest']}")
            agent = agent_identity(job.plan.design, build_knowledge(job.plan.design, table.indexed))
            order = Order(packed_plan(variant, self.folder), job.runs, agent, arithmetic(), FIRST_LEG)
            yield Walk(job, order, sent[packed["digest"]], job.checkpoint)

    def _submit(self, one: Walk) -> Any:
        start = None if one.checkpoint is None else without_records(one.checkpoint)
        seconds = FIRST_LEG if one.checkpoint is one.job.checkpoint else max(LEG, 2 * self.workers * self._cost)
        order = Order(one.order.plan, one.order.runs, one.order.agent, one.order.arithmetic, seconds)
        workers = self._accepted()
        return self.client.submit(walk, order, one.table, start, pure=False, workers=workers)

    def _accepted(self) -> list[str] | None:
        """Return the workers that may be used, or None for all."""
        if not self._refused:
            return None
        accepted = [worker for worker in self.client.nthreads() if worker not in self._refused]
        if not accepted:
            worker, reason = next(iter(self._refused.items()))
            raise EverlearnError(f"no worker is left that would give the same results; {worker}: {reason}")
        return accepted

    def _arrived(self, one: Walk, future: Any, commit: Commit, progress: Progress | None) -> None:
        """Commit what a leg brought; where it brought nothing, leave the job as it was, to be sent again."""
        from distributed import KilledWorker

        try:
            brought = future.result()
        except KilledWorker:
            one.losses += 1
            if one.losses > LOSSES:
                raise EverlearnError(f"{self.address}: {LOSSES} workers were lost on one block of runs") from None
            return
        if isinstance(brought, Refusal):
            if brought.worker not in self._refused:
                warnings.warn(f"worker {brought.worker} is refused: {brought.reason}", stacklevel=2)
            self._refused[brought.worker] = brought.reason
            return
        began = time.perf_counter()
        reached, seconds = brought
        moved = (reached.t - one.t) * len(one.job.runs)
        one.checkpoint = with_records_of(reached, one.checkpoint)
        commit_cells(one.job, one.checkpoint, commit, seconds)
        self._cost += 0.1 * (time.perf_counter() - began - self._cost)
        if progress is not None:
            progress(moved)


def _itself(packed: dict[str, Any]) -> dict[str, Any]:
    return packed


def _local_number(address: str) -> int | None:
    kind, colon, number = address.partition(":")
    if kind != "local":
        if "://" not in address:
            raise InputError("--cluster", address, "give an address such as tcp://host:8786, or local:N")
        return None
    return whole(number, "--cluster local", least=1) if colon else 2


@contextmanager
def _connected(client: Any, address: str) -> Iterator[Any]:
    try:
        made = client(address, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise InputError("--cluster", address, f"cannot be reached ({error}); is a scheduler running there?") from None
    with made:
        yield made
