"""Answers that may be large: few are in memory at a time, and each is encoded in a thread, in parts, as it is sent.

To encode a million values takes a second, in which neither the event loop nor the committer could do anything else:
an encoder does not let other threads run before it is done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack
from typing import Any
from weakref import WeakKeyDictionary

from pydantic_core import to_json
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from everlearn.agents.knowledge import arrays
from everlearn.durable.core import Core
from everlearn.durable.views import Greedy, Tabulated, labelled
from everlearn.grids import Grid
from everlearn.labels import show
from everlearn.service.agents import Agents
from everlearn.service.committer import Busy, Committer
from everlearn.service.problems import Answer

PIECE = 2_000
"""How many values, or rows of another list, are encoded at once."""

LARGE = 128 << 10
"""Bytes from which on an answer is large."""

MOST_LARGE = 4
"""How many large answers are in memory at a time."""

LONGEST = 12
"""How often the patience of the service an answer may take to be sent; then its connection ends, and its place is free.

Otherwise a client that takes one part at a time, each just in time, would keep a place for many minutes.
"""

SENT = 64 << 10
"""About how many bytes are encoded before they are sent."""

_LATER = object()
_sizes: WeakKeyDictionary[Core, int] = WeakKeyDictionary()


class Room:
    """Room for large answers: each keeps a place from before it is computed until nearly all of it was taken."""

    def __init__(self, committer: Committer[Agents], patience: float) -> None:
        self._committer, self._patience = committer, patience
        self._places = asyncio.Semaphore(MOST_LARGE)

    async def answer(self, name: str, work: Callable[[Agents], Any], respond: Callable[[Any], Response]) -> Response:
        """Return the answer of work for an agent, as ``respond`` makes it of what the work returns.

        If it may be large, the work is done when there is room.  So nothing was changed if there is none, and while an
        agent is loaded nobody has a place.
        """
        result = await self._committer.do(
            name, lambda agents: _LATER if size_of(agents.core(name)) > LARGE else work(agents)
        )
        if result is not _LATER:
            return respond(result)
        return await self.placed(lambda: self._respond(name, work, respond))

    async def _respond(self, name: str, work: Callable[[Agents], Any], respond: Callable[[Any], Response]) -> Response:
        return respond(await self._committer.do(name, work))

    async def placed(self, answer: Callable[[], Awaitable[Response]]) -> Response:
        """Return an answer that is computed when there is room, and keeps its place until it is sent."""
        async with AsyncExitStack() as place:
            try:
                async with asyncio.timeout(self._patience):
                    await place.enter_async_context(self._places)
            except TimeoutError:
                self._committer.metrics.refused += 1
                raise Busy from None
            return _Placed(await answer(), place.pop_all(), LONGEST * self._patience)

    async def change(
        self, name: str, work: Callable[[Agents], dict[str, Any]], respond: Callable[[dict[str, Any]], Response]
    ) -> Response:
        """Return the answer of work that changes an agent.

        A change never waits for room, so that clients who read slowly cannot prevent it.  If there is no room, the
        answer has no tables.
        """
        large = await self._committer.do(name, lambda agents: size_of(agents.core(name)) > LARGE)
        if not large:
            return respond(await self._committer.do(name, work))
        if self._places.locked():
            return respond(await self._committer.do(name, lambda agents: _without_tables(work(agents))))
        async with AsyncExitStack() as place:
            await place.enter_async_context(self._places)  # at once
            response = respond(await self._committer.do(name, work))
            return _Placed(response, place.pop_all(), LONGEST * self._patience)


def _without_tables(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document about an agent in which everything that may be large is null."""
    return {key: None if _size(part) or key == "explanation" else part for key, part in document.items()}


class _Placed(Response):
    """An answer that has a place until it is sent."""

    def __init__(self, response: Response, place: AsyncExitStack, seconds: float) -> None:
        self._response, self._place, self._seconds = response, place, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._place:
            try:
                async with asyncio.timeout(self._seconds):
                    await self._response(scope, receive, send)
            except TimeoutError:
                raise ClientDisconnect from None  # the connection ends with it


def size_of(core: Core) -> int:
    """Return about how many bytes the answers have that describe an agent: its tables with labels, or its state."""
    if core not in _sizes:
        task = core.agent.task
        labels = sum(len(show(label)) + 24 for label in task.actions)
        state = sum(array.nbytes for array in arrays(core.agent.knowledge).values())
        listed = 0 if isinstance(task.states, Grid) else len(task.states)
        _sizes[core] = max(2 * listed * labels, state)
    return _sizes[core]


class _Encoded(Response):
    """A document that is encoded while it is sent, so that no more of it is in memory than its client can take."""

    def __init__(self, document: Mapping[str, Any], headers: Mapping[str, str] | None) -> None:
        self.status_code, self._document = 200, document
        self.raw_headers = [(b"content-type", b"application/json")]
        self.raw_headers += [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        parts = encoded(self._document)
        while part := await asyncio.to_thread(_gathered, parts):
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


def document_answer(document: dict[str, Any], headers: Mapping[str, str] | None = None) -> Response:
    """Return a document as an answer; tables in it are labelled here."""
    if max(map(_size, document.values()), default=0) > PIECE:
        return _Encoded(document, headers)
    return Answer(labelled(document), headers=headers)


def _gathered(parts: Iterable[bytes]) -> bytes:
    """Return the next parts, about as many as are sent at once; none at the end."""
    gathered = bytearray()
    for part in parts:
        gathered += part
        if len(gathered) >= SENT:
            break
    return bytes(gathered)


def encoded(document: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield a document as JSON, in parts.

    Examples
    --------
    >>> b"".join(encoded({"step": 1, "rows": ["a", "b"], "value": float("inf"), "none": []}))
    b'{"step":1,"rows":["a","b"],"value":null,"none":[]}'

    """
    before = b"{"
    for key, part in document.items():
        yield before + _json(key) + b":"
        if _size(part):
            for number, rows in enumerate(_encoded_rows(part)):
                yield (b"," if number else b"[") + rows
            yield b"]"
        else:
            yield _json(part)
        before = b","
    yield b"}"


def _size(part: object) -> int:
    """Return how many values a part has, if it is a table or another list; 0 otherwise."""
    if isinstance(part, Tabulated | Greedy):
        return part.size
    return len(part) if isinstance(part, list) else 0


def _encoded_rows(part: Tabulated | Greedy | list[Any]) -> Iterator[bytes]:
    """Yield the rows of a table or another list, as many at once as one piece may have, without the brackets."""
    rows = len(part) if isinstance(part, list) else part.length
    step = max(1, PIECE * rows // _size(part))
    for start in range(0, rows, step):
        piece = part[start : start + step] if isinstance(part, list) else part.rows(start, start + step)
        yield _json(piece)[1:-1]


def _json(part: object) -> bytes:
    return to_json(part, inf_nan_mode="null")
