"""The fingerprint of a durable agent: what it depends on beside its setup, so that a change is noticed.

The functions f and r and the dynamics are recorded by their values, so that a harmless edit is no change and a change
can be described in words.  If there are too many values, some are recorded, and the source of a user's function too.
A user's agent and schedule are recorded by their source, without names and comments, and by their initial contents.
Those of everlearn are identified by their names and parameters.
"""

from __future__ import annotations

import hashlib
import math
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from everlearn.agents.design import Design
from everlearn.agents.guard import build_knowledge
from everlearn.agents.knowledge import arrays
from everlearn.agents.schedule import Schedule
from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.state import AleatoricState
from everlearn.durable.declaration import stay
from everlearn.environments.model import Model
from everlearn.grids import Grid, Numbers, read_grid, size_of
from everlearn.labels import as_label, encode
from everlearn.ownership import is_ours, is_own
from everlearn.protocol import Label
from everlearn.registry import plain
from everlearn.sources import source_of
from everlearn.tasks.indexed import IndexedTask
from everlearn.tasks.task import Task

MOST_VALUES = 10_000
"""The most values of f and of r that are recorded: all, or so many evenly spaced ones."""

MOST_OF_A_GRID = 1_000
"""The same if states or observations are a grid, whose labels take longer to compute."""

MOST_OUTCOMES = 300
"""The most outcomes of the dynamics that are recorded, from the first memory on."""

DECIMALS = 12
"""The decimals to which numbers are hashed: processors differ in the last bits."""

TIMES = sorted({*range(1, 65), *(2**power for power in range(21))})
"""The times at which a user's schedule is recorded; some schedules take long to evaluate at later ones."""

FUNCTIONS = ("horizon", "optimism", "value_shift", "count_scale")
SETTINGS = (
    *("ceiling", "scales_counts", "constants", "step_weight", "doubt", "rarity"),
    *("persistence", "persistence_most", "forgetting", "unit"),
)

Labels = Sequence[Label]

FACE = ("name", "actions", "observations", "states", "start", "reward")
"""The keys that describe a task without f, r and the environment."""


def task_of_face(face: dict[str, Any]) -> Task:
    """Return a task without f and r; this is enough to replay and to read, which evaluate neither."""
    actions, observations, states = (labels_of(face[key]) for key in ("actions", "observations", "states"))
    start = as_label(face["start"])
    start = states[states.number(start)] if isinstance(states, Grid) else start
    low, high, raw = face["reward"]
    reward = Reward(lambda _state, _action, _observation: low, low, high, raw)
    return Task(actions, observations, AleatoricState(start, stay, states), reward, name=face["name"])


def fingerprint_of(task: Task, design: Design, *, states: bool = True, rewards: bool = True) -> dict[str, Any]:
    """Return what an agent of a design depends on in a task, as a JSON document.

    ``states`` and ``rewards`` say whether f and r are functions of the task, not given with each observation.
    """
    numbers, reward = Numbers(task.states), task.reward
    sets = [set_document(labels) for labels in (task.actions, task.observations, task.states)]
    face = (task.name, *sets, task.aleatoric.start)
    return {
        **dict(zip(FACE, (*face, [reward.low, reward.high, reward.raw]), strict=True)),
        "parameters": plain(dict(task.parameters)),
        "update": _table(task, task.aleatoric.update, numbers.__getitem__) if states else None,
        "rewards": _table(task, reward.function, _finite) if rewards else None,
        "dynamics": _dynamics(task),
        "agent": _agent(task, design),
        "schedule": None if design.schedule is None else _schedule(design.schedule),
    }


def set_document(labels: Labels) -> Any:
    """Return a set of labels as JSON; a grid is described, and not listed."""
    return labels.document() if isinstance(labels, Grid) else labels


def labels_of(document: Any) -> Any:
    """Return the set of labels of a document."""
    return read_grid(document) if isinstance(document, dict) else as_label(list(document))


def places(sets: Iterable[Labels]) -> Iterable[int]:
    """Return which values of a function over (state, action, observation) are recorded, numbered in this order."""
    known = list(sets)
    total = math.prod(map(size_of, known))
    most = MOST_OF_A_GRID if any(isinstance(labels, Grid) for labels in known) else MOST_VALUES
    return range(total) if total <= most else [k * total // most for k in range(most)]


def labels_at(place: int, states: Labels, actions: Labels, observations: Labels) -> tuple[Label, Label, Label]:
    """Return the arguments of the value that has a number; see :func:`places`."""
    rest, observation = divmod(place, size_of(observations))
    state, action = divmod(rest, len(actions))
    return states[state], actions[action], observations[observation]


def _table(task: Task, function: Callable[..., Any], convert: Callable[[Any], Any]) -> dict[str, Any]:
    sets = (task.states, task.actions, task.observations)
    recorded = places(sets)
    values = [_value(lambda labels: convert(function(*labels)), labels_at(place, *sets)) for place in recorded]
    return {"values": values, "source": None if isinstance(recorded, range) else _source(function)}


def _value(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return a value, or None if it cannot be computed: the argument may never occur."""
    try:
        return function(*arguments)
    except Exception:  # whatever a user's function raises
        return None


def _finite(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(number)
    return number


def _source(function: Any) -> str | None:
    """Return a hash of the source of a user's function, or of the numbers that a function of everlearn holds.

    The source of the latter may change without a change of what it does.
    """
    if is_own(function):
        return source_of(function, named=False)
    numbers = [np.round(array, DECIMALS) + 0 for array in _arrays_in(function)]
    return hashlib.sha256(b"".join(array.tobytes() for array in numbers)).hexdigest() if numbers else None


def _arrays_in(thing: Any) -> Iterator[np.ndarray[Any, Any]]:
    """Yield the arrays of numbers that a function of everlearn was made with, such as the matrices of a task."""
    if isinstance(thing, np.ndarray) and thing.dtype.kind in "iuf":
        yield thing
    elif isinstance(thing, list | tuple):
        yield from (array for entry in thing for array in _arrays_in(entry))
    elif hasattr(thing, "indptr"):  # a sparse matrix
        yield from (thing.indptr, thing.indices, thing.data)
    elif isinstance(thing, types.FunctionType) and is_ours(thing):
        yield from _arrays_in([cell.cell_contents for cell in thing.__closure__ or ()])


def _dynamics(task: Task) -> dict[str, Any] | None:
    if task.model is None:
        return None if task.environment is None else {"memory": None, "rows": {}, "source": _source(task.environment)}
    rows, complete = _rows(task.model)
    return {"memory": task.model.memory, "rows": rows, "source": None if complete else _source(task.model.rho)}


def _rows(model: Model) -> tuple[dict[str, Any], bool]:
    """Return the outcomes by memory and action, and whether these are all."""
    rows: dict[str, Any] = {}
    queue, known, count = [model.memory], {model.memory}, 0
    for memory, action in _pairs(queue, model.actions):
        if count >= MOST_OUTCOMES:
            return rows, False
        outcomes = _value(model.outcomes, memory, action)
        rows[encode((memory, action))] = outcomes and [list(outcome) for outcome in outcomes]
        fresh = [outcome.memory for outcome in outcomes or () if outcome.memory not in known]
        known.update(fresh)
        count += len(outcomes or ()) + 1
        queue.extend(dict.fromkeys(fresh))
    return rows, True


def _pairs(queue: list[Label], actions: tuple[Label, ...]) -> Iterable[tuple[Label, Label]]:
    for memory in queue:  # which grows meanwhile
        yield from product((memory,), actions)


def is_own_schedule(schedule: Schedule) -> bool:
    """Return whether a schedule is the user's, and not one of everlearn."""
    functions = (getattr(schedule, name) for name in (*FUNCTIONS, "formula"))
    return any(is_own(function) for function in functions if function is not None)


def _agent(task: Task, design: Design) -> dict[str, Any]:
    named = {"name": design.name, "parameters": plain(dict(design.parameters))}
    if not design.own:
        return {**named, "functions": None, "begins": None}
    functions = {name: getattr(design, name) for name in ("act", "learn", "policy", "remember", "carry")}
    sources = {name: _source(function) for name, function in functions.items() if function is not None}
    knowledge = build_knowledge(design, IndexedTask(task))
    known = arrays(knowledge)
    begins = {name: repr(value) for name, value in knowledge._asdict().items() if name not in known}
    return {**named, "functions": sources, "begins": {**begins, **{name: _array(known[name]) for name in known}}}


def _array(array: np.ndarray[Any, Any]) -> list[str]:
    contents = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
    return [f"{array.dtype} {array.shape}", contents]


def _values_over_time(function: Callable[[int], Any]) -> list[float | None]:
    return [_value(lambda t: _finite(function(t)), t) for t in TIMES]


def _schedule(schedule: Schedule) -> dict[str, Any]:
    named = {"name": schedule.name, "parameters": plain(dict(schedule.parameters))}
    functions = {name: getattr(schedule, name) for name in (*FUNCTIONS, "formula")}
    if not is_own_schedule(schedule):
        return {**named, "values": None, "settings": None, "sources": None}
    values = {name: _values_over_time(functions[name]) for name in FUNCTIONS}
    settings = {name: plain(getattr(schedule, name)) for name in SETTINGS}
    sources = {name: _source(function) for name, function in functions.items() if function is not None}
    return {**named, "values": values, "settings": settings, "sources": sources}
