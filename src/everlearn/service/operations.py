"""What requests do, in the committer's thread: each is a function of the agents and of what was sent.

**Exactly once.**  The next step is the only one that can be observed.  An earlier one is compared with what the journal
says of it: the same is acknowledged with the answer that it had, other content is a conflict.  An answer is made of the
row alone, so that it is the same after a restart.

**Asked or not.**  A proposal is not on disk: after a crash it is made again, from the same agent state and so the same.
For that to hold whether or not somebody asks again, ``observe`` always proposes first.
"""

from __future__ import annotations

from typing import Any

from everlearn.durable.choosing import mask_of
from everlearn.durable.core import Core
from everlearn.durable.entry import MODES, Entry, packed, unpacked
from everlearn.errors import Conflict, InputError, LiveError, require
from everlearn.labels import as_label
from everlearn.service.agents import Agents
from everlearn.service.committer import Prepared
from everlearn.service.models import ActIn, ObserveIn, StepIn


def act(agents: Agents, name: str, body: ActIn) -> dict[str, Any]:
    """Return the action for the step that is due."""
    core = agents.core(name)
    return _proposed(core, body.allowed)


def observe(agents: Agents, name: str, body: ObserveIn) -> dict[str, Any] | Prepared:
    """Take in what happened at a step."""
    core = agents.core(name)
    if body.step < core.next_step:
        return told(core, _same(agents, core, body))
    entry = _entry(core, body)

    def then() -> dict[str, Any]:
        agents.apply(core, entry)
        return told(core, entry)

    return Prepared((core.number, entry), then)


def step(agents: Agents, name: str, body: StepIn) -> dict[str, Any] | Prepared:
    """Take in what happened at a step, and return the action for the next."""
    core = agents.core(name)
    if body.step < core.next_step:
        return {**told(core, _same(agents, core, body)), "next": _after(agents, core, body)}
    entry = _entry(core, body)
    _check_next(core, entry, body.next_allowed)

    def then() -> dict[str, Any]:
        agents.apply(core, entry)
        return {**told(core, entry), "next": _proposed(core, body.next_allowed)}

    return Prepared((core.number, entry), then)


def told(core: Core, entry: Entry) -> dict[str, Any]:
    """Return what is answered of a row, in labels."""
    task = core.agent.task
    return {
        "step": entry.step,
        "observation": _label(task.observations, entry.observation),
        "executed": _label(task.actions, entry.executed),
        "reward": entry.reward,
        "state": _label(task.states, entry.following),
    }


def recorded(core: Core, entry: Entry) -> dict[str, Any]:
    """Return all that a conflict tells of a row."""
    actions = core.agent.task.actions
    allowed = None if entry.allowed is None else unpacked(entry.allowed)
    masked = None if allowed is None else [label for a, label in enumerate(actions) if allowed >> a & 1]
    return {**told(core, entry), "proposed": _label(actions, entry.proposed), "allowed": masked}


def _label(labels: Any, index: int | None) -> Any:
    return None if index is None else labels[index]


def _proposed(core: Core, allowed: list[Any] | None) -> dict[str, Any]:
    _check_asked(core, allowed)
    action = core.agent.task.actions[_propose(core, allowed)]
    return {"step": core.next_step, "action": action, "state": core.agent.aleatoric_state, "mode": core.mode}


def _propose(core: Core, allowed: list[Any] | None) -> int:
    try:
        return core.propose(allowed)
    except LiveError as error:  # its parameters lead to numbers that it cannot compute with
        raise InputError("agent", core.agent.design.name, str(error)) from error


def _check_asked(core: Core, allowed: list[Any] | None) -> None:
    """Refuse another set of allowed actions than that for which an action was proposed already."""
    if core.agent.pending is not None and allowed is not None and mask_of(core.agent, allowed) != core.asked:
        message = f"step {core.next_step} was asked for with other allowed actions; what was proposed stands"
        raise Conflict(message, core.next_step)


def _entry(core: Core, body: ObserveIn) -> Entry:
    """Return the entry of the step that is due; nothing of it is done yet."""
    if body.step > core.next_step:
        raise Conflict(f"step {body.step} is not due; step {core.next_step} is", core.next_step)
    pending = core.agent.pending is not None
    if pending and (None if body.allowed is None else mask_of(core.agent, as_label(body.allowed))) != core.asked:
        message = f"step {body.step} was asked for with other allowed actions; give the same with observe"
        raise Conflict(message, core.next_step)
    _propose(core, body.allowed)
    return core.prepare(as_label(body.observation), as_label(body.executed), body.reward, as_label(body.state))


def _check_next(core: Core, entry: Entry, allowed: list[Any] | None) -> None:
    """See, before anything is written, that the question that comes with it can be answered."""
    if allowed is not None:
        may = core.setup.allowed.get(entry.following, -1)
        require(
            mask_of(core.agent, allowed) & may != 0, "next_allowed", allowed, "leaves no action that the setup allows"
        )


def _same(agents: Agents, core: Core, body: ObserveIn) -> Entry:
    """Return the row of an earlier step, where it has the same content."""
    entry = agents.store.recorded(core.number, body.step)
    if entry is None:
        message = f"step {body.step} is past, and the journal does not reach back so far; step {core.next_step} is due"
        raise Conflict(message, core.next_step)
    if _content(core, body, entry) != (entry.observation, entry.executed, entry.reward, entry.following, entry.allowed):
        message = f"step {body.step} is recorded with other content; step {core.next_step} is due"
        raise Conflict(message, core.next_step, recorded(core, entry))
    return entry


def _content(core: Core, body: ObserveIn, entry: Entry) -> tuple[Any, ...]:
    """Return what was sent as a row has it; what was left out is what it was then."""
    indexed, agent = core.agent.indexed, core.agent
    return (
        indexed.observation(as_label(body.observation)),
        entry.proposed if body.executed is None else indexed.action(as_label(body.executed)),
        entry.reward if body.reward is None else body.reward,
        entry.following if body.state is None else indexed.state(as_label(body.state)),
        None if body.allowed is None else packed(mask_of(agent, as_label(body.allowed))),
    )


def _after(agents: Agents, core: Core, body: StepIn) -> dict[str, Any]:
    """Return the action that was answered with a step that is past: the one that is pending, or that is recorded."""
    if body.step + 1 == core.next_step:
        return _proposed(core, body.next_allowed)
    entry = agents.store.recorded(core.number, body.step + 1)
    if entry is None:
        raise Conflict(f"step {body.step + 1} is past, and the journal does not reach back so far", core.next_step)
    task = core.agent.task
    action, state = _label(task.actions, entry.proposed), task.states[entry.state]
    return {"step": entry.step, "action": action, "state": state, "mode": MODES[entry.mode]}
