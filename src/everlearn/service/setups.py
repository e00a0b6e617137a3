"""Check a setup that arrived over HTTP: it may use registered names only, and its size is bounded.

In Python a setup may name ``module:attribute``.  In a request that would let a stranger run code of their choice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from everlearn.agents.guard import build_knowledge
from everlearn.agents.knowledge import arrays
from everlearn.agents.registry import AGENTS, SCHEDULES
from everlearn.durable.setup import Setup, make_setup
from everlearn.errors import InputError, UnknownName, require
from everlearn.grids import Grid
from everlearn.service.models import MOST_INTEGER
from everlearn.service.settings import Limits
from everlearn.tasks.indexed import IndexedTask
from everlearn.tasks.registry import TASKS
from everlearn.windows import Kept, Window

MOST_PLANNED = 10_000
"""Values (states squared times actions) over which an agent that plans may plan, since all agents wait meanwhile."""

MOST_OF_A_TASK = 10_000
"""How large a number among the parameters of a task may be: large tasks take long to make, and others wait for it."""

MOST_SWEEPS = 10_000
"""How often an agent may sweep over its values when it plans."""


NUMBERS = 8
"""How many numbers an agent may hold for each of ``--max-values``; the default agent holds five."""


def remote_setup(document: dict[str, Any], limits: Limits) -> Setup:
    """Return the setup that a document describes.

    Examples
    --------
    >>> remote_setup({"task": "service-station", "seed": 1}, Limits()).task.actions
    ('fast', 'slow')
    >>> remote_setup({"task": "os:system"}, Limits())
    Traceback (most recent call last):
    ...
    everlearn.errors.InputError: task: 'os:system'; a service takes registered names only; 'everlearn tasks' lists them

    """
    _check_names(document)
    _check_parameters(document.get("parameters") or {})
    _check_sizes(document, limits)
    _check_integers(document)
    made = make_setup(**document)
    _check_made(made, limits)
    return made


def _check_names(document: Mapping[str, Any]) -> None:
    for key, known in (("task", TASKS), ("agent", AGENTS), ("schedule", SCHEDULES)):
        name = document.get(key)
        if isinstance(name, str) and ":" in name:
            raise InputError(key, name, f"a service takes registered names only; 'everlearn {key}s' lists them")
        if name is not None and name not in known:
            raise UnknownName(key, name, known)
    for key in ("aleatoric", "reward"):
        function = isinstance(document.get(key), Mapping) and "function" in document[key]
        require(not function, key, "function", "functions can be given in Python only")


def _check_parameters(parameters: Mapping[str, Any]) -> None:
    for key, value in parameters.items():
        listed = value if isinstance(value, list) else [value]
        plain = all(part is None or isinstance(part, bool | int | float | str) for part in listed)
        require(plain, key, value, "give a number, a string, true or false, or a list of these")
        if key == "task.aleatoric":
            window, kept = Window.read(value), Kept.read(value)
            size = 0 if window is None else window.length
            size = size if kept is None else kept.number
            remedy = (
                "give window:K, window:K+actions, actions:K, last-change:K, trace:DECAY:K or belief:K, with K up to 4"
            )
            require(1 <= size <= 4, key, value, remedy)
        elif key == "agent.sweeps" and isinstance(value, int | float):
            require(value <= MOST_SWEEPS, key, value, f"at most {MOST_SWEEPS:,} are taken here")
        elif key.startswith("task."):
            small = all(not isinstance(part, int | float) or abs(part) <= MOST_OF_A_TASK for part in listed)
            require(small, key, value, f"numbers up to {MOST_OF_A_TASK:,} are taken here")


def _check_sizes(document: Mapping[str, Any], limits: Limits) -> None:
    for key in ("actions", "observations"):
        labels = document.get(key) or ()
        require(len(labels) <= limits.labels, key, len(labels), f"at most {limits.labels:,} labels are taken")
    states = document.get("states") or ()
    require(len(states) <= limits.states, "states", len(states), f"at most {limits.states:,} are taken")
    for key in ("aleatoric", "reward", "allowed"):
        rows = _rows(document.get(key))
        require(rows <= limits.rows, key, rows, f"at most {limits.rows:,} rows are taken")
    _check_window(document, limits)


def _check_integers(document: Mapping[str, Any]) -> None:
    """Refuse integers in tables that other labels may not be; the last entry of a row of rewards is no label."""
    rewards = document.get("reward")
    for reward in _entries(rewards):
        require(not isinstance(reward, bool), "reward", reward, "is no number; give one")
    labels = [row[:-1] for row in rewards if isinstance(row, list)] if isinstance(rewards, list) else []
    for key, table in (
        ("reward", labels),
        ("aleatoric", document.get("aleatoric")),
        ("allowed", document.get("allowed")),
    ):
        for number in _integers(table):
            require(abs(number) <= MOST_INTEGER, key, number, f"integers up to {MOST_INTEGER:,} can be labels here")


def _entries(rewards: object) -> Iterator[object]:
    """Yield the rewards of a table, given as rows or as nested mappings."""
    if isinstance(rewards, Mapping):
        for part in rewards.values():
            yield from _entries(part)
    elif isinstance(rewards, list):
        yield from (row[-1] for row in rewards if isinstance(row, list) and row)
    else:
        yield rewards


def _integers(table: object) -> Iterator[int]:
    if isinstance(table, int):
        yield table
    elif isinstance(table, Mapping):
        yield from _integers(list(table.values()))
    elif isinstance(table, list):
        for part in table:
            yield from _integers(part)


def _check_window(document: Mapping[str, Any], limits: Limits) -> None:
    """Refuse a window with too many contents before they are listed: n + n^2 + ... + n^K, and the empty one."""
    kind = document.get("aleatoric")
    if (window := Window.read(kind)) is None:
        return
    seen = len(document.get("observations") or ()) * (len(document.get("actions") or ()) if window.actions else 1)
    log_states = window.length * math.log(max(seen, 1)) if seen > 1 else math.log(1 + window.length)
    remedy = f"so long a window has more than {limits.states:,} contents"
    require(log_states <= math.log(limits.states), "aleatoric", kind, remedy)


def _check_made(setup: Setup, limits: Limits) -> None:
    listed = not isinstance(setup.task.states, Grid)  # the points of a box are not listed; what is held is checked
    states, actions, design = len(setup.task.states) if listed else 0, len(setup.task.actions), setup.design
    values = states * actions
    require(states <= limits.states, "states", states, f"at most {limits.states:,} are taken")
    require(actions <= limits.labels, "actions", actions, f"at most {limits.labels:,} labels are taken")
    require(values <= limits.values, "values", values, f"at most {limits.values:,} (states times actions) are taken")
    if design.plans and states * values > MOST_PLANNED:
        remedy = f"this agent plans, over at most {MOST_PLANNED:,} values (states squared times actions) here"
        raise InputError("agent", design.name, remedy)
    _check_held(setup, NUMBERS * limits.values)


def _check_held(setup: Setup, most: int) -> None:
    """Refuse an agent that holds too many numbers; the first time this is called, memory is limited by the sandbox."""
    held = sum(array.nbytes for array in arrays(build_knowledge(setup.design, IndexedTask(setup.task))).values()) // 8
    remedy = f"holds {held:,} numbers, and at most {most:,} are taken; give it a smaller task, or a shorter horizon"
    require(held <= most, "agent", setup.design.name, remedy)


def _rows(table: object) -> int:
    """Return how many entries a table has, given as rows or as nested mappings."""
    if isinstance(table, Mapping):
        return sum(_rows(part) for part in table.values())
    return len(table) if isinstance(table, list) else 1
