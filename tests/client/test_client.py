"""The client: deadlines, retries, falling back, catching up; against the service and against one that misbehaves."""

from __future__ import annotations

import json
import logging
import math
import socket
import struct
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

import everlearn as el
from everlearn.client import Client, ServiceError, Unreachable
from everlearn.client.connection import Connection
from everlearn.client.fallback import TablePolicy, make_fallback
from everlearn.client.operator import Operator
from everlearn.errors import InputError
from tests.refusal import has, hides, refusal
from tests.service.conftest import STATION

NOBODY = "http://127.0.0.1:9"


class Clock:
    """Time that passes where the client sleeps and nowhere else, however busy the machine is."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    for module in ("client", "connection", "operator"):
        monkeypatch.setattr(f"everlearn.client.{module}.time", made)
    return made


@pytest.fixture
def client(service, request):
    name = request.node.name.removeprefix("test_")[:50]
    with Client(service.url, name, deadline=60) as made:
        made.create(STATION)
        yield made


def refused(argument):
    """Return a check: the service refused an argument."""
    return lambda error: (error.status, error.document.get("argument")) == (422, argument)


def test_it_drives_an_agent_as_if_it_were_here(client):
    twin = el.Agent("service-station", schedule="smooth", seed=1)
    for number, observation in enumerate(["arrival", "nothing", "departure", "arrival"] * 5):
        assert client.act() == client.act() == twin.act()
        if number % 3:
            assert client.observe(observation) == twin.observe(observation)
        else:
            twin.observe(observation)
            assert client.step(observation) == twin.act()
    assert client.inspect()["t"] == twin.t == 20
    assert client.connected


def test_what_was_executed_and_allowed(client):
    assert client.act(allowed=["slow"]) == "slow"
    assert client.observe("arrival", executed="fast") == 1.0
    assert client.step("arrival", executed="slow", allowed=["fast"]) == "fast"
    assert client.observe("nothing") == -0.5
    assert client.inspect()["step"] == 3


class TestForgotten:
    """A controller that was started again does not know what it had asked for."""

    @pytest.fixture(autouse=True)
    def asked(self, service, client):
        assert service.post(f"/v1/agents/{client.agent}/act", {"allowed": ["slow"]})["action"] == "slow"

    def test_what_is_pending_is_done(self, client):
        assert client.act() == "slow"
        assert client._allowed == ["slow"]  # as whoever asked had said, so that nothing is refused
        assert client.observe("arrival") == 1.0
        assert client.act() in ("fast", "slow")

    def test_what_is_pending_and_not_allowed_is_replaced(self, client):
        assert client.act(allowed=["fast"]) == "fast"
        assert client.observe("arrival") == 1.0
        assert client.inspect()["step"] == 1

    def test_what_was_done_meanwhile_is_told(self, service, client):
        client._unsent.append(
            {"observation": "arrival", "executed": "fast", "reward": None, "state": None, "allowed": None}
        )
        assert client.act() in ("fast", "slow")
        assert (client.waiting, client.lost, client.inspect()["step"]) == (0, 0, 1)

    def test_and_what_somebody_else_asked_between(self, service, client):
        client.act()
        client.observe("arrival")
        client.act()
        service.post(f"/v1/agents/{client.agent}/act", {"allowed": ["slow"], "again": True, "step": 2})
        assert client.observe("nothing", executed="fast") == -0.5
        assert (client.lost, client.inspect()["step"]) == (0, 2)


class TestOperator:
    def test_a_rollback_an_import_and_a_deletion_act_once(self, client):
        state = client.export_state()
        client.act()
        client.observe("arrival")
        assert client.import_state(state)["t"] == 0
        assert [snapshot["step"] for snapshot in client.snapshots()] == [0, 1]
        assert client.rollback(0)["t"] == 0
        client.delete()
        with pytest.raises(ServiceError, check=has(status=404, error="missing")):
            client.delete()

    def test_somebody_else_s_change_is_not_undone(self, service, client, monkeypatch):
        before = client.inspect()
        client.act()
        client.observe("arrival")
        monkeypatch.setattr(type(client), "inspect", lambda _client: before)
        for change in (lambda: client.rollback(0), client.delete):
            with pytest.raises(ServiceError) as caught:
                change()
            assert (caught.value.status, caught.value.error) == (412, "stale")


def test_two_clients_of_one_agent_are_told_of_each_other(service, client):
    client.act()
    with Client(service.url, client.agent, deadline=60) as other:
        other.act()
        other.observe("arrival")
    with pytest.raises(ServiceError) as caught:
        client.observe("nothing")
    assert (caught.value.status, caught.value.error) == (409, "conflict")
    assert caught.value.document["recorded"]["observation"] == "arrival"
    assert (client.waiting, client.lost) == (0, 1)
    client.act()
    assert client.observe("departure") is not None
    with pytest.raises(ServiceError, check=refused("observation")):
        client.step("unheard", executed="fast")
    assert client.step("arrival", executed="fast") in ("fast", "slow")
    assert client.inspect()["step"] == 3


def test_an_observation_that_was_refused_can_be_corrected(client):
    action = client.act()
    for observe in (client.observe, client.step):
        with pytest.raises(ServiceError, check=refused("observation")):
            observe("unheard")
        assert (client.waiting, client.lost, client.act()) == (0, 0, action)
        observe("arrival")
        action = client.act()
    assert (client.waiting, client.lost, client.inspect()["step"]) == (0, 0, 2)


def test_in_shadow_somebody_must_say_what_was_done(client):
    client.shadow()
    assert client.mode == "shadow"
    client.act()
    with pytest.raises(InputError, check=refusal("executed")):
        client.observe("arrival")
    assert client.observe("arrival", executed="slow") == 1.0


def test_the_mode_is_that_of_the_last_answer_and_is_requested_if_there_was_none(service, client):
    with Client(service.url, client.agent, deadline=60) as operator:
        assert operator.mode == "learn"
        operator.freeze()
        assert operator.mode == "frozen"
        assert client.mode == "frozen"  # nothing was heard before
        operator.shadow()
        assert client.mode == "frozen"
        client.act()
        assert client.mode == "shadow"
        client.observe("arrival", executed="slow")
        operator.learn()
        client.step("arrival", executed="slow")
        assert (client.mode, operator.mode, operator.inspect()["mode"]) == ("learn", "learn", "learn")


def test_the_mode_is_requested_if_it_was_not_heard(client):
    assert client.mode == "learn"
    with pytest.raises(Unreachable):
        _ = Client(NOBODY, "a", deadline=0.1).mode


def test_what_the_service_refuses_is_not_repeated(service):
    with (
        Client(service.url, "nobody", deadline=60) as client,
        pytest.raises(ServiceError, check=has(status=404, error="missing")),
    ):
        client.act()


def test_nothing_was_asked_for():
    with pytest.raises(InputError, check=refusal("executed")):
        Client(NOBODY, "a", fallback="off").observe("low")


class TestAlone:
    """Nobody answers."""

    def test_without_a_fallback_that_is_an_error_within_the_deadline(self, clock):
        client = Client(NOBODY, "a", deadline=0.1)
        with pytest.raises(Unreachable, check=has(status=0, attempts=1)):
            client.act()
        assert clock.now == pytest.approx(0.1)

    def test_it_is_tried_once_however_late_it_is(self):
        client = Client(NOBODY, "a", deadline=1e-9, fallback="off")
        assert client.act() == "off"
        assert not client.connected

    def test_with_one_it_acts_and_keeps_what_happens(self, clock, caplog):
        client = Client(NOBODY, "a", deadline=0.1, fallback=lambda state, seen: "on" if seen == "low" else "off")
        assert client.act() == "off"
        assert client.observe("low") is None
        assert client.act() == "on"
        assert client.step("high") == "off"
        assert client.waiting == 2
        with caplog.at_level(logging.WARNING, "everlearn.client"):
            assert client.close() == 2
        assert "2 observations could not be sent and are lost" in caplog.text

    def test_a_service_that_was_not_there_is_not_waited_for_each_time(self, clock):
        client = Client(NOBODY, "a", deadline=0.2, fallback="off")
        client.act()
        assert clock.now == pytest.approx(0.2)
        for _ in range(3):
            client.observe("low")
            client.act()
        assert clock.now == pytest.approx(0.2)
        clock.sleep(0.1)
        client.act()
        client.observe("low")
        assert clock.now == pytest.approx(0.5)

    def test_what_does_not_fit_is_counted_as_lost(self, clock):
        client = Client(NOBODY, "a", deadline=0.02, fallback="off", backlog=3)
        for number in range(6):
            client.act()
            client.observe(number)
        assert (client.waiting, client.lost) == (3, 3)
        assert [entry["observation"] for entry in client._unsent] == [0, 4, 5]  # the first may have arrived


def test_a_service_that_goes_and_comes_back_has_the_whole_story(start, clock):
    """What was done without it is told as executed, in order, and learned from."""
    first = start()
    client = Client(first.url, "station", deadline=60, fallback="slow")
    client.create(STATION)
    twin = el.Agent("service-station", schedule="smooth", seed=1)
    for _ in range(3):
        client.act()
        client.observe("arrival")
        twin.act()
        twin.observe("arrival")
    first.kill()
    for observation in ("nothing", "arrival", "departure"):
        assert client.act() == "slow"
        assert client.observe(observation) is None
        twin.act()
        twin.observe(observation, executed="slow")
    assert (client.waiting, client.connected) == (3, False)
    start(port=first.port)
    client._connection.retry_now()
    assert client.act() == twin.act()
    assert (client.waiting, client.lost, client.connected) == (0, 0, True)
    found = client.inspect()
    assert (found["step"], found["t"]) == (6, 6)
    client.close()


def test_a_service_that_was_away_from_the_beginning(start, clock):
    first = start()
    with Client(first.url, "station", deadline=60) as maker:
        maker.create(STATION)
        maker.act()
        maker.observe("arrival")
    first.kill()
    client = Client(first.url, "station", deadline=60, fallback="fast")
    assert client.act() == "fast"
    client.observe("nothing")
    start(port=first.port)
    client._connection.retry_now()
    client.act()
    assert client.inspect()["step"] == 2
    client.close()


class Fickle(BaseHTTPRequestHandler):
    """A service that fails in every way before it answers; it records what it was sent."""

    protocol_version = "HTTP/1.1"
    failures: ClassVar[list[str]] = []
    received: ClassVar[list[dict]] = []
    awake: ClassVar[threading.Event] = threading.Event()

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).received.append(body)
        failure = self.failures.pop(0) if self.failures else ""
        if failure == "drop":
            self.close_connection = True
            return
        if failure == "slow":
            self.awake.wait()
        status = int(failure) if failure.isdigit() else 200
        step = body.get("step", 1)
        document = {"step": step, "action": "on", "state": "low", "mode": "learn", "reward": 0.5}
        text = b"<html>" if failure == "html" else json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_arguments):
        pass


@pytest.fixture
def fickle():
    Fickle.failures, Fickle.received = [], []
    Fickle.awake.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Fickle)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    Fickle.awake.set()
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_request_is_repeated_with_the_same_step_until_it_is_answered(fickle):
    with Client(fickle, "a", deadline=60) as client:
        client.act()
        Fickle.received.clear()
        Fickle.failures = ["503", "drop", "500", "507", "html", "drop"]
        assert client.observe("low") == 0.5
    assert len(Fickle.received) == 7
    assert all(body == {"step": 1, "observation": "low", "executed": "on"} for body in Fickle.received)


def test_a_slow_answer_counts_as_none_and_is_asked_for_again(fickle):
    with Client(fickle, "a", deadline=60, fallback="off") as client:
        assert client.act() == "on"
        Fickle.failures, client.deadline = ["slow"] * 1000, 0.1
        assert client.observe("low") is None
        assert client.waiting == 1
        client._connection.retry_now()
        Fickle.failures, client.deadline = [], 60
        assert client.act() == "on"
        assert client.waiting == 0
    told = [body for body in Fickle.received if "observation" in body]
    assert len(told) > 1
    assert told == [told[0]] * len(told)


@pytest.mark.parametrize("status", ["400", "401", "409", "422"])
def test_a_refusal_is_an_error_at_once(fickle, status):
    with Client(fickle, "a", deadline=60, fallback="off") as client:
        Fickle.failures = [status]
        with pytest.raises(ServiceError) as caught:
            client.act()
        assert caught.value.status == int(status)
        assert not isinstance(caught.value, Unreachable)
    assert len(Fickle.received) == 1


class TestFallback:
    ROWS = ({"state": "low", "action": "on", "count": 2}, {"state": "high", "action": "off", "count": 9})

    def table(self, aleatoric):
        return TablePolicy({"aleatoric": aleatoric, "actions": list(self.ROWS)})

    def test_an_action_that_is_not_allowed_is_not_taken(self):
        assert self.table("last").choose("low", None, ["off"]) == "off"
        with pytest.raises(InputError, check=refusal("fallback", "on")):
            make_fallback("on").choose(None, None, ["off"])

    def test_a_state_that_is_not_known_is_the_usual_one(self):
        assert self.table("last").choose("strange", None, None) == "off"

    def test_it_follows_the_state_where_it_can(self):
        assert self.table("last").follow("high", "on", "low", None) == "low"
        assert self.table("given").follow("high", "on", "x", "low") == "low"
        assert self.table("window:2").follow(("a", "b"), "on", "c", None) == ("b", "c")
        assert self.table("window:2+actions").follow(None, "on", "c", None) == (("on", "c"),)
        assert self.table([["high", "on", "x", "low"]]).follow("high", "on", "x", None) == "low"
        assert self.table("task").follow("high", "on", "x", None) == "high"

    def test_a_table_of_the_service_is_one(self, client):
        table = client.policy()
        for row in table["actions"]:
            assert make_fallback(table).choose(row["state"], None, None) == row["action"]

    def test_and_tells_how_the_state_follows(self, service):
        with Client(service.url, "windowed", deadline=60) as client:
            setup = {"actions": ["off", "on"], "observations": ["low", "high"], "reward_range": [0, 1]}
            client.create({**setup, "aleatoric": "window:2"})
            policy = make_fallback(client.policy())
        assert policy.follow(("low", "low"), "on", "high", None) == ("low", "high")

    def test_what_is_no_table_is_refused(self):
        with pytest.raises(InputError, check=refusal("fallback", {"actions": []})):
            make_fallback({"actions": []})


@pytest.mark.parametrize("url", ["ftp://x", "127.0.0.1:8321", "http://", "http://x?y=1"])
def test_urls_that_are_none(url):
    with pytest.raises(InputError, check=refusal("url")):
        Client(url, "a")


def test_it_needs_the_standard_library_alone():
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['numpy', 'scipy', 'fastapi', 'typer', 'rich']))\n"
        "from everlearn.client import Client\n"
        "client = Client('http://127.0.0.1:9', 'a', deadline=0.05, fallback='off')\n"
        "assert client.act() == 'off'"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_deletion_whose_answer_was_lost_with_a_reused_connection_succeeds():
    """The first attempt deletes the agent, and the connection is reset; the second finds that it is gone."""

    def answers(listener):
        for status, body in ((200, b'{"version":"1-00000000"}'), (404, b"{}")):
            connection, _ = listener.accept()
            connection.recv(1 << 16)
            connection.sendall(b"HTTP/1.1 %d .\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body))
            if status == 200:
                connection.recv(1 << 16)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answers, args=(listener,), daemon=True)
        thread.start()
        operator = Operator(f"http://127.0.0.1:{listener.getsockname()[1]}", "north", deadline=60)
        operator.delete()
        operator._connection.close()
        thread.join()


def test_a_token_may_be_read_from_a_file_and_is_never_shown():
    assert Connection("http://127.0.0.1:1", "abc\n")._headers == {"Authorization": "Bearer abc"}
    with pytest.raises(InputError, check=refusal("token", "...")) as caught:
        Connection("http://127.0.0.1:1", "sec\nret")
    assert hides("sec")(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        *("http://h:99999", "http://h:abc", "http://[::1", "http://a..b", "http://a b", "http://", "ftp://h", "h:80"),
        *("http://h/?query=1", "http://h/\u00e4", "http://h/a b"),
    ],
)
def test_an_address_that_cannot_be_one_is_refused(url):
    with pytest.raises(InputError) as refused:
        Client(url, "a")
    assert (refused.value.argument, refused.value.value) == ("url", url)


@pytest.mark.parametrize("deadline", [0, -1, 1e20, math.inf, math.nan])
def test_a_deadline_that_cannot_be_one_is_refused(deadline):
    with pytest.raises(InputError) as refused:
        Client("http://h", "a", deadline=deadline)
    assert refused.value.argument == "deadline"


def test_a_password_in_an_address_is_not_shown():
    connection = Connection("http://user:secret@127.0.0.1:1", None)
    assert connection.address.endswith("127.0.0.1:1")
    with pytest.raises(Unreachable, check=hides("secret", "user")):
        connection._attempt("GET", "/healthz", None, 1.0, {}, 0)


class Unable(BaseHTTPRequestHandler):
    """A service that cannot do what is asked, and says why."""

    def do_GET(self):
        body = b'{"error": "corrupt", "message": "it is damaged"}'
        self.send_response(503)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments):
        """Print nothing."""


def test_an_operator_is_told_why_a_service_cannot_do_what_is_asked(caplog):
    with ThreadingHTTPServer(("127.0.0.1", 0), Unable) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address, wanted = (
            f"http://127.0.0.1:{server.server_port}",
            pytest.raises(Unreachable, check=has(status=503, error="corrupt")),
        )
        with Client(address, "pump", deadline=2.0) as client, wanted as refused:
            client.inspect()
        server.shutdown()
    assert (refused.value.status, refused.value.error) == (503, "corrupt")
    assert "cannot be reached" not in caplog.text
    assert "cannot do this now" in caplog.text


class Silent(Unable):
    """A service that says why it cannot once, and then says nothing."""

    said, over = False, threading.Event()

    def do_GET(self):
        if Silent.said:
            self.over.wait(60)
        else:
            Silent.said = True
            super().do_GET()


def test_a_reason_is_not_forgotten_when_the_deadline_cuts_a_later_attempt_off():
    with ThreadingHTTPServer(("127.0.0.1", 0), Silent) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address, wanted = (
            f"http://127.0.0.1:{server.server_port}",
            pytest.raises(Unreachable, check=has(status=503, error="corrupt")),
        )
        with Client(address, "pump", deadline=2.0) as client, wanted:
            client.inspect()
        Silent.over.set()
        server.shutdown()
