"""Few large bodies are worked on at a time, and none of them keeps others waiting while its agent is loaded."""

from __future__ import annotations

import asyncio

import pytest

from everlearn.service.committer import Busy
from everlearn.service.guard import MOST_LARGE, SMALL, Guard
from everlearn.service.identity import CURRENT
from everlearn.service.metrics import Metrics
from everlearn.service.protocol import ARRIVED
from everlearn.service.settings import Settings

CHUNKED = (b"transfer-encoding", b"chunked")


class Guarded:
    """A guard whose application calls a function with how many large bodies are worked on, and a way to ask it."""

    def __init__(self, work) -> None:
        async def app(scope, _receive, _send):
            self.body = scope[ARRIVED]
            await work(self)

        self.guard = Guard(app, Settings(), Metrics(), lambda _method, _path: (None, None))

    @property
    def taken(self) -> int:
        return MOST_LARGE - self.guard._large._value

    async def ask(self, body: bytes, *headers: tuple[bytes, bytes]) -> None:
        head = [(b"host", b"localhost"), *(headers or ((b"content-length", b"%d" % len(body)),))]
        address = {"server": ("", 1), "client": ("", 1)}
        self.scope = {"type": "http", "method": "POST", "path": "/", "headers": head, **address}

        async def receive():
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(_message):
            pass

        await self.guard(self.scope, receive, send)


@pytest.mark.parametrize("headers", [(), (CHUNKED,)])
@pytest.mark.parametrize(("size", "taken"), [(SMALL - 1, 0), (SMALL, 1)])
def test_only_a_body_that_is_large_counts_as_one(size, taken, headers):
    seen = []

    async def work(guarded):
        seen.append(guarded.taken)

    guarded = Guarded(work)
    asyncio.run(guarded.ask(b" " * size, *headers))
    assert (seen, guarded.taken) == ([taken], 0)


@pytest.mark.parametrize("size", [SMALL - 1, SMALL])
def test_a_body_is_forgotten_with_its_answer(size):
    """A connection that is idle keeps the scope of its last request."""

    async def work(_guarded):
        pass

    guarded = Guarded(work)
    asyncio.run(guarded.ask(b" " * size))
    assert guarded.body == b" " * size
    assert ARRIVED not in guarded.scope


def test_a_large_body_keeps_no_other_waiting_while_its_agent_is_loaded():
    """However many wait for agents: as many others are worked on, and each has its turn again in the end."""

    async def ask():
        loading, waiting, most = asyncio.Event(), [], []

        async def work(guarded):
            if not loading.is_set():
                async with CURRENT.get().aside():
                    waiting.append(guarded)
                    await loading.wait()
            most.append(guarded.taken)
            await asyncio.sleep(0)

        guarded = Guarded(work)
        asked = [asyncio.ensure_future(guarded.ask(b" " * SMALL)) for _ in range(3 * MOST_LARGE)]
        while len(waiting) < len(asked):
            await asyncio.sleep(0)
        assert guarded.taken == 0
        loading.set()
        await asyncio.gather(*asked)
        assert (len(most), max(most), guarded.taken) == (len(asked), MOST_LARGE, 0)

    asyncio.run(ask())


def test_no_more_large_bodies_wait_for_agents_than_may_be_read():
    async def ask():
        refused, loading = [], asyncio.Event()

        async def work(guarded):
            try:
                async with CURRENT.get().aside():
                    await loading.wait()
            except Busy as error:
                refused.append(error)
                loading.set()

        guarded = Guarded(work)
        number = guarded.guard._waiting._value + 1
        await asyncio.gather(*(guarded.ask(b" " * SMALL) for _ in range(number)))
        assert (len(refused), guarded.taken) == (1, 0)

    asyncio.run(ask())
