"""The same task seen through another aleatoric state: a window, memory itself, any aggregation of memories.

What can be learned is decided by what is kept (Sections 1.3 and 2.2.2), so a task can be seen in several ways.

- *Finer* views keep something beside the natural aleatoric state, which stays, since the reward is a function of it:
  S = (natural state, the last k observations), or S = (natural state, memory), whose distortion is zero.
- An *aggregation* maps every memory to a class, and S is that class.  For S' to be a function of (S, A, O), and the
  reward too, the environment then announces both: an observation is (observation, class of the next memory, number of
  the payment), the payments being numbered upwards.  Dynamics and rewards stay as they were, so that lambda_* does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from everlearn.aleatoric.state import MOST_STATES, AleatoricState, window
from everlearn.environments.model import Model, Outcome
from everlearn.environments.pure import Pure
from everlearn.errors import AleatoricStateError, InputError, ObservationError, TaskError, require
from everlearn.labels import check_label
from everlearn.protocol import Label
from everlearn.registry import locate
from everlearn.tasks.task import Task

WAYS = "natural, memory, window:K, window:K+actions, or your own as module:attribute"

LONGEST = 100
"""The longest window that can be asked for by name."""


class Arrow(NamedTuple):
    """One thing that can happen from a pair of a memory and an aleatoric state."""

    memory: Label
    aleatoric_state: Label
    action: Label
    outcome: Outcome
    following: Label
    """The aleatoric state that follows."""


def seen_through(task: object, aleatoric: object) -> Task:
    """Return a task seen through another aleatoric state.

    Parameters
    ----------
    task:
        a task, or the name of one
    aleatoric:
        ``natural``: as it is; ``memory``: the natural state and memory itself; ``window:3``: the natural state and the
        last three observations, ``window:3+actions`` with the actions before them; an :class:`AleatoricState`, which is
        kept beside the natural one; a function from memories to labels, an aggregation; or the name of one of these two
        as ``module:attribute``

    Examples
    --------
    >>> import everlearn as el
    >>> from everlearn.tasks.registry import make_task
    >>> task = make_task("alternating")
    >>> task.states, seen_through(task, "memory").states
    ((1,), ((1, 0), (1, 1), (1, 2)))
    >>> el.Theory(task).distortion(10).value > 0.9, el.Theory(seen_through(task, "memory")).distortion(10).value
    (True, 0.0)
    >>> seen_through(task, lambda last: "begun" if last else "new").states
    ('new', 'begun')

    """
    from everlearn.tasks.registry import make_task  # which offers this to every task

    natural = make_task(task)
    found = _named(aleatoric) if isinstance(aleatoric, str) else aleatoric
    if isinstance(found, str) and found == "natural":
        return natural
    return replace(_seen(natural, found, aleatoric), references=_whatever_is_seen(natural))


def _seen(task: Task, found: object, given: object) -> Task:
    if isinstance(found, str) and found == "memory":
        return _with_memory(task)
    if isinstance(found, AleatoricState):
        return _beside(task, found)
    if callable(found):
        return _aggregated(task, found)
    raise InputError("task.aleatoric", given, f"give {WAYS}")


def _whatever_is_seen(task: Task) -> dict[str, float]:
    """Return the known averages that hold in every view: the optimum, and those of one action for ever.

    Any other may be that of a policy over the aleatoric states that there were, and is then not true of these.
    """
    kept = {"optimum", *(f"always {action}" for action in task.actions)}
    return {name: value for name, value in task.references.items() if name in kept}


def _named(name: str) -> object:
    if name in ("natural", "memory"):
        return name
    kind, _, rest = name.partition(":")
    if kind == "window":
        length, plus, extra = rest.partition("+")
        if length.isdecimal() and extra == ("actions" if plus else ""):
            fits = len(length) <= len(str(LONGEST)) and 1 <= int(length) <= LONGEST
            require(fits, "task.aleatoric", name, f"give a window of 1 to {LONGEST} observations")
            return window(int(length), actions=bool(plus))
    elif ":" in name:
        return locate(name, {}, "task.aleatoric")
    raise InputError("task.aleatoric", name, f"give {WAYS}")


def _beside(task: Task, other: AleatoricState, states: tuple[Label, ...] | None = None) -> Task:
    """Return a task whose aleatoric state is the natural one and another."""
    natural, reward = task.aleatoric, task.reward

    def update(both: Any, action: Label, observation: Label) -> Label:
        return natural.follow(both[0], action, observation), other.follow(both[1], action, observation)

    def paid(both: Any, action: Label, observation: Label) -> float:
        return reward(both[0], action, observation)

    fine = AleatoricState((natural.start, other.start), update, states)
    if states is None and task.model is not None:
        fine = replace(fine, states=reached(task.model, fine))
    return replace(task, aleatoric=fine, reward=replace(reward, function=paid), arrays=None)


def _with_memory(task: Task) -> Task:
    if task.model is None:
        raise TaskError("task.aleatoric", "memory", f"the task {task.name!r} has no model, and so no memory to see")
    model = task.model
    known: dict[tuple[Label, Label], dict[Label, Label]] = {}

    def following(memory: Label, action: Label, observation: Label) -> Label:
        if (row := known.get((memory, action))) is None:
            row = known[memory, action] = {o.observation: o.memory for o in model.outcomes(memory, action)}
        if observation not in row:
            raise ObservationError("observation", observation, f"cannot follow memory {memory!r} and {action!r}")
        return row[observation]

    if task.arrays is None:
        return _beside(task, AleatoricState(model.memory, following))
    classes = task.arrays.classes
    states = tuple((task.states[number], memory) for memory, number in enumerate(classes.tolist()))
    fine = _beside(task, AleatoricState(model.memory, following), states)
    return replace(fine, arrays=task.arrays._replace(classes=np.arange(classes.size)))


def _aggregated(task: Task, phi: Callable[[Any], Label]) -> Task:
    """Return a task whose aleatoric state is a class of memories, which the environment announces."""
    if task.model is None:
        raise TaskError("task.aleatoric", phi, f"the task {task.name!r} has no model, and so no memories to aggregate")
    model, natural, reward = task.model, task.aleatoric, task.reward
    checked = Pure(phi, "aggregation", "(memory,)", "let the class of a memory depend on it alone")
    found = list(_arrows(model, natural))
    memories = dict.fromkeys((model.memory, *(arrow.outcome.memory for arrow in found)))
    classes = dict.fromkeys(_class(checked, memory) for memory in memories)
    payments = sorted({reward(arrow.aleatoric_state, arrow.action, arrow.outcome.observation) for arrow in found})
    number = {payment: place for place, payment in enumerate(payments)}

    def announced(aleatoric_state: Label, action: Label, outcome: Outcome) -> Label:
        payment = number[reward(aleatoric_state, action, outcome.observation)]
        return outcome.observation, _class(phi, outcome.memory), payment

    def rho(pair: Any, action: Label) -> Iterator[tuple[Label, float, Label]]:
        memory, s = pair
        for outcome in model.outcomes(memory, action):
            following = natural.follow(s, action, outcome.observation)
            yield announced(s, action, outcome), outcome.probability, (outcome.memory, following)

    observations = dict.fromkeys(announced(arrow.aleatoric_state, arrow.action, arrow.outcome) for arrow in found)
    return replace(
        task,
        observations=tuple(observations),
        aleatoric=AleatoricState(_class(phi, model.memory), _announced_class, tuple(classes)),
        reward=replace(reward, function=lambda _s, _a, observation: payments[observation[2]]),
        model=Model(task.actions, tuple(observations), (model.memory, natural.start), rho),
        arrays=None,
    )


def _announced_class(_aleatoric_state: Label, _action: Label, observation: Any) -> Label:
    return observation[1]  # type: ignore[no-any-return]


def _class(phi: Callable[[Any], Label], memory: Label) -> Label:
    return check_label(phi(memory), f"class of memory {memory!r}")


def reached(model: Model, aleatoric: AleatoricState) -> tuple[Label, ...]:
    """Return the aleatoric states that can happen, in the order in which they are found.

    Without a model all that f can reach is listed; with one, a window has far fewer states than there are sequences.
    """
    return tuple(dict.fromkeys((aleatoric.start, *(arrow.following for arrow in _arrows(model, aleatoric)))))


def _arrows(model: Model, aleatoric: AleatoricState) -> Iterator[Arrow]:
    """Yield everything that can happen, from every pair of a memory and an aleatoric state that can be reached."""
    queue = [(model.memory, aleatoric.start)]
    found = set(queue)
    rows: dict[tuple[Label, Label], tuple[Outcome, ...]] = {}
    for memory, s in queue:
        for action in model.actions:
            if (row := rows.get((memory, action))) is None:
                row = rows[memory, action] = model.outcomes(memory, action)
            for outcome in row:
                following = aleatoric.follow(s, action, outcome.observation)
                yield Arrow(memory, s, action, outcome, following)
                if (pair := (outcome.memory, following)) not in found:
                    found.add(pair)
                    queue.append(pair)
        if len(found) > MOST_STATES:
            remedy = "so many pairs of a memory and such a state were reached; keep less, such as a shorter window"
            raise AleatoricStateError("task.aleatoric", len(found), remedy)
