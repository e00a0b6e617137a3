"""One shard: a process that serves the agents of its directory on connections that are handed over to it."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import select
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from everlearn.durable import notes
from everlearn.durable.database import is_begun
from everlearn.errors import LiveError
from everlearn.service import logs
from everlearn.service.large import Room
from everlearn.service.loading import LoadingCommitter
from everlearn.service.logs import log
from everlearn.service.placement import Placement
from everlearn.service.relay import Relay
from everlearn.service.sandbox import Sandbox
from everlearn.service.serve import Server, attend
from everlearn.service.settings import Settings

UNREAD = 10.0
"""Seconds that a shard waits for the front to read what it reports."""

TOGETHER = 64
"""How many connections are taken over before the event loop has its turn."""


@dataclass(frozen=True)
class Place:
    """The place of a shard among the others.

    Parameters
    ----------
    number:
        its number, from 0
    directory:
        its directory
    inbox:
        the socket from which it takes connections, and through which it reports to the front
    channels:
        for each shard, the other end of its inbox
    lifeline:
        a descriptor that can be read when the front has ended

    """

    number: int
    directory: Path
    inbox: socket.socket
    channels: Sequence[socket.socket]
    lifeline: int

    def report(self, **what: object) -> None:
        """Tell the front something, in one line; if it has ended, nobody needs to know.

        The whole line is sent, even if the front has not yet read what was sent before.
        """
        line = json.dumps(what).encode() + b"\n"
        room = select.poll()
        room.register(self.inbox, select.POLLOUT)
        with suppress(OSError):
            while line and room.poll(UNREAD * 1_000):
                line = line[self.inbox.send(line) :]


class ShardServer(Server):
    """A server that listens nowhere, and takes over connections."""

    def __init__(self, config: uvicorn.Config, began: Callable[[], None], place: Place) -> None:
        super().__init__(config, began)
        self._place = place
        self._tasks: set[asyncio.Task[object]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Take connections from now on; stop when the front has ended."""
        await super().startup(sockets)
        loop = asyncio.get_running_loop()
        loop.add_reader(self._place.inbox, self._take)
        loop.add_reader(self._place.lifeline, self._orphaned)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more connections, and stop in order."""
        asyncio.get_running_loop().remove_reader(self._place.inbox)
        await super().shutdown(sockets)

    def _take(self) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(TOGETHER):
            try:
                _, descriptors, *_ = socket.recv_fds(self._place.inbox, 1, 1)
            except BlockingIOError:
                return
            for descriptor in descriptors:
                connection = socket.socket(fileno=descriptor)
                connection.setblocking(False)
                task = loop.create_task(loop.connect_accepted_socket(self._protocol, connection))
                self._tasks.add(task)
                task.add_done_callback(self._taken)

    def _taken(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log(logging.WARNING, "a connection could not be taken over", error=repr(error))

    def _protocol(self) -> asyncio.Protocol:
        make: Callable[..., asyncio.Protocol] = self.config.http_protocol_class
        return make(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)

    def _orphaned(self) -> None:
        asyncio.get_running_loop().remove_reader(self._place.lifeline)
        log(logging.ERROR, "the process in front has ended, and this one stops")
        self.handle_exit(signal.SIGTERM, None)


def serve_shard(place: Place, placement: Placement, settings: Settings) -> None:
    """Serve the agents of one shard until a signal, or until the front has ended."""
    logs.CONTEXT["shard"] = place.number
    if not is_begun(place.directory):  # else an empty one would be begun in its place
        raise LiveError("the shard is gone; put it back, or a backup", place.directory)
    sandbox = Sandbox(settings.limits)  # before any thread is started
    for end in (place.inbox, *place.channels):
        end.setblocking(False)
    os.set_blocking(place.lifeline, False)

    def put(name: str, to: str) -> None:
        """Note where an agent is that has come, or gone to another shard; what went further is still asked for here."""
        shard = int(to.removeprefix("shard-")) if to.startswith("shard-") else place.number
        placement.put(name, shard)
        place.report(placed={name: shard})

    def around(app: ASGIApp, committer: LoadingCommitter) -> ASGIApp:
        agents = committer.opened
        for name in agents.names - agents.leaving.keys():  # another shard may own one that is leaving
            placement.put(name, place.number)
        for name, note in agents.moved.items():
            if note["to"] != notes.UNKNOWN:  # lay_out has looked whether another shard has it
                put(name, note["to"])
        agents.placed, agents.shards = put, placement.shards
        rooms = {path: Room(committer, settings.limits.patience) for path in ("/v1/agents", "/metrics")}
        return Relay(app, place.number, placement, place.channels, rooms)

    def make(config: uvicorn.Config) -> Server:
        return ShardServer(config, lambda: place.report(ready=True), place)

    with closing(sandbox):
        attend(place.directory, settings, sandbox, make, [], around)
