"""Connections with limits: the size of a head, the time in which it must arrive, and how many there are at a time.

uvicorn reads HTTP with httptools, which keeps a head of any length and waits for it for ever.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

import httptools
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from everlearn.service.settings import Limits

OPEN = frozenset({"/healthz", "/readyz"})
"""The paths that need no token, and that are answered when there are too many connections."""

RESERVE = 32
"""Connections above the limit; on these only the open paths are answered, so that a monitor can see what is wrong."""

MOST_ADDRESS, MOST_HEAD, MOST_LINES = 8 << 10, 64 << 10, 100
"""Bytes of the address (path and query) of a request, bytes of its other lines, and the number of these."""

PIECE = 16 << 10
"""Bytes that are passed to the parser at once."""

WRITTEN = 64 << 10
"""Bytes of an answer that are written at once; the client must have taken most of them before more are written."""

TOO_LONG = f"the head has more than {MOST_HEAD} bytes or {MOST_LINES} lines"

ARRIVED = "everlearn.arrived"
"""The key in the scope of a request for the body that has arrived completely."""

WITHOUT_CHUNKS = ("0.9", "1.0")
"""The versions of HTTP in which an answer of unknown length ends with the connection."""

MOST_PIPELINED = 16
"""Requests that a connection may send ahead of their answers."""


class Bounded(HttpToolsProtocol):
    """One connection.

    ``idle`` are the connections that wait for a request.  If there is no room for another connection, the one that has
    waited longest is closed: a client opens it again.
    """

    def __init__(self, *arguments: Any, limits: Limits, idle: dict[Bounded, None], **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.limits, self.idle, self._app = limits, idle, self.app
        self._unread = 0  # bytes of the present head, or of what follows a body
        self._piece = 0  # bytes that the parser reads now
        self._refusal: tuple[int, str, str] | None = None
        self._in_head = False
        self._deadline: asyncio.TimerHandle | None = None
        self._served = 0.0  # when it last answered
        self._expiry: asyncio.TimerHandle | None = None
        self._lost = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection, as long as there is room for it."""
        super().connection_made(transport)
        full = len(self.connections) > self.limits.connections + RESERVE
        if full and not self.idle:
            self._refuse(503, "busy", "there are too many connections; come again")
            return
        if full:
            next(iter(self.idle)).close()
        self._wait()
        self._expiry = self.loop.call_later(self.timeout_keep_alive, self._expire)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        self._lost = True
        self._stop_waiting()
        if self._expiry is not None:
            self._expiry.cancel()
        super().connection_lost(exc)

    def close(self) -> None:
        """Close a connection that is idle."""
        self._stop_waiting()
        self.connections.discard(self)
        self.transport.close()
        self._give_up_later()

    def _give_up_later(self) -> None:
        """Let a connection end that is closing, though its client does not take what was written."""
        if self.transport.get_write_buffer_size():
            self.loop.call_later(self.limits.patience, self._give_up)

    def _give_up(self) -> None:
        if not self._lost:
            reset(self.transport)

    def data_received(self, data: bytes) -> None:
        """Read what arrived, in pieces, so that the bounds are checked between them."""
        if len(data) <= PIECE:
            self._read(data)
        else:
            for start in range(0, len(data), PIECE):
                if not self._read(data[start : start + PIECE]):
                    return
        if self._deadline is None and self._is_free and not self.transport.is_closing():
            self._wait()

    def _read(self, piece: bytes) -> bool:
        """Pass a piece to the parser; return whether there may be more."""
        self._piece = len(piece)
        self._unread += self._piece
        super().data_received(piece)
        if self._unread > MOST_HEAD or (self._in_head and len(self.headers) > MOST_LINES):
            self._refuse(431, "size", TOO_LONG)
        return not self.transport.is_closing() and self.transport.get_protocol() is self  # it may be a web socket now

    def on_message_begin(self) -> None:
        """Begin a head."""
        self._unread, self._in_head = self._piece, True
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Read a part of the address."""
        super().on_url(url)
        if len(self.url) > MOST_ADDRESS:
            self._stop(414, f"the address is longer than {MOST_ADDRESS} bytes")

    def on_headers_complete(self) -> None:
        """Begin to answer."""
        if len(self.headers) > MOST_LINES:
            self._stop(431, TOO_LONG)
        self._unread, self._in_head = 0, False
        self._stop_waiting()
        if len(self.pipeline) >= MOST_PIPELINED:
            self._stop(503, f"more than {MOST_PIPELINED} requests were sent ahead of their answers")
        if self.parser.should_upgrade() and self._should_upgrade():
            super().on_headers_complete()
            return
        reserved = len(self.connections) - len(self.idle) > self.limits.connections
        self._begin(partial(_reserved, self._app) if reserved else self._app)

    def _begin(self, app: Any) -> None:
        """Let an application answer, after the answers to requests that were sent before."""
        scope, parser = self.scope, self.parser
        url, version = httptools.parse_url(self.url), parser.get_http_version()
        path = url.path.decode("ascii")
        scope["method"], scope["http_version"] = parser.get_method().decode("ascii"), version
        scope["path"] = unquote(path) if "%" in path else path
        scope["raw_path"], scope["query_string"] = url.path, url.query or b""
        free = self._is_free
        self.cycle = Exchange(
            scope,
            self.transport,
            self.flow,
            self.logger,
            self.access_logger,
            False,  # no access log of uvicorn's
            self.server_state.default_headers,
            asyncio.Event(),
            self.expect_100_continue,
            version not in WITHOUT_CHUNKS and parser.should_keep_alive(),
            self.on_response_complete,
        )
        self.cycle.app, self.cycle.patience = app, self.limits.patience
        if free:
            self._start_asgi_task(self.cycle, self.cycle.answer)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((self.cycle, self.cycle.answer))

    def on_body(self, body: bytes) -> None:
        """Read a part of the body."""
        self._unread = 0
        super().on_body(body)

    def on_chunk_header(self) -> None:
        """Read how long the next part of the body is."""
        self._unread = 0

    def on_message_complete(self) -> None:
        """Note that the whole request is here, so that nobody needs to wait for it."""
        super().on_message_complete()
        if self.cycle is not None:
            self.scope[ARRIVED] = bytes(self.cycle.body)  # type: ignore[literal-required]  # a key of ours

    def on_response_complete(self) -> None:
        """Begin the next request that was sent ahead, or wait for one."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            self._give_up_later()
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        elif self._in_head:
            self._wait()
        else:
            self.idle[self] = None
            self._served = self.loop.time()

    def _expire(self) -> None:
        """Close a connection that has been idle for long; otherwise look again later.

        To set a timer after every answer would cost more than to look at a connection that is in use now and then.
        """
        idle = self in self.idle and self._deadline is None
        left = self._served + self.timeout_keep_alive - self.loop.time() if idle else self.timeout_keep_alive
        if left > 0:
            self._expiry = self.loop.call_later(left, self._expire)
        else:
            self.close()

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be read."""
        self._refuse(*(self._refusal or (400, "http", msg)))

    @property
    def _is_free(self) -> bool:
        cycle: Any = self.cycle  # None before the first request
        return cycle is None or cycle.response_complete

    def _wait(self) -> None:
        """Wait for a head, for so long."""
        self.idle[self] = None
        self._deadline = self.loop.call_later(self.limits.patience, self._too_late)

    def _stop_waiting(self) -> None:
        self.idle.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_late(self) -> None:
        if self._in_head:
            self._refuse(408, "slow", f"the head did not arrive within {self.limits.patience:g} seconds")
        else:
            self.close()  # nothing was asked, and nothing is answered

    def _stop(self, status: int, message: str) -> None:
        """Refuse from within the parser, which then stops."""
        self._refusal = (status, "busy" if status == 503 else "size", message)
        raise ValueError(message)

    def _refuse(self, status: int, error: str, message: str) -> None:
        """Answer in one piece, and close the connection."""
        self._stop_waiting()
        if not self.transport.is_closing():
            body = json.dumps({"error": error, "message": message}).encode()
            lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", "content-type: application/json"]
            lines += [f"content-length: {len(body)}", "connection: close", "retry-after: 1", "", ""]
            if self._is_free:  # otherwise another answer is under way, which this one would spoil
                self.transport.write("\r\n".join(lines).encode() + body)
            self.transport.close()
            self._give_up_later()


class Exchange(RequestResponseCycle):
    """A request and its answer: a whole answer is written at once, head and body, unless it is large."""

    patience = 10.0
    """Seconds in which the client must take what was written, before more of it is."""
    app: ASGIApp
    """What answers."""
    _head = b""  # what is yet to be written

    async def answer(self, *arguments: Any) -> None:
        """Let the application answer; an answer that breaks off must not look complete."""
        try:
            await self.app(*arguments)
        finally:
            incomplete = self.response_started and not self.response_complete
            if incomplete and self.chunked_encoding is None and not self.transport.is_closing():
                reset(self.transport)

    async def send(self, message: Message) -> None:  # type: ignore[override]
        """Send a part of the answer; the head waits for the first part of the body."""
        if not self.response_started and message["type"] == "http.response.start":
            self._head = self._encoded(message["status"], [*self.default_headers, *message.get("headers", ())])
            self.response_started, self.waiting_for_100_continue = True, False
            return
        head, self._head = self._head, b""
        body = message.get("body", b"")
        last, whole = not message.get("more_body", False), len(body) == self.expected_content_length
        small = len(body) <= WRITTEN and not (self.chunked_encoding or self.flow.write_paused or self.disconnected)
        if head and last and whole and small:
            self.transport.write(head if self.scope["method"] == "HEAD" else head + body)
            self.response_complete = True
            self.message_event.set()
            if not self.keep_alive:
                self.transport.close()
            self.on_response()
            return
        if head and not self.disconnected:
            self.transport.write(head)
        parts = memoryview(body)
        for start in range(0, len(body) or 1, WRITTEN):
            await self._until_taken(not last)
            part, ends = bytes(parts[start : start + WRITTEN]), start + WRITTEN >= len(body)
            if self.chunked_encoding is None:  # it ends with the connection
                self.expected_content_length = len(part)
            await super().send({**message, "body": part, "more_body": not (last and ends)})  # type: ignore[arg-type]

    async def _until_taken(self, more: bool) -> None:
        """Wait until the client has taken what was written; end a connection whose client does not.

        Otherwise clients that do not read could fill the memory with answers.
        """
        if self.flow.write_paused and not self.disconnected:
            try:
                async with asyncio.timeout(self.patience):
                    await self.flow.drain()
            except TimeoutError:
                self.disconnected = more = True
                reset(self.transport)
        if self.disconnected and more:  # whoever sends more need not go on
            raise ConnectionAbortedError

    def _encoded(self, status: int, headers: list[tuple[bytes, bytes]]) -> bytes:
        """Return a head, and note what it says of the body and the connection."""
        closes = False
        for name, value in headers:
            if name == b"content-length":
                self.expected_content_length, self.chunked_encoding = int(value), False
            elif name == b"connection":
                closes = b"close" in value.lower()
        self.keep_alive = self.keep_alive and not closes
        if not (self.keep_alive or closes):
            headers.append((b"connection", b"close"))
        chunks = self.scope["method"] != "HEAD" and status not in (204, 304)
        chunks = chunks and self.scope["http_version"] not in WITHOUT_CHUNKS
        if self.chunked_encoding is None and chunks:
            self.chunked_encoding = True
            headers.append((b"transfer-encoding", b"chunked"))
        lines = b"\r\n".join(map(b": ".join, headers))
        if len(lines.translate(None, b"\r\n\0")) != len(lines) - 2 * (len(headers) - 1):
            raise RuntimeError("a header of an answer has more than one line")
        return STATUS_LINE[status] + lines + b"\r\n\r\n"


def reset(transport: asyncio.Transport) -> None:
    """End an open connection so that its client gets an error, and does not take a part of an answer for the whole."""
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


def bounded(limits: Limits) -> Callable[..., Bounded]:
    """Return what makes the connections of one server."""
    return partial(Bounded, limits=limits, idle={})


async def _reserved(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer on the open paths alone."""
    if scope["path"] in OPEN:
        await app(scope, receive, send)
        return
    body = b'{"error":"busy","message":"there are too many connections; come again"}'
    length = str(len(body)).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", length), (b"retry-after", b"1")]
    await send({"type": "http.response.start", "status": 503, "headers": [*headers, (b"connection", b"close")]})
    await send({"type": "http.response.body", "body": body})
