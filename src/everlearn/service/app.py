"""The application: the paths, what stands before them, and what begins and ends with it."""

from __future__ import annotations

import asyncio
import logging
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from starlette.responses import Response

from everlearn._version import __version__
from everlearn.errors import InputError
from everlearn.service import management
from everlearn.service.agents import Agents
from everlearn.service.committer import Committer
from everlearn.service.guard import Guard
from everlearn.service.logs import log
from everlearn.service.metrics import CONTENT_TYPE
from everlearn.service.models import Alive
from everlearn.service.problems import Answer, add_handlers, problem
from everlearn.service.responses import FAILURES, answers
from everlearn.service.routes import add_routes
from everlearn.service.settings import Settings

ABOUT = """Durable agents that learn on one endless stream: ask one for an action with `act`, tell it what happened with
`observe`. Every answer carries the number of its step, so that any request can be repeated safely."""

_SILENT = {"tracing": False, "metrics": False, "logs": False, "operation_spans": False, "auto_configure": False}


def make_app(committer: Committer[Agents], settings: Settings) -> Guard:
    """Return the application around a committer, which begins and ends with it.

    There are no pages to click on, since those that come with the framework fetch scripts from elsewhere.
    """

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGHUP, lambda: loop.run_in_executor(None, reread, settings))
        yield
        await asyncio.to_thread(committer.close)
        log(logging.INFO, "stopped")

    app = FastAPI(
        title="everlearn",
        version=__version__,
        description=ABOUT,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry=_SILENT,  # type: ignore[arg-type]  # a typed dictionary
    )
    add_handlers(app)
    direct = add_routes(app, committer, settings.limits)
    _add_operation(app, committer)
    _add_security(app, settings)
    return Guard(direct, settings, committer.metrics, is_state)


def is_state(method: str, path: str) -> bool:
    """Tell whether a request brings an agent state, which may be larger than other bodies.

    Examples
    --------
    >>> is_state("PUT", "/v1/agents/north/state"), is_state("PUT", "/v1/agents/north/mode")
    (True, False)

    """
    return method == "PUT" and re.fullmatch(r"/v1/agents/[a-z0-9_-]+/state", path) is not None


def reread(settings: Settings) -> None:
    """Take the tokens that the file has now; a file that cannot be used changes nothing."""
    try:
        settings.tokens.reread()
    except InputError as error:
        log(logging.ERROR, "tokens not reread", error=str(error))
    else:
        log(logging.INFO, "tokens reread")


def _add_operation(app: FastAPI, committer: Committer[Agents]) -> None:
    metrics = committer.metrics

    @app.get("/healthz", tags=["operation"], summary="Is it there?", **answers(Alive))
    async def healthz() -> Response:
        """Say that the process is there and not beyond help; no token is needed."""
        if committer.alive:
            return Answer({"status": "ok"})
        return problem(503, "dead", "nothing will be answered any more; start the service again")

    @app.get("/readyz", tags=["operation"], summary="Can it serve?", **answers(Alive))
    async def readyz() -> Response:
        """Say whether all agents are loaded and the last commit succeeded; no token is needed."""
        if committer.ready:
            return Answer({"status": "ready"})
        return problem(503, "unready", "not ready: starting, ending, or the last commit failed", {"Retry-After": "1"})

    text: dict[str, Any] = {"description": "The text format of Prometheus.", "content": {"text/plain": {}}}

    @app.get(
        "/metrics",
        tags=["operation"],
        summary="Numbers for Prometheus",
        response_class=Response,
        responses={**FAILURES, 200: text},
    )
    async def prometheus() -> Response:
        """Return requests, commits, queue, and the progress of each agent."""
        count, agents = await committer.do(None, management.gauges)
        gauges = {"waiting": committer.waiting, "waiting_most": committer.most, "agents": count}
        return Response(metrics.text({**gauges, "ready": committer.ready}, agents), media_type=CONTENT_TYPE)


def _add_security(app: FastAPI, settings: Settings) -> None:
    """Say in the description that a token is needed, where one is; the guard sees to it."""
    made = app.openapi

    def described() -> dict[str, Any]:
        schema = made()
        if settings.tokens:
            schemes = schema.setdefault("components", {}).setdefault("securitySchemes", {})
            schemes["token"] = {"type": "http", "scheme": "bearer"}
            schema["security"] = [{"token": []}]
        return schema

    app.openapi = described  # type: ignore[method-assign]
