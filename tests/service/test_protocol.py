"""Connections: how much they may send before they are known, how long they may take, and how many there may be."""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest
from starlette.requests import ClientDisconnect
from uvicorn.config import Config
from uvicorn.server import ServerState

from everlearn.service.protocol import (
    ARRIVED,
    MOST_ADDRESS,
    MOST_HEAD,
    MOST_LINES,
    MOST_PIPELINED,
    PIECE,
    RESERVE,
    WRITTEN,
    bounded,
)
from everlearn.service.settings import Limits
from tests.service.conftest import Service, until

GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture
def connect(service):
    """Opens connections to the service of the module, and closes them."""
    with ExitStack() as opened:
        yield lambda: opened.enter_context(connection(service))


def connection(service: Service) -> socket.socket:
    return socket.create_connection(("127.0.0.1", service.port), timeout=60)


def answer(sent: socket.socket) -> bytes:
    """Return all that is answered, to the end; a connection that is reset has ended, too."""
    parts = []
    while True:
        try:
            parts.append(sent.recv(1 << 16))
        except ConnectionResetError:
            break
        if not parts[-1]:
            break
    return b"".join(parts)


def is_ended(sent: socket.socket, block: bytes, times: int) -> bool:
    """Return whether the service ends a connection while blocks are sent."""
    try:
        for _ in range(times):
            sent.sendall(block)
    except OSError:
        return True
    return False


def peak(service: Service) -> int:
    """Return the most memory that it had since it was last asked, in megabytes."""
    status = Path(f"/proc/{service.pid}/status").read_text()
    Path(f"/proc/{service.pid}/clear_refs").write_text("5")
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) // 1024


class TestHeads:
    @pytest.mark.parametrize(
        ("head", "status"),
        [
            (GET + b"A: " + b"x" * (MOST_HEAD + PIECE), 431),  # one line that does not end
            (GET + b"A" * (MOST_HEAD + PIECE), 431),
            (GET + (b"A: " + b"x" * 1000 + b"\r\n") * 70, 431),
            (GET + b"A: x\r\n" * (MOST_LINES + 1), 431),
            (b"GET /" + b"x" * MOST_ADDRESS, 414),
            (b"GET /?" + b"x" * MOST_ADDRESS, 414),
            (b"x" * 100, 400),
            (b"GET /healthz HTTP/1.1\r\n\x00: x\r\n\r\n", 400),
        ],
    )
    def test_what_is_too_long_is_refused(self, connect, head, status):
        sent = connect()
        sent.sendall(head)
        line, _, body = answer(sent).partition(b"\r\n\r\n")
        assert line.startswith(b"HTTP/1.1 %d " % status)
        assert set(json.loads(body)) == {"error", "message"}

    def test_a_long_head_is_not(self, connect):
        sent = connect()
        lines = (b"A: " + b"x" * 600 + b"\r\n") * (MOST_LINES - 2)
        sent.sendall(GET + lines + b"Connection: close\r\n\r\n")
        assert answer(sent).startswith(b"HTTP/1.1 200 ")

    def test_many_of_them_take_no_memory(self, service):
        """Without a token: 64 connections of 16 MB each, as far as they are read."""
        before = peak(service)
        with ExitStack() as opened:
            connections = [opened.enter_context(connection(service)) for _ in range(64)]
            for sent in connections:
                sent.sendall(GET + b"A: ")
            assert all(is_ended(sent, b"x" * (1 << 20), 16) for sent in connections)
        assert peak(service) - before < 60

    def test_nor_do_lines_after_a_body(self, connect, service):
        sent = connect()
        sent.sendall(b"POST /v1/agents HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: ")
        before = peak(service)
        assert is_ended(sent, b"x" * (1 << 20), 64)
        assert peak(service) - before < 30

    def test_a_few_requests_may_be_sent_ahead(self, connect):
        sent = connect()
        sent.sendall((GET + b"\r\n") * (MOST_PIPELINED - 1) + GET + b"Connection: close\r\n\r\n")
        assert answer(sent).count(b"HTTP/1.1 200 ") == MOST_PIPELINED

    def test_but_not_many(self, connect):
        sent = connect()
        sent.sendall((GET + b"\r\n") * 1000)
        assert answer(sent).count(b"HTTP/1.1 200 ") <= MOST_PIPELINED + 1


class TestBodies:
    """What is in a body of the size that is taken may take no more than a few dozen times that."""

    @pytest.mark.parametrize(
        "body",
        [
            b"[]" * 20 + b'["' + b"a" * 1_000_000,
            b"[]" * 20 + b'["' + b'\\"' * 500_000,
            b'{"name": "a", "setup": {"parameters": {' + b",".join(b'"%x": {}' % n for n in range(90_000)) + b"}}}",
            b'{"name": "a", "setup": {"actions": [[' + b"{}," * 300_000 + b"0]]}}",
        ],
        ids=["string", "escapes", "parameters", "labels"],
    )
    def test_it_is_refused_without_much_memory(self, service, body):
        before = peak(service)
        assert service.call("POST", "/v1/agents", body).status == 422
        assert peak(service) - before < 100


class Wire:
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.write, self.closed = self.written.append, False

    def get_extra_info(self, name):
        return Mock() if name == "socket" else None

    def get_protocol(self):
        return self.protocol

    def is_closing(self):
        return self.closed

    def close(self):
        self.closed = True

    def get_write_buffer_size(self):
        return 0

    def resume_reading(self):
        """There is nothing to pause."""


def exchanged(app, *requests: bytes) -> Wire:
    """Return what a connection has written when an application has answered requests."""

    async def serve() -> Wire:
        wire, state = Wire(), ServerState()
        state.default_headers = [(b"date", b"today")]
        config = Config(app, log_config=None, ws="none")
        wire.protocol = bounded(Limits())(config=config, server_state=state, app_state={})
        wire.protocol.connection_made(wire)
        for request in requests:
            wire.protocol.data_received(request)
            while state.tasks:
                await asyncio.gather(*state.tasks)
        wire.protocol.connection_lost(None)
        return wire

    return asyncio.run(serve())


class SlowWire(Wire):
    """A transport whose client takes what is written when it is told to; there is a limit as uvicorn sets it."""

    def __init__(self) -> None:
        super().__init__()
        self.buffered, self.aborted, self.paused, self.write = 0, False, False, self._write

    def _write(self, data: bytes) -> None:
        self.written.append(data)
        self.buffered += len(data)
        if self.buffered > WRITTEN and not self.paused:
            self.paused = True
            self.protocol.pause_writing()

    def take(self) -> None:
        self.buffered, self.paused = 0, False
        self.protocol.resume_writing()

    def get_write_buffer_size(self):
        return self.buffered

    def abort(self):
        self.aborted = self.closed = True


async def slowly(app, ask, patience: float = 60.0) -> SlowWire:
    """Return a connection on which an application has answered a request of a client that takes its time."""
    wire, state = SlowWire(), ServerState()
    config = Config(app, log_config=None, ws="none")
    wire.protocol = bounded(Limits(patience=patience))(config=config, server_state=state, app_state={})
    wire.protocol.connection_made(wire)
    wire.protocol.data_received(GET + b"\r\n")
    await ask(wire, wire.take)
    wire.protocol.connection_lost(None)
    await asyncio.gather(*state.tasks, return_exceptions=True)
    return wire


def answering(*headers: tuple[bytes, bytes], parts: tuple[bytes, ...] = (b"fine",)):
    async def app(_scope, _receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": list(headers)})
        for place, part in enumerate(parts, 1):
            await send({"type": "http.response.body", "body": part, "more_body": place < len(parts)})

    return app


class TestAnswers:
    HEAD = b"HTTP/1.1 200 OK\r\ndate: today\r\n"
    LENGTH = (b"content-length", b"4")

    def test_a_whole_answer_is_written_at_once(self):
        wire = exchanged(answering(self.LENGTH), GET + b"\r\n", GET + b"\r\n")
        assert wire.written == [self.HEAD + b"content-length: 4\r\n\r\nfine"] * 2

    def test_a_stream_in_chunks(self):
        wire = exchanged(answering(parts=(b"one", b"two")), GET + b"\r\n")
        head = self.HEAD + b"transfer-encoding: chunked\r\n\r\n"
        assert b"".join(wire.written) == head + b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"

    def test_parts_of_a_known_length(self):
        wire = exchanged(answering(self.LENGTH, parts=(b"fi", b"ne")), GET + b"\r\n")
        assert b"".join(wire.written) == self.HEAD + b"content-length: 4\r\n\r\nfine"

    def test_a_request_for_the_head_gets_no_body(self):
        wire = exchanged(answering(self.LENGTH), GET.replace(b"GET", b"HEAD") + b"\r\n")
        assert wire.written == [self.HEAD + b"content-length: 4\r\n\r\n"]

    @pytest.mark.parametrize(("line", "headers"), [(b"Connection: close\r\n", ()), (b"", ((b"connection", b"Close"),))])
    def test_a_connection_ends_if_either_side_says_so(self, line, headers):
        wire = exchanged(answering(self.LENGTH, *headers), GET + line + b"\r\n")
        assert wire.closed
        assert wire.written[0].lower().count(b"connection: close") == 1

    def test_a_header_of_two_lines_is_never_sent(self, caplog):
        wire = exchanged(answering(self.LENGTH, (b"etag", b"a\r\nset-cookie: b")), GET + b"\r\n")
        assert wire.written[0].startswith(b"HTTP/1.1 500 ")
        assert b"set-cookie" not in b"".join(wire.written)
        assert "more than one line" in caplog.text

    def test_a_body_that_has_arrived_is_passed_on(self):
        bodies = []

        async def app(scope, receive, send):
            bodies.append((scope.get(ARRIVED), (await receive())["body"]))
            await answering(self.LENGTH)(scope, receive, send)

        head = GET.replace(b"GET", b"POST") + b"Content-Length: 3\r\n\r\n"
        exchanged(app, head + b"abc", head + b"def")
        assert bodies == [(b"abc", b"abc"), (b"def", b"def")]

    def test_a_large_answer_waits_until_its_client_has_taken_what_was_written(self):
        """However long it is, no more of it is in the buffer of the connection than one part."""
        body, buffered = bytes(20 * WRITTEN + 1), []

        async def ask(wire, take):
            while not wire.protocol.cycle or not wire.protocol.cycle.response_complete:
                if wire.paused:
                    buffered.append(wire.buffered)
                    take()
                await asyncio.sleep(0)

        length = (b"content-length", b"%d" % len(body))
        wire = asyncio.run(slowly(answering(length, parts=(body,)), ask))
        assert b"".join(wire.written).partition(b"\r\n\r\n")[2] == body
        assert len(buffered) >= 10
        assert max(buffered) <= 2 * WRITTEN

    def test_a_client_that_takes_nothing_is_cut_off(self):
        ended = []

        async def app(scope, receive, send):
            try:
                await answering(parts=(bytes(WRITTEN),) * 100)(scope, receive, send)
            except OSError as error:
                ended.append(error)
                raise ClientDisconnect from None

        async def ask(wire, _take):
            while not ended:
                await asyncio.sleep(0.001)

        wire = asyncio.run(slowly(app, ask, patience=0.01))
        assert wire.aborted
        assert wire.buffered <= 2 * WRITTEN + 100

    def test_a_connection_that_is_closing_ends_though_its_client_takes_nothing(self):
        """Otherwise it would count as one of those that there may be, for ever."""

        async def ask(wire, _take):
            while not wire.aborted:
                await asyncio.sleep(0.001)

        closing = answering((b"content-length", b"%d" % WRITTEN), (b"connection", b"close"), parts=(bytes(WRITTEN),))
        assert asyncio.run(slowly(closing, ask, patience=0.01)).closed

    def test_a_connection_that_is_refused_ends_though_its_client_takes_nothing(self):
        async def ask(wire, _take):
            while not wire.buffered:
                await asyncio.sleep(0.001)
            wire.protocol.data_received(b"no request\r\n\r\n")
            while not wire.aborted:
                await asyncio.sleep(0.001)

        assert asyncio.run(slowly(answering(self.LENGTH), ask, patience=0.01)).closed

    def test_an_idle_connection_is_closed_in_the_end(self, start):
        service = start(before="import everlearn.service.serve as s\ns.KEEP_ALIVE = 0.3\n")
        with connection(service) as sent:
            sent.sendall(GET + b"\r\n")
            assert answer(sent).startswith(b"HTTP/1.1 200 ")


class TestSilence:
    @pytest.fixture
    def small(self, start):
        """A service for four connections, which waits for a third of a second."""
        return start("--max-connections", "4", "--patience", "0.3")

    def test_who_says_nothing_is_not_waited_for(self, small):
        with connection(small) as sent:
            assert answer(sent) == b""

    def test_nor_who_does_not_finish(self, small):
        with connection(small) as sent:
            sent.sendall(GET)
            assert answer(sent).startswith(b"HTTP/1.1 408 ")

    def test_nor_in_the_second_request(self, small):
        with connection(small) as sent:
            sent.sendall(GET + b"\r\n" + GET)
            answers = answer(sent)
            assert answers.startswith(b"HTTP/1.1 200 ")
            assert b"HTTP/1.1 408 " in answers

    def test_nor_who_sends_nothing_but_empty_lines(self, small):
        with connection(small) as sent:
            assert until(lambda: is_ended(sent, b"\r\n", 1))

    def test_silent_connections_leave_room(self, start):
        """The one that has waited longest makes room for the next, however many there are."""
        service = start("--max-connections", "4")
        with ExitStack() as opened:
            idle = opened.enter_context(connection(service))
            idle.sendall(GET + b"\r\n")
            assert idle.recv(9) == b"HTTP/1.1 "
            silent = [opened.enter_context(connection(service)) for _ in range(200)]
            assert service.call("GET", "/v1/agents").status == 200
            assert answer(idle).startswith(b"200 ")
            assert answer(silent[0]) == b""
            silent[-1].sendall(GET + b"\r\n")
            assert silent[-1].recv(1 << 16).startswith(b"HTTP/1.1 200 ")

    def test_a_service_that_is_full_says_so_and_that_it_is_alive(self, start):
        """All connections are in the middle of a request: their bodies have not arrived."""
        service = start("--max-connections", "4")
        head = b"POST /v1/agents HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n"
        with ExitStack() as opened:
            for sent in [opened.enter_context(connection(service)) for _ in range(4)]:
                sent.sendall(head)
            reply = until(lambda: (found := service.call("GET", "/v1/agents")).status == 503 and found)
            assert (reply.json["error"], reply.headers["retry-after"]) == ("busy", "1")
            assert [service.call("GET", path).status for path in ("/healthz", "/readyz")] == [200, 200]
            for sent in [opened.enter_context(connection(service)) for _ in range(RESERVE)]:
                sent.sendall(head.replace(b"/v1/agents", b"/healthz"))
            with connection(service) as last:
                assert answer(last).startswith(b"HTTP/1.1 503 ")
        until(lambda: service.call("GET", "/v1/agents").status == 200)


def test_an_answer_of_unknown_length_to_http_1_0_ends_with_the_connection(service, connect):
    """Its clients know no chunks."""
    service.create("old", {"actions": ["a", "b"], "observations": ["x"], "reward_range": [0, 1]})
    for step in range(1, 4):
        service.post("/v1/agents/old/observe", {"step": step, "observation": "x", "executed": "a", "reward": 0.5})
    sent = connect()
    sent.sendall(b"GET /v1/agents/old/journal HTTP/1.0\r\nHost: localhost\r\n\r\n")
    head, _, body = answer(sent).partition(b"\r\n\r\n")
    assert b"connection: close" in head
    assert b"transfer-encoding" not in head
    assert [json.loads(line)["step"] for line in body.splitlines()] == [1, 2, 3]


@pytest.mark.parametrize("version", ["0.9", "1.0", "1.1"])
def test_an_answer_that_breaks_off_does_not_look_complete(version):
    """To HTTP/1.0 it has no end but that of the connection, which is therefore reset."""

    async def app(_scope, _receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"some rows", "more_body": True})
        await asyncio.sleep(0.05)  # so that the client has them

    async def ask() -> bytes:
        make = partial(bounded(Limits()), config=Config(app, log_config=None, ws="none"), app_state={})
        server = await asyncio.get_running_loop().create_server(
            lambda: make(server_state=ServerState()), "127.0.0.1", 0
        )
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(GET.replace(b"1.1", version.encode()) + b"\r\n")
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            assert (b"transfer-encoding" in head) == (version == "1.1")
            return await reader.read()
        finally:
            writer.close()
            server.close()

    if version == "1.1":
        assert asyncio.run(ask()) == b"9\r\nsome rows\r\n"  # the last chunk is missing
    else:
        with pytest.raises(ConnectionResetError):
            asyncio.run(ask())
