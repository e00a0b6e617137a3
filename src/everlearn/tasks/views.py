"""Replace the aleatoric state of a task: by a window, the memory itself, or any aggregation of memories.

What can be learned depends on what is kept (Sections 1.3 and 2.2.2), so a task can be seen in several ways.

- *Finer* views add something to the task's own (*natural*) aleatoric state, on which the reward depends:
  S = (natural state, the last k observations), or S = (natural state, memory), whose distortion is zero.
- An *aggregation* maps every memory to a class, and S is that class.  S' and the reward must be functions of (S, A, O),
  so the environment announces both: an observation is (observation, class of the next memory, number of the payment),
  with payments numbered in increasing order.  Dynamics and rewards stay the same, and so does lambda_*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from everlearn.aleatoric.kept import belief, last_actions, last_changes, trace
from everlearn.aleatoric.state import MOST_STATES, AleatoricState, window
from everlearn.environments.model import Model, Outcome
from everlearn.environments.pure import Pure
from everlearn.errors import AleatoricStateError, InputError, ObservationError, TaskError, require
from everlearn.factories import name_of
from everlearn.labels import check_label
from everlearn.protocol import Label
from everlearn.registry import locate
from everlearn.tasks.task import Task
from everlearn.windows import LONGEST_WINDOW, Kept, Window

WAYS = (
    "natural, memory, window:K, window:K+actions, actions:K, last-change:K, trace:DECAY:LEVELS, belief:LEVELS, or your "
    "own as module:attribute"
)

SHAPES = {
    "window": ("window:K", "window:3"),
    "actions": ("actions:K", "actions:3"),
    "last-change": ("last-change:K", "last-change:3"),
    "trace": ("trace:DECAY:LEVELS", "trace:0.5:4"),
    "belief": ("belief:LEVELS", "belief:4"),
}
"""How each kind of view is written, and an example."""

HIDDEN = "keep something of observations and actions instead, such as window:3, or belief:4"


class Arrow(NamedTuple):
    """A possible transition from a pair of a memory and an aleatoric state."""

    memory: Label
    aleatoric_state: Label
    action: Label
    outcome: Outcome
    following: Label
    """The aleatoric state that follows."""


def seen_through(task: object, aleatoric: object) -> Task:
    """Return the same task with another aleatoric state.

    Parameters
    ----------
    task:
        a task, or the name of one
    aleatoric:
        ``natural`` leaves the task's own aleatoric state as it is.  These are added to the task's own state:
        ``memory``; ``window:3``, the last three observations; ``window:3+actions``, these with the actions before them;
        ``actions:3``, the last three actions; ``last-change:3``, the last three different observations;
        ``trace:0.8:4``, for each observation an average with decay 0.8 that shows how often and how recently it was
        made, rounded to multiples of 1/4; ``belief:4``, the probability of each memory given the history, rounded
        likewise; or an :class:`AleatoricState`.  A function that maps memories to labels (an aggregation) replaces the
        task's own state.  You can name an :class:`AleatoricState` or a function of yours as ``module:attribute``

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
    from everlearn.tasks.registry import make_task  # it imports this module, since every task can be seen differently

    natural = make_task(task)
    view = _named(aleatoric, natural) if isinstance(aleatoric, str) else aleatoric
    if isinstance(view, str) and view == "natural":
        return natural
    if isinstance(view, str) and view == "memory":
        seen = _with_memory(natural)
    elif isinstance(view, AleatoricState):
        seen = _beside(natural, view)
    elif callable(view):
        seen = _aggregated(natural, view)
    else:
        raise InputError("task.aleatoric", aleatoric, f"give {WAYS}")
    # Other known averages may depend on the natural aleatoric states, and so be wrong in this view.
    kept = {"optimum", *(f"always {action}" for action in natural.actions)}
    return replace(seen, references={name: value for name, value in natural.references.items() if name in kept})


def _named(name: str, task: Task) -> object:
    if name in ("natural", "memory"):
        return name
    if (kept := Window.read(name)) is not None:
        fits = 1 <= kept.length <= LONGEST_WINDOW
        require(fits, "task.aleatoric", name, f"give a window of 1 to {LONGEST_WINDOW} observations")
        return window(kept.length, actions=kept.actions)
    if (what := Kept.read(name)) is not None:
        return _kept(what, task)
    kind = name.partition(":")[0]
    if ":" in name and kind not in SHAPES:
        return _own(name, kind)
    if kind not in SHAPES:
        raise InputError("task.aleatoric", name, f"give {WAYS}")
    raise InputError("task.aleatoric", name, _written(kind, name))


def _own(name: str, kind: str) -> object:
    """Return the user's own view; if there is none, its kind may be a kind of view with a letter missing."""
    try:
        return locate(name, {}, "task.aleatoric")
    except InputError as error:
        near = get_close_matches(kind, SHAPES, n=1)
        hint = f" (did you mean {near[0]}{name.removeprefix(kind)}?)" if near else ""
        raise InputError("task.aleatoric", name, error.remedy + hint) from None


def _written(kind: str, name: str) -> str:
    """Return how a kind of view is written, and what is missing of a name, if that can be said."""
    shape, example = SHAPES[kind]
    if kind in ("trace", "belief") and Kept.read(completed := f"{name}:4") is not None:
        return f"the number of levels is missing; write {shape}, as in {completed}"
    return f"write {shape}, as in {example}"


def _kept(what: Kept, task: Task) -> AleatoricState:
    if what.kind == "belief":
        if task.model is None:
            raise TaskError(
                "task.aleatoric", "belief", f"the task {task.name!r} has no model, so no belief over memories"
            )
        return belief(task.model, what.number)
    if what.kind == "trace":
        return trace(what.decay, what.number)
    return (last_actions if what.kind == "actions" else last_changes)(what.number)


def _beside(task: Task, other: AleatoricState, states: tuple[Label, ...] | None = None) -> Task:
    """Return a task whose aleatoric state is a pair of the natural one and another."""
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
        raise TaskError("task.aleatoric", "memory", f"the task {task.name!r} has no model, so no memory to see")
    require(not task.hidden, "task.aleatoric", "memory", f"the task {task.name!r} hides its memory; {HIDDEN}")
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
        raise TaskError("task.aleatoric", phi, f"the task {task.name!r} has no model, so no memories to aggregate")
    require(not task.hidden, "task.aleatoric", name_of(phi), f"the task {task.name!r} hides its memories; {HIDDEN}")
    model, natural, reward = task.model, task.aleatoric, task.reward
    checked = Pure(phi, "aggregation", "(memory,)", "let the class of a memory depend on it alone")
    arrows = list(_arrows(model, natural))
    memories = dict.fromkeys((model.memory, *(arrow.outcome.memory for arrow in arrows)))
    classes = dict.fromkeys(_class(checked, memory) for memory in memories)
    payments = sorted({reward(arrow.aleatoric_state, arrow.action, arrow.outcome.observation) for arrow in arrows})
    number = {payment: place for place, payment in enumerate(payments)}

    def announced(aleatoric_state: Label, action: Label, outcome: Outcome) -> Label:
        payment = number[reward(aleatoric_state, action, outcome.observation)]
        return outcome.observation, _class(phi, outcome.memory), payment

    def rho(pair: Any, action: Label) -> Iterator[tuple[Label, float, Label]]:
        memory, s = pair
        for outcome in model.outcomes(memory, action):
            following = natural.follow(s, action, outcome.observation)
            yield announced(s, action, outcome), outcome.probability, (outcome.memory, following)

    observations = dict.fromkeys(announced(arrow.aleatoric_state, arrow.action, arrow.outcome) for arrow in arrows)
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
    """Return the aleatoric states that can be reached, in the order in which they are found.

    A model reaches far fewer windows than there are sequences of observations.
    """
    memories, states = {model.memory: 0}, {aleatoric.start: 0}  # numbers, which are faster to look up than labels
    rows: dict[tuple[int, int], list[tuple[Label, int]]] = {}
    after: dict[tuple[int, int], dict[Label, int]] = {}
    found_memories, states_reached = [model.memory], [aleatoric.start]
    queue = [(0, 0)]
    queued = set(queue)
    for memory, s in queue:
        for place, action in enumerate(model.actions):
            if (row := rows.get((memory, place))) is None:
                row = rows[memory, place] = []
                for outcome in model.outcomes(found_memories[memory], action):
                    row.append((outcome.observation, _number(memories, found_memories, outcome.memory)))
            follows = after.setdefault((s, place), {})
            for observation, next_memory in row:
                if (following := follows.get(observation)) is None:
                    label = aleatoric.follow(states_reached[s], action, observation)
                    following = follows[observation] = _number(states, states_reached, label)
                if (pair := (next_memory, following)) not in queued:
                    queued.add(pair)
                    queue.append(pair)
        _refuse_too_many(len(queued))
    return tuple(states_reached)


def _number(numbers: dict[Label, int], labels: list[Label], label: Label) -> int:
    """Return the number of a label, which is the next one if the label is new."""
    if (number := numbers.get(label)) is None:
        number = numbers[label] = len(labels)
        labels.append(label)
    return number


def _refuse_too_many(number: int) -> None:
    if number > MOST_STATES:
        remedy = "so many pairs of a memory and such a state were reached; keep less, such as a shorter window"
        raise AleatoricStateError("task.aleatoric", number, remedy)


def _arrows(model: Model, aleatoric: AleatoricState) -> Iterator[Arrow]:
    """Yield every possible transition from every pair of a memory and an aleatoric state that can be reached."""
    queue = [(model.memory, aleatoric.start)]
    queued = set(queue)
    rows: dict[tuple[Label, Label], tuple[Outcome, ...]] = {}
    for memory, s in queue:
        for action in model.actions:
            if (row := rows.get((memory, action))) is None:
                row = rows[memory, action] = model.outcomes(memory, action)
            for outcome in row:
                following = aleatoric.follow(s, action, outcome.observation)
                yield Arrow(memory, s, action, outcome, following)
                if (pair := (outcome.memory, following)) not in queued:
                    queued.add(pair)
                    queue.append(pair)
        _refuse_too_many(len(queued))
