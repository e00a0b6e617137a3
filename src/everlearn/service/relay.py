"""A shard passes on requests for agents of other shards, and combines the answers of all where that is asked for.

To reach another shard is to make a pair of connected sockets and to hand one of them over, as the front does with the
connections of clients.  If that shard is being started again, the socket waits for it.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from typing import Any

import httptools
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from everlearn.service.combining import COMBINED, Reply, worst
from everlearn.service.committer import Busy
from everlearn.service.guard import STANDARD
from everlearn.service.identity import CURRENT
from everlearn.service.large import Room
from everlearn.service.placement import Placement
from everlearn.service.problems import answer_to, problem
from everlearn.service.protocol import ARRIVED

PIECE = 1 << 16
"""Bytes of an answer that are read at once."""

PATIENCE = 5.0
"""Seconds within which every shard must answer a question that concerns all of them."""

MOVING = 120.0
"""Seconds within which a shard must answer a request that moves an agent."""

_PATH = re.compile(r"/v1/agents/([^/]+)")
_HOP = {b"connection", b"keep-alive", b"transfer-encoding", b"content-length", b"expect", b"upgrade", b"te", b"trailer"}
HOPS, MOST_HOPS = b"x-everlearn-hops", 8
"""The header that counts how often a request was passed on, and how often it may be."""

_OWN = _HOP - {b"content-length"} | {b"date", b"server"} | STANDARD


class Relay:
    """An ASGI application around that of a shard.

    Parameters
    ----------
    app:
        answers what concerns agents of this shard
    number:
        the number of this shard
    placement:
        where agents are
    channels:
        for each shard, the socket through which connections are handed over to it
    rooms:
        by path, the room for answers that tell of the agents of all shards

    """

    def __init__(
        self,
        app: ASGIApp,
        number: int,
        placement: Placement,
        channels: Sequence[socket.socket],
        rooms: Mapping[str, Room],
    ) -> None:
        self.app, self.number, self.placement, self.channels, self.rooms = app, number, placement, channels, rooms

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request here, in another shard, or in all of them."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        relayed = scope["server"][1] is None  # it came from another shard, over a socket without an address
        if not relayed and (scope["method"], scope["path"]) in COMBINED:
            await self._combine(scope, receive, send, COMBINED[scope["method"], scope["path"]])
            return
        if not relayed and scope["method"] == "DELETE" and _is_about(scope, "arrival") and not scope["query_string"]:
            await self._combine(scope, receive, send, worst)  # a shard may have lost how an agent came that it has not
            return
        body = scope[ARRIVED]
        shard = self._shard(scope, body, relayed)
        if relayed and _hops(scope) >= MOST_HOPS:  # shards that disagree would pass it on for ever
            shard = self.number
        if shard == self.number and (target := _target(scope, body)) is not None:
            reply = await self._move(target, scope)
            await send({"type": "http.response.start", "status": reply.status, "headers": reply.headers})
            await send({"type": "http.response.body", "body": reply.body})
        elif shard == self.number:
            await self.app(scope, receive, send)
        else:
            await self._pass_on(shard, scope, body, send)

    def _shard(self, scope: Scope, body: bytes, relayed: bool) -> int:
        """Return the shard that serves a request; one that was passed on is passed on again after a move."""
        match = _PATH.match(scope["path"])
        name = match[1] if match else _created(scope, body)
        if name is None or (relayed and _is_about(scope, "arrival")):
            return self.number
        return self.placement.owner(name)

    async def _move(self, target: int, scope: Scope) -> Reply:
        """Move an agent of this shard to another one; whatever happens, the same request again completes it."""
        path = scope["raw_path"].removesuffix(b"/move")
        if target >= self.placement.shards:
            return _problem(422, "input", f"shard: {target}; there are {self.placement.shards}, numbered from 0")
        if target == self.number:
            return await self._reply(self.number, {**scope, "method": "GET", "raw_path": path})
        to = json.dumps({"to": f"shard-{target}"}).encode()
        begun = await self._reply(self.number, scope, to)
        if begun.status != 200:
            return begun
        headers = [pair for pair in scope["headers"] if pair[0] != b"content-type"]
        octets = [*headers, (b"content-type", b"application/octet-stream")]
        going = {**scope, "method": "PUT", "raw_path": path + b"/arrival", "headers": octets}
        arrived = await self._reply(target, going, begun.body)
        number = json.loads(begun.body)["move"]
        if 400 <= arrived.status < 500:  # an earlier attempt may have arrived: the other shard must rule that out
            query = b"move=" + number.encode()
            refused = await self._reply(target, {**going, "method": "DELETE", "query_string": query})
            if refused.status == 200:
                await self._reply(self.number, {**scope, "method": "DELETE", "query_string": query})
        if arrived.status != 200:
            return arrived
        move = json.dumps({"move": number}).encode()
        return await self._reply(self.number, {**scope, "raw_path": path + b"/moved"}, move)

    async def _pass_on(self, shard: int, scope: Scope, body: bytes, send: Send) -> None:
        began = False
        try:
            async for message in self._ask(shard, scope, body):
                await send(message)
                began = True
        except (OSError, asyncio.IncompleteReadError, httptools.HttpParserError):
            if began:
                raise  # the connection ends with it, so that nobody takes a part for the whole
            await _unanswered(shard)(scope, _nothing, send)

    async def _combine(
        self, scope: Scope, receive: Receive, send: Send, combine: Callable[[list[Reply]], Reply]
    ) -> None:
        """Ask all shards at once, and send what their answers come to."""
        answer, room = partial(self._combined, scope, combine), self.rooms.get(scope["path"])
        try:
            response = await (answer() if room is None else room.placed(answer))
        except Busy as error:
            response = answer_to(scope, error)
        await response(scope, receive, send)

    async def _combined(self, scope: Scope, combine: Callable[[list[Reply]], Reply]) -> Response:
        asked = [
            self._here(scope) if shard == self.number else self._reply(shard, scope)
            for shard in range(self.placement.shards)
        ]
        combined = combine(await asyncio.gather(*asked))
        response = Response(combined.body, combined.status)
        response.raw_headers = combined.headers
        return response

    async def _here(self, scope: Scope) -> Reply:
        messages: list[Message] = []

        async def keep(message: Message) -> None:
            messages.append(message)

        await self.app(scope, _nothing, keep)
        return Reply.of(messages)

    async def _reply(self, shard: int, scope: Scope, body: bytes = b"") -> Reply:
        try:
            async with asyncio.timeout(MOVING if body else PATIENCE):
                return Reply.of([message async for message in self._ask(shard, scope, body)])
        except (OSError, TimeoutError, asyncio.IncompleteReadError, httptools.HttpParserError):
            return _as_reply(_unanswered(shard))

    async def _ask(self, shard: int, scope: Scope, body: bytes) -> AsyncIterator[Message]:
        """Send a request to another shard, and yield its answer as the messages that an application sends."""
        mine, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self.channels[shard], [b"+"], [theirs.fileno()])
        reader, writer = await asyncio.open_unix_connection(sock=mine)
        try:
            writer.write(_request(scope, body))
            answer = _Answer(scope["method"] == "HEAD")
            while not answer.complete:
                data = await reader.read(PIECE)
                if not data:
                    raise asyncio.IncompleteReadError(b"", None)
                answer.parser.feed_data(data)
                for message in answer.take():
                    yield message
        finally:
            writer.close()


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


def _is_about(scope: Scope, word: str) -> bool:
    """Return whether a path ends with a word after the name of an agent, which may be the same word."""
    match = _PATH.match(scope["path"])
    return match is not None and scope["path"][match.end() :] == f"/{word}"


def _created(scope: Scope, body: bytes) -> str | None:
    """Return the name of the agent that a request creates; anything wrong with it is for the application to say."""
    if (scope["method"], scope["path"]) != ("POST", "/v1/agents"):
        return None
    try:
        name: Any = json.loads(body)["name"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return name if isinstance(name, str) else None


def _hops(scope: Scope) -> int:
    """Return how often a request was passed on from shard to shard; what a client says of that does not count."""
    if scope["server"][1] is not None:
        return 0
    text = next((value for name, value in scope["headers"] if name == HOPS), b"0")
    return int(text) if text.isdigit() else 0


def _request(scope: Scope, body: bytes) -> bytes:
    query = b"?" + scope["query_string"] if scope["query_string"] else b""
    head = [scope["method"].encode() + b" " + scope["raw_path"] + query + b" HTTP/1.1"]
    request = CURRENT.get()  # the other shard logs the same id
    head += [] if request is None else [b"x-request-id: " + request.id]
    head += [name + b": " + value for name, value in scope["headers"] if name not in _HOP | {b"x-request-id", HOPS}]
    head += [HOPS + b": %d" % (_hops(scope) + 1)]
    head += [b"content-length: %d" % len(body), b"connection: close", b"", body]
    return b"\r\n".join(head)


def _target(scope: Scope, body: bytes) -> int | None:
    """Return the shard to which a request moves an agent, if it does; anything wrong with it is for the application."""
    if scope["method"] != "POST" or not _is_about(scope, "move"):
        return None
    try:
        shard: Any = json.loads(body)["shard"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return shard if type(shard) is int and shard >= 0 else None


def _problem(status: int, word: str, message: str) -> Reply:
    return _as_reply(problem(status, word, message))


def _as_reply(answer: Any) -> Reply:
    return Reply(answer.status_code, list(answer.raw_headers), bytes(answer.body))


def _unanswered(shard: int) -> Any:
    message = f"shard {shard} does not answer: it is being started again, or busy; repeat the request"
    return problem(503, "shard", message, {"Retry-After": "1"})


class _Answer:
    """An answer that arrives in pieces, as messages."""

    def __init__(self, is_head: bool) -> None:
        self.is_head = is_head  # it says how long a body would be, and has none
        self.parser = httptools.HttpResponseParser(self)
        self.headers: list[tuple[bytes, bytes]] = []
        self.complete = False
        self._messages: list[Message] = []

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header, except those that this shard adds again."""
        if name.lower() not in _OWN:
            self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Begin the answer."""
        status = self.parser.get_status_code()
        self._messages.append({"type": "http.response.start", "status": status, "headers": self.headers})
        if self.is_head:
            self.on_message_complete()

    def on_body(self, body: bytes) -> None:
        """Pass on a part of the body."""
        self._messages.append({"type": "http.response.body", "body": body, "more_body": True})

    def on_message_complete(self) -> None:
        """End the answer."""
        self.complete = True
        self._messages.append({"type": "http.response.body", "body": b"", "more_body": False})

    def take(self) -> list[Message]:
        """Return the messages that have arrived."""
        messages, self._messages = self._messages, []
        return messages
