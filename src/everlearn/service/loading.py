"""Agents are loaded when they are first asked for, in threads of their own, while the committer serves the others.

To load an agent is to make its task and to replay its journal.  Nobody writes to an agent that is not loaded, so a
thread with a connection of its own reads what is final.  Requests for the agent wait meanwhile.

Few agents are loaded at a time, each in a place.  One that takes long loses its place to the next, and from then on
replays its rows in turn with the others that take long.  So it delays no other agent, and all that take long
together need little more of the processor than one of them.

A task cannot be made in turn with others, so few of those that take long are made at a time: a further one keeps its
place, unless a task of the same setup has taken long before; then it gives up its place, and waits until it may begin.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from everlearn.durable import database
from everlearn.durable.changes import refusal, reopen
from everlearn.durable.entry import Entry
from everlearn.durable.reader import Reader
from everlearn.errors import EverlearnError, LiveError
from everlearn.service.agents import Agents, Loaded, Unloaded
from everlearn.service.committer import Busy, Committer, Unready
from everlearn.service.logs import log
from everlearn.service.metrics import Metrics
from everlearn.service.settings import Limits

PLACES = 2
"""The number of agents that are loaded at a time, apart from those that take long."""

SLOW = 0.5
"""After how many seconds an agent loses its place to the next."""

MOST_SLOW = 256
"""How many agents that take long are loaded at a time; each has a thread, and what it knows is in memory."""

MOST_MAKING = 2
"""How many tasks that take long are made at a time, apart from those in places."""

LONGEST = 60.0
"""Seconds that a request waits for an agent; then it is told to come again, and the agent is still being loaded."""


class Loading(LiveError):  # noqa: N818 - reads as what it is
    """The agent is still being loaded."""


class Pace:
    """When the loading of an agent may proceed: at once."""

    def make(self, setup: str) -> None:
        """Wait until a task may be made for a stored setup."""

    def made(self) -> None:
        """Note that it is made."""

    def turn(self) -> AbstractContextManager[object]:
        """Return what is held while a row is replayed."""
        return nullcontext()


class _Reader(Reader):
    """A reader whose rows are replayed at a pace."""

    pace = Pace()

    def rows(self, agent: int, after: int = -1, check: int | None = None) -> Iterator[Entry]:
        """Yield the rows of a journal, as any reader does."""
        self.pace.made()
        for row in super().rows(agent, after, check):
            with self.pace.turn():
                yield row


def load(directory: Path, name: str, pace: Pace | None = None) -> Loaded:
    """Recover an agent from the disk, through a connection of its own; nothing is written."""
    path = directory / database.FILE
    with database.errors(path), _Reader.on(database.connect_to_read(path), path) as reader:
        reader.pace = pace or Pace()
        reader.pace.make(reader.enrolled(name).setup)  # not while a moment is held, which would let the log grow
        with reader.at_one_moment():
            record = reader.enrolled(name)
            reopened = reopen(record.setup, record.face, {})
            if reopened.changes:
                raise refusal(directory, reopened.changes)
            return Loaded(record, reader.replayed(reopened.setup, record), reopened.recorded)


class _Shared:
    """What all agents share that are loaded."""

    def __init__(self) -> None:
        self.turn = threading.Lock()  # held while a row of an agent that takes long is replayed
        self.makers = threading.Semaphore(MOST_MAKING)
        self.long: set[int] = set()  # the tasks that took long to make
        self.lock = threading.Lock()


class _Turns(Pace):
    """When the loading of one of several agents may proceed: at once, and in turn with others once it takes long."""

    def __init__(self, shared: _Shared) -> None:
        self._shared = shared
        self._has_begun = False  # until then it is not known whether its task takes long
        self._making: int | None = None  # the task that is being made
        self._is_maker = False
        self._is_slow = False

    def make(self, setup: str) -> None:
        """Wait until a task may be made; only those that took long before have to."""
        task = hash(json.dumps({**json.loads(setup), "seed": None}))
        with self._shared.lock:
            self._has_begun = True
            waits = task in self._shared.long
            if not waits:
                self._making = task
        if waits:
            self._shared.makers.acquire()
            with self._shared.lock:
                self._is_maker, self._making = True, task

    def made(self) -> None:
        """Let another task be made."""
        with self._shared.lock:
            self._making = None
            if self._is_maker:
                self._is_maker = False
                self._shared.makers.release()

    def turn(self) -> AbstractContextManager[object]:
        """Return what is held while a row is replayed."""
        return self._shared.turn if self._is_slow else nullcontext()

    def slow_down(self) -> bool:
        """Take turns from now on; return False if it has not begun, or if a task is made and too many others are."""
        with self._shared.lock:
            if not self._has_begun:
                return False
            if self._making is not None and not self._is_maker:
                self._shared.long.add(self._making)
                self._is_maker = self._shared.makers.acquire(blocking=False)
            self._is_slow = self._making is None or self._is_maker
            return self._is_slow


class Loader:
    """Loads agents, each in a thread of its own.  They do not delay the end of the process, however long they take."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._paces: dict[Future[Loaded], _Turns] = {}
        self._slow: set[Future[Loaded]] = set()
        self._shared = _Shared()

    def load(self, name: str) -> Future[Loaded]:
        """Load an agent."""
        future: Future[Loaded] = Future()
        pace = self._paces[future] = _Turns(self._shared)
        future.add_done_callback(self._paces.pop)
        try:
            threading.Thread(target=self._run, args=(name, future, pace), name="loader", daemon=True).start()
        except RuntimeError as error:
            future.cancel()
            raise LiveError(f"agent {name}: it cannot be loaded now: {error}") from None
        return future

    def slow_down(self, future: Future[Loaded]) -> bool:
        """Let an agent be loaded in turn with others that take long; return False if there are too many of them."""
        pace = self._paces.get(future)
        if pace is not None and (len(self._slow) >= MOST_SLOW or not pace.slow_down()):
            return False
        self._slow.add(future)
        future.add_done_callback(self._slow.discard)
        return True

    def _run(self, name: str, future: Future[Loaded], pace: Pace) -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(load(self._directory, name, pace))
        except Exception as error:
            future.set_exception(error)
        except BaseException as error:  # what would end a thread must not end the event loop
            future.set_exception(LiveError(f"agent {name}: loading it ended with {error!r}"))
        finally:
            pace.made()


class LoadingCommitter(Committer[Agents]):
    """The committer of a directory: a request for an agent that is not loaded waits until it is."""

    def __init__(self, directory: Path, limits: Limits, metrics: Metrics) -> None:
        super().__init__(lambda: Agents(directory, limits), waiting=limits.waiting, metrics=metrics)
        self._loader = Loader(directory)
        self._loads: dict[str, asyncio.Task[None]] = {}
        self._held = 0  # the number of requests that wait for agents
        self._places = asyncio.Semaphore(PLACES)

    @property
    def waiting(self) -> int:
        """The number of requests that wait, for the disk or for agents."""
        return super().waiting + self._held

    async def make_ready(self, error: Unready) -> None:
        """Load the agent that is not loaded."""
        if not isinstance(error, Unloaded):
            raise error
        try:
            await self._load(error.name)
        except LiveError:
            if await self.do(None, lambda agents: error.name in agents.names):
                raise  # else it was deleted meanwhile, which the work will notice

    async def _load(self, name: str) -> None:
        """Wait until an agent is loaded; all requests for it wait for the same."""
        if self._held >= self.most:
            self.metrics.refused += 1
            raise Busy
        if name not in self._loads:
            task = self._loads[name] = asyncio.create_task(self._bring(name))
            task.add_done_callback(lambda done: self._end(name, done))
        self._held += 1
        try:
            load = self._loads[name]
            await asyncio.wait([load], timeout=LONGEST)  # whoever leaves does not undo it for others
        finally:
            self._held -= 1
        if not load.done():
            raise Loading(f"the agent {name} is still being loaded; come again")
        load.result()

    async def _bring(self, name: str) -> None:
        async with self._places:
            future = self._loader.load(name)
            load = asyncio.wrap_future(future)
            while not (await asyncio.wait([load], timeout=SLOW))[0] and not self._loader.slow_down(future):
                pass  # it keeps its place
        loaded = await load
        if self.keeper is not None and name in self.keeper.names and name not in self.keeper.cores:
            self.keeper.loaded[name] = loaded

    def _end(self, name: str, task: asyncio.Task[None]) -> None:
        del self._loads[name]
        error = None if task.cancelled() else task.exception()
        if error is not None:
            line = str(error) if isinstance(error, EverlearnError) else repr(error)
            log(logging.ERROR, "agent cannot be opened", agent=name, error=line)
