"""What a large agent knows is labelled and encoded outside the committer and the event loop, and in parts."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from contextlib import ExitStack
from types import SimpleNamespace
from unittest.mock import AsyncMock

import pytest
from pydantic_core import to_json
from starlette.requests import ClientDisconnect

from everlearn.durable import views
from everlearn.durable.core import Core
from everlearn.durable.setup import make_setup
from everlearn.durable.store import Store
from everlearn.service import large, management
from everlearn.service.committer import Busy
from everlearn.service.large import MOST_LARGE, PIECE, Room, document_answer
from everlearn.service.loading import LoadingCommitter
from everlearn.service.metrics import Metrics
from everlearn.service.settings import Limits


@pytest.fixture(scope="module")
def core():
    """An agent of 3,000 values; one action is forbidden, and has none."""
    labels = {"actions": ["a", "b", "c"], "observations": list(range(1_000)), "reward_range": [0, 1]}
    return Core(make_setup(**labels, allowed={7: ["b", "c"]}))


@pytest.fixture
def encoded(monkeypatch):
    """The number of values of each table or list that is encoded, and the thread in which it is."""
    seen = []

    def noted(part, **options):
        rows = part if isinstance(part, list) else []
        values = sum(len(row.get("actions", "1")) if isinstance(row, dict) else 1 for row in rows)
        seen.append((values, threading.current_thread()))
        return to_json(part, **options)

    monkeypatch.setattr(large, "to_json", noted)
    return seen


def sent_by(answer):
    """Return the status, the headers and the parts of the body that an answer sends."""
    messages = []

    async def send(message):
        messages.append(message)

    asyncio.run(answer({"type": "http"}, None, send))
    head, *parts = messages
    assert [part.get("more_body", False) for part in parts] == [True] * (len(parts) - 1) + [False]
    return head["status"], dict(head["headers"]), [part["body"] for part in parts]


@pytest.mark.parametrize("view", [views.glance, views.greedy_policy, lambda _core: {"rows": [1] * (3 * PIECE + 1)}])
def test_a_large_document_is_encoded_in_parts_in_a_thread(core, encoded, view, monkeypatch):
    document = view(core)
    monkeypatch.setattr(large, "PIECE", 500)
    status, headers, parts = sent_by(document_answer(document, {"ETag": '"1"'}))
    assert (status, headers[b"etag"], headers[b"content-type"]) == (200, b'"1"', b"application/json")
    assert b"".join(parts) == to_json(views.labelled(document), inf_nan_mode="null")
    assert encoded
    assert all(values <= 500 for values, _ in encoded)
    assert threading.current_thread() not in {thread for _, thread in encoded}


def test_a_small_document_is_sent_whole(core, encoded):
    _, headers, parts = sent_by(document_answer({"rows": [1, 2], "step": 3}))
    assert (parts, headers[b"content-length"]) == ([b'{"rows":[1,2],"step":3}'], b"23")
    assert not encoded


def test_the_rows_of_a_policy_are_labelled_as_they_are_sent(core, monkeypatch):
    """Not before, in the committer, which does nothing else meanwhile."""
    monkeypatch.setattr(views.Greedy, "rows", lambda *_arguments: pytest.fail("it is labelled in the committer"))
    policy = management.policy(SimpleNamespace(core=lambda _name: core), "big")
    assert policy["actions"].size == len(core.agent.task.states)


class Clients:
    """Clients of large answers: each takes nothing after the first part, until the gate is set."""

    def __init__(self, committer, patience=60.0) -> None:
        self.room, self.computed, self.gate = Room(committer, patience), [], asyncio.Event()
        self.reading = 0

    def ask(self):
        return asyncio.ensure_future(self._ask())

    async def _ask(self):
        answer = await self.room.answer("big", self._work, document_answer)
        self.reading += 1
        await answer({"type": "http"}, None, self._send)

    def _work(self, agents):
        self.computed.append(1)
        return views.glance(agents.core("big"))

    async def _send(self, message):
        if message["type"] == "http.response.body":
            await self.gate.wait()


@pytest.fixture
def big(tmp_path):
    with Store(tmp_path) as store:
        labels = {"actions": ["a", "b", "c"], "observations": list(range(3_000)), "reward_range": [0, 1]}
        store.create("big", make_setup(**labels, agent="growing-horizon"))
        store.create("small", make_setup(task="service-station"))
    return tmp_path


def with_room(directory, ask, patience=60.0):
    async def run():
        committer = LoadingCommitter(directory, Limits(), Metrics())
        committer.start()
        try:
            await ask(Clients(committer, patience))
        finally:
            await asyncio.to_thread(committer.close)

    asyncio.run(run())


def test_few_large_answers_are_in_memory_at_a_time(big):
    """However many clients ask for one and do not read it; the others wait before anything is computed."""

    async def ask(clients):
        asked = [clients.ask() for _ in range(3 * MOST_LARGE)]
        while clients.reading < MOST_LARGE or clients.room._committer.waiting:
            await asyncio.sleep(0.001)
        assert len(clients.computed) == MOST_LARGE
        clients.gate.set()
        await asyncio.gather(*asked)
        assert (len(clients.computed), clients.room._places._value) == (3 * MOST_LARGE, MOST_LARGE)

    with_room(big, ask)


def test_whoever_finds_no_room_is_told_to_come_again_and_nothing_was_done(big):
    async def ask(clients):
        asked = [clients.ask() for _ in range(MOST_LARGE + 1)]
        with pytest.raises(Busy):
            await next(asyncio.as_completed(asked))
        assert (len(clients.computed), clients.room._committer.metrics.refused) == (MOST_LARGE, 1)
        small = await clients.room.answer("small", lambda agents: views.glance(agents.core("small")), document_answer)
        assert small.status_code == 200
        clients.gate.set()
        await asyncio.gather(*asked, return_exceptions=True)

    with_room(big, ask, patience=0.01)


def test_clients_who_read_slowly_do_not_prevent_a_change(big):
    """The answer of a change then has no tables; with room it has them."""

    async def ask(clients):
        asked = [clients.ask() for _ in range(MOST_LARGE)]
        while clients.reading < MOST_LARGE:
            await asyncio.sleep(0.001)
        freeze = lambda agents: management.change_mode(agents, "big", "frozen")  # noqa: E731 - passed on
        documents = []
        respond = lambda document: (documents.append(document), document_answer(document))[1]  # noqa: E731 - passed on
        assert (await clients.room.change("big", freeze, respond)).status_code == 200
        clients.gate.set()
        await asyncio.gather(*asked)
        await (await clients.room.change("big", freeze, respond))({"type": "http"}, None, clients._send)
        assert [(document["mode"], document["values"] is None) for document in documents] == [
            ("frozen", True),
            ("frozen", False),
        ]
        assert documents[0].keys() == documents[1].keys()
        assert clients.room._places._value == MOST_LARGE

    with_room(big, ask)


def test_a_client_that_leaves_gives_up_its_place(big):
    async def ask(clients):
        async def gone(message):
            if message["type"] == "http.response.body":
                raise ConnectionAbortedError

        clients._send = gone
        for _ in range(2 * MOST_LARGE):
            with pytest.raises(ConnectionAbortedError):
                await clients._ask()
        assert clients.room._places._value == MOST_LARGE

    with_room(big, ask)


def whole(document) -> bytes:
    return b"".join(large.encoded(document))


def test_the_answer_is_what_inspect_returns(core):
    assert json.loads(whole(views.glance(core))) == json.loads(json.dumps(views.inspect(core)))
    (row,) = (row for row in json.loads(whole(views.glance(core)))["values"] if row["state"] == 7)
    assert (row["actions"]["a"], row["actions"]["b"] is None) == (None, False)


def test_what_is_yet_to_be_labelled_does_not_change_with_the_agent():
    core = Core(make_setup(task="service-station"))
    seen, expected = views.glance(core), views.inspect(core)
    for _ in range(3):
        core.act()
        core.apply(core.prepare("arrival"))
    assert json.loads(whole(seen)) == json.loads(json.dumps(expected))
    assert views.inspect(core)["counts"] != expected["counts"]


def test_few_answers_about_all_agents_are_in_memory_at_a_time():
    computed = []

    async def listed():
        computed.append(1)
        return document_answer({"agents": []})

    async def ask():
        room = Room(SimpleNamespace(metrics=Metrics()), patience=0.01)
        answers = [await room.placed(listed) for _ in range(MOST_LARGE)]
        with pytest.raises(Busy):
            await room.placed(listed)
        assert len(computed) == MOST_LARGE
        await answers[0]({"type": "http"}, None, AsyncMock())
        await room.placed(listed)

    asyncio.run(ask())


LONG = """
from everlearn.service import large, management, routes
from everlearn.service.metrics import Metrics
routes.MANY, large.MOST_LARGE, large.LONGEST = -1, 1, 1_000
names = [f"{number:_>5000}" for number in range(1_200)]
management.list_agents = lambda agents: {"agents": [{"name": name, "step": 1} for name in names]}
management.add_standings = lambda *given: None
Metrics.text = lambda *given: "".join(f"everlearn_{name} 1\\n" for name in names)
begin = large.Room.__init__
large.Room.__init__ = lambda room, committer, patience: begin(room, committer, 0.05)
"""
"""A service of one place for long lists and one for long metrics; who finds none is told so at once."""


@pytest.mark.parametrize("shards", [(), ("--shards", "2")])
def test_a_client_that_does_not_read_keeps_its_place_and_others_only_from_the_same_path(start, shards):
    service = start("--patience", "60", *shards, before=LONG)
    paths, statuses = ("/v1/agents", "/metrics"), lambda path: {service.call("GET", path).status for _ in range(4)}
    assert [statuses(path) for path in paths] == [{200}, {200}]
    with ExitStack() as opened:
        for path, free in ("/v1/agents", ["/metrics", "/healthz"]), ("/metrics", ["/healthz"]):
            unread = opened.enter_context(socket.socket())
            unread.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 12)
            unread.connect(("127.0.0.1", service.port))
            unread.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            assert unread.recv(1 << 10).startswith(b"HTTP/1.1 200 ")
            assert 503 in statuses(path)  # with shards, each has a place
            assert [statuses(other) for other in free] == [{200}] * len(free)


def test_no_client_keeps_a_place_for_long(monkeypatch):
    """Not even one that takes each part just in time."""

    async def send_slowly(*_given):
        await asyncio.sleep(60)

    async def ask():
        monkeypatch.setattr(large, "LONGEST", 2)
        room = Room(SimpleNamespace(metrics=Metrics()), patience=0.01)
        answer = await room.placed(AsyncMock(return_value=send_slowly))
        with pytest.raises(ClientDisconnect):
            await answer({"type": "http"}, None, None)
        assert room._places._value == MOST_LARGE

    asyncio.run(ask())
