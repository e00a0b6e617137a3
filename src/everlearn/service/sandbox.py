"""The sandbox: what may take long is done in processes of their own, such as trying a setup before it is accepted.

A few processes are forked while the service has one thread.  For each trial they fork once more, with limits on memory
and processor time.  So a trial that hangs or takes all memory ends alone.  A module that a trial had to import is then
imported by the process that forked it, so that the next trials have it: to import SciPy takes longer than most trials.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import pickle
import queue
import resource
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from everlearn.durable.core import Core
from everlearn.durable.entry import Checkpoint
from everlearn.durable.setup import Setup
from everlearn.durable.trial import try_out, try_state
from everlearn.errors import EverlearnError, LiveError
from everlearn.service.logs import log
from everlearn.service.settings import Limits
from everlearn.service.setups import remote_setup

PROCESSES = 2
"""The number of trials at a time."""

WALL = 6
"""A trial may take this many times its processor time, since others may use the machine."""

PATIENCE = 1.0
"""After how many seconds the processes that have not ended by themselves are ended, with their trials."""

_TRIED, _UNTRIED, _COMPUTED = b"1", b"0", b"2"
"""How an answer begins: it was tried, and what follows is wrong; it could not be; or what follows was computed."""

_SLOW, _LARGE, _ENDED = b"3", b"4", b"5"
_LIMITS = {_TRIED: "", _SLOW: "seconds", _LARGE: "megabytes", _ENDED: "signal"}
"""How the answer begins if it was tried, took too long or too much memory, or ended by a signal; and what ended it."""

_LENGTH = struct.Struct("!Q")
_MEGABYTE = 1 << 20


class Refused(EverlearnError):  # noqa: N818 - reads as what it is
    """A setup or an agent state that could not be run; the message says why.

    ``ended_by`` is what ended the trial: ``seconds`` or ``megabytes``, of which it took too many, or a ``signal``.
    """

    def __init__(self, message: str, ended_by: str = "") -> None:
        super().__init__(message)
        self.ended_by = ended_by


class Untried(LiveError):  # noqa: N818 - reads as what it is
    """A setup or an agent state that could not be tried now; ``repeat`` says whether it may be later."""

    def __init__(self, message: str, *, repeat: bool = True) -> None:
        super().__init__(message)
        self.repeat = repeat


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
        self.ended: Callable[[], None] = lambda: None  # called when the last process has ended by itself
        self._idle: queue.SimpleQueue[_Process | None] = queue.SimpleQueue()
        self._processes: list[_Process] = []
        self._lost: set[_Process] = set()
        self._lock = threading.Lock()
        self._closed = False
        for _ in range(processes):
            process = _Process(limits, [other.connection for other in self._processes])
            self._processes.append(process)
            self._idle.put(process)

    def try_setup(self, document: dict[str, Any]) -> None:
        """Make the agent that a document of a request describes, and let it take some steps."""
        self.compute(_try_setup, document, self.limits)

    def try_state(self, setup: Setup, state: bytes) -> None:
        """Give an agent of this setup an agent state, and let it take some steps."""
        self.compute(_try_state, setup.document, state)

    def try_checkpoint(self, setup: Setup, checkpoint: Checkpoint) -> None:
        """Let an agent of this setup resume from a checkpoint, and take some steps."""
        self.compute(_try_checkpoint, setup.document, tuple(checkpoint))

    @property
    def alive(self) -> bool:
        """Whether a process is left; without one nothing is ever tried again."""
        return len(self._lost) < len(self._processes)

    def close(self) -> None:
        """End the processes, and what they try."""
        if self._closed:
            return
        self._closed = True
        self._idle.put(None)
        for process in self._processes:
            process.hang_up()
        ends = time.monotonic() + PATIENCE
        for process in self._processes:
            process.wait(ends)

    def compute(self, job: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a function of a module returns, a JSON document; its errors are :class:`Refused`."""
        process = self._idle.get()
        if process is None:
            self._idle.put(None)
            raise Untried("the sandbox has ended; start the service again", repeat=False)
        try:
            answer = process.ask(pickle.dumps((job, arguments)))
        except OSError:
            self._lose(process)
            raise Untried("a process of the sandbox has ended; repeat the request") from None
        self._idle.put(process)
        if answer[:1] == _COMPUTED:
            return json.loads(answer[1:])
        if answer[:1] not in _LIMITS:
            raise Untried(f"it cannot be tried now ({answer[1:].decode()}); repeat the request")
        if len(answer) > 1:
            raise Refused(answer[1:].decode(errors="replace"), _LIMITS[answer[:1]])
        return None

    def _lose(self, process: _Process) -> None:
        """Do without a process that has ended; without the last one, let nobody wait."""
        if self._closed:
            return
        process.kill()
        with self._lock:
            self._lost.add(process)
        log(logging.ERROR, "a process of the sandbox has ended", left=len(self._processes) - len(self._lost))
        if not self.alive:
            self._idle.put(None)
            self.ended()


def _try_setup(document: dict[str, Any], limits: Limits) -> None:
    try_out(Core(remote_setup(document, limits)))


def _try_state(document: dict[str, Any], state: bytes) -> None:
    try_state(Core(Setup(document)), state)


def _try_checkpoint(document: dict[str, Any], checkpoint: tuple[int, dict[str, Any], bytes]) -> None:
    core = Core(Setup(document))
    core.restore(Checkpoint(*checkpoint))
    try_out(core)


class _Process:
    """A process that forks for each trial, and the connection to it."""

    def __init__(self, limits: Limits, others: list[socket.socket]) -> None:
        self.connection, theirs = socket.socketpair()
        self.number = os.fork()
        if self.number == 0:
            try:
                for other in (self.connection, *others):  # else it would keep them open
                    other.close()
                _serve(theirs, limits)
            finally:  # whatever happens, it does not continue as another service
                os._exit(0)
        theirs.close()

    def ask(self, request: bytes) -> bytes:
        """Return whether it was tried, and what is wrong, if anything."""
        _send(self.connection, request)
        return _receive(self.connection)

    def hang_up(self) -> None:
        """Let the process end, and whoever waits for its answer."""
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
        self.connection.close()

    def wait(self, ends: float) -> None:
        """Wait for its end until a time, then end it and what it tries."""
        unreaped = os.WEXITED | os.WNOHANG | os.WNOWAIT  # so that its number stays its own
        with suppress(ChildProcessError):
            while os.waitid(os.P_PID, self.number, unreaped) is None and time.monotonic() < ends:
                time.sleep(0.002)
            self.kill()
            os.waitpid(self.number, 0)

    def kill(self) -> None:
        """End the process and what it tries; only before it was waited for."""
        with suppress(OSError):
            os.killpg(self.number, signal.SIGKILL)


def _serve(connection: socket.socket, limits: Limits) -> None:
    """Answer requests until the connection ends; signals that stop the service do not interrupt what it waits for."""
    os.setpgid(0, 0)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    with suppress(OSError):
        while True:
            request = _receive(connection)
            modules = b""
            try:
                modules, answer = _in_a_child(request, limits, connection)
            except OSError as error:  # such as too many processes
                answer = _UNTRIED + str(error.strerror).encode()
            _send(connection, answer)
            for name in modules.decode().split():
                with suppress(Exception):  # not every module can be imported by its name
                    importlib.import_module(name)


def _in_a_child(request: bytes, limits: Limits, connection: socket.socket) -> tuple[bytes, bytes]:
    """Return the modules that a child imported, and what it found wrong, or how it ended."""
    reading, writing = os.pipe()
    try:
        child = os.fork()
        if child == 0:
            _try(request, limits, (connection.fileno(), reading), writing)
    except OSError:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        modules, _, answer = pipe.read().partition(b"\n")
    _, status = os.waitpid(child, 0)
    return modules, _result(answer, os.waitstatus_to_exitcode(status), limits)


def _try(request: bytes, limits: Limits, inherited: tuple[int, ...], writing: int) -> NoReturn:
    """Try what is requested, write which modules that needed and what is wrong, and end."""
    try:
        there = len(sys.modules)
        for number in inherited:  # else nobody would notice that the process before this one has ended
            os.close(number)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _limit(limits)
        with os.fdopen(writing, "wb") as pipe:
            answer = _attempt(request, limits)
            pipe.write(" ".join([*sys.modules][there:]).encode() + b"\n" + answer)
        os._exit(0)
    finally:
        os._exit(os.EX_SOFTWARE)


def _result(answer: bytes, ended: int, limits: Limits) -> bytes:
    """Return the answer of a child that ended with an exit status, or by a signal (below zero)."""
    seconds = f"making and trying it takes more than {limits.trial_seconds:g} s"
    if ended in (-signal.SIGXCPU, -signal.SIGALRM):
        return _SLOW + f"{seconds}; make it smaller".encode()
    if ended == -signal.SIGKILL:  # by the limit of processor time, or by the system, for lack of memory
        return _SLOW + f"{seconds}, or more memory than there is; make it smaller".encode()
    if ended < 0:
        return _ENDED + f"trying it ended with {signal.Signals(-ended).name}; it cannot be accepted".encode()
    return answer if ended == 0 and answer else _UNTRIED + f"exit status {ended}".encode()


def _limit(limits: Limits) -> None:
    seconds = max(1, round(limits.trial_seconds))
    _lower(resource.RLIMIT_CPU, seconds, seconds + 1)
    signal.setitimer(signal.ITIMER_REAL, WALL * limits.trial_seconds)
    used = Path("/proc/self/statm")
    if used.exists():  # elsewhere memory is not limited
        pages = int(used.read_text().split()[0])
        most = pages * resource.getpagesize() + limits.trial_megabytes * _MEGABYTE
        _lower(resource.RLIMIT_AS, most, most)
    with suppress(OSError):  # where memory is short, the system ends this process and not the service
        Path("/proc/self/oom_score_adj").write_text("1000")


def _lower(kind: int, soft: int, hard: int) -> None:
    """Set a limit, or keep the one that there is, if that is lower."""
    _, most = resource.getrlimit(kind)
    if most != resource.RLIM_INFINITY:
        soft, hard = min(soft, most), min(hard, most)
    resource.setrlimit(kind, (soft, hard))


def _attempt(request: bytes, limits: Limits) -> bytes:
    """Return the answer to a request: what is wrong, or what was computed."""
    try:
        job, arguments = pickle.loads(request)  # noqa: S301 - from the process that forked this one
        result = job(*arguments)
        return _TRIED if result is None else _COMPUTED + json.dumps(result).encode()
    except MemoryError:
        return _LARGE + f"making and trying it takes more than {limits.trial_megabytes} MB; make it smaller".encode()
    except EverlearnError as error:
        wrong = " ".join(str(error).split())
    except Exception as error:
        wrong = f"trying it failed ({json.dumps(repr(error))})"
    return _TRIED + wrong.encode(errors="replace")[:4096]


def _send(connection: socket.socket, data: bytes) -> None:
    connection.sendall(_LENGTH.pack(len(data)))
    connection.sendall(data)


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
