"""What a request is told when it fails: a status, a word, a line; never a path, a query or a traceback.

Whatever nobody foresaw is a 500 with a number, under which the log has the rest.
"""

from __future__ import annotations

import json
import secrets
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Scope

from everlearn.errors import Changed, Conflict, Corrupt, EverlearnError, InputError, LiveError, SnapshotError, StoreFull
from everlearn.service.agents import Missing, Taken
from everlearn.service.committer import Busy
from everlearn.service.logs import LOG

LONGEST = 500
"""Characters of a message: what was sent is named in it, and may have been long."""


class Answer(Response):
    """A JSON document as an answer; what is not finite is null."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the document as bytes."""
        return json.dumps(content, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def problem(status: int, error: str, message: str, headers: dict[str, str] | None = None, **more: Any) -> Answer:
    """Return an answer that says what is wrong.

    Examples
    --------
    >>> problem(404, "missing", "there is no agent north").body
    b'{"error":"missing","message":"there is no agent north"}'

    """
    short = message if len(message) <= LONGEST else f"{message[: LONGEST - 4]} ..."
    return Answer({"error": error, "message": short, **more}, status, headers)


def add_handlers(app: FastAPI) -> None:
    """Have every error answered from here."""
    app.add_exception_handler(EverlearnError, on_error)
    app.add_exception_handler(Busy, on_error)
    app.add_exception_handler(RequestValidationError, on_invalid)
    app.add_exception_handler(HTTPException, on_http)
    app.add_exception_handler(Exception, on_surprise)


async def answer_to(scope: Scope, error: Exception) -> Answer:
    """Answer an error that the framework did not see."""
    request = Request(scope)
    if isinstance(error, EverlearnError | Busy):
        return await on_error(request, error)
    if isinstance(error, RequestValidationError):
        return await on_invalid(request, error)
    if isinstance(error, HTTPException):
        return await on_http(request, error)
    return await on_surprise(request, error)


async def on_error(request: Request, error: Exception) -> Answer:
    """Answer what everlearn raises on purpose."""
    if isinstance(error, Busy):
        return problem(503, "busy", "too many requests wait; come again", {"Retry-After": "1"})
    if isinstance(error, Conflict):
        more = {} if error.recorded is None else {"recorded": error.recorded}
        return problem(409, "conflict", str(error), expected=error.expected, **more)
    if isinstance(error, Changed):
        return problem(503, "changed", f"{'; '.join(error.changes)}; an operator must accept this")
    if isinstance(error, Missing):
        return problem(404, "missing", str(error))
    if isinstance(error, Taken):
        return problem(409, "taken", str(error))
    if isinstance(error, InputError):
        return problem(422, "input", str(error))
    return _of_the_store(request, error)


def _of_the_store(request: Request, error: Exception) -> Answer:
    if isinstance(error, StoreFull):
        return problem(507, "full", "the disk is full; nothing was changed: the same can be tried again")
    if isinstance(error, SnapshotError):
        return problem(422, "input", str(error))
    if isinstance(error, Corrupt):
        return _numbered(request, error, "corrupt", "what is recorded of this agent is damaged")
    if isinstance(error, LiveError):
        return _numbered(request, error, "store", "the store cannot do this now")
    return _numbered(request, error, "internal", "something went wrong")


async def on_invalid(_request: Request, error: Exception) -> Answer:
    """Say which parts of a request are not as described; what was sent is not repeated."""
    parts = error.errors() if isinstance(error, RequestValidationError) else []
    lines = [f"{'.'.join(str(part) for part in one['loc'][1:8]) or 'body'}: {one['msg']}" for one in parts[:5]]
    return problem(422, "input", "; ".join(lines) or "the request is not as described")


async def on_http(_request: Request, error: Exception) -> Answer:
    """Answer what the framework refuses: unknown paths, methods, media types, broken JSON."""
    status = getattr(error, "status_code", 400)
    words = {400: "input", 404: "missing", 405: "method", 413: "size", 415: "media"}
    return problem(
        status, words.get(status, "refused"), str(getattr(error, "detail", "refused")), getattr(error, "headers", None)
    )


async def on_surprise(request: Request, error: Exception) -> Answer:
    """Answer what nobody foresaw."""
    return _numbered(request, error, "internal", "something went wrong")


def _numbered(request: Request, error: Exception, word: str, message: str) -> Answer:
    number = secrets.token_hex(8)
    fields = {"id": number, "method": request.method, "path": request.url.path}
    LOG.error("request failed", exc_info=error, extra={"fields": fields})
    return problem(500, word, f"{message}; the log has more under id {number}", id=number)
