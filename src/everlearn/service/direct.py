"""The short way, for the three paths that are asked at every step.

They are declared like all others, and so described in OpenAPI.  But on its way through the framework a request meets
seven layers, which together take longer than all that the agent does.  So these are served before it: the body goes
straight into its model, and the answer straight out.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from fastapi.exceptions import RequestValidationError
from pydantic import TypeAdapter, ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from everlearn.service.models import NAME
from everlearn.service.problems import answer_to

JSON = b"application/json"

Endpoint = Callable[[str, Any], Awaitable[Response]]


class Way(NamedTuple):
    """A path that is served directly: its endpoint takes the name of an agent and a body."""

    path: str
    endpoint: Endpoint
    body: TypeAdapter[Any]


class Direct:
    """An application around another, which serves some paths itself.

    The body must have been read already, and be given whole.
    """

    def __init__(self, app: ASGIApp, ways: dict[str, tuple[Endpoint, Any]]) -> None:
        self.app = app
        self._ways = {
            what: Way(f"/v1/agents/{{name}}/{what}", endpoint, TypeAdapter(kind))
            for what, (endpoint, kind) in ways.items()
        }
        self._match = re.compile(rf"/v1/agents/({NAME.strip('^$')})/({'|'.join(ways)})").fullmatch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or hand it on."""
        found = self._match(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if found is None:
            await self.app(scope, receive, send)
            return
        scope["route"] = way = self._ways[found[2]]
        try:
            body = read(way.body, scope, (await receive())["body"])
            answer = await way.endpoint(found[1], body)
        except Exception as error:
            answer = await answer_to(scope, error)
        await answer(scope, receive, send)


def read(kind: TypeAdapter[Any], scope: Scope, body: bytes) -> Any:
    """Return the body as its type; an empty one is null.

    Only JSON that says that it is JSON is read: a page in a browser cannot send that to another site without asking.
    """
    if body and not any(name == b"content-type" and _is_json(value) for name, value in scope["headers"]):
        raise HTTPException(415, "send application/json")
    try:
        return kind.validate_json(body or b"null")
    except ValidationError as error:
        parts = error.errors(include_url=False, include_context=False, include_input=False)
        raise RequestValidationError([{**one, "loc": ("body", *one["loc"])} for one in parts]) from None


def _is_json(value: bytes) -> bool:
    return value == JSON or value.partition(b";")[0].strip().lower() == JSON
