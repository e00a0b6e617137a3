"""The sandbox: setups and agent states are tried in processes of their own before the service accepts them.

A few processes are forked while the service has one thread.  For each trial they fork once more, with limits on memory
and processor time.  So a trial that hangs or takes all memory ends alone.
"""

from __future__ import annotations

import json
import os
import pickle
import queue
import resource
import signal
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from everlearn.durable.core import Core
from everlearn.durable.setup import Setup
from everlearn.durable.trial import try_out, try_state
from everlearn.errors import EverlearnError, LiveError
from everlearn.service.settings import Limits
from everlearn.service.setups import remote_setup

PROCESSES = 2
"""The number of trials at a time."""

WALL = 6
"""A trial may take this many times its processor time, since others may use the machine."""

_LENGTH = struct.Struct("!Q")
_MEGABYTE = 1 << 20


class Refused(EverlearnError):  # noqa: N818 - reads as what it is
    """A setup or an agent state that could not be run; the message says why."""


class Sandbox:
    """Tries setups and agent states; any thread may use it.

    Create it before the first thread is started, since it forks.

    Examples
    --------
    >>> sandbox = Sandbox(Limits(), processes=1)
    >>> sandbox.try_setup({"task": "service-station"})
    >>> sandbox.try_setup({"task": "service-station", "agent": "tsde", "parameters": {"agent.sweeps": 0}})
    Traceback (most recent call last):
    ...
    everlearn.service.sandbox.Refused: agent.sweeps: 0; ...
    >>> sandbox.close()

    """

    def __init__(self, limits: Limits, processes: int = PROCESSES) -> None:
        self.limits = limits
        self._idle: queue.SimpleQueue[_Process | None] = queue.SimpleQueue()
        self._processes: list[_Process] = []
        for _ in range(processes):
            process = _Process(limits, [other.connection for other in self._processes])
            self._processes.append(process)
            self._idle.put(process)

    def try_setup(self, document: dict[str, Any]) -> None:
        """Make the agent that a document of a request describes, and let it take some steps."""
        self._run(_try_setup, document, self.limits)

    def try_state(self, setup: Setup, state: bytes) -> None:
        """Give an agent of this setup an agent state, and let it take some steps."""
        self._run(_try_state, setup.document, state)

    def close(self) -> None:
        """End the processes."""
        for process in self._processes:
            process.close()

    def _run(self, job: Callable[..., None], *arguments: Any) -> None:
        process = self._idle.get()
        if process is None:
            self._idle.put(None)
            raise LiveError("the sandbox has ended; start the service again")
        try:
            answer = process.ask(pickle.dumps((job, arguments)))
        except OSError:
            self._idle.put(None)
            raise LiveError("the sandbox has ended; start the service again") from None
        self._idle.put(process)
        if answer:
            raise Refused(answer)


def _try_setup(document: dict[str, Any], limits: Limits) -> None:
    try_out(Core(remote_setup(document, limits)))


def _try_state(document: dict[str, Any], state: bytes) -> None:
    try_state(Core(Setup(document)), state)


class _Process:
    """A process that forks for each trial, and the connection to it."""

    def __init__(self, limits: Limits, others: list[socket.socket]) -> None:
        self.connection, theirs = socket.socketpair()
        self.number = os.fork()
        if self.number == 0:
            for other in (self.connection, *others):  # else it would keep them open
                other.close()
            _serve(theirs, limits)
        theirs.close()

    def ask(self, request: bytes) -> str:
        """Return what is wrong, or nothing."""
        _send(self.connection, request)
        return _receive(self.connection).decode()

    def close(self) -> None:
        """End the process."""
        self.connection.close()
        with suppress(ChildProcessError):
            os.waitpid(self.number, 0)


def _serve(connection: socket.socket, limits: Limits) -> NoReturn:
    """Answer requests until the connection ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):
        while True:
            _send(connection, _in_a_child(_receive(connection), limits))
    os._exit(0)


def _in_a_child(request: bytes, limits: Limits) -> bytes:
    """Return what a child found wrong, or how it ended."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _limit(limits)
        os.write(writing, _attempt(request, limits)[:4096])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    ended = os.waitstatus_to_exitcode(status)
    if ended in (-signal.SIGXCPU, -signal.SIGALRM, -signal.SIGKILL):
        return f"making and trying it takes more than {limits.trial_seconds:g} s; make it smaller".encode()
    return answer if ended == 0 else f"trying it ended with {_ending(ended)}; it cannot be accepted".encode()


def _ending(status: int) -> str:
    return f"exit status {status}" if status > 0 else signal.Signals(-status).name


def _limit(limits: Limits) -> None:
    seconds = max(1, round(limits.trial_seconds))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    signal.setitimer(signal.ITIMER_REAL, WALL * limits.trial_seconds)
    used = Path("/proc/self/statm")
    if used.exists():  # elsewhere memory is not limited
        pages = int(used.read_text().split()[0])
        most = pages * resource.getpagesize() + limits.trial_megabytes * _MEGABYTE
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _attempt(request: bytes, limits: Limits) -> bytes:
    try:
        job, arguments = pickle.loads(request)  # noqa: S301 - from the process that forked this one
        job(*arguments)
    except MemoryError:
        return f"making and trying it takes more than {limits.trial_megabytes} MB; make it smaller".encode()
    except EverlearnError as error:
        return " ".join(str(error).split()).encode()
    except Exception as error:
        return f"trying it failed ({json.dumps(repr(error))})".encode()
    return b""


def _send(connection: socket.socket, data: bytes) -> None:
    connection.sendall(_LENGTH.pack(len(data)) + data)


def _receive(connection: socket.socket) -> bytes:
    (length,) = _LENGTH.unpack(_read(connection, _LENGTH.size))
    return _read(connection, length)


def _read(connection: socket.socket, length: int) -> bytes:
    parts = []
    while length:
        part = connection.recv(min(length, _MEGABYTE))
        if not part:
            raise ConnectionResetError
        parts.append(part)
        length -= len(part)
    return b"".join(parts)
