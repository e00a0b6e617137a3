"""Agents are loaded when they are first asked for, in threads of their own, while the committer serves the others.

To load an agent is to make its task and to replay its journal.  Nobody writes to an agent that is not loaded, so a
thread with a connection of its own reads what is final.  Requests for the agent wait meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from concurrent.futures import Future
from pathlib import Path

from everlearn.durable import database
from everlearn.durable.changes import refusal, reopen
from everlearn.durable.reader import Reader
from everlearn.errors import EverlearnError, LiveError
from everlearn.service.agents import Agents, Loaded, Unloaded
from everlearn.service.committer import Busy, Committer, Unready
from everlearn.service.logs import log
from everlearn.service.metrics import Metrics
from everlearn.service.settings import Limits

THREADS = 2
"""The number of agents that are loaded at a time: one that takes long does not delay all the others."""


def load(directory: Path, name: str) -> Loaded:
    """Recover an agent from the disk, through a connection of its own; nothing is written."""
    path = directory / database.FILE
    with (
        database.errors(path),
        Reader.on(database.connect_to_read(path), path) as reader,
        reader.at_one_moment(),
    ):
        record = reader.enrolled(name)
        reopened = reopen(record.setup, record.face, {})
        if reopened.changes:
            raise refusal(directory, reopened.changes)
        return Loaded(record, reader.replayed(reopened.setup, record), reopened.recorded)


class Loader:
    """Threads that load agents.  They do not delay the end of the process, however long an agent takes."""

    def __init__(self, directory: Path, threads: int = THREADS) -> None:
        self._directory = directory
        self._queue: queue.SimpleQueue[tuple[str, Future[Loaded]] | None] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=self._run, name="loader", daemon=True) for _ in range(threads)]

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def load(self, name: str) -> Future[Loaded]:
        """Load an agent, after those that were asked for before it."""
        future: Future[Loaded] = Future()
        self._queue.put((name, future))
        return future

    def close(self) -> None:
        """Let the threads end, each after the agent that it is loading."""
        for _ in self._threads:
            self._queue.put(None)

    def _run(self) -> None:
        while (job := self._queue.get()) is not None:
            name, future = job
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(load(self._directory, name))
            except Exception as error:
                future.set_exception(error)
            except BaseException as error:  # what would end a thread must not end the event loop
                future.set_exception(LiveError(f"agent {name}: loading it ended with {error!r}"))


class LoadingCommitter(Committer[Agents]):
    """The committer of a directory: a request for an agent that is not loaded waits until it is."""

    def __init__(self, directory: Path, limits: Limits, metrics: Metrics) -> None:
        super().__init__(lambda: Agents(directory, limits), waiting=limits.waiting, metrics=metrics)
        self._loader = Loader(directory)
        self._loads: dict[str, asyncio.Task[None]] = {}
        self._held = 0  # the number of requests that wait for agents

    def start(self) -> None:
        """Start the threads and open the directory; an error there is raised here."""
        super().start()
        self._loader.start()

    def close(self) -> None:
        """Finish the waiting requests, then release everything."""
        super().close()
        self._loader.close()

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
            await asyncio.shield(self._loads[name])  # whoever leaves does not undo it for others
        finally:
            self._held -= 1

    async def _bring(self, name: str) -> None:
        loaded = await asyncio.wrap_future(self._loader.load(name))
        if self.keeper is not None and name in self.keeper.names and name not in self.keeper.cores:
            self.keeper.loaded[name] = loaded

    def _end(self, name: str, task: asyncio.Task[None]) -> None:
        del self._loads[name]
        error = None if task.cancelled() else task.exception()
        if error is not None:
            line = str(error) if isinstance(error, EverlearnError) else repr(error)
            log(logging.ERROR, "agent cannot be opened", agent=name, error=line)
