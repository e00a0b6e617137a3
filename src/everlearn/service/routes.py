"""The paths under /v1: each hands its work to the committer and returns what that answers."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse

from everlearn.errors import InputError
from everlearn.service import management, operations
from everlearn.service.agents import Agents
from everlearn.service.committer import Busy, Committer
from everlearn.service.direct import Direct, Endpoint
from everlearn.service.logs import log
from everlearn.service.models import (
    NAME,
    Acted,
    ActIn,
    Agent,
    AgentList,
    Created,
    CreateIn,
    Deleted,
    ModeIn,
    Observed,
    ObserveIn,
    Policy,
    RollbackIn,
    Snapshots,
    StepIn,
    Stepped,
)
from everlearn.service.problems import Answer
from everlearn.service.responses import FAILURES, answers
from everlearn.service.settings import Limits
from everlearn.service.setups import remote_setup

Name = Annotated[str, Path(pattern=NAME, description="The name of the agent.", examples=["station"])]
OCTETS, LINES = "application/octet-stream", "application/x-ndjson"
PAGE = 1_000
"""Rows of a journal that are read at once; other requests have their turn between pages."""


def add_routes(app: FastAPI, committer: Committer[Agents], limits: Limits) -> Direct:
    """Add all paths under /v1; return the application around it that serves those that are asked at every step."""
    ways = _add_stream(app, committer)
    _add_agents(app, committer, limits)
    _add_control(app, committer)
    _add_documents(app, committer)
    return Direct(app, ways)


def _add_stream(app: FastAPI, committer: Committer[Agents]) -> dict[str, tuple[Endpoint, Any]]:
    @app.post("/v1/agents/{name}/act", tags=["stream"], summary="Ask for an action", **answers(Acted))
    async def act(name: Name, body: ActIn | None = None) -> Response:
        """Return the action for the step that is due, and the number of that step.

        Asked again, the answer is the same. Nothing is written.
        """
        asked = body or ActIn(allowed=None)
        return Answer(await committer.do(name, lambda agents: operations.act(agents, name, asked)))

    @app.post("/v1/agents/{name}/observe", tags=["stream"], summary="Tell what happened", **answers(Observed))
    async def observe(name: Name, body: ObserveIn) -> Response:
        """Take in what was observed at the step that is due. It is on disk when this answers.

        The same again is acknowledged with the same answer and changes nothing. Other content for a step that is
        recorded is refused with status 409 and what is recorded; a step that is not due, with the step that is.
        """
        return Answer(await committer.do(name, lambda agents: operations.observe(agents, name, body)))

    @app.post("/v1/agents/{name}/step", tags=["stream"], summary="Tell, then ask", **answers(Stepped))
    async def step(name: Name, body: StepIn) -> Response:
        """Do as `observe` and then as `act`, in one request."""
        return Answer(await committer.do(name, lambda agents: operations.step(agents, name, body)))

    return {"step": (step, StepIn), "observe": (observe, ObserveIn), "act": (act, ActIn | None)}


def _add_agents(app: FastAPI, committer: Committer[Agents], limits: Limits) -> None:
    making = asyncio.Lock()

    @app.get("/v1/agents", tags=["agents"], summary="List agents", **answers(AgentList))
    async def list_agents() -> Response:
        """Return the names of all agents, and how far each has come."""
        return Answer(await committer.do(None, management.list_agents))

    @app.post("/v1/agents", tags=["agents"], summary="Create an agent", status_code=201, **answers(Created, 201, 200))
    async def create(body: CreateIn) -> Response:
        """Make an agent. One that is there already with the same setup is acknowledged with status 200."""
        document = body.setup.model_dump(exclude_unset=True)
        async with making:  # tasks can be large; one at a time is made, in a thread that nobody waits for
            setup = await asyncio.to_thread(remote_setup, document, limits)
        new = await committer.do(body.name, lambda agents: agents.create(body.name, setup))
        if new:
            log(logging.INFO, "agent created", agent=body.name)
        return Answer({"name": body.name, "created": new}, 201 if new else 200)

    @app.get("/v1/agents/{name}", tags=["agents"], summary="Inspect an agent", **answers(Agent))
    async def inspect(name: Name) -> Response:
        """Return what the agent knows: time, horizon, optimism, values, counts, recent average, drift."""
        return Answer(await committer.do(name, lambda agents: management.inspect(agents, name)))

    @app.delete("/v1/agents/{name}", tags=["agents"], summary="Delete an agent", **answers(Deleted))
    async def delete(
        name: Name, confirm: Annotated[str, Query(max_length=64, description="The name again.")]
    ) -> Response:
        """Remove an agent and all that it learned, for ever. The name must be given again, as `confirm`."""
        if confirm != name:
            raise InputError("confirm", confirm, "give the name of the agent again")
        await committer.do(name, lambda agents: agents.delete(name))
        log(logging.WARNING, "agent deleted", agent=name)
        return Answer({"name": name, "deleted": True})


def _add_control(app: FastAPI, committer: Committer[Agents]) -> None:
    async def change(name: str, what: str, work: Callable[[Agents], dict[str, Any]]) -> Response:
        done = await committer.do(name, work)
        log(logging.INFO, what, agent=name, step=done["step"], mode=done["mode"])
        return Answer(done)

    @app.put("/v1/agents/{name}/mode", tags=["control"], summary="Freeze, shadow or learn", **answers(Agent))
    async def mode(name: Name, body: ModeIn) -> Response:
        """Change how the agent works; it is journalled like an observation."""
        return await change(name, "mode changed", lambda agents: management.change_mode(agents, name, body.mode))

    @app.get("/v1/agents/{name}/snapshots", tags=["control"], summary="List snapshots", **answers(Snapshots))
    async def snapshots(name: Name) -> Response:
        """Return the snapshots to which the agent can be rolled back."""
        return Answer(await committer.do(name, lambda agents: management.snapshots(agents, name)))

    @app.post("/v1/agents/{name}/rollback", tags=["control"], summary="Roll back", **answers(Agent))
    async def rollback(name: Name, body: RollbackIn) -> Response:
        """Let the agent know what it knew at a snapshot.

        The aleatoric state stays, since the world has not gone back; step numbers go on.
        """
        return await change(name, "rolled back", lambda agents: management.roll_back(agents, name, body.snapshot))


def _add_documents(app: FastAPI, committer: Committer[Agents]) -> None:
    octets: dict[str, Any] = {"content": {OCTETS: {"schema": {"type": "string", "format": "binary"}}}}

    @app.get("/v1/agents/{name}/policy", tags=["documents"], summary="The greedy policy", **answers(Policy))
    async def policy(name: Name) -> Response:
        """Return the greedy action, value and count of each state, for a controller that must run without us."""
        return Answer(await committer.do(name, lambda agents: management.policy(agents, name)))

    @app.get(
        "/v1/agents/{name}/state",
        tags=["documents"],
        summary="Export the agent state",
        response_class=Response,
        responses={**FAILURES, 200: {"description": "An npz file without pickle.", **octets}},
    )
    async def export(name: Name) -> Response:
        """Return all that the agent knows, as a file that `import` takes, here or elsewhere."""
        return Response(await committer.do(name, lambda agents: management.export(agents, name)), media_type=OCTETS)

    @app.put(
        "/v1/agents/{name}/state",
        tags=["documents"],
        summary="Import an agent state",
        openapi_extra={"requestBody": {"required": True, **octets}},
        **answers(Agent),
    )
    async def import_(name: Name, request: Request) -> Response:
        """Let the agent know what an exported agent state knows. All of it is checked before anything changes."""
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != OCTETS:
            raise HTTPException(415, f"send {OCTETS}")
        data = await request.body()
        done = await committer.do(name, lambda agents: management.import_state(agents, name, data))
        log(logging.INFO, "state imported", agent=name, step=done["step"], bytes=len(data))
        return Answer(done)

    @app.get(
        "/v1/agents/{name}/journal",
        tags=["documents"],
        summary="Export the journal",
        response_class=StreamingResponse,
        responses={**FAILURES, 200: {"description": "One JSON object a line.", "content": {LINES: {}}}},
    )
    async def journal(
        name: Name,
        first: Annotated[int, Query(ge=0, le=2**53 - 1, description="The first step.")] = 0,
        last: Annotated[int | None, Query(ge=0, le=2**53 - 1, description="The last step.")] = None,
    ) -> Response:
        """Return every row of the journal between two steps, in labels, as it streams from the disk."""
        rows = _pages(committer, name, first, last)
        begun = await anext(rows, b"")  # an agent that is not there is a 404, which a stream that began could not say
        return StreamingResponse(_chained(begun, rows), media_type=LINES)


async def _pages(committer: Committer[Agents], name: str, first: int, last: int | None) -> AsyncIterator[bytes]:
    seq = 0

    def page(agents: Agents) -> list[dict[str, Any]]:
        return management.page(agents, name, (first, last), seq, PAGE)

    while True:
        try:
            listed = await committer.do(None, page)
        except Busy:
            if not seq:
                raise
            await asyncio.sleep(0.1)  # whoever reads a journal can wait
            continue
        if not listed:
            return
        seq = listed[-1]["seq"]
        yield "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in listed).encode()


async def _chained(begun: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield begun
    async for part in rest:
        yield part
