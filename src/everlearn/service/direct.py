"""The short way through the framework, for the three paths that are asked at every step.

FastAPI describes these routes like any other.  It would also solve dependencies, and read and check the body in Python,
which takes longer than all that the agent does; here the body goes straight into its model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from everlearn.service.models import NAME

JSON = "application/json"


class Direct(APIRoute):
    """A route whose endpoint takes the name of an agent and one model as its body, and returns a response."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what serves a request."""
        endpoint = self.endpoint
        kind: Any = None if self.body_field is None else self.body_field.field_info.annotation
        body_type: TypeAdapter[Any] = TypeAdapter(kind)
        fits = re.compile(NAME).match

        async def handle(request: Request) -> Response:
            name = request.path_params["name"]
            if not fits(name):
                raise RequestValidationError(
                    [{"loc": ("path", "name"), "msg": f"String should match pattern '{NAME}'"}]
                )
            response: Response = await endpoint(name, read(body_type, request, await request.body()))
            return response

        return handle


def read(body_type: TypeAdapter[Any], request: Request, body: bytes) -> Any:
    """Return the body as its type; an empty one is null.

    Only JSON that says that it is JSON is read: a page in a browser cannot send that to another site without asking.
    """
    if body and request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        raise HTTPException(415, f"send {JSON}")
    try:
        return body_type.validate_json(body or b"null")
    except ValidationError as error:
        parts = error.errors(include_url=False, include_context=False, include_input=False)
        raise RequestValidationError([{**one, "loc": ("body", *one["loc"])} for one in parts]) from None
