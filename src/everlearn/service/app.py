"""The application: the route table, the guard before it, and what begins and ends with the server."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from starlette import routing
from starlette.responses import Response
from starlette.types import ASGIApp

from everlearn._version import __version__
from everlearn.errors import InputError
from everlearn.service.agents import Agents
from everlearn.service.committer import Committer
from everlearn.service.grants import Scope
from everlearn.service.guard import Guard
from everlearn.service.logs import log
from everlearn.service.moves import Moves
from everlearn.service.problems import Answer
from everlearn.service.promotion import Promoter
from everlearn.service.router import JSON, Call, Operation, Router
from everlearn.service.routes import Routes
from everlearn.service.sandbox import Sandbox
from everlearn.service.settings import Settings

ABOUT = """Durable agents that learn on one endless stream: ask one for an action with `act`, report what happened with
`observe`. Every answer carries the number of its step, so that any request can be repeated safely."""

WATCH = 1.0
"""Seconds between two looks at the file of tokens."""


def make_app(
    committer: Committer[Agents],
    sandbox: Sandbox,
    settings: Settings,
    around: Callable[[ASGIApp], ASGIApp] = lambda app: app,
) -> Guard:
    """Return the application around a committer, which it closes when the server stops.

    ``around`` returns the application to which the guard passes the requests that it accepts.
    """

    @asynccontextmanager
    async def lifespan(_app: object) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGHUP, lambda: loop.run_in_executor(None, reread, settings))
        watching = loop.create_task(watch(settings))
        looking = loop.create_task(Promoter(committer, sandbox).run())
        yield
        watching.cancel()
        looking.cancel()
        await asyncio.to_thread(committer.close)
        await asyncio.to_thread(sandbox.close)  # nobody waits for a trial any more
        log(logging.INFO, "stopped")

    async def openapi(_call: Call) -> Response:
        """Return this description."""
        return Answer(router.description)

    about, path = "Describe the service", "/openapi.json"
    described = Operation("GET", path, about, openapi, {JSON: {}}, scope=Scope.READ, tag="operation")
    moves = Moves(committer, sandbox, settings.limits)
    table = (*Routes(committer, sandbox, settings).table(), *moves.table(), described)
    router = Router(table, routing.Router(lifespan=lifespan).lifespan, _about(settings))
    return Guard(around(router), settings, committer.metrics, router.find)


def _about(settings: Settings) -> dict[str, Any]:
    """Return the beginning of the OpenAPI description; the guard checks the tokens that it asks for."""
    about = {"title": "everlearn", "description": ABOUT, "version": __version__}
    security = {"components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}}}
    return {"openapi": "3.1.0", "info": about, **(security if settings.tokens else {})}


def reread(settings: Settings) -> None:
    """Read the file of tokens again; a file that cannot be used changes nothing."""
    try:
        settings.tokens.reread()
    except InputError as error:
        log(logging.ERROR, "tokens not reread", error=str(error))
    else:
        log(logging.INFO, "tokens reread", tokens=len(settings.tokens))


async def watch(settings: Settings) -> None:
    """Read the file of tokens again whenever it changes."""
    while settings.tokens.path is not None:
        await asyncio.sleep(WATCH)
        if settings.tokens.changed:
            await asyncio.to_thread(reread, settings)
