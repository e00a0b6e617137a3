"""The operations that move an agent to another service or shard: see :mod:`everlearn.durable.moving`."""

from __future__ import annotations

import asyncio
import json
import logging
from functools import partial
from typing import Any

from starlette.responses import Response

from everlearn.durable import moving, notes
from everlearn.durable.changes import reopen
from everlearn.durable.moving import Luggage
from everlearn.durable.setup import DEFAULTS, Setup
from everlearn.errors import InputError, require
from everlearn.service.agents import Agents, Taken
from everlearn.service.answers import Arrived, Moved
from everlearn.service.committer import Committer
from everlearn.service.logs import log
from everlearn.service.models import MovedIn, MoveIn, MoveQuery, SetupIn
from everlearn.service.problems import Answer
from everlearn.service.router import OCTETS, Call, Operation
from everlearn.service.sandbox import Sandbox
from everlearn.service.settings import Limits
from everlearn.service.setups import remote_setup


class Moves:
    """The operations of a move, around the committer that does their work."""

    def __init__(self, committer: Committer[Agents], sandbox: Sandbox, limits: Limits) -> None:
        self.committer, self.sandbox, self.limits = committer, sandbox, limits
        self._trying = asyncio.Semaphore(1)

    def table(self) -> tuple[Operation, ...]:
        """Return the route table."""
        agent = "/v1/agents/{name}"
        binary = {OCTETS: {"schema": {"type": "string", "format": "binary"}}}
        move = partial(Operation, tag="moves")
        return (
            move("POST", f"{agent}/move", "Begin to move an agent away", self.begin, binary, MoveIn),
            move("DELETE", f"{agent}/move", "Cancel a move", self.cancel, Moved, query=MoveQuery),
            move("PUT", f"{agent}/arrival", "Take an agent that moves here", self.arrive, Arrived, bytes),
            move("DELETE", f"{agent}/arrival", "Refuse a move for ever", self.refuse, Moved, query=MoveQuery),
            move("POST", f"{agent}/moved", "Complete a move", self.complete, Moved, MovedIn),
        )

    async def begin(self, call: Call) -> Response:
        """Return everything of an agent that moves, for `PUT .../arrival` of the service that is named with `to`.

        From now on the agent is not served here, until the move is cancelled. The same request again gets the same
        answer. A service with shards moves the agent to another of them if `shard` is given, all at once.
        """
        require(call.body.to is not None, "shard", call.body.shard, "this service has no shards; name a service as to")
        data = await self.committer.do(call.name, lambda agents: begin(agents, call.name, call.body.to))
        log(logging.INFO, "move begun", agent=call.name, to=call.body.to)
        return Response(data, media_type=OCTETS)

    async def cancel(self, call: Call) -> Response:
        """Serve an agent here again that was to move. First let the other service refuse the move for ever.

        A move that was cancelled before is no error; another move is. Omit `move` to remove a damaged record of where
        an agent goes or went, after you have found out that no other service has the agent.
        """
        move = call.query.move
        await self.committer.do(call.name, lambda agents: cancel(agents, call.name, move))
        log(logging.WARNING, "move cancelled", agent=call.name)
        return Answer({"name": call.name, "to": None})

    async def arrive(self, call: Call) -> Response:
        """Take an agent, with everything that `POST .../move` returned. It is tried before anything changes.

        The agent is on disk, and belongs to this service, when this answers. The same request again changes nothing.
        """
        luggage = await asyncio.to_thread(Luggage.from_bytes, call.body)
        require(luggage.name == call.name, "name", call.name, f"it is the agent {luggage.name}")
        if await self.committer.do(call.name, lambda agents: agents.is_from(luggage.name, luggage.move)):
            return Answer({"name": call.name, "step": luggage.checkpoint.more["step"], "new": False})
        async with self._trying:
            setup = await asyncio.to_thread(self._setup, luggage)
            await asyncio.to_thread(self.sandbox.try_checkpoint, setup, luggage.checkpoint)
        new = await self.committer.do(call.name, lambda agents: agents.arrive(setup, luggage))
        log(logging.INFO, "agent arrived", agent=call.name, move=luggage.move)
        return Answer({"name": call.name, "step": luggage.checkpoint.more["step"], "new": new})

    def _setup(self, luggage: Luggage) -> Setup:
        """Return the setup of an agent that arrives, as this service would have made it."""
        given = {key: value for key, value in luggage.setup.items() if value is not None and value != DEFAULTS.get(key)}
        document = SetupIn.model_validate(given).model_dump(exclude_unset=True)
        self.sandbox.try_setup(document)
        setup = remote_setup(document, self.limits)
        require(setup.document == luggage.setup, "luggage", luggage.name, "its setup is not complete")
        luggage.check_rows(setup.task)
        if changes := _changes(luggage):
            raise Taken(f"this service differs: {'; '.join(changes)}")
        return setup

    async def refuse(self, call: Call) -> Response:
        """Never take an agent by this move; refused if it has arrived.

        Omit `move` to remove a lost record of arrivals, after you have found out that no other service has the agent.
        """
        move = call.query.move
        await self.committer.do(call.name, lambda agents: refuse(agents, call.name, move))
        return Answer({"name": call.name, "to": None})

    async def complete(self, call: Call) -> Response:
        """Delete an agent that another service has taken; from now on, answer with status 308 and its new address."""
        to = await self.committer.do(call.name, lambda agents: complete(agents, call.name, call.body.move))
        log(logging.WARNING, "agent moved", agent=call.name, to=to)
        return Answer({"name": call.name, "to": to})


def _changes(luggage: Luggage) -> list[str]:
    """Return what differs here from what an agent depends on, such as a task that another version defines otherwise."""
    face = None if luggage.face is None else json.dumps(luggage.face)
    try:
        return [change.words for change in reopen(json.dumps(luggage.setup), face, {}).changes]
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise InputError("luggage", type(error).__name__, "its fingerprint cannot be read") from None


def begin(agents: Agents, name: str, to: str) -> bytes:
    """Let nobody use an agent any more, and return what moves of it."""
    if to.startswith("shard-"):
        remedy = f"there are shard-0 to shard-{agents.shards - 1}" if agents.shards else "this service has no shards"
        require(int(to.removeprefix("shard-")) < agents.shards, "to", to, remedy)
    try:
        core = agents.core(name, leaving=True)
        core.require_working()
        note = agents.leaving[name] = moving.begin(agents.store, name, to)
        return moving.pack(agents.store, name, core, note["move"]).to_bytes()
    finally:
        agents.drop_leaving(name)


def cancel(agents: Agents, name: str, move: str | None) -> None:
    """Let an agent stay after all; or forget that one went from here, if it is lost where."""
    if name not in agents.names and move is None and agents.moved.get(name) == notes.LOST:
        moving.forget_moved(agents.store, name)
        del agents.moved[name]
        agents.mended(notes.MOVED, name)
        return
    agents.require_here(name)
    if not moving.cancel(agents.store, name, move):
        number = agents.leaving.get(name, notes.LOST)["move"]
        require(move is not None, "move", None, f"the agent is being moved by {number}; name the move to cancel")
        raise Taken(f"the agent {name} is not being moved by {move}; look whether somebody else moves it now")
    agents.leaving.pop(name, None)
    agents.mended(notes.LEAVING, name)


def refuse(agents: Agents, name: str, move: str | None) -> None:
    """Refuse a move for ever; or forget that it is lost by which moves an agent came."""
    if move is None:
        moving.forget_arrivals(agents.store, name)
        agents.mended(notes.ARRIVALS, name)
    else:
        moving.refuse(agents.store, name, move)


def complete(agents: Agents, name: str, move: str) -> Any:
    """Delete an agent that has arrived elsewhere; return where."""
    if name not in agents.names and agents.moved.get(name, {}).get("move") == move:
        return agents.moved[name]["to"]
    agents.require_here(name)
    if agents.leaving.get(name, {}).get("move") != move:
        raise Taken(f"the agent {name} is not being moved by {move}")
    note = moving.complete(agents.store, name)
    agents.forget(name)
    agents.moved[name] = note
    agents.placed(name, note["to"])
    return note["to"]
