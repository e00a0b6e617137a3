"""Agents are loaded when they are first asked for, in threads of their own, while the committer serves the others.

To load an agent is to make its task and to replay its journal.  Nobody writes to an agent that is not loaded, so a
thread with a connection of its own reads what is final.  Requests for the agent wait meanwhile.

Few agents are loaded at a time, each in a place.  One that takes long loses its place to the next, whatever it does, so
that an agent that can be loaded quickly never waits for one that cannot.

If it replays its journal by then, it continues in turn with the others that take long: all of them together need little
more of the processor than one.  A task cannot be made in turn with others.  So a load that is still making its task is
stopped, and begins again when it is one of the few that make such tasks.  Other agents with the same task go there at
once.  While it waits, it has no thread, no place and no connection.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext
from pathlib import Path
from time import clock_gettime

from everlearn.durable import database
from everlearn.durable.changes import refusal, reopen
from everlearn.durable.entry import Entry
from everlearn.durable.reader import Reader
from everlearn.durable.setup import KEYS
from everlearn.errors import EverlearnError, LiveError
from everlearn.service.agents import Agents, Loaded, Unloaded
from everlearn.service.committer import Busy, Committer, Unready
from everlearn.service.identity import CURRENT
from everlearn.service.logs import log
from everlearn.service.metrics import Metrics
from everlearn.service.settings import Limits
from everlearn.stopping import Stopped, stoppable

PLACES = 2
"""The number of agents that are loaded at a time, apart from those that take long."""

SLOW = 0.5
"""After how many seconds an agent loses its place to the next."""

QUICK = 0.1
"""How many seconds of the processor any agent may use before it can be stopped, however long that takes."""

MOST_SLOW = 64
"""How many agents that take long are loaded at a time; each has a thread, a connection and what it knows in memory."""

MOST_MAKING = 2
"""How many of these make their tasks at a time."""

MOST_IDLE = 64
"""How many others may wait for the disk without a place; they have been told to stop, and have not noticed yet."""

MOST_KNOWN = 1_000
"""Of how many tasks it is remembered that they take long to make."""

LONGEST = 60.0
"""Seconds that a request waits for an agent; then it is told to come again, and the agent is still being loaded."""


class Loading(LiveError):  # noqa: N818 - reads as what it is
    """The agent is still being loaded."""


class Pace:
    """When the loading of an agent may proceed: at once."""

    def make(self, setup: str) -> None:
        """Note that a task is made for a stored setup."""

    def made(self) -> None:
        """Note that it is made."""

    def turn(self) -> AbstractContextManager[object]:
        """Return what is held while a row is replayed."""
        return nullcontext()

    def check(self) -> None:
        """Raise if the loading is to stop."""


class _Reader(Reader):
    """A reader whose rows are replayed at a pace."""

    pace = Pace()

    def rows(self, agent: int, after: int = -1, check: int | None = None) -> Iterator[Entry]:
        """Yield the rows of a journal, as any reader does."""
        for row in super().rows(agent, after, check):
            self.pace.check()
            with self.pace.turn():
                yield row


def load(directory: Path, name: str, pace: Pace | None = None) -> Loaded:
    """Recover an agent from the disk, through a connection of its own; nothing is written.

    There is no connection while its task is made, since that may take long.
    """
    path, pace = directory / database.FILE, pace or Pace()
    while True:
        with database.errors(path), Reader.on(database.connect_to_read(path), path) as reader:
            record = reader.enrolled(name)
        pace.make(record.setup)
        with stoppable(pace.check):
            reopened = reopen(record.setup, record.face, {})
        pace.made()
        if reopened.changes:
            raise refusal(directory, reopened.changes)
        with database.errors(path), _Reader.on(database.connect_to_read(path), path) as moment, moment.at_one_moment():
            moment.pace = pace
            if moment.enrolled(name) == record:  # else it was created again meanwhile
                return Loaded(record, moment.replayed(reopened.setup, record), reopened.recorded)


class _Shared:
    """What all agents share that are loaded."""

    def __init__(self) -> None:
        self.turn = threading.Lock()  # held while a row of an agent that takes long is replayed
        self._long: dict[bytes, None] = {}  # the tasks that took long to make, the newest last
        self._lock = threading.Lock()

    def is_long(self, task: bytes) -> bool:
        """Return whether a task took long to make."""
        return task in self._long

    def note(self, task: bytes, is_long: bool) -> None:
        """Note whether a task took long to make."""
        with self._lock:
            self._long.pop(task, None)
            if is_long:
                self._long[task] = None
            if len(self._long) > MOST_KNOWN:
                del self._long[next(iter(self._long))]


class Load(Pace):
    """The loading of one of several agents: it may be stopped, and takes turns with others once it takes long.

    ``patient`` is one that has waited until it may make a task that takes long.
    """

    def __init__(self, shared: _Shared, patient: bool) -> None:
        self.result: Future[Loaded | None] = Future()
        """The agent; None if it is to be loaded again, by a load that is patient."""
        self.ready: Future[None] = Future()
        """Done when the task is made, or will not be."""
        self._shared, self._patient, self._is_slow, self._stopped = shared, patient, patient, False
        self._task, self._clock, self._began = b"", 0, 0.0

    @property
    def has_begun(self) -> bool:
        """Whether it has begun: until then nobody knows whether it takes long."""
        return bool(self._task)

    def make(self, setup: str) -> None:
        """Note that a task is made; if it is known to take long, only a patient load may."""
        self._clock = own_clock()
        self._began = clock_gettime(self._clock)
        self._task = task_of(setup)
        if not self._patient and self._shared.is_long(self._task):
            raise Stopped

    def made(self) -> None:
        """Note that the task is made; if that was quick this time, it is not known as one that takes long."""
        if self._spent < QUICK:
            self._shared.note(self._task, is_long=False)
        self.leave()

    def leave(self) -> None:
        """Let another task be made."""
        if not self.ready.done():
            self.ready.set_result(None)

    def turn(self) -> AbstractContextManager[object]:
        """Return what is held while a row is replayed."""
        return self._shared.turn if self._is_slow else nullcontext()

    def check(self) -> None:
        """Raise if the loading is to stop; one that is quick is not stopped, though it may take long on a busy day."""
        if self._stopped and self._spent >= QUICK:
            self._note_long()
            raise Stopped

    def _note_long(self) -> None:
        if not self.ready.done() and self._spent >= QUICK:
            self._shared.note(self._task, is_long=True)

    @property
    def _spent(self) -> float:
        """Seconds of the processor that it has used; any thread may ask."""
        try:
            return clock_gettime(self._clock) - self._began
        except OSError:  # its thread has ended
            return 0.0

    @property
    def is_idle(self) -> bool:
        """Whether it is to stop, and does not notice, since it has hardly used the processor."""
        return self._stopped and self._spent < QUICK

    def slow_down(self, room: bool) -> bool:
        """Take turns from now on; if a task is being made, or there is no room for more, stop, and return False."""
        self._note_long()
        self._is_slow, self._stopped = True, not (room and self.ready.done())
        return not self._stopped


def task_of(setup: str) -> bytes:
    """Return the digest of what makes the task and the design of a stored setup.

    Examples
    --------
    >>> one, other = '{"task": "tiger", "seed": 1, "retain": 5}', '{"task": "tiger", "seed": 2}'
    >>> task_of(one) == task_of(other)
    True
    >>> task_of(one) == task_of('{"task": "riverswim", "seed": 1}')
    False

    """
    document = json.loads(setup)
    made_of = [(key, document.get(key)) for key in KEYS if KEYS[key].change is None]
    return hashlib.sha256(json.dumps(made_of).encode()).digest()


def own_clock() -> int:
    """Return the clock of the processor time of this thread; where threads have none, that of the wall."""
    if hasattr(time, "pthread_getcpuclockid"):
        return time.pthread_getcpuclockid(threading.get_ident())
    return time.CLOCK_MONOTONIC


class Loader:
    """Loads agents, each in a thread of its own.  They do not delay the end of the process, however long they take."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._shared = _Shared()

    def load(self, name: str, patient: bool = False) -> Load:
        """Load an agent."""
        load = Load(self._shared, patient)
        try:
            threading.Thread(target=self._run, args=(name, load), name="loader", daemon=True).start()
        except RuntimeError as error:
            load.result.cancel()
            raise LiveError(f"agent {name}: it cannot be loaded now: {error}", agent=name) from None
        return load

    def _run(self, name: str, running: Load) -> None:
        future = running.result
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(load(self._directory, name, running))
        except Stopped:
            future.set_result(None)
        except Exception as error:
            future.set_exception(error)
        except BaseException as error:  # what would end a thread must not end the event loop
            future.set_exception(LiveError(f"agent {name}: loading it ended with {error!r}", agent=name))
        finally:
            running.leave()


class LoadingCommitter(Committer[Agents]):
    """The committer of a directory: a request for an agent that is not loaded waits until it is."""

    def __init__(self, directory: Path, limits: Limits, metrics: Metrics) -> None:
        super().__init__(lambda: Agents(directory, limits), waiting=limits.waiting, metrics=metrics)
        self._loader = Loader(directory)
        self._loads: dict[str, asyncio.Task[None]] = {}
        self._held = 0  # the number of requests that wait for agents
        self._places, self._slow = asyncio.Semaphore(PLACES), asyncio.Semaphore(MOST_SLOW)
        self._makers, self._idle = asyncio.Semaphore(MOST_MAKING), asyncio.Semaphore(MOST_IDLE)

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
        request = CURRENT.get()
        try:
            load = self._loads[name]
            async with nullcontext() if request is None else request.aside():
                await asyncio.wait([load], timeout=LONGEST)  # whoever leaves does not undo it for others
        finally:
            self._held -= 1
        if not load.done():
            raise Loading(f"the agent {name} is still being loaded; come again")
        load.result()

    async def _bring(self, name: str) -> None:
        loaded = await self._try(name) or await self._load_patiently(name)
        if self.keeper is not None and name in self.keeper.names and name not in self.keeper.cores:
            self.keeper.loaded[name] = loaded

    async def _try(self, name: str) -> Loaded | None:
        """Load an agent in a place; return None if it takes long, and is to begin again elsewhere."""
        async with AsyncExitStack() as slow:
            async with self._places:
                load = self._loader.load(name)
                result = asyncio.wrap_future(load.result)
                while not (await asyncio.wait([result], timeout=SLOW))[0] and not load.has_begun:
                    pass  # it keeps its place
                if not result.done() and load.slow_down(not self._slow.locked()):
                    await slow.enter_async_context(self._slow)
                while self._idle.locked() and load.is_idle and not (await asyncio.wait([result], timeout=SLOW))[0]:
                    pass  # it keeps its place: too many wait for the disk without one, and they cannot be stopped
                if load.is_idle and not self._idle.locked():
                    await slow.enter_async_context(self._idle)
            return await result

    async def _load_patiently(self, name: str) -> Loaded:
        """Load an agent that takes long, when it is one of the few that may make such tasks."""
        async with AsyncExitStack() as slow:
            async with self._makers:
                await slow.enter_async_context(self._slow)
                load = self._loader.load(name, patient=True)
                result = asyncio.wrap_future(load.result)
                await asyncio.wrap_future(load.ready)
            loaded = await result
        if loaded is None:  # nobody stops it
            raise LiveError(f"agent {name}: loading it was stopped", agent=name)
        return loaded

    def _end(self, name: str, task: asyncio.Task[None]) -> None:
        del self._loads[name]
        error = None if task.cancelled() else task.exception()
        if error is not None:
            line = str(error) if isinstance(error, EverlearnError) else repr(error)
            log(logging.ERROR, "agent cannot be opened", agent=name, error=line)
