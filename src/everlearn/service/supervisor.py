"""Start the shards, start again those that end, and stop them in order; meanwhile be their front."""

from __future__ import annotations

import json
import logging
import os
import selectors
import signal
import socket
import time
from contextlib import closing, suppress
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from everlearn._version import __version__
from everlearn.durable.layout import shard_directory
from everlearn.errors import EverlearnError, LiveError
from everlearn.files import make_folder, refuse_unwritable
from everlearn.locks import working
from everlearn.service.front import Front, refuse
from everlearn.service.logs import log
from everlearn.service.placement import Placement, adopt_store, lay_out
from everlearn.service.serve import LAST, address, bind, warn_of_tokens
from everlearn.service.settings import Settings
from everlearn.service.shard import Place, serve_shard

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 10.0
"""Seconds before a shard is started again; twice as long each time that it ends before it was ready."""


class Shard:
    """A shard as the front sees it.

    The front keeps both ends of the channel, so that connections that were handed over to a shard which has ended wait
    for the next process.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.channel, self.inbox = socket.socketpair()
        self.channel.setblocking(False)
        self.process = 0  # its process, if there is one
        self.ready = False
        self.failures = 0  # how often it has ended since it was last ready
        self.due = 0.0  # when it is to be started
        self.error = ""  # why it could not start
        self._unread = b""

    @property
    def down(self) -> bool:
        """Whether it could not be started again, so that nobody should wait for it."""
        return self.failures > 1

    def reports(self) -> list[dict[str, Any]]:
        """Return what it has reported since the last call; what cannot be read must not end the front."""
        with suppress(BlockingIOError):
            while True:
                self._unread += self.channel.recv(1 << 16)
        *lines, self._unread = self._unread.split(b"\n")
        reports = []
        for line in lines:
            try:
                reports.append(dict(json.loads(line)))
            except (TypeError, ValueError):
                log(logging.ERROR, "a report of a shard cannot be read", shard=self.number, report=repr(line[:200]))
        return reports

    def end(self) -> None:
        """Note that its process has ended; what the next one reports does not continue an unfinished line."""
        self.process, self.ready, self._unread = 0, False, b""

    def give(self, connection: socket.socket) -> bool:
        """Hand a connection over, unless too many wait already."""
        try:
            socket.send_fds(self.channel, [b"+"], [connection.fileno()])
        except OSError:
            return False
        return True

    def refuse_all(self) -> None:
        """Refuse the connections that wait for a process that cannot be started."""
        self.inbox.setblocking(False)
        with suppress(BlockingIOError):
            while True:
                for descriptor in socket.recv_fds(self.inbox, 1, 1)[1]:
                    with socket.socket(fileno=descriptor) as connection:
                        refuse(connection)


class Supervisor:
    """The process in front of the shards."""

    def __init__(self, directory: Path, settings: Settings, placement: Placement, listener: socket.socket) -> None:
        self.directory, self.settings, self.placement, self.listener = directory, settings, placement, listener
        self.shards = [Shard(number) for number in range(placement.shards)]
        self.front = Front(listener, placement, settings.limits, self._give)
        self.lifeline, self._alive = os.pipe()
        self._serving = self._stopping = False
        self._turn = 0
        self._wake, waking = socket.socketpair()
        for end in (self._wake, waking):
            end.setblocking(False)
        self._waking = waking
        self.front.selector.register(self._wake, selectors.EVENT_READ, lambda: self._wake.recv(1 << 10))
        for shard in self.shards:
            self.front.selector.register(shard.channel, selectors.EVENT_READ, lambda shard=shard: self._read(shard))

    def run(self) -> None:
        """Serve until SIGTERM or SIGINT; raise if a shard cannot start at first."""
        signal.set_wakeup_fd(self._waking.fileno())
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        signal.signal(signal.SIGHUP, lambda number, _: self._signal(number))
        signal.signal(signal.SIGCHLD, lambda *_: None)  # it wakes the loop
        try:
            while not self._stopping:
                self._start_due()
                for key, _ in self.front.selector.select(self._patience()):
                    key.data()
                self.front.expire()
                self._reap()
        finally:
            self.front.close()
            self._end_all()

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stopping = True

    def _signal(self, number: int) -> None:
        for shard in self.shards:
            if shard.process:
                os.kill(shard.process, number)

    def _patience(self) -> float | None:
        waits = [shard.due - time.monotonic() for shard in self.shards if not shard.process]
        waits += [wait for wait in (self.front.patience,) if wait is not None]
        return max(0.0, min(waits)) if waits else None

    def _give(self, connection: socket.socket, number: int | None) -> bool:
        """Hand a connection over to a shard; if it may be any, to one that is ready, each in turn."""
        if number is None:
            self._turn += 1
            turns = [self.shards[(self._turn + n) % len(self.shards)] for n in range(len(self.shards))]
            shard = next((shard for shard in turns if shard.ready), turns[0])
        else:
            shard = self.shards[number]
        return not shard.down and shard.give(connection)

    def _start_due(self) -> None:
        for shard in self.shards:
            if not shard.process and shard.due <= time.monotonic():
                self._fork(shard)

    def _fork(self, shard: Shard) -> None:
        shard.process = os.fork()
        if shard.process == 0:
            self._be(shard)

    def _be(self, shard: Shard) -> NoReturn:
        """Be a shard, in the child, and end."""
        status = 1
        place = Place(
            shard.number,
            shard_directory(self.directory, shard.number),
            shard.inbox,
            [other.channel for other in self.shards],
            self.lifeline,
        )
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            self.front.release()
            os.close(self._alive)
            serve_shard(place, self.placement, self.settings)
            status = 0
        except BaseException as error:
            place.report(error=str(error) if isinstance(error, EverlearnError) else repr(error))
        finally:
            os._exit(status)

    def _read(self, shard: Shard) -> None:
        for report in shard.reports():
            if report.get("ready"):
                shard.ready, shard.failures = True, 0
            shard.error = report.get("error", shard.error)
            for name, number in report.get("placed", {}).items():
                self.placement.put(name, number)
        if not self._serving and all(shard.ready for shard in self.shards):
            self._listen()

    def _listen(self) -> None:
        self._serving = True
        self.front.listen()
        fields = {**address(self.listener), "data": str(self.directory), "version": __version__}
        log(logging.INFO, "serving", shards=len(self.shards), **fields)

    def _reap(self) -> None:
        for shard in self.shards:
            if shard.process and (ended := os.waitpid(shard.process, os.WNOHANG))[0]:
                self._ended(shard, os.waitstatus_to_exitcode(ended[1]))

    def _ended(self, shard: Shard, status: int) -> None:
        shard.error = ""
        self._read(shard)
        process = shard.process
        shard.end()
        if self._stopping:
            return
        if not self._serving:
            raise LiveError(shard.error or f"shard {shard.number} ended with status {status}; the log says why")
        pause = min(FIRST_PAUSE * 2**shard.failures, LONGEST_PAUSE)
        shard.failures += 1
        shard.due = time.monotonic() + pause
        if shard.down:
            shard.refuse_all()
        fields = {"shard": shard.number, "process": process, "status": status, "error": shard.error, "again_in": pause}
        log(logging.ERROR, "a shard has ended, and is started again", **fields)

    def _end_all(self) -> None:
        """Stop the shards, and wait for them; after a while, kill them."""
        self._stopping = True
        self._signal(signal.SIGTERM)
        ends = time.monotonic() + LAST + 5
        while any(shard.process for shard in self.shards):
            self._reap()
            if time.monotonic() > ends:
                self._signal(signal.SIGKILL)
            time.sleep(0.005)


def serve_shards(directory: Path, settings: Settings, shards: int) -> None:
    """Serve the agents of a directory with several processes, on one address, until SIGTERM or SIGINT."""
    refuse_unwritable(directory)
    with bind(settings.host, settings.port) as listener:
        make_folder(directory, 0o700)
        adopt_store(directory)
        with working(directory):
            placement = lay_out(directory, shards)
            warn_of_tokens(settings, listener)
            supervisor = Supervisor(directory, settings, placement, listener)
            with closing(supervisor.front):
                supervisor.run()
