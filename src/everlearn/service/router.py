"""The route table of the service: how a request reaches its operation, and the OpenAPI description of all of them.

Every path takes the same short way: match the path, validate name, query and body, call the operation, send its answer.
A web framework does the same through several layers, which together take longer than the agent.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, get_args
from urllib.parse import parse_qsl

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import models_json_schema
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from everlearn.service.answers import Problem
from everlearn.service.grants import EVERYTHING, Grant
from everlearn.service.grants import Scope as Needed
from everlearn.service.models import NAME, Named
from everlearn.service.problems import FAILURES, answer_to
from everlearn.service.protocol import ARRIVED

_TAG = {"type": "string", "examples": ['"12-9f3a0c1d"']}
_is_name = re.compile(NAME).fullmatch
_new = tuple.__new__  # faster than the constructor of a named tuple
JSON, OCTETS = "application/json", "application/octet-stream"


class Call(NamedTuple):
    """A request that has reached its operation, validated."""

    name: str
    """The agent that the path names; empty where it names none."""
    query: Any
    body: Any
    expected: str | None = None
    """The version of the agent that the request expects (the header If-Match), if it says so."""
    grant: Grant = EVERYTHING
    """What the token of the request grants."""


@dataclass(frozen=True)
class Operation:
    """One row of the route table."""

    method: str
    path: str
    summary: str
    endpoint: Callable[[Call], Awaitable[Response]]
    """Its docstring is the description."""
    answer: type[BaseModel] | Mapping[str, Any]
    """The model of the JSON that is sent, or the media types of another answer, as OpenAPI has them."""
    body: Any = None
    """The model of the JSON that is read, ``Model | None`` if it may be left out, or bytes."""
    query: type[BaseModel] | None = None
    statuses: tuple[int, ...] = (200,)
    conditional: bool = False
    """Whether it reads If-Match."""
    scope: Needed | None = Needed.ADMIN
    """What a token must grant; None if no token is needed."""
    tag: str = field(kw_only=True)
    """The group in the OpenAPI description."""

    @cached_property
    def label(self) -> str:
        """How metrics name it."""
        return f"{self.method} {self.path}"

    @cached_property
    def match(self) -> Callable[[str], re.Match[str] | None]:
        """The function that matches a path."""
        return re.compile(self.path.replace("{name}", "([^/]+)")).fullmatch

    @cached_property
    def models(self) -> tuple[type[BaseModel], ...]:
        """The models of what is read."""
        return tuple(kind for kind in (self.body, *get_args(self.body)) if _is_model(kind))

    @cached_property
    def _validate_json(self) -> Callable[[bytes], Any]:
        return TypeAdapter(self.body).validator.validate_json  # without the layers around it

    def read(self, name: str | None, scope: Scope, body: bytes) -> Call:
        """Return the call that a request makes; raise if it is not as described.

        JSON must be declared as JSON: a page in a browser cannot send that to another site without asking.
        """
        if name is not None and _is_name(name) is None:
            Named(name=name)  # raises
        query = None if self.query is None else self.query.model_validate(_query(scope))
        expected = _header(scope, b"if-match") if self.conditional else None
        grant = scope.get("grant", EVERYTHING)
        if self.body is None:
            return Call(name or "", query, None, expected, grant)
        media = OCTETS if self.body is bytes else JSON
        if (body or self.body is bytes) and _media_type(scope) != media:
            raise HTTPException(415, f"send {media}")
        read = body if self.body is bytes else self._validate_json(body or b"null")
        return _new(Call, (name or "", query, read, expected, grant))


@dataclass(frozen=True)
class Router:
    """The application: every request goes to one of the operations; ``lifespan`` begins and ends with the server."""

    operations: tuple[Operation, ...]
    lifespan: Callable[[Scope, Receive, Send], Awaitable[None]]
    about: Mapping[str, Any] = field(default_factory=dict)
    """The beginning of the OpenAPI description."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, whose body has arrived."""
        if scope["type"] == "lifespan":
            await self.lifespan(scope, receive, send)
            return
        try:
            if scope["route"] is None:
                raise self._unknown(scope["path"])
            call = scope["route"].read(scope["agent"], scope, scope[ARRIVED])
            answer = await scope["route"].endpoint(call)
        except Exception as error:
            answer = answer_to(scope, error)
        await answer(scope, receive, send)

    def find(self, method: str, path: str) -> tuple[Operation | None, str | None]:
        """Return the operation of a path, and the agent that the path names; None where there is none."""
        for operation in self.operations:
            if operation.method == method and (matched := operation.match(path)):
                return operation, matched[1] if matched.re.groups else None
        return None, None

    def _unknown(self, path: str) -> HTTPException:
        methods = {operation.method for operation in self.operations if operation.match(path)}
        if methods:
            return HTTPException(405, "Method Not Allowed", {"Allow": ", ".join(sorted(methods))})
        return HTTPException(404, "there is no such path; GET /openapi.json lists all paths")

    @cached_property
    def description(self) -> dict[str, Any]:
        """The OpenAPI description of all operations."""
        read = [(model, "validation") for operation in self.operations for model in operation.models]
        sent = [(operation.answer, "serialization") for operation in self.operations if _is_model(operation.answer)]
        pairs: Any = [*dict.fromkeys([*read, *sent, (Problem, "serialization")])]
        references, definitions = models_json_schema(pairs, ref_template="#/components/schemas/{model}")
        schemas = {model: schema for (model, _), schema in references.items()}
        paths: dict[str, dict[str, Any]] = {}
        for operation in self.operations:
            described = _described(operation, schemas)
            if self.about.get("components", {}).get("securitySchemes"):
                described["security"] = [] if operation.scope is None else [{"token": [str(operation.scope)]}]
            paths.setdefault(operation.path, {})[operation.method.lower()] = described
        return {
            **self.about,
            "paths": paths,
            "components": {"schemas": definitions["$defs"], **self.about.get("components", {})},
        }


def _described(operation: Operation, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    good = operation.answer if isinstance(operation.answer, Mapping) else {JSON: {"schema": schemas[operation.answer]}}
    about = inspect.getdoc(operation.answer) if _is_model(operation.answer) else operation.summary
    answers = {str(status): {"description": about, "content": good} for status in operation.statuses}
    problem = {JSON: {"schema": schemas[Problem]}}
    answers |= {str(status): {"description": about, "content": problem} for status, about in FAILURES.items()}
    described = {
        "tags": [operation.tag],
        "summary": operation.summary,
        "description": inspect.getdoc(operation.endpoint),
        "operationId": operation.endpoint.__name__,
        "parameters": list(_parameters(operation)),
        "responses": answers,
    }
    if operation.body is not None:
        described["requestBody"] = _body(operation, schemas)
    return described


def _body(operation: Operation, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    if operation.body is bytes:
        return {"required": True, "content": {OCTETS: {"schema": {"type": "string", "format": "binary"}}}}
    (model,) = operation.models
    required = operation.body is model
    schema = schemas[model] if required else {"anyOf": [schemas[model], {"type": "null"}]}
    return {"required": required, "content": {JSON: {"schema": schema}}}


def _parameters(operation: Operation) -> Iterable[dict[str, Any]]:
    models: dict[str, type[BaseModel]] = {"path": Named} if "{name}" in operation.path else {}
    if operation.query is not None:
        models["query"] = operation.query
    for place, model in models.items():
        document = model.model_json_schema()
        for name, schema in document["properties"].items():
            required = name in document.get("required", ())
            yield {"name": name, "in": place, "required": required, "schema": schema}
    if operation.conditional:
        about = "The version of the agent (its ETag) that is meant; another one is refused with status 412."
        yield {"name": "If-Match", "in": "header", "required": False, "description": about, "schema": _TAG}


def _query(scope: Scope) -> dict[str, str]:
    return dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))


def _media_type(scope: Scope) -> str:
    return (_header(scope, b"content-type") or "").partition(";")[0].strip().lower()


def _header(scope: Scope, name: bytes) -> str | None:
    for key, value in scope["headers"]:
        if key == name:
            return str(value, "latin-1")
    return None


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
