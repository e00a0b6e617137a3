"""One thread owns the store and every agent; it takes requests in groups and commits each group at once.

Requests wait in a queue with a bound.  The thread takes all that wait, prepares each, writes what they bring in one
transaction with one synchronisation of the disk, applies it, and answers.  Meanwhile the next group gathers.  So a busy
service commits larger groups rather than more often, and the event loop never waits for the disk.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from everlearn.errors import Corrupt, LiveError, StoreFull
from everlearn.service.identity import CURRENT, Request
from everlearn.service.logs import log
from everlearn.service.metrics import Metrics

MOST_TOGETHER = 256
"""How many requests one transaction may serve."""

STUCK = 60.0
"""After how many seconds at one group the service calls itself stuck."""


class Busy(Exception):  # noqa: N818 - reads as what it is
    """The queue is full, or the service is stopping."""


class Unready(LiveError):  # noqa: N818 - reads as what it is
    """The work needs something first that another thread does."""


class Keeper(Protocol):
    """What the thread owns: the store and the agents."""

    def append(self, entries: list[Any]) -> None:
        """Write entries in one transaction, all or none of them."""

    def close(self) -> None:
        """Release the directory."""


K = TypeVar("K", bound=Keeper)
_new = tuple.__new__  # faster than the constructor of a named tuple


class Prepared(NamedTuple):
    """A validated entry that a request wants written, and the function to call once it is on disk."""

    entry: Any
    then: Callable[[], Any]


class _Job(NamedTuple, Generic[K]):
    """A waiting request.  Requests for one agent keep their order."""

    agent: str | None
    work: Callable[[K], Any]
    future: asyncio.Future[Any]
    request: Request | None
    """Whose request it is, for the log."""


Observed = Callable[[list[Request | None], float, BaseException | None], None]
"""Called with the requests of a transaction, how many seconds it took, and the error if it failed."""

_Answer = tuple[asyncio.Future[Any], Any, BaseException | None]


class Committer(Generic[K]):
    """Runs work in its thread, one request after another, and delivers answers to the event loop.

    Parameters
    ----------
    open_keeper:
        opens what the thread owns; called in the thread
    waiting:
        how many requests may wait
    metrics:
        counts transactions

    Examples
    --------
    >>> class Book:
    ...     pages = []
    ...     def append(self, entries): self.pages.append(entries)
    ...     def close(self): self.pages.append("closed")
    >>> committer = Committer(Book, waiting=10, metrics=Metrics())
    >>> committer.start()
    >>> async def two():
    ...     ask = [committer.do(name, lambda book, name=name: Prepared(name, str.upper(name).strip)) for name in "ab"]
    ...     return await asyncio.gather(*ask)
    >>> asyncio.run(two())
    ['A', 'B']
    >>> committer.close()
    >>> sum(Book.pages[:-1], []), Book.pages[-1]
    (['a', 'b'], 'closed')

    """

    def __init__(self, open_keeper: Callable[[], K], *, waiting: int, metrics: Metrics) -> None:
        self.most = waiting
        self.metrics = metrics
        self.healthy = True
        self.keeper: K | None = None  # what the thread owns, once it is open
        self.busy_since: float | None = None  # when the thread began to serve the present group
        self.observed: Observed | None = None  # called by the thread after every transaction
        self.ended: Callable[[], None] = lambda: None  # called by the thread when it ends
        self._open = open_keeper
        self._queue: queue.SimpleQueue[_Job[K] | None] = queue.SimpleQueue()
        self._closing = threading.Event()
        self._began: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="committer", daemon=True)

    def start(self) -> None:
        """Start the thread and open what it owns; an error there is raised here."""
        self._thread.start()
        error = self._began.get()
        if error is not None:
            self._thread.join()
            raise error

    @property
    def opened(self) -> K:
        """What the thread owns, after the start."""
        if self.keeper is None:
            raise LiveError("the committer has not started")
        return self.keeper

    @property
    def waiting(self) -> int:
        """The number of requests that wait."""
        return self._queue.qsize()

    @property
    def alive(self) -> bool:
        """Whether the thread runs; without it no request is ever answered."""
        return self._thread.is_alive()

    @property
    def stuck(self) -> bool:
        """Whether the thread has been at one group of requests for so long that nobody should wait for it."""
        began = self.busy_since
        return began is not None and time.monotonic() - began > STUCK

    @property
    def ready(self) -> bool:
        """Whether observations can be recorded: the last commit succeeded."""
        return self.healthy and self.alive and not self._closing.is_set()

    async def do(self, agent: str | None, work: Callable[[K], Any]) -> Any:
        """Run work in the thread; return what it returns, raise what it raises.

        If it returns :class:`Prepared`, wait until that is on disk.
        """
        # The one producer is the event loop, so that nothing comes between the look and the put.
        if self._queue.qsize() >= self.most or self._closing.is_set():
            self.metrics.refused += 1
            raise Busy
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._queue.put(_new(_Job, (agent, work, future, CURRENT.get())))
        try:
            return await future
        except Unready as error:
            await self.make_ready(error)
        return await self.do(agent, work)

    async def make_ready(self, error: Unready) -> None:
        """Do what the work needs first; this committer can do nothing about it."""
        raise error

    def close(self) -> None:
        """Finish the waiting requests, then release everything."""
        self._closing.set()
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            keeper = self._open()
        except BaseException as error:
            self._began.put(error)
            return
        self.keeper = keeper
        self._began.put(None)
        batch: list[_Job[K]] | None = []
        try:
            while (batch := self._take()) is not None:
                self.busy_since = time.monotonic()
                try:
                    self._serve(keeper, batch)
                except Exception as error:  # an error in one group is an error for that group
                    CURRENT.set(None)
                    requests = [job.request.id.decode() for job in batch if job.request is not None]
                    log(logging.ERROR, "a group of requests failed", requests=requests, error=repr(error))
                    _deliver([(job.future, None, error) for job in batch])
                CURRENT.set(None)  # what is logged from now on concerns no request
                self.busy_since = None
        except BaseException as error:
            log(logging.CRITICAL, "the committer has ended", error=repr(error))
            self._fail(batch or [])
        finally:
            keeper.close()
            self.ended()

    def _fail(self, batch: list[_Job[K]]) -> None:
        """Accept no more requests, and answer those that wait with 503."""
        self._closing.set()
        while not self._queue.empty():
            batch += [job for job in (self._queue.get(),) if job is not None]
        _deliver([(job.future, None, Busy()) for job in batch])

    def _take(self) -> list[_Job[K]] | None:
        """Return the waiting requests, up to a bound; wait if there are none.  None ends."""
        first = self._queue.get()
        if first is None:
            return None
        batch = [first]
        while len(batch) < MOST_TOGETHER and not self._queue.empty():  # this thread alone takes from the queue
            job = self._queue.get()
            if job is None:
                self._queue.put(None)
                break
            batch.append(job)
        return batch

    def _serve(self, keeper: K, batch: list[_Job[K]]) -> None:
        """Serve a batch in rounds: each round records at most one observation per agent."""
        while batch:
            prepared: list[tuple[_Job[K], Prepared]] = []
            answers: list[_Answer] = []
            later: list[_Job[K]] = []
            held: set[str] = set()
            for job in batch:
                if job.agent in held:
                    later.append(job)
                    continue
                CURRENT.set(job.request)
                result, error = _attempt(job.work, keeper)
                if isinstance(result, Prepared) and job.agent is not None:
                    prepared.append((job, result))
                    held.add(job.agent)
                else:
                    answers.append((job.future, result, error))
            answers += self._commit(keeper, prepared)
            _deliver(answers)
            batch = later

    def _commit(self, keeper: K, prepared: list[tuple[_Job[K], Prepared]]) -> Iterable[_Answer]:
        """Write a group in one transaction; if that fails, write each entry alone, so that one cannot spoil others."""
        if not prepared:
            return []
        began = time.perf_counter()
        _, error = _attempt(keeper.append, [entry.entry for _, entry in prepared])
        if self.observed is not None:
            self._observe(self.observed, prepared, time.perf_counter() - began, error)
        if error is None:
            self.healthy = True
            self.metrics.committed(len(prepared), time.perf_counter() - began)
            return [(job.future, *_attempt(_learn, job, entry)) for job, entry in prepared]
        if len(prepared) > 1:
            return [answer for pair in prepared for answer in self._commit(keeper, [pair])]
        self.healthy = self.healthy and not _is_of_the_disk(error)
        self.metrics.failed_commits += 1
        CURRENT.set(prepared[0][0].request)
        log(logging.ERROR, "commit failed", agent=prepared[0][0].agent, error=repr(error))
        return [(prepared[0][0].future, None, error)]

    def _observe(self, observed: Observed, prepared: list[Any], seconds: float, error: BaseException | None) -> None:
        """Report a transaction; whatever is wrong with that must not touch the requests."""
        try:
            observed([job.request for job, _ in prepared], seconds, error)
        except Exception as problem:
            log(logging.WARNING, "a transaction could not be reported", error=repr(problem))


def _is_of_the_disk(error: BaseException) -> bool:
    """Return whether a commit failed for a reason that concerns all agents, and not what one of them brought."""
    return isinstance(error, StoreFull | Corrupt | OSError) or isinstance(
        error.__cause__, OSError | sqlite3.OperationalError
    )


def _learn(job: _Job[Any], entry: Prepared) -> Any:
    """Do what follows a row that is on disk now."""
    CURRENT.set(job.request)
    return entry.then()


def _attempt(work: Callable[..., Any], *arguments: Any) -> tuple[Any, BaseException | None]:
    try:
        return work(*arguments), None
    except Exception as error:
        return None, error


def _deliver(answers: list[_Answer]) -> None:
    """Deliver answers to the event loop in one call: waking it costs more than an answer does."""
    if answers:
        loop = answers[0][0].get_loop()
        try:
            loop.call_soon_threadsafe(_settle, answers)
        except RuntimeError:  # the loop has ended, and nobody waits
            log(logging.WARNING, "answers without a recipient", count=len(answers))


def _settle(answers: list[_Answer]) -> None:
    for future, result, error in answers:
        if future.done():  # whoever asked has gone
            continue
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
