"""What controllers request, done in the committer's thread: act, observe, step.

**Exactly once.**  ``Core.recall`` recognises a step that is reported again.  The answer is made of its row alone, so
that it is the same after a restart.

**Asked or not.**  A proposal is not on disk: after a crash it is made again, from the same agent state and so the same.
For that to hold whether or not somebody asks again, ``observe`` always proposes first.
"""

from __future__ import annotations

from typing import Any

from everlearn.agents.prices import MEASURES
from everlearn.durable.choice import mask_of
from everlearn.durable.core import Core
from everlearn.durable.entry import Entry, Outcome, label_at, number_of
from everlearn.errors import Conflict, Failed, require
from everlearn.labels import as_label
from everlearn.service.agents import Agents
from everlearn.service.committer import Prepared
from everlearn.service.models import ActIn, ObserveIn, RewardIn, StepIn

_new = tuple.__new__  # faster than the constructor of a named tuple

CONTENT = ("step", "observation", "executed", "reward", "state", "proposed", "allowed")
"""What a conflict says of a row."""


class Asked(Conflict):
    """The step was asked for with other allowed actions; ``pending`` has what was proposed, and among which."""

    def __init__(self, core: Core, remedy: str) -> None:
        message = f"step {core.next_step} was asked for with other allowed actions; {remedy}"
        super().__init__(message, core.next_step)
        action = label_at(core.agent.task.actions, core.agent.pending)
        self.pending = {"step": core.next_step, "action": action, "allowed": core.asked_labels}


def act(agents: Agents, name: str, body: ActIn) -> dict[str, Any]:
    """Return the action for the step that is due; ``again`` withdraws one that was chosen among other actions."""
    core = agents.core(name)
    if body.step is not None and body.step != core.next_step:
        raise Conflict(f"step {body.step} is not due; step {core.next_step} is", core.next_step, step=body.step)
    if body.again:
        require(body.step is not None, "step", None, "again withdraws an action: name its step")
        core.require_working()
        entry = core.forget(None if body.allowed is None else mask_of(core.agent, as_label(body.allowed)))
        if entry is not None:
            agents.write(core, entry)
    return _proposed(agents, core, body.allowed)


def observe(agents: Agents, name: str, body: ObserveIn) -> dict[str, Any] | Prepared:
    """Record what happened at a step."""
    core = agents.core(name)
    if (repeated := _repeated(agents, core, body)) is not None:
        return recorded_answer(core, repeated)
    entry = _entry(agents, core, body)

    def then() -> dict[str, Any]:
        agents.apply(core, entry)
        return recorded_answer(core, entry)

    return _new(Prepared, ((core.number, entry), then))


def step(agents: Agents, name: str, body: StepIn) -> dict[str, Any] | Prepared:
    """Record what happened at a step, and return the action for the next."""
    core = agents.core(name)
    if (repeated := _repeated(agents, core, body)) is not None:
        return {**recorded_answer(core, repeated), "next": _after(agents, core, body)}
    entry = _entry(agents, core, body)
    if body.next_allowed is not None:
        _check_next(core, entry, body.next_allowed)

    def then() -> dict[str, Any]:
        agents.apply(core, entry)
        answer = recorded_answer(core, entry)
        answer["next"] = _proposed(agents, core, body.next_allowed)
        return answer

    return _new(Prepared, ((core.number, entry), then))


def reward(agents: Agents, name: str, body: RewardIn) -> dict[str, Any] | Prepared:
    """Record the reward of a step that was observed without one."""
    core = agents.core(name)
    if body.step in core.waiting and core.agent.pending is None:
        _propose(agents, core, None)  # so that what is learned now does not change an action that was asked for already
    entry = core.pay(body.step, body.reward, agents.store.reward_of)
    answer = {"step": body.step, "reward": body.reward}
    if entry is None:
        return answer

    def then() -> dict[str, Any]:
        agents.apply(core, entry)
        return answer

    return _new(Prepared, ((core.number, entry), then))


def recorded_answer(core: Core, entry: Entry) -> dict[str, Any]:
    """Return the answer to an observation, from its row."""
    task = core.agent.task
    return {
        "step": entry.step,
        "observation": label_at(task.observations, entry.observation),
        "executed": label_at(task.actions, entry.executed),
        "reward": entry.reward,
        "state": label_at(task.states, entry.following),
    }


def _repeated(agents: Agents, core: Core, body: ObserveIn) -> Entry | None:
    """Return the row of a step that is reported again; None if the step is due."""
    if body.step == core.next_step:
        return None
    mask = None if body.allowed is None else mask_of(core.agent, as_label(body.allowed))
    try:
        return core.recall(body.step, _outcome(body), agents.store.recorded, mask)
    except Conflict as error:
        if (row := error.recorded) is not None:
            row = {**row, "state": row["next_state"]}
            row = {name: row[name] for name in (*CONTENT, *MEASURES) if name in row}
        raise Conflict(str(error), error.expected, row, step=error.step, field=error.field) from None


def _outcome(body: ObserveIn) -> Outcome:
    return Outcome(
        as_label(body.observation), as_label(body.executed), body.reward, as_label(body.state), body.duration, body.cost
    )


def _proposed(agents: Agents, core: Core, allowed: list[Any] | None) -> dict[str, Any]:
    if core.agent.pending is not None and allowed is not None and mask_of(core.agent, allowed) != core.asked:
        raise Asked(core, "what was proposed stands; to replace it, act again")
    action = core.agent.task.actions[_propose(agents, core, allowed)]
    answer = {"step": core.next_step, "action": action, "state": core.agent.aleatoric_state, "mode": core.mode}
    return answer if core.asked is None else {**answer, "allowed": core.asked_labels}


def _propose(agents: Agents, core: Core, allowed: list[Any] | None) -> int:
    try:
        return core.propose(allowed)
    except (Failed, MemoryError) as error:  # it may have drawn from its stream before it failed
        if core.failure is None:
            agents.reread(core, error)
        raise


def _entry(agents: Agents, core: Core, body: ObserveIn) -> Entry:
    """Return the entry of the step that is due; nothing of it is done yet."""
    if core.agent.pending is None:
        _propose(agents, core, body.allowed)
    elif (None if body.allowed is None else mask_of(core.agent, as_label(body.allowed))) != core.asked:
        raise Asked(core, "pass the same set with observe")
    given: Any = body  # its labels may be lists, which `prepare` reads as tuples
    return core.prepare(given.observation, given.executed, given.reward, given.state, given.duration, given.cost)


def _check_next(core: Core, entry: Entry, allowed: list[Any]) -> None:
    """Check, before anything is written, that the next action can be chosen."""
    may = core.setup.allowed.get(number_of(entry.following), -1)
    require(mask_of(core.agent, allowed) & may != 0, "next_allowed", allowed, "leaves no action that the setup allows")


def _after(agents: Agents, core: Core, body: StepIn) -> dict[str, Any]:
    """Return the action that was answered with a step that is past: the one that is pending, or that is recorded."""
    if body.step + 1 == core.next_step:
        return _proposed(agents, core, body.next_allowed)
    entry = agents.store.recorded(core.number, body.step + 1)
    if entry is None:
        message = f"step {body.step + 1} is past, and the journal does not reach back so far"
        raise Conflict(message, core.next_step, step=body.step + 1)
    row = entry.described(core.agent.task)
    answer = {"step": row["step"], "action": row["proposed"], "state": row["state"], "mode": row["mode"]}
    return answer if row["allowed"] is None else {**answer, "allowed": row["allowed"]}
