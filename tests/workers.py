"""Run the tests in several processes that are forked after collection, as ``pytest -p tests.workers --workers 2`` does.

Tests are imported and collected once, for all workers.  A worker asks for a file, runs its tests, and sends reports of
them.  Files are handed out in the order in which they were collected, and each file runs in one process.  All tests
that need a browser run in one process, too, so that only one is started.
"""

from __future__ import annotations

import os
import signal
import threading
import traceback
import warnings
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any, NoReturn

import pytest

from tests.boundary.zygote import leave

File = list[pytest.Item]
"""The tests of one file."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the number of workers be said."""
    parser.addoption("--workers", type=int, default=1, help="run the tests in this many processes")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the tests in workers, unless there is one, or nothing to run."""
    config = session.config
    if config.option.workers < 2 or config.option.collectonly or session.testsfailed:
        return None
    if threading.active_count() > 1:
        raise RuntimeError(f"a process with threads must not be forked: {threading.enumerate()}")
    files: dict[str, File] = {}
    for item in session.items:
        shared = "browser" in getattr(item, "fixturenames", ())
        files.setdefault("browser" if shared else item.nodeid.partition("::")[0], []).append(item)
    Controller(session, list(files.values())).run(config.option.workers)
    return True


class Controller:
    """Hands out files, and passes on what the workers report."""

    def __init__(self, session: pytest.Session, files: list[File]) -> None:
        self.session, self.files = session, files
        self.next_file = 0
        self.workers: dict[Connection, int] = {}
        self.assigned: dict[Connection, list[int]] = {}
        self.finished: set[str] = set()
        self.errors: list[str] = []

    def run(self, workers: int) -> None:
        """Run all files; return when all workers have ended."""
        config: Any = self.session.config
        config._tmp_path_factory.getbasetemp()  # made before the workers, which have folders in it
        try:
            for number in range(min(workers, len(self.files))):
                self.start(number)
            while self.workers:
                for connection in wait(list(self.workers)):
                    assert isinstance(connection, Connection)
                    self.receive(connection)
            for file in self.files[self.next_file :]:
                self.fail(file, "no worker was left")
            if self.errors:
                self.session.shouldfail = "\n".join(self.errors)
                raise self.session.Failed(self.session.shouldfail)
        finally:
            for process in self.workers.values():
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGINT)
                os.waitpid(process, 0)

    def start(self, number: int) -> None:
        """Fork a worker."""
        ours, theirs = Pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads that pyarrow's allocator stops for a fork
            process = os.fork()
        if process == 0:
            for connection in (ours, *self.workers):
                connection.close()
            Worker(self.session, self.files, theirs).run(number)
        theirs.close()
        self.workers[ours], self.assigned[ours] = process, []

    def receive(self, connection: Connection) -> None:
        """Answer a message of a worker: the reports of a test, an error, or None to ask for a file."""
        try:
            message = connection.recv()
        except (EOFError, ConnectionError):
            self.ended(connection)
            return
        if message is None:
            try:
                self.hand_out(connection)
            except ConnectionError:  # it died meanwhile; the file is for another
                self.ended(connection)
        elif isinstance(message, str):
            self.errors.append(message)
        else:
            self.report(message)

    def hand_out(self, connection: Connection) -> None:
        """Send the number of the next file to a worker, or None if there is none."""
        if self.next_file == len(self.files):
            connection.send(None)
            return
        connection.send(self.next_file)
        self.assigned[connection].append(self.next_file)
        self.next_file += 1

    def report(self, reports: list[dict[str, Any]]) -> None:
        """Pass on the reports of a test; stop if that was enough."""
        config = self.session.config
        for data in reports:
            report = config.hook.pytest_report_from_serializable(config=config, data=data)
            config.hook.pytest_runtest_logreport(report=report)
        self.finished.add(report.nodeid)
        if self.session.shouldfail:
            raise self.session.Failed(self.session.shouldfail)
        if self.session.shouldstop:
            raise self.session.Interrupted(self.session.shouldstop)

    def ended(self, connection: Connection) -> None:
        """Let the tests fail that a worker had been given and did not finish."""
        _, status = os.waitpid(self.workers.pop(connection), 0)
        for number in self.assigned[connection]:
            left = [item for item in self.files[number] if item.nodeid not in self.finished]
            self.fail(left, "the worker that ran it died")
        if status:
            self.errors.append(f"a worker ended with status {os.waitstatus_to_exitcode(status)}")

    def fail(self, items: File, reason: str) -> None:
        """Report tests as failed."""
        for item in items:
            report = pytest.TestReport(item.nodeid, item.location, {}, "failed", reason, "call")
            self.session.config.hook.pytest_runtest_logreport(report=report)


class Worker:
    """Runs files in a forked process."""

    def __init__(self, session: pytest.Session, files: list[File], connection: Connection) -> None:
        self.session, self.files, self.connection = session, files, connection
        self.reports: list[Any] = []

    def run(self, number: int) -> NoReturn:
        """Run files until there are none, and end the process."""
        status = 1
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it in what it runs in the background
        try:
            self.prepare(number)
            items = self.items()
            item = next(items, None)
            while item is not None:
                following = next(items, None)  # asked for before an item ends, so that the fixtures of a session stay
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                item = following
            self.session.config._ensure_unconfigure()
            status = 0
        except KeyboardInterrupt:
            status = 2
        except BaseException:
            self.connection.send(traceback.format_exc())
        finally:
            leave(status)

    def prepare(self, number: int) -> None:
        """Give this process its own temporary files and its own captured output; report to the controller."""
        config: Any = self.session.config
        folder = config._tmp_path_factory.getbasetemp() / f"worker{number}"
        folder.mkdir()
        config._tmp_path_factory._basetemp = folder
        config.pluginmanager.unregister(name="terminalreporter")
        capture = config.pluginmanager.getplugin("capturemanager")
        capture.stop_global_capturing()
        capture.start_global_capturing()
        config.pluginmanager.register(self)

    def items(self) -> Iterator[pytest.Item]:
        """Yield the tests of one file after the other."""
        while True:
            self.connection.send(None)
            if (number := self.connection.recv()) is None:
                return
            yield from self.files[number]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Send the reports of a test to the controller, after the last of them."""
        config = self.session.config
        self.reports.append(config.hook.pytest_report_to_serializable(config=config, report=report))
        if report.when == "teardown":
            self.connection.send(self.reports)
            self.reports = []
