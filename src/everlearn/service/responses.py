"""What the OpenAPI description says of answers: the good one of each path, and the failures that all share."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from everlearn.service.models import Problem

_FAILURES = {
    400: "The request is broken.",
    401: "A token is needed.",
    403: "The page of another site sent it.",
    404: "There is no such agent.",
    405: "The path does not have that method.",
    408: "The body did not arrive in time.",
    409: "It contradicts what is recorded, or is not due; or the name is taken.",
    413: "The body is too long.",
    415: "The body is of another media type than described.",
    421: "The service does not go by that name.",
    422: "Something in it cannot be used; the message says what.",
    500: "Something went wrong; the log has it under the id.",
    503: "Too many requests wait, or the service or the agent is not ready; come again.",
    507: "The disk is full; nothing was changed.",
}
FAILURES: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": about} for status, about in _FAILURES.items()
}


def answers(model: type[BaseModel], *statuses: int) -> dict[str, Any]:
    """Return how a path declares its good answers.

    They are declared and not checked again on the way out: the tests see that what is sent is what is described.
    """
    good = {status: {"model": model, "description": model.__doc__} for status in statuses or (200,)}
    return {"response_model": None, "responses": {**FAILURES, **good}}
