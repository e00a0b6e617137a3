"""Rate limits: the bucket itself, and what those who send too much are told."""

from __future__ import annotations

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

import everlearn as el
from everlearn.client import connection
from everlearn.client.connection import Connection
from everlearn.service import rates as module
from everlearn.service.rates import Rates
from tests.service.conftest import STATION
from tests.service.test_security import token_file

TOKEN, OTHER = "0123456789abcdef", "fedcba9876543210"
SLOW = ("--max-rate", "1", "--max-burst", "3")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@given(st.lists(st.integers(0, 30), max_size=60), st.integers(1, 5), st.integers(1, 8))
def test_it_is_a_token_bucket(pauses, rate, burst):
    """Compared with the bucket as books have it, in tenths of a request, so that nothing is rounded."""
    clock = Clock()
    rates, level, tenths = Rates(rate, burst, clock), 10 * burst, 0
    for pause in pauses:
        tenths += pause
        clock.now = tenths / 10
        level = min(10 * burst, level + pause * rate)
        wait = rates.take("a")
        if level >= 10:
            level -= 10
            assert wait == 0.0
        else:
            assert wait == pytest.approx((10 - level) / (10 * rate))


def test_senders_do_not_disturb_each_other_and_are_forgotten(monkeypatch):
    monkeypatch.setattr(module, "MOST_KEPT", 5)
    clock = Clock()
    rates = Rates(1, 1, clock)
    assert [rates.take(sender) for sender in range(5)] == [0.0] * 5
    assert rates.take(0) == pytest.approx(1.0)
    clock.now = 1.5
    assert [rates.take(sender) for sender in range(5, 10)] == [0.0] * 5
    assert len(rates._full_at) == 5
    assert rates.take(9) > 0  # one that is known needs no room
    assert len(rates._full_at) == 5
    rates.take(99)  # nobody's bucket is full: half of them are kept, those that will be full last
    assert list(rates._full_at) == [8, 9, 99]


def test_the_buckets_are_searched_seldom(monkeypatch):
    """Although with every request but one bucket becomes full, so that there is hardly room for another."""
    monkeypatch.setattr(module, "MOST_KEPT", 100)
    clock, searches, forget = Clock(), [], Rates._forget
    rates = Rates(1, 1, clock)
    monkeypatch.setattr(Rates, "_forget", lambda self, now: (searches.append(now), forget(self, now)))
    for sender in range(1_000):
        clock.now += 1 / 99.5
        rates.take(sender)
    assert len(searches) <= 20


def test_by_default_there_is_no_limit(service):
    assert {service.call("GET", "/v1/agents").status for _ in range(150)} == {200}
    assert service.metric("limited_total") == 0


def test_too_many_requests_of_a_token_are_refused_and_counted(start, tmp_path):
    tokens = token_file(tmp_path, f"{TOKEN}\n{OTHER}\n")
    frozen = "import everlearn.service.rates as r; r.Rates.__init__.__defaults__ = (lambda: 0.0,)\n"
    service = start("--token-file", str(tokens), *SLOW, before=frozen)
    asked = [service.call("GET", "/v1/agents", Authorization=f"Bearer {TOKEN}") for _ in range(5)]
    assert [reply.status for reply in asked] == [200, 200, 200, 429, 429]
    assert asked[-1].headers["retry-after"] == "1"
    document = asked[-1].json
    assert (document["error"], document["retry_after"]) == ("rate", 1.0)
    page = service.call("GET", "/metrics", Authorization=f"Bearer {OTHER}")
    assert b"\neverlearn_limited_total 2\n" in page.body
    assert [service.call("GET", "/v1/agents").status for _ in range(4)] == [401] * 3 + [429]  # by address
    assert service.call("GET", "/healthz").status == 200


def test_a_client_gets_through_whatever_the_rate(start):
    service = start("--max-rate", "20", "--max-burst", "1")
    with el.Client(service.url, "a", deadline=60) as client:
        client.create(STATION)
        for _ in range(5):
            client.act()
            client.observe("arrival")
        assert (client.lost, client.waiting) == (0, 0)
        assert client.inspect()["step"] == 5


class Limited(BaseHTTPRequestHandler):
    """A service, or a proxy before one, that limits rates: it answers the second request."""

    answers: ClassVar[list[bytes]] = []

    def do_POST(self):
        body = self.answers.pop()
        self.send_response(429 if self.answers else 200)
        self.send_header("Retry-After", "7")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.mark.parametrize(("body", "least"), [(b'{"error": "rate", "retry_after": 3.5}', 3.5), (b"<html>", 7.0)])
def test_the_client_waits_as_long_as_it_is_asked_to(monkeypatch, body, least):
    slept = []
    monkeypatch.setattr(connection.time, "sleep", slept.append)
    Limited.answers[:] = [b'{"action": "on"}', body]
    with ThreadingHTTPServer(("127.0.0.1", 0), Limited) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        asking = Connection(f"http://127.0.0.1:{server.server_port}")
        assert asking.request("POST", "/", None, deadline=time.monotonic() + 600) == {"action": "on"}
        asking.close()
        server.shutdown()
    (pause,) = slept
    assert least <= pause <= least + connection.LONGEST_PAUSE


def test_a_client_that_cannot_wait_so_long_uses_its_fallback(start):
    service = start("--max-rate", "1", "--max-burst", "2")
    with el.Client(service.url, "a", deadline=0.2, fallback="slow") as client:
        service.create("a")
        actions = [client.act(), client.observe("arrival", executed="slow"), client.act()]
        assert actions[-1] == "slow"
        assert not client.connected
