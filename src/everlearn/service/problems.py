"""Answers to requests that fail: a status, a word and a line; never a path, a query or a traceback.

An unexpected error is a 500 with a number, under which the log has the traceback.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Scope

from everlearn.errors import (
    Changed,
    Conflict,
    Corrupt,
    Failed,
    InputError,
    LiveError,
    SnapshotError,
    StoreFull,
    Unsynced,
)
from everlearn.service.agents import Missing, Moved, Moving, Stale, Taken
from everlearn.service.committer import Busy
from everlearn.service.loading import Loading
from everlearn.service.logs import LOG
from everlearn.service.models import known_keys
from everlearn.service.operations import Asked
from everlearn.service.sandbox import Refused, Untried

MESSAGE_LENGTH = 500
"""How many characters a message has at most: it names what was sent, which may be long."""

MOST_ERRORS = 1_000
"""Of how many errors in one body the first are described: describing them takes far more memory than the body."""

FAILURES = {
    308: "The agent was moved; Location says where.",
    400: "The request is broken.",
    401: "A token is needed.",
    403: "The page of another site sent it, or the token does not grant this.",
    404: "There is no such agent.",
    405: "The path does not have that method.",
    408: "The body did not arrive in time.",
    409: "It contradicts what is recorded, or is not due; or the name is taken.",
    412: "The agent is not at the step that the request expects.",
    413: "The body is too long.",
    414: "The address is too long.",
    415: "The body is of another media type than described.",
    421: "The service does not go by that name.",
    429: "Too many requests per second; the header Retry-After says when to come again.",
    431: "The head is too long, or has too many lines.",
    422: "Something in it cannot be used; the message says what.",
    500: "Something went wrong; the log has it under the id.",
    503: "Too many requests wait, or the service or the agent is not ready; come again.",
    507: "The disk is full; nothing was changed, or it is unknown whether it was, as the message says.",
}
"""What each status means, for the OpenAPI description."""

LONGEST_VALUE = 80
"""The most characters of a wrong value that a message repeats."""

_REMEDIES = {
    "missing": "is missing",
    "int_type": "give a whole number",
    "int_parsing": "give a whole number",
    "int_from_float": "give a whole number",
    "float_type": "give a number",
    "float_parsing": "give a number",
    "finite_number": "give a finite number",
    "bool_type": "give true or false",
    "bool_parsing": "give true or false",
    "string_type": "give a text",
    "list_type": "give a list",
    "dict_type": "give an object",
    "model_type": "give an object",
    "model_attributes_type": "give an object",
    "literal_error": "give {expected}",
    "greater_than_equal": "give at least {ge}",
    "greater_than": "give more than {gt}",
    "less_than_equal": "give at most {le}",
    "less_than": "give less than {lt}",
    "too_short": "give at least {min_length}",
    "too_long": "give at most {max_length}",
    "string_too_short": "give at least {min_length} characters",
    "string_too_long": "give at most {max_length} characters",
    "string_pattern_mismatch": "give a text that matches {pattern}",
    "extra_forbidden": "unknown key",
    "json_invalid": "is no JSON: {error}",
}
"""What to do about an error of pydantic, by its type; another one is described in its own words."""

_WORDS = {404: "missing", 405: "method", 415: "media"}


class Answer(Response):
    """A JSON document as an answer; what is not finite is null.

    Examples
    --------
    >>> answer = Answer({"name": "north"}, 201, {"ETag": "3"})
    >>> answer.status_code, answer.body, answer.headers["etag"]
    (201, b'{"name":"north"}', '3')

    """

    def __init__(self, content: Any, status_code: int = 200, headers: Mapping[str, str] | None = None) -> None:
        self.status_code, self.background = status_code, None
        self.body = to_json(content, inf_nan_mode="null")
        self.raw_headers = [(b"content-length", b"%d" % len(self.body)), (b"content-type", b"application/json")]
        if headers is not None:
            self.raw_headers += [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]


def problem(status: int, error: str, message: str, headers: dict[str, str] | None = None, **more: Any) -> Answer:
    """Return an answer that says what is wrong.

    Examples
    --------
    >>> problem(404, "missing", "there is no agent north").body
    b'{"error":"missing","message":"there is no agent north"}'

    """
    line = " ".join(message.splitlines())
    short = line if len(line) <= MESSAGE_LENGTH else f"{line[: MESSAGE_LENGTH - 4]} ..."
    return Answer({"error": error, "message": short, **more}, status, headers)


def answer_to(scope: Scope, error: Exception) -> Answer:
    """Return the answer to a request that raised an error."""
    if isinstance(error, ValidationError):
        return problem(422, "input", _invalid(error))
    if isinstance(error, HTTPException):
        return problem(
            error.status_code, _WORDS.get(error.status_code, "refused"), error.detail, dict(error.headers or {})
        )
    if isinstance(error, Busy):
        return problem(503, "busy", "too many requests wait; come again", {"Retry-After": "1"})
    if isinstance(error, Loading):
        return problem(503, "loading", str(error), {"Retry-After": "1"})
    if isinstance(error, Untried):
        return problem(503, "sandbox", str(error), {"Retry-After": "1"})
    if isinstance(error, Conflict | Stale | Missing | Taken):
        return _of_the_agent(error)
    if isinstance(error, Moving | Moved):
        return _elsewhere(scope, error)
    if isinstance(error, Failed | Changed):
        return _unusable(error)
    if isinstance(error, InputError | SnapshotError | Refused):
        named: dict[str, Any] = {"argument": error.argument[:LONGEST_VALUE]} if isinstance(error, InputError) else {}
        return problem(422, "input", str(error), **named)
    return _of_the_store(scope, error)


def _of_the_agent(error: Conflict | Stale | Missing | Taken) -> Answer:
    """Return the answer to a request that does not fit what there is."""
    if isinstance(error, Missing):
        return problem(404, "missing", str(error))
    if isinstance(error, Taken):
        return problem(409, "taken", str(error))
    if isinstance(error, Stale):
        return problem(412, "stale", str(error), version=error.version)
    more: dict[str, Any] = {} if error.recorded is None else {"recorded": error.recorded}
    if isinstance(error, Asked):
        more["pending"] = error.pending
    return problem(409, "conflict", str(error), expected=error.expected, **more)


def _unusable(error: Failed | Changed) -> Answer:
    """Return the answer to a request for an agent that an operator must see to."""
    if isinstance(error, Failed):
        return problem(503, "quarantined", str(error))
    return problem(503, "changed", f"{'; '.join(error.changes)}; an operator must accept this")


def _elsewhere(scope: Scope, error: Moving | Moved) -> Answer:
    """Return the answer to a request for an agent that was moved; one that would move it again is not passed on."""
    if isinstance(error, Moving):
        return problem(503, "moving", str(error), {"Retry-After": "1"}, **({"move": error.move} if error.move else {}))
    if scope["path"].split("/")[4:] in (["move"], ["moved"]):
        return problem(409, "moved", str(error), to=error.to)
    query = scope["query_string"].decode("latin-1")
    path = scope["raw_path"].decode("latin-1") + (f"?{query}" if query else "")
    return problem(308, "moved", str(error), {"Location": error.to.rstrip("/") + path}, to=error.to)


def _invalid(error: ValidationError) -> str:
    if error.error_count() > MOST_ERRORS:
        return f"{error.error_count():,} parts of the body cannot be used; see /openapi.json for what is read"
    parts = error.errors(include_url=False)[:5]
    return "; ".join(
        f"{'.'.join(str(part) for part in each['loc'][:7]) or 'body'}: {_value(each)}{_reason(error.title, each)}"
        for each in parts
    )


def _value(part: Mapping[str, Any]) -> str:
    """Return the value in a body that is wrong, if it is short; of a key that is unknown or missing, nothing."""
    value = part["input"]
    about_key = part["type"] in ("missing", "json_invalid", "extra_forbidden")
    long = isinstance(value, int) and value.bit_length() > LONGEST_VALUE  # too long a number cannot even be written
    if about_key or long or not isinstance(value, str | int | float | None):
        return ""
    text = json.dumps(value)
    return f"{text}; " if len(text) <= LONGEST_VALUE else ""


def _reason(title: str, part: Mapping[str, Any]) -> str:
    """Return what is wrong with a part of a body; of an unknown key, which known one is probably meant."""
    known = known_keys(title, part["loc"]) if part["type"] == "extra_forbidden" else []
    if not known:
        wording = _REMEDIES.get(part["type"])
        return str(part["msg"]) if wording is None else wording.format_map(part.get("ctx", {}))
    near = get_close_matches(str(part["loc"][-1]), known, n=1, cutoff=0.5)
    return f"unknown key; {f'did you mean {near[0]}?' if near else 'known: ' + ', '.join(known)}"


def _of_the_store(scope: Scope, error: Exception) -> Answer:
    if isinstance(error, Unsynced):
        advice = "repeat a step with its number, and anything else only after a look at the journal"
        return problem(507, "full", f"whether this was recorded is unknown; {advice}")
    if isinstance(error, StoreFull):
        return problem(507, "full", "the disk is full; nothing was changed: the same can be tried again")
    if isinstance(error, Corrupt):
        return _numbered(scope, error, 503, "corrupt", "what is recorded of this agent is damaged")
    if isinstance(error, MemoryError):
        return _numbered(scope, error, 503, "memory", "there is not enough memory for this now; repeat it")
    if isinstance(error, LiveError):
        return _numbered(scope, error, 503, "store", "the store cannot do this now")
    return _numbered(scope, error, 500, "internal", "something went wrong")


def _numbered(scope: Scope, error: Exception, status: int, word: str, message: str) -> Answer:
    number = secrets.token_hex(8)
    fields = {"id": number, "method": scope["method"], "path": scope["path"]}
    LOG.error("request failed", exc_info=error, extra={"fields": fields})
    return problem(status, word, f"{message}; the log has more under id {number}", id=number)
