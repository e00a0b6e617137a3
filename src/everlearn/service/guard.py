"""Check every request before the application sees it: host, origin, token, size, time and depth.

Refusing a request here costs next to nothing.
"""

from __future__ import annotations

import asyncio
import io
import json
import logging
import math
import re
import time
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import lru_cache
from itertools import accumulate

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from everlearn.hosts import foreign_header
from everlearn.service.committer import Busy
from everlearn.service.grants import Grant
from everlearn.service.identity import CURRENT, Request, identify
from everlearn.service.logs import LOG, log
from everlearn.service.metrics import Metrics
from everlearn.service.protocol import ARRIVED
from everlearn.service.rates import Rates
from everlearn.service.router import Operation
from everlearn.service.settings import MOST_DEPTH, Settings

MOST_STATES = 2
"""How many agent states that may be longer than any other body are read and worked on at the same time."""

MOST_KNOWN = 64
"""How many hosts and origins are remembered, so that they are not looked at with every request."""

MOST_LARGE = 4
"""How many other large bodies and agent states are worked on at the same time."""

SMALL = 10_000
"""Bytes from which on a body is large."""

READING = 32 << 20
"""Bytes of these that are read, or wait to be worked on, at the same time: if they say how long they are, and if not.

Far more can be read than worked on, and those that do not say have places of their own, so that a client that sends
slowly keeps nobody else waiting.
"""

_HEADERS = [
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
]
STANDARD = frozenset(name for name, _ in _HEADERS) | {b"x-request-id"}
"""The headers that every answer has."""

_STRING = re.compile(rb'"[^"]*"?')
_OTHERS = bytes(set(range(256)) - set(b"[]{}"))
_DEEPER = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_ASIDE = 1 << 16
"""Bodies of more bytes than this are scanned in a thread."""


class Refused(Exception):  # noqa: N818 - reads as what it is
    """A request that is refused before the application sees it."""

    def __init__(
        self,
        status: int,
        error: str,
        message: str,
        headers: list[tuple[bytes, bytes]] | None = None,
        **more: float,
    ) -> None:
        super().__init__(message)
        self.status, self.headers = status, headers or []
        self.document = {"error": error, "message": message, **more}


class Guard:
    """An ASGI application around another, which passes on the requests that it accepts."""

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        metrics: Metrics,
        find: Callable[[str, str], tuple[Operation | None, str | None]],
    ) -> None:
        self.app, self.settings, self.metrics, self.find = app, settings, metrics, find
        self._foreign = lru_cache(MOST_KNOWN)(self._foreign_header)
        limits = settings.limits
        self._rates = Rates(limits.rate, limits.burst) if limits.rate else None
        self._states, self._large = asyncio.Semaphore(MOST_STATES), asyncio.Semaphore(MOST_LARGE)
        places = max(MOST_LARGE, READING // limits.body)
        self._reading = {chunked: asyncio.Semaphore(places) for chunked in (False, True)}
        self._waiting = asyncio.Semaphore(places)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; anything but HTTP is refused."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        began = time.perf_counter()
        headers = dict(scope["headers"])  # names are in lower case; of several the last counts
        answer = _Answer(send, identify(headers))
        try:
            self._admit(scope, headers)
            is_state = scope["route"] is not None and scope["route"].body is bytes
            if is_state or _is_large(headers):
                await self._pass_on(scope, headers, receive, answer, is_state)
            else:
                scope[ARRIVED] = await self._body(scope, headers, receive, is_state)
                await self.app(scope, receive, answer)
        except Refused as refused:
            await answer.refuse(refused)
        except ClientDisconnect:
            pass  # nobody is there to answer
        except Exception as error:
            # The router answers the errors of operations; this is one of an answer that had begun, or of the router.
            fields = {"method": scope["method"], "path": scope["path"]}
            LOG.error("request failed", exc_info=error, extra={"fields": fields})
            if not answer.began:
                await answer.refuse(Refused(500, "internal", "something went wrong; the log says what"))
        finally:
            scope.pop(ARRIVED, None)  # the connection keeps the scope while it is idle
            route = scope.get("route")  # a request that was refused may have none
            seconds = time.perf_counter() - began
            self.metrics.requested("unknown" if route is None else route.label, answer.status, seconds)
            if self.settings.access_log:
                fields = {"method": scope["method"], "path": scope["path"], "status": answer.status}
                log(logging.INFO, "request", **fields, seconds=round(seconds, 6))

    async def _pass_on(
        self, scope: Scope, headers: dict[bytes, bytes], receive: Receive, answer: _Answer, is_state: bool
    ) -> None:
        """Read a body that may be large, and let the application answer; few of these are worked on at a time."""
        async with AsyncExitStack() as working:
            if is_state and self._may_exceed(headers):
                await working.enter_async_context(self._states)
                body = await self._body(scope, headers, receive, is_state)
            else:
                async with self._reading[b"transfer-encoding" in headers]:
                    body = await self._body(scope, headers, receive, is_state)
                    if len(body) >= SMALL:  # else any number of bodies would wait here
                        await working.enter_async_context(self._large)
                        answer.request.aside = self._aside
            scope[ARRIVED] = body
            await self.app(scope, receive, answer)

    @asynccontextmanager
    async def _aside(self) -> AsyncIterator[None]:
        """Let others work on large bodies while one waits for its agent; as many may wait as may be read."""
        if self._waiting.locked():
            raise Busy
        async with self._waiting:
            self._large.release()
            try:
                yield
            finally:
                await self._large.acquire()

    def _foreign_header(self, host: bytes, origin: bytes | None) -> str | None:
        hosts = self.settings.hosts
        headers = {b"host": host} if origin is None else {b"host": host, b"origin": origin}
        return foreign_header(headers, lambda name: hosts is None or name in hosts)

    def _admit(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        foreign = self._foreign(headers.get(b"host", b""), headers.get(b"origin"))
        if foreign == "host":
            raise Refused(421, "host", "this service does not go by that name; see --allow-host")
        if foreign == "origin":
            raise Refused(403, "origin", "pages of other sites may not use this service")
        operation, agent = scope["route"], scope["agent"] = self.find(scope["method"], scope["path"])
        if operation is None or operation.scope is not None:
            grant = self.settings.tokens.grant(headers.get(b"authorization"))
            if self._rates is not None and scope["server"][1] is not None:  # else another shard has counted it
                self._limit(
                    self._rates, grant.key if grant is not None and grant.key else (scope["client"] or ("",))[0]
                )
            scope["grant"] = self._granted(operation, agent, grant)

    def _limit(self, rates: Rates, sender: Hashable) -> None:
        """Refuse a request of a sender that has sent too many: one token, or one address without a valid token."""
        wait = rates.take(sender)
        if wait:
            self.metrics.limited += 1
            after = (b"retry-after", str(math.ceil(wait)).encode())
            raise Refused(429, "rate", "too many requests; come again later", [after], retry_after=round(wait, 3))

    def _granted(self, operation: Operation | None, agent: str | None, grant: Grant | None) -> Grant:
        """Return what the token of a request grants; refuse a request that it does not cover."""
        if grant is None:
            raise Refused(
                401,
                "token",
                "a valid token is needed, as in Authorization: Bearer TOKEN, or --token-file FILE of a command",
                [_CHALLENGE],
            )
        needed = None if operation is None else operation.scope
        if grant.name and (request := CURRENT.get()) is not None:
            request.token = grant.name
        if needed is not None and grant.scope < needed:
            raise Refused(403, "scope", f"this needs a token with scope {needed}, and yours has scope {grant.scope}")
        if not grant.covers(agent):
            raise Refused(403, "scope", "this token is not for that agent")
        return grant

    def _may_exceed(self, headers: dict[bytes, bytes]) -> bool:
        """Return whether an agent state may be longer than any other body."""
        declared = headers.get(b"content-length", b"")
        if b"transfer-encoding" in headers or not declared.isdigit() or len(declared) > 18:
            return True
        return int(declared) > self.settings.limits.body

    async def _body(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive, is_state: bool) -> bytes:
        """Read the whole body, as far as the limits go; all but an agent state may be read as JSON."""
        most = self.settings.limits.state if is_state else self.settings.limits.body
        declared = headers.get(b"content-length")
        if declared is None and b"transfer-encoding" not in headers:
            return b""
        _check_length(declared, most)
        body: bytes | None = scope.get(ARRIVED)
        if body is None:
            body = await self._read(receive, most)
        elif len(body) > most:
            raise _too_long(most)
        if not is_state and body.count(b"[") + body.count(b"{") > MOST_DEPTH and await _is_deep(body):
            raise Refused(422, "input", f"JSON is nested deeper than {MOST_DEPTH}")
        return body

    async def _read(self, receive: Receive, most: int) -> bytes:
        try:
            async with asyncio.timeout(self.settings.limits.patience):
                return await _read(receive, most)
        except TimeoutError:
            raise Refused(408, "slow", "the body did not arrive in time", [(b"connection", b"close")]) from None


_DIGITS = len(str(SMALL))
_CHALLENGE = (b"www-authenticate", b"Bearer")


def _is_large(headers: dict[bytes, bytes]) -> bool:
    """Return whether a body may be large: it has so many bytes, or does not say how many."""
    return b"transfer-encoding" in headers or len(headers.get(b"content-length", b"")) >= _DIGITS


def _check_length(declared: bytes | None, most: int) -> None:
    if declared is not None and (not declared.isdigit() or len(declared) > 18 or int(declared) > most):
        raise _too_long(most)


def _too_long(most: int) -> Refused:
    return Refused(413, "size", f"the body is longer than {most} bytes", [(b"connection", b"close")])


async def _read(receive: Receive, most: int) -> bytes:
    body = io.BytesIO()  # which becomes bytes without a copy
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refused(400, "disconnected", "the connection ended within the body")
        body.write(message.get("body", b""))
        if body.tell() > most:
            raise _too_long(most)
        if not message.get("more_body", False):
            return body.getvalue()


async def _is_deep(body: bytes) -> bool:
    return await asyncio.to_thread(is_deep, body) if len(body) > _ASIDE else is_deep(body)


def is_deep(body: bytes, most: int = MOST_DEPTH) -> bool:
    """Return whether JSON is nested deeper than ``most``, before anything recursive reads it.

    Examples
    --------
    >>> is_deep(b"[[1]]", 2), is_deep(b"[[[1]]]", 2), is_deep(b'["[[[["]', 2)
    (False, True, False)

    """
    # Not with one expression for strings with escapes: it would need memory for every character of a string.
    outside = _STRING.sub(b"", body.replace(b"\\\\", b"").replace(b'\\"', b""))
    brackets = outside.translate(None, _OTHERS)
    return max(accumulate(map(_DEEPER.__getitem__, brackets)), default=0) > most


class _Answer:
    """Send an answer with the headers that every answer has, and remember its status."""

    def __init__(self, send: Send, request: Request) -> None:
        self._send, self.request = send, request
        self.status = 500
        self.began = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.began, self.status = True, message["status"]
            message["headers"] = [*message["headers"], *_HEADERS, (b"x-request-id", self.request.id)]
        try:
            await self._send(message)
        except OSError:
            raise ClientDisconnect from None

    async def refuse(self, refused: Refused) -> None:
        body = json.dumps(refused.document).encode()
        length = (b"content-length", str(len(body)).encode())
        headers = [(b"content-type", b"application/json"), length, *refused.headers]
        await self({"type": "http.response.start", "status": refused.status, "headers": headers})
        await self({"type": "http.response.body", "body": body})
