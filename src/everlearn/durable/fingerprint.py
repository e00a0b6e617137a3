"""The fingerprint of a durable agent: what it depends on beside its setup, so that a change is noticed.

The functions f and r and the dynamics are recorded by their values, so that a harmless edit is no change and a change
can be said in words.  Of too many values some are recorded, and of functions of the user's also the source.
An agent and a schedule of the user's are recorded by their source, without names and comments, and by what they begin
with.  Those of everlearn are identified by their names and parameters.
"""

from __future__ import annotations

import hashlib
import math
import types
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any

import numpy as np

from everlearn.agents.design import Design
from everlearn.agents.guard import build_knowledge
from everlearn.agents.knowledge import arrays
from everlearn.agents.schedule import Schedule
from everlearn.durable.making import face_of
from everlearn.environments.model import Model
from everlearn.labels import encode
from everlearn.ownership import is_ours, is_own
from everlearn.protocol import Label
from everlearn.registry import plain
from everlearn.sources import source_of
from everlearn.tasks.indexed import IndexedTask
from everlearn.tasks.task import Task

MOST_VALUES = 10_000
"""How many values of f and of r are recorded: all, or so many evenly spaced ones."""

MOST_OUTCOMES = 300
"""How many outcomes of the dynamics are recorded, from the memory of the empty history on."""

DECIMALS = 12
"""To how many decimals numbers are hashed: processors differ in the last bits."""

TIMES = sorted({*range(1, 65), *(2**power for power in range(21))})
"""The times at which a schedule of the user's is recorded; some take long to evaluate at later ones."""

FUNCTIONS = ("horizon", "optimism", "value_shift", "count_scale")
SETTINGS = (
    *("ceiling", "scales_counts", "constants", "step_weight", "doubt", "rarity"),
    *("persistence", "persistence_most", "unit"),
)


def fingerprint_of(task: Task, design: Design, *, states: bool = True, rewards: bool = True) -> dict[str, Any]:
    """Return what an agent of a design depends on in a task, as JSON can hold it.

    Parameters
    ----------
    task, design:
        the task and the design
    states, rewards:
        whether f and r are functions of the task, and not told by the caller with each observation

    Examples
    --------
    >>> from everlearn.agents.registry import make_design
    >>> from everlearn.tasks.registry import make_task
    >>> found = fingerprint_of(make_task("riverswim"), make_design("growing-horizon"))
    >>> found["agent"]["name"], len(found["rewards"]["values"]), found["rewards"]["source"]
    ('growing-horizon', 72, None)

    """
    known = {label: index for index, label in enumerate(task.states)}
    update, reward = task.aleatoric.update, task.reward.function
    return {
        **face_of(task),
        "parameters": plain(dict(task.parameters)),
        "update": _table(task, update, lambda label: known[label]) if states else None,
        "rewards": _table(task, reward, _number) if rewards else None,
        "dynamics": _dynamics(task),
        "agent": _agent(task, design),
        "schedule": None if design.schedule is None else _schedule(design.schedule),
    }


def places(sizes: Iterable[int]) -> Iterable[int]:
    """Return which values of a function over (state, action, observation) are recorded, numbered in this order.

    Examples
    --------
    >>> places((2, 2, 4)), len(places((1000, 10, 10)))
    (range(0, 16), 10000)

    """
    states, actions, observations = sizes
    total = states * actions * observations
    return range(total) if total <= MOST_VALUES else [k * total // MOST_VALUES for k in range(MOST_VALUES)]


def _table(task: Task, function: Callable[..., Any], kept: Callable[[Any], Any]) -> dict[str, Any]:
    sizes = len(task.states), len(task.actions), len(task.observations)
    listed = places(sizes)
    values = [_value(lambda labels: kept(function(*labels)), _labels(task, place)) for place in listed]
    complete = isinstance(listed, range)
    return {"values": values, "source": None if complete else _source(function)}


def _labels(task: Task, place: int) -> tuple[Label, Label, Label]:
    rest, observation = divmod(place, len(task.observations))
    state, action = divmod(rest, len(task.actions))
    return task.states[state], task.actions[action], task.observations[observation]


def _value(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return a value; None where it cannot be computed, which may be fine where it is never asked for."""
    try:
        return function(*arguments)
    except Exception:  # whatever a user's function raises
        return None


def _number(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(number)
    return number


def _source(function: Any) -> str | None:
    """Return a hash of the source of a function of the user's, and of one of everlearn's of the numbers that it holds.

    The source of the latter changes without doing other things.
    """
    if is_own(function):
        return source_of(function, named=False)
    numbers = [np.round(array, DECIMALS) + 0 for array in _arrays_in(function)]
    return hashlib.sha256(b"".join(array.tobytes() for array in numbers)).hexdigest() if numbers else None


def _arrays_in(thing: Any) -> Iterator[np.ndarray[Any, Any]]:
    """Yield the arrays of numbers that a function of everlearn's was made with, such as the matrices of a task."""
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
    """Return what can happen after (memory, action), and whether that is all of it."""
    found: dict[str, Any] = {}
    queue, known, count = [model.memory], {model.memory}, 0
    for memory, action in _pairs(queue, model.actions):
        if count >= MOST_OUTCOMES:
            return found, False
        outcomes = _value(model.outcomes, memory, action)
        found[encode((memory, action))] = outcomes and [list(outcome) for outcome in outcomes]
        fresh = [outcome.memory for outcome in outcomes or () if outcome.memory not in known]
        known.update(fresh)
        count += len(outcomes or ()) + 1
        queue.extend(dict.fromkeys(fresh))
    return found, True


def _pairs(queue: list[Label], actions: tuple[Label, ...]) -> Iterable[tuple[Label, Label]]:
    for memory in queue:  # which grows meanwhile
        yield from product((memory,), actions)


def _at(function: Callable[[int], Any], t: int) -> float | None:
    found = _value(function, t)
    return None if found is None else _value(_number, found)


def is_own_schedule(schedule: Schedule) -> bool:
    """Tell whether a schedule is the user's, and not one of everlearn."""
    functions = (getattr(schedule, name) for name in (*FUNCTIONS, "formula"))
    return any(is_own(function) for function in functions if function is not None)


def _agent(task: Task, design: Design) -> dict[str, Any]:
    named = {"name": design.name, "parameters": plain(dict(design.parameters))}
    if not design.own:
        return {**named, "functions": None, "begins": None}
    functions = {name: getattr(design, name) for name in ("act", "learn", "policy")}
    sources = {name: _source(function) for name, function in functions.items() if function is not None}
    knowledge = build_knowledge(design, IndexedTask(task))
    known = arrays(knowledge)
    begins = {name: repr(value) for name, value in knowledge._asdict().items() if name not in known}
    return {**named, "functions": sources, "begins": {**begins, **{name: _array(known[name]) for name in known}}}


def _array(array: np.ndarray[Any, Any]) -> list[str]:
    contents = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
    return [f"{array.dtype} {array.shape}", contents]


def _schedule(schedule: Schedule) -> dict[str, Any]:
    named = {"name": schedule.name, "parameters": plain(dict(schedule.parameters))}
    functions = {name: getattr(schedule, name) for name in (*FUNCTIONS, "formula")}
    if not is_own_schedule(schedule):
        return {**named, "values": None, "settings": None, "sources": None}
    values = {name: [_at(functions[name], t) for t in TIMES] for name in FUNCTIONS}
    settings = {name: plain(getattr(schedule, name)) for name in SETTINGS}
    sources = {name: _source(function) for name, function in functions.items() if function is not None}
    return {**named, "values": values, "settings": settings, "sources": sources}
