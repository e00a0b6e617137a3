"""The operations of the service: each passes its work to the committer's thread and returns the answer."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

from starlette.responses import Response, StreamingResponse

from everlearn.errors import InputError
from everlearn.service import management, operations
from everlearn.service.agents import Agents
from everlearn.service.answers import (
    Acted,
    Agent,
    AgentList,
    Alive,
    Created,
    Deleted,
    Observed,
    Policy,
    Report,
    Rewarded,
    Snapshots,
    Stepped,
)
from everlearn.service.committer import Busy, Committer
from everlearn.service.grants import Scope
from everlearn.service.large import Room, document_answer
from everlearn.service.logs import log
from everlearn.service.metrics import CONTENT_TYPE
from everlearn.service.models import (
    ActIn,
    CreateIn,
    DeleteQuery,
    ForgettingIn,
    JournalQuery,
    ModeIn,
    ObserveIn,
    ReportQuery,
    RewardIn,
    RollbackIn,
    RuleIn,
    StepIn,
)
from everlearn.service.problems import Answer, problem
from everlearn.service.promotion import compute_report
from everlearn.service.router import OCTETS, Call, Operation
from everlearn.service.sandbox import PROCESSES, Sandbox
from everlearn.service.settings import Settings
from everlearn.service.setups import remote_setup

LINES = "application/x-ndjson"
MANY = 100
"""From how many agents on an answer that tells of every agent may be large: metrics have up to a kilobyte of each."""

PAGE = 1_000
"""How many rows of a journal are read at once; other requests have their turn between pages."""


class Routes:
    """The operations, around the committer that does their work."""

    def __init__(self, committer: Committer[Agents], sandbox: Sandbox, settings: Settings) -> None:
        self.committer, self.sandbox, self.limits, self.tokens = committer, sandbox, settings.limits, settings.tokens
        self._trying = asyncio.Semaphore(PROCESSES)
        self._room = Room(committer, settings.limits.patience)
        self._lists = Room(committer, settings.limits.patience)
        self._monitors = Room(committer, settings.limits.patience)  # apart: no reader of lists blinds a monitor

    def table(self) -> tuple[Operation, ...]:
        """Return the route table: the operations of every step first, since they are looked up most."""
        agents, agent = "/v1/agents", "/v1/agents/{name}"
        binary = {OCTETS: {"schema": {"type": "string", "format": "binary"}}}
        read = Scope.READ  # an operation that names no scope needs a token of an operator
        stream = partial(Operation, tag="stream", scope=Scope.ACT)
        listed = partial(Operation, tag="agents")
        control = partial(Operation, answer=Agent, tag="control", conditional=True)
        document = partial(Operation, tag="documents", scope=read)
        health = partial(Operation, tag="operation", scope=None)
        return (
            stream("POST", f"{agent}/step", "Observe, then act", self.step, Stepped, StepIn),
            stream("POST", f"{agent}/observe", "Report what happened", self.observe, Observed, ObserveIn),
            stream("POST", f"{agent}/act", "Ask for an action", self.act, Acted, ActIn | None),
            stream("POST", f"{agent}/reward", "Report a late reward", self.reward, Rewarded, RewardIn),
            listed("GET", agents, "List agents", self.list_agents, AgentList, scope=read),
            listed("POST", agents, "Create an agent", self.create, Created, CreateIn, statuses=(201, 200)),
            listed("GET", agent, "Inspect an agent", self.inspect, Agent, scope=read),
            listed("DELETE", agent, "Delete an agent", self.delete, Deleted, query=DeleteQuery, conditional=True),
            control("PUT", f"{agent}/mode", "Freeze, shadow or learn", self.mode, body=ModeIn),
            control("PUT", f"{agent}/promotion", "Set the promotion rule", self.promotion, body=RuleIn),
            control("PUT", f"{agent}/forgetting", "Forget faster or slower", self.forgetting, body=ForgettingIn),
            control("POST", f"{agent}/demote", "Undo a promotion", self.demote),
            document(
                "GET", f"{agent}/report", "Compare a shadow with the controller", self.report, Report, None, ReportQuery
            ),
            Operation(
                "GET", f"{agent}/snapshots", "List snapshots", self.snapshots, Snapshots, scope=read, tag="control"
            ),
            control("POST", f"{agent}/rollback", "Roll back", self.rollback, body=RollbackIn),
            document("GET", f"{agent}/policy", "The greedy policy", self.policy, Policy),
            document("GET", f"{agent}/state", "Export the agent state", self.export, binary),
            control("PUT", f"{agent}/state", "Import an agent state", self.import_state, body=bytes, tag="documents"),
            document("GET", f"{agent}/journal", "Export the journal", self.journal, {LINES: {}}, None, JournalQuery),
            health("GET", "/healthz", "Is it alive?", self.healthz, Alive),
            health("GET", "/readyz", "Can it serve?", self.readyz, Alive),
            health("GET", "/metrics", "Metrics for Prometheus", self.metrics, {"text/plain": {}}, scope=read),
        )

    async def act(self, call: Call) -> Response:
        """Return the action for the step that is due, and the number of that step.

        Asked again, the answer is the same, and nothing is written. If the actions that are allowed have changed, or
        whoever asked has forgotten them, `again` withdraws the action and chooses another; that is journalled.
        """
        body = call.body or ActIn.model_construct()
        return Answer(await self.committer.do(call.name, lambda agents: operations.act(agents, call.name, body)))

    async def observe(self, call: Call) -> Response:
        """Record what was observed at the step that is due. It is on disk when this answers.

        The same request again gets the same answer and changes nothing. Other content for a recorded step is refused
        with status 409 and what is recorded; a step that is not due, with the step that is.
        """
        return Answer(
            await self.committer.do(call.name, lambda agents: operations.observe(agents, call.name, call.body))
        )

    async def step(self, call: Call) -> Response:
        """Do as `observe` and then as `act`, in one request."""
        return Answer(await self.committer.do(call.name, lambda agents: operations.step(agents, call.name, call.body)))

    async def reward(self, call: Call) -> Response:
        """Record the reward of a step that was observed without one, and learn from that step.

        The same request again changes nothing. Another reward is refused with status 409, and so is one that comes
        later than `reward_delay` of the setup allows.
        """
        return Answer(
            await self.committer.do(call.name, lambda agents: operations.reward(agents, call.name, call.body))
        )

    async def list_agents(self, call: Call) -> Response:
        """Return the names of all agents that the token is for, and the step that each has reached."""
        return await self._of_all_agents(self._lists, lambda: self._list_agents(call))

    async def _of_all_agents(self, room: Room, answer: Callable[[], Awaitable[Response]]) -> Response:
        """Return an answer that tells of every agent: few are in memory at a time, if there are many agents."""
        keeper = self.committer.keeper
        return await (room.placed(answer) if keeper is not None and len(keeper.names) > MANY else answer())

    async def _list_agents(self, call: Call) -> Response:
        answer = await self.committer.do(None, management.list_agents)
        answer["agents"] = [agent for agent in answer["agents"] if call.grant.covers(agent["name"])]
        if self.committer.keeper is not None:
            await asyncio.to_thread(management.add_standings, answer["agents"], self.committer.keeper.store.path)
        return Answer(answer)

    async def create(self, call: Call) -> Response:
        """Create an agent. If it exists with the same setup, the status is 200."""
        name, document = call.body.name, call.body.setup.model_dump(exclude_unset=True)
        if not call.grant.covers(name):
            return problem(403, "scope", "this token is not for an agent of that name")
        async with self._trying:
            await asyncio.to_thread(self.sandbox.try_setup, document)
            setup = await asyncio.to_thread(remote_setup, document, self.limits)
        new = await self.committer.do(name, lambda agents: agents.create(name, setup))
        if new:
            log(logging.INFO, "agent created", agent=name)
        return Answer({"name": name, "created": new}, 201 if new else 200)

    async def inspect(self, call: Call) -> Response:
        """Return what the agent knows: time, horizon, optimism, values, counts, recent average, drift.

        The header ETag has its version, for the header If-Match of a request that changes it.
        """
        return await self._room.answer(call.name, lambda agents: management.inspect(agents, call.name), _tagged)

    async def delete(self, call: Call) -> Response:
        """Delete an agent and everything that it learned, for ever. Pass its name again as `confirm`."""
        if call.query.confirm != call.name:
            raise InputError("confirm", call.query.confirm, "give the name of the agent again")
        await self.committer.do(call.name, lambda agents: management.delete(agents, call.name, call.expected))
        log(logging.WARNING, "agent deleted", agent=call.name)
        return Answer({"name": call.name, "deleted": True})

    async def mode(self, call: Call) -> Response:
        """Change how the agent works; the change is journalled like an observation."""
        given = (call.name, call.body.mode, call.expected)
        return await self._change("mode changed", call, lambda agents: management.change_mode(agents, *given))

    async def promotion(self, call: Call) -> Response:
        """Set the rule by which the agent in shadow mode takes control, or the same rule again; null removes it."""
        rule = call.body.rule and call.body.rule.model_dump(exclude_unset=True)
        given = (call.name, rule, call.expected)
        return await self._change("promotion rule set", call, lambda agents: management.arm(agents, *given))

    async def forgetting(self, call: Call) -> Response:
        """Change the least step size, for an environment that changes. What was learned stays; it is journalled."""
        given = (call.name, call.body.forgetting, call.expected)
        return await self._change(
            "forgetting changed", call, lambda agents: management.change_forgetting(agents, *given)
        )

    async def demote(self, call: Call) -> Response:
        """Return to shadow mode; the promotion rule is disarmed until it is set again."""
        given = (call.name, call.expected)
        return await self._change("agent demoted", call, lambda agents: management.demote(agents, *given))

    async def report(self, call: Call) -> Response:
        """Return how the agent in shadow mode compares with the controller in charge: agreement, and gain.

        It is computed from the journal in a process with limits on time and memory; no other agent waits for it.
        """
        path = await self.committer.do(call.name, lambda agents: (agents.core(call.name), agents.store.path)[1])
        query = (call.query.confidence, call.query.first, call.query.last)
        async with self._trying:
            return Answer(await asyncio.to_thread(self.sandbox.compute, compute_report, path, call.name, *query))

    async def snapshots(self, call: Call) -> Response:
        """Return the snapshots to which the agent can be rolled back."""
        work = lambda agents: agents.store.snapshots(agents.core(call.name).number)  # noqa: E731 - passed on
        return Answer({"snapshots": await self.committer.do(call.name, work)})

    async def rollback(self, call: Call) -> Response:
        """Restore what the agent knew at a snapshot.

        The aleatoric state stays, since the world has not gone back; step numbers continue. The same request again,
        with the same If-Match, changes nothing.
        """
        given = (call.name, (call.body.snapshot, call.body.seq), call.expected)
        return await self._change("rolled back", call, lambda agents: management.roll_back(agents, *given))

    async def policy(self, call: Call) -> Response:
        """Return the greedy action, value and count of each state, for a controller that runs without the service."""
        return await self._room.answer(call.name, lambda agents: management.policy(agents, call.name), document_answer)

    async def export(self, call: Call) -> Response:
        """Return everything that the agent knows, as an npz file without pickle, which can be imported elsewhere."""
        respond = partial(Response, media_type=OCTETS)
        return await self._room.answer(call.name, lambda agents: agents.core(call.name).export_state(), respond)

    async def import_state(self, call: Call) -> Response:
        """Replace what the agent knows by an exported agent state. It is checked and tried before anything changes."""
        setup = await self.committer.do(call.name, lambda agents: agents.core(call.name).setup)
        async with self._trying:
            await asyncio.to_thread(self.sandbox.try_state, setup, call.body)
        given = (call.name, call.body, call.expected)
        work = lambda agents: management.import_state(agents, *given)  # noqa: E731 - passed on
        return await self._change("state imported", call, work, bytes=len(call.body))

    async def journal(self, call: Call) -> Response:
        """Return every row of the journal between two steps, with labels, one JSON object per line."""
        rows = self._pages(call.name, call.query.first, call.query.last)
        first_page = await anext(rows, b"")  # a missing agent is a 404, which a stream that has begun could not say
        return StreamingResponse(_chain(first_page, rows), media_type=LINES)

    async def healthz(self, _call: Call) -> Response:
        """Say that the process is alive; no token is needed."""
        if not self.committer.alive:
            return problem(503, "dead", "nothing will be answered any more; start the service again")
        if self.committer.stuck:
            return problem(503, "stuck", "one group of requests has taken more than a minute")
        return Answer({"status": "ok"})

    async def readyz(self, _call: Call) -> Response:
        """Say whether observations can be recorded: the last commit succeeded. No token is needed."""
        if self.committer.ready:
            keeper = self.committer.keeper
            damaged = 0 if keeper is None else len(keeper.damaged_notes)
            more = {"damaged_notes": damaged} if damaged else {}
            return Answer({"status": "ready", "quarantined": self._quarantined(), **more})
        return problem(503, "unready", "not ready: starting, ending, or the last commit failed", {"Retry-After": "1"})

    def _quarantined(self) -> int:
        keeper = self.committer.keeper
        return 0 if keeper is None else len(keeper.quarantined)

    async def metrics(self, call: Call) -> Response:
        """Return requests, commits, queue, and the progress of each loaded agent, in the text format of Prometheus."""
        return await self._of_all_agents(self._monitors, lambda: self._metrics(call))

    async def _metrics(self, call: Call) -> Response:
        count, agents = await self.committer.do(None, management.gauges)
        gauges = {"waiting": self.committer.waiting, "waiting_most": self.committer.most, "agents": count}
        gauges["agents_loaded"] = len(agents)
        gauges["tokens"], gauges["token_file_valid"] = len(self.tokens), self.tokens.valid
        gauges["token_expiry_time_seconds"] = self.tokens.next_expiry
        agents = {name: numbers for name, numbers in agents.items() if call.grant.covers(name)}
        gauges["quarantined"] = self._quarantined()
        text = self.committer.metrics.text({**gauges, "ready": self.committer.ready}, agents)
        return Response(text, media_type=CONTENT_TYPE)

    async def _change(
        self, event: str, call: Call, work: Callable[[Agents], dict[str, Any]], **fields: Any
    ) -> Response:
        def respond(changed: dict[str, Any]) -> Response:
            log(logging.INFO, event, agent=call.name, step=changed["step"], mode=changed["mode"], **fields)
            return _tagged(changed)

        return await self._room.change(call.name, work, respond)

    async def _pages(self, name: str, first: int, last: int | None) -> AsyncIterator[bytes]:
        seq = 0

        def page(agents: Agents) -> list[dict[str, Any]]:
            return management.page(agents, name, (first, last), seq, PAGE)

        while True:
            try:
                rows = await self.committer.do(None, page)
            except Busy:
                if not seq:
                    raise
                await asyncio.sleep(0.1)  # whoever reads a journal can wait
                continue
            if not rows:
                return
            seq = rows[-1]["seq"]
            yield "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows).encode()


def _tagged(agent: dict[str, Any]) -> Response:
    return document_answer(agent, {"ETag": f'"{agent["version"]}"'})


async def _chain(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for part in rest:
        yield part
