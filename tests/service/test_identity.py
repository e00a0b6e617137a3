"""Request ids: which are accepted, and that every line of the log that concerns a request has its id."""

from __future__ import annotations

import asyncio
import re
import threading

import pytest

from everlearn.service import committer
from everlearn.service.identity import CURRENT, identify
from everlearn.service.metrics import Metrics
from tests.service.conftest import STATION, until
from tests.service.test_security import token_file

TRACE = b"4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.mark.parametrize("given", [b"a", b"north-17", b"b6f1d8e2-9d0c-4a77-8f4e", b"x" * 128, b"A.b:c=d@e+f/g"])
def test_a_sane_id_is_kept(given):
    assert identify({b"x-request-id": given}).id == given


@pytest.mark.parametrize("given", [b"", b"two words", b"x" * 129, b'"quoted"', b"line\n", b"caf\xe9", b"{}"])
def test_any_other_is_replaced_by_one_that_is_sane_and_new(given):
    ids = [identify({b"x-request-id": given}).id for _ in range(3)]
    assert len({*ids}) == 3
    assert all(re.fullmatch(rb"[0-9a-f]{12}-[0-9a-f]+", made) for made in ids)


def test_a_trace_is_an_id_unless_there_is_one():
    parent = {b"traceparent": b"00-%b-00f067aa0ba902b7-01" % TRACE}
    alone, both = identify(parent), identify({**parent, b"x-request-id": b"mine"})
    assert alone.fields == {"request": TRACE.decode(), "trace": TRACE.decode()}
    assert both.fields == {"request": "mine", "trace": TRACE.decode()}


@pytest.mark.parametrize(
    "parent",
    [b"00-%b-00f067aa0ba902b7" % TRACE, b"ff-%b-00f067aa0ba902b7-01" % TRACE, b"00-%b-0000000000000000-01" % TRACE,
     b"00-" + b"0" * 32 + b"-00f067aa0ba902b7-01", b"00-%b-00f067aa0ba902b7-01" % TRACE.upper(), b"x"],
)  # fmt: skip
def test_a_trace_that_is_not_as_the_standard_says_is_none(parent):
    """https://www.w3.org/TR/trace-context/#traceparent-header"""
    assert identify({b"traceparent": parent}).trace == ""


def test_every_answer_has_one(service):
    assert service.call("GET", "/healthz", X_Request_Id="mine").headers["x-request-id"] == "mine"
    refused = service.call("GET", "/none", X_Request_Id="mine")
    assert (refused.status, refused.headers["x-request-id"]) == (404, "mine")
    made = [service.call("GET", "/healthz").headers["x-request-id"] for _ in range(2)]
    assert made[0] != made[1]


BROKEN = """
from everlearn.service import management
from everlearn.service.agents import Agents
append = Agents.append
def broken(self, entries):
    raise OSError(5, "Input/output error")
def inspect(*_):
    raise ZeroDivisionError
Agents.append, management.inspect = broken, inspect
"""


def test_lines_of_the_committer_have_the_id_of_their_request(start, tmp_path):
    """Of a commit that failed in its thread, of an error that was raised there, and of what an operator did."""
    service = start("--token-file", str(token_file(tmp_path, "0123456789abcdef name=nora")), before=BROKEN)
    nora = {"Authorization": "Bearer 0123456789abcdef"}
    service.call("POST", "/v1/agents", {"name": "a", "setup": STATION}, X_Request_Id="creates", **nora)
    seen = {"step": 1, "observation": "arrival"}
    for number in range(2):
        service.call("POST", "/v1/agents/a/observe", seen, X_Request_Id=f"observes-{number}", **nora)
    service.call("GET", "/v1/agents/a", X_Request_Id="inspects", **nora)
    until(lambda: any(entry.get("request") == "inspects" for entry in service.log))
    lines = [(entry["message"], entry.get("request"), entry.get("token")) for entry in service.log]
    assert ("agent created", "creates", "nora") in lines
    assert [line for line in lines if line[0] == "commit failed"] == [
        ("commit failed", "observes-0", "nora"),
        ("commit failed", "observes-1", "nora"),
    ]
    assert ("request failed", "inspects", "nora") in lines
    assert ("serving", None, None) in lines
    service.stop()
    assert "request" not in service.log[-1]  # it ends for nobody


class Book:
    """A store that notes whose request it is when something happens, and fails if it is told to."""

    def __init__(self, fails):
        self.fails, self.noted = fails, []

    def note(self, what):
        request = CURRENT.get()
        self.noted.append((what, None if request is None else request.id.decode()))

    def append(self, _entries):
        if self.fails:
            raise OSError(5, "Input/output error")

    def close(self):
        self.note("closed")


@pytest.mark.parametrize("fails", [False, True])
def test_requests_of_one_group_are_told_apart(fails, monkeypatch):
    """They are prepared one after another, committed together, and then learned from one after another."""
    book, gate = Book(fails), threading.Event()
    monkeypatch.setattr(committer, "log", lambda _level, message, **_fields: book.note(message))
    keeping = committer.Committer(lambda: book, waiting=10, metrics=Metrics())
    keeping.start()

    async def ask(name):
        identify({b"x-request-id": name.encode()})

        def work(_book):
            book.note("prepared")
            return committer.Prepared(name, lambda: book.note("learned"))

        await keeping.do(name, work)

    async def ask_all():
        first = asyncio.ensure_future(keeping.do(None, lambda _: gate.wait()))
        asked = [asyncio.ensure_future(ask(name)) for name in "ab"]
        while len(asyncio.all_tasks()) < 4 or keeping.waiting < 2:
            await asyncio.sleep(0)
        gate.set()
        await asyncio.gather(first, *asked, return_exceptions=True)

    asyncio.run(ask_all())
    keeping.close()
    then = "commit failed" if fails else "learned"
    assert book.noted == [("prepared", "a"), ("prepared", "b"), (then, "a"), (then, "b"), ("closed", None)]


def test_requests_are_logged_if_that_is_asked_for(start, service):
    logging = start("--access-log")
    logging.call("GET", "/v1/agents?secret=1", X_Request_Id="mine")
    entry = until(lambda: [entry for entry in logging.log if entry.get("request") == "mine"], lambda: logging.log)[0]
    assert entry["seconds"] > 0
    fields = ("level", "message", "method", "path", "status")
    assert [entry[field] for field in fields] == ["info", "request", "GET", "/v1/agents", 200]
    service.call("GET", "/v1/agents")
    assert "request" not in {entry["message"] for entry in service.log}


def test_shards_that_share_a_request_log_the_same_id(start):
    """Creation goes to any shard, which passes it on to that of the agent."""
    service = start("--shards", "2", "--access-log")
    made = [
        service.call("POST", "/v1/agents", {"name": f"a{number}", "setup": STATION}).headers["x-request-id"]
        for number in range(6)
    ]
    assert len({*made}) == 6

    def shards(name):
        lines = [entry for entry in service.log if entry["message"] == "request"]
        return {entry["shard"] for entry in lines if entry["request"] == name}

    until(lambda: {len(shards(name)) for name in made} == {1, 2}, lambda: service.log)
