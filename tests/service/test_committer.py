"""The committer alone: groups, order, failures, back-pressure, the end."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from itertools import chain
from typing import Any

import pytest

from everlearn.errors import LiveError, StoreFull
from everlearn.service.committer import Busy, Committer, Prepared
from everlearn.service.metrics import Metrics
from tests.refusal import has


class Book:
    """A keeper that writes to a list, slowly if told to, and refuses what is marked as bad."""

    def __init__(self) -> None:
        self.transactions: list[list[Any]] = []
        self.writing = False
        self.gate = threading.Event()
        self.gate.set()
        self.closed = False

    def append(self, entries: list[Any]) -> None:
        self.writing = True
        self.gate.wait()
        if "bad" in entries:
            raise ValueError("bad entry")
        self.transactions.append(entries)

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def book():
    return Book()


@pytest.fixture
def committer(book):
    made = Committer(lambda: book, waiting=8, metrics=Metrics())
    made.start()
    yield made
    book.gate.set()
    made.close()


async def until(condition) -> None:
    """Wait until something is so; a test that waits for ever is ended by whoever runs it."""
    while not condition():
        await asyncio.sleep(0.001)


def writing(entry: Any):
    return lambda _book: Prepared(entry, lambda: f"wrote {entry}")


def test_what_waits_while_the_disk_works_is_one_transaction(book, committer):
    async def ask():
        book.gate.clear()
        first = asyncio.create_task(committer.do("a0", writing(0)))
        await until(lambda: book.writing)
        others = [asyncio.create_task(committer.do(f"a{n}", writing(n))) for n in range(1, 6)]
        await until(lambda: committer.waiting == 5)
        book.gate.set()
        return await asyncio.gather(first, *others)

    assert asyncio.run(ask()) == [f"wrote {n}" for n in range(6)]
    assert book.transactions == [[0], [1, 2, 3, 4, 5]]
    assert (committer.metrics.commits, committer.metrics.rows) == (2, 6)


def test_one_agent_has_one_entry_in_a_transaction_and_keeps_its_order(book, committer):
    async def ask():
        book.gate.clear()
        tasks = [asyncio.create_task(committer.do("same", writing(n))) for n in range(5)]
        await until(lambda: book.writing)
        book.gate.set()
        await asyncio.gather(*tasks)

    asyncio.run(ask())
    assert book.transactions == [[0], [1], [2], [3], [4]]


def test_a_bad_entry_fails_its_own_request_only(book, committer):
    async def ask():
        book.gate.clear()
        first = asyncio.create_task(committer.do("a", writing("x")))
        await until(lambda: book.writing)
        tasks = [asyncio.create_task(committer.do(name, writing(name))) for name in ("b", "bad", "c")]
        await until(lambda: committer.waiting == 3)
        book.gate.set()
        return await asyncio.gather(first, *tasks, return_exceptions=True)

    _, b, bad, c = asyncio.run(ask())
    assert (b, c) == ("wrote b", "wrote c")
    assert isinstance(bad, ValueError)
    assert list(chain(*book.transactions)) == ["x", "b", "c"]
    assert committer.metrics.failed_commits == 1


def test_work_that_raises_fails_its_own_request_only(committer):
    async def ask():
        return await asyncio.gather(
            committer.do("a", lambda _book: 1 / 0), committer.do("b", lambda _book: "fine"), return_exceptions=True
        )

    failed, fine = asyncio.run(ask())
    assert isinstance(failed, ZeroDivisionError)
    assert fine == "fine"


def test_more_than_may_wait_are_told_to_come_again(book, committer):
    async def ask():
        book.gate.clear()
        first = asyncio.create_task(committer.do("a", writing(0)))
        await until(lambda: book.writing)
        tasks = [asyncio.create_task(committer.do("a", writing(n))) for n in range(1, 12)]
        await until(lambda: sum(task.done() for task in tasks) == 3)
        assert committer.waiting == 8
        book.gate.set()
        return await asyncio.gather(first, *tasks, return_exceptions=True)

    answers = asyncio.run(ask())
    assert sum(isinstance(answer, Busy) for answer in answers) == 3
    assert committer.metrics.refused == 3
    assert len(list(chain(*book.transactions))) == 9


def test_the_loop_goes_on_while_the_disk_works(book, committer):
    async def ask():
        book.gate.clear()
        task = asyncio.create_task(committer.do("a", writing(0)))
        await until(lambda: book.writing)
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert not task.done()
        book.gate.set()
        return await task

    assert asyncio.run(ask()) == "wrote 0"


def test_closing_finishes_what_waits_and_takes_no_more(book):
    made = Committer(lambda: book, waiting=8, metrics=Metrics())
    made.start()

    async def ask():
        book.gate.clear()
        tasks = [asyncio.create_task(made.do(f"a{n}", writing(n))) for n in range(4)]
        await until(lambda: book.writing)
        closing = asyncio.create_task(asyncio.to_thread(made.close))
        await until(lambda: made._closing.is_set())
        with pytest.raises(Busy):
            await made.do("b", writing(9))
        book.gate.set()
        await closing
        return await asyncio.gather(*tasks)

    assert asyncio.run(ask()) == [f"wrote {n}" for n in range(4)]
    assert book.closed
    assert list(chain(*book.transactions)) == [0, 1, 2, 3]


def test_whoever_leaves_does_not_undo_what_was_asked(book, committer):
    async def ask():
        book.gate.clear()
        task = asyncio.create_task(committer.do("a", writing("kept")))
        await until(lambda: book.writing)
        task.cancel()
        book.gate.set()
        return await committer.do("a", writing("next"))

    assert asyncio.run(ask()) == "wrote next"
    assert book.transactions == [["kept"], ["next"]]


def test_what_cannot_be_opened_is_said_at_the_start():
    def failing():
        raise FileNotFoundError("nothing there")

    with pytest.raises(FileNotFoundError, check=has(args=("nothing there",))):
        Committer(failing, waiting=1, metrics=Metrics()).start()


def test_a_thread_that_ends_lets_nobody_wait(book, caplog):
    """Not an error of one request, such as the end of memory: everybody is told, and nobody is let in any more."""
    made = Committer(lambda: book, waiting=8, metrics=Metrics())
    made.start()

    def ending(_book):
        raise SystemExit

    async def ask():
        tasks = [made.do("a", ending), *(made.do(f"b{n}", writing(n)) for n in range(3))]
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(answer, Busy) for answer in done)
        with pytest.raises(Busy):
            await made.do("a", writing(9))

    asyncio.run(ask())
    made.close()
    assert not made.alive
    assert not made.ready
    assert book.closed
    assert "the committer has ended" in caplog.text


@pytest.mark.parametrize(
    ("error", "cause", "ready"),
    [
        (ValueError("bad entry"), None, True),
        (LiveError("UNIQUE constraint failed"), sqlite3.IntegrityError(), True),
        (LiveError("disk I/O error"), sqlite3.OperationalError(), False),
        (LiveError("Input/output error"), OSError(), False),
        (StoreFull("the disk is full"), None, False),
    ],
)
def test_only_errors_of_the_disk_make_it_unready(book, committer, error, cause, ready):
    append = book.append
    error.__cause__ = cause

    def fail(_entries):
        raise error

    async def ask():
        book.append = fail
        with pytest.raises(type(error)):
            await committer.do("a", writing(1))
        assert committer.ready is ready
        book.append = append
        await committer.do("a", writing(2))
        assert committer.ready

    asyncio.run(ask())
