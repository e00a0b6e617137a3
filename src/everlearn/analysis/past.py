"""The steps of a journal or a log, converted to the aleatoric states and rewards of another setup."""

from __future__ import annotations

import math
import os
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.prices import MEASURES, Prices
from everlearn.aleatoric.reward import Reward
from everlearn.durable.core import Core
from everlearn.durable.entry import Outcome
from everlearn.durable.logs import outcome_of, read_log
from everlearn.durable.reader import opened
from everlearn.durable.setup import Setup, same_labels
from everlearn.durable.transitions import Transitions, read_transitions
from everlearn.engine.studying import Lessons
from everlearn.environments.pure import as_number
from everlearn.errors import EverlearnError, InputError, LiveError, require
from everlearn.files import expanded
from everlearn.grids import MOST_NUMBERED, Grid, size_of
from everlearn.protocol import Label, Table
from everlearn.tasks.indexed import IndexedTask
from everlearn.tasks.task import Task


class Past(NamedTuple):
    """Steps in order, and the task whose indices they are in."""

    data: Transitions
    task: Task
    stored: dict[str, Any]  # the document of the setup of the journal; empty for a log

    def part(self, begin: int, end: int) -> Past:
        """Return some of the steps."""
        chosen = np.zeros(len(self.data.rewards), dtype=bool)
        chosen[begin:end] = True
        return self._replace(data=self.data.where(chosen))


def read_past(
    directory: str | os.PathLike[str], name: str | None = None, first: int | None = None, last: int | None = None
) -> Past:
    """Return what the journal of a durable agent tells, by the name of the agent."""
    with opened(directory, name) as (reader, chosen):
        record = reader.enrolled(chosen)
        setup = record.stored_setup()
        _require_numbered(setup.task)
        data = read_transitions(reader, record.number, first, last)
    if not data.rewards.size:
        raise LiveError(f"agent {record.name!r} has no observations among these steps", directory, agent=record.name)
    return Past(data, setup.task, setup.document)


def read_past_log(path: str | os.PathLike[str], setup: Setup) -> Past:
    """Return what a log tells, a CSV file or JSON lines as for a warm start, in the labels of a setup."""
    core = Core(setup)
    _require_numbered(setup.task)
    indexed, indices, rewards = core.agent.indexed, array("q"), array("d")
    numbers = {name: array("d") for name in MEASURES}
    for number, row in enumerate(read_log(path, core), 1):
        outcome = outcome_of(row, number)
        labels: Any = (outcome.executed, outcome.observation)
        state: Any = labels[1] if setup.observes_state and outcome.state is None else outcome.state
        try:
            _check_declared(outcome, setup)
            pair = indexed.action(labels[0]), indexed.observation(labels[1])
            indices.extend((*pair, indexed.state(state) if setup.gives_state else 0))
        except EverlearnError as error:
            raise InputError(f"row {number} of the log", list(row.values()), str(error)) from None
        rewards.append(_cell(row, "reward", number))
        for name, column in numbers.items():
            column.append(_cell(row, name, number))
    require(len(rewards) > 0, "log", os.fspath(path), "has no rows")
    known = not setup.gives_reward or not np.isnan(rewards).all()
    require(known, "log", os.fspath(path), "has no column reward; add it, or give reward, a table or a function")
    actions, observations, following = np.array(indices, dtype=np.int64).reshape(-1, 3).T
    states = np.concatenate([[indexed.start], following[:-1]])
    noted = {name: np.array(column) for name, column in numbers.items()}
    return Past(Transitions(states, actions, observations, np.array(rewards), following, None, noted), setup.task, {})


def _check_declared(outcome: Outcome, setup: Setup) -> None:
    """Raise if a row of a log has a duration or a cost that the setup does not know, or a reward outside its range."""
    measured = zip(MEASURES, setup.measures, (outcome.duration, outcome.cost), strict=True)
    for name, ends, value in measured:
        what = "the setup declares no durations" if name == "duration" else "the setup declares no limit"
        require(value is None or ends is not None, name, value, f"{what}; declare it, or remove the column")
    number = as_number(outcome.reward)
    if setup.gives_reward and number is not None and math.isfinite(number):
        setup.task.reward.check(number)


def _cell(row: Mapping[str, Any], name: str, number: int) -> float:
    """Return a number in a row of a log; NaN if the row has none."""
    value = row.get(name)
    if value is None:
        return math.nan
    value_read = None if isinstance(value, bool) else as_number(value)
    if value_read is None or not math.isfinite(value_read):
        raise InputError(f"row {number} of the log", value, f"give a finite number as its {name}")
    return value_read


def is_log(source: str | os.PathLike[str]) -> bool:
    """Return whether what happened is in a log, and not in a directory of durable agents."""
    return expanded(source).is_file()


def retell(past: Past, setup: Setup) -> Transitions:
    """Return the steps of the past in the states of another setup, with its rewards.

    The state begins where that of the setup begins, and follows from the executed actions and the observations.  If
    both setups have the same states, it begins as recorded, and where the recorded state jumps (an imported state, the
    start of a log), it jumps there.  Given states and rewards are those that are recorded.
    """
    _require_numbered(setup.task)
    indexed, data = IndexedTask(setup.task), past.data
    actions = _numbers(past.task.actions, indexed.action, data.actions)
    observations = _numbers(past.task.observations, indexed.observation, data.observations)
    moved = data._replace(actions=actions, observations=observations)
    if setup.gives_state:
        recorded = [_numbers(past.task.states, indexed.state, part) for part in (data.states, data.following)]
        moved = moved._replace(states=recorded[0], following=recorded[1])
    else:
        same = bool(past.stored) and same_labels(past.task.states, setup.task.states)
        jumps = _jumps(data, _numbers(past.task.states, indexed.state, data.states)) if same else {}
        states, following = _walk(indexed, moved, jumps)
        moved = moved._replace(states=states, following=following)
    if not setup.gives_reward:
        return moved._replace(rewards=rewards_of(moved, setup.task, setup.task.reward))
    complete = data.rewards[np.isfinite(data.rewards)]
    setup.task.reward.check_range(complete)
    require(complete.size > 0, "reward", "given", "no step has a reward; give a table or a function")
    return moved


def _require_numbered(task: Task) -> None:
    """Raise if states or observations have no numbers of 64 bits, in which steps are kept and compiled code learns."""
    for key, labels in (("observations", task.observations), ("states", task.states)):
        fine = not isinstance(labels, Grid) or not labels.is_wide
        require(fine, key, "a box of more than 62 bits", "give one of up to 62 bits, as with 10 coordinates")


def _numbers(labels: tuple[Label, ...], find: Any, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return what ``find`` says of the labels at some places; every label must be known, unless they are a grid."""
    if not isinstance(labels, Grid):
        return np.array([find(label) for label in labels], dtype=np.int64)[places]
    distinct, inverse = np.unique(places, return_inverse=True)
    return np.array([find(labels[place]) for place in distinct.tolist()], dtype=np.int64)[inverse]


def _jumps(data: Transitions, recorded: NDArray[np.int64]) -> dict[int, int]:
    """Return the places where the recorded state is not the one that followed the step before, with the states."""
    places = [0, *(np.flatnonzero(data.states[1:] != data.following[:-1]) + 1).tolist()]
    return {place: int(recorded[place]) for place in places}


def _walk(
    indexed: IndexedTask, data: Transitions, jumps: dict[int, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the states, and those that follow; f is evaluated once for each (s, a, o)."""
    states, following = array("q"), array("q")
    known: dict[tuple[int, int, int], int] = {}
    s = indexed.start
    for place, (a, o) in enumerate(zip(data.actions.tolist(), data.observations.tolist(), strict=True)):
        if place in jumps:
            s = jumps[place]
        states.append(s)
        key = s, a, o
        if (after := known.get(key)) is None:
            after = known[key] = indexed.step(*key)[0]
        s = after
        following.append(s)
    return np.array(states, dtype=np.int64), np.array(following, dtype=np.int64)


def rewards_of(data: Transitions, task: Task, reward: Reward) -> Table:
    """Return the rewards of transitions by a function, which is called once for each (s, a, o)."""
    sets = (task.states, task.actions, task.observations)
    triples, places, _ = distinct((data.states, data.actions, data.observations), [*map(size_of, sets)])
    rewards = np.array([reward(task.states[s], task.actions[a], task.observations[o]) for s, a, o in triples])
    return np.asarray(rewards[places])


def distinct(columns: Sequence[Any], sizes: Sequence[int]) -> tuple[list[list[int]], NDArray[Any], NDArray[Any]]:
    """Return the distinct rows of columns of indices, for each row which of these it is, and how often each occurs.

    ``sizes`` are the numbers of values of the columns.
    """
    if math.prod(sizes) > MOST_NUMBERED:
        rows, places, counts = np.unique(np.stack(columns), axis=1, return_inverse=True, return_counts=True)
        return rows.T.tolist(), places.ravel(), counts
    codes = np.ravel_multi_index(tuple(columns), tuple(sizes))
    values, places, counts = np.unique(codes, return_inverse=True, return_counts=True)
    return np.stack(np.unravel_index(values, tuple(sizes)), axis=1).tolist(), places, counts


def lessons(retold: Transitions, core: Core) -> Lessons:
    """Return what a new agent learns from: steps whose reward has come, with actions that its setup allows."""
    chosen = np.isfinite(retold.rewards)
    for state, mask in core.setup.allowed.items():
        forbidden = [action for action in range(core.agent.indexed.actions) if not mask >> action & 1]
        chosen &= ~((retold.states == state) & np.isin(retold.actions, forbidden))
    kept = retold.where(chosen)
    shown = _scaled(kept, core) if core.agent.prices is None else _priced(kept, core, core.agent.prices)
    return Lessons(kept.states, kept.actions, kept.observations, shown, kept.following)


def _scaled(kept: Transitions, core: Core) -> Table:
    distinct, places = np.unique(kept.rewards, return_inverse=True)
    return np.array([core.agent.learned(reward) for reward in distinct.tolist()])[places]


def _priced(kept: Transitions, core: Core, prices: Prices) -> Table:
    """Return rewards with the prices of time and cost, which depend on what came before and are changed by it."""
    columns = {}
    for name, ends in zip(MEASURES, core.setup.measures, strict=True):
        if ends is not None:
            column = kept.numbers.get(name, np.full(len(kept.rewards), math.nan))
            fine = bool(((column >= ends[0]) & (column <= ends[1])).all())
            remedy = f"the setup declares one from {ends[0]:g} to {ends[1]:g} for every step, and some steps have none"
            require(fine, "setup", name, remedy)
            columns[name] = column.tolist()
    rows = zip(kept.rewards.tolist(), *columns.values(), strict=True)
    return np.array([prices.learned(row[0], **dict(zip(columns, row[1:], strict=True))) for row in rows])
