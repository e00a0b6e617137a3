"""The transitions of a journal as arrays: what was done in which aleatoric state, and what followed."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.durable.entry import PROPENSITY, Entry, Kind, Mode
from everlearn.durable.reader import Reader
from everlearn.errors import Corrupt
from everlearn.protocol import Table

PAGE = 10_000
"""How many rows are read at a time, so that a reader never holds up the write-ahead log for long."""


class Transitions(NamedTuple):
    """Steps of an agent in order; each array has one entry per step, and indices are those of the task.

    Examples
    --------
    >>> import tempfile
    >>> from everlearn.durable.live import live
    >>> directory = tempfile.mkdtemp()
    >>> with live(directory, task="service-station", seed=1) as agent:
    ...     _ = agent.act(), agent.observe("arrival"), agent.observe("departure", executed="slow")
    >>> with Reader(directory) as reader:
    ...     rows = read_transitions(reader, reader.enrolled("agent").number)
    >>> rows.states.tolist(), rows.actions.tolist(), rows.rewards.tolist(), rows.following.tolist()
    ([0, 1], [0, 1], [1.0, 0.0], [1, 0])

    """

    states: NDArray[np.int64]
    actions: NDArray[np.int64]  # those that were executed, whoever chose them
    observations: NDArray[np.int64]
    rewards: Table  # NaN where a reward that comes late has not come
    following: NDArray[np.int64]  # the aleatoric states that followed
    changed: int | None = None  # the last step among these at which a change of the task or the agent was accepted
    numbers: Mapping[str, Table] = MappingProxyType(
        {}
    )  # by name, what rows have beside rewards; NaN where one has none

    def where(self, chosen: NDArray[np.bool_]) -> Transitions:
        """Return some of the steps, by a mask."""
        states, actions, observations, following = (
            column[chosen] for column in (self.states, self.actions, self.observations, self.following)
        )
        numbers = {name: column[chosen] for name, column in self.numbers.items()}
        return Transitions(states, actions, observations, self.rewards[chosen], following, self.changed, numbers)


def read_transitions(reader: Reader, agent: int, first: int | None = None, last: int | None = None) -> Transitions:
    """Return the observations of an agent, by its number, from step ``first`` to step ``last``; each row is checked."""
    begin, columns = first or 1, _Columns()
    for entry in _entries(reader, agent, begin):
        beyond = last is not None and entry.step > last
        if beyond and not columns.waiting:
            break
        try:
            if entry.kind == Kind.REWARD:
                columns.complete(entry)
            elif entry.step >= begin and not beyond:
                columns.add(entry)
        except Corrupt as error:
            raise reader.damaged(agent, str(error)) from None
    return columns.transitions()


class _Columns:
    """Collects rows; a reward that comes late is put where its observation is."""

    def __init__(self) -> None:
        self.indices, self.rewards = array("q"), array("d")
        self.numbers: dict[str, array[float]] = {}
        self.changed: int | None = None
        self.waiting: dict[int, int] = {}
        """By step, the places of the rewards that have not come."""

    def add(self, entry: Entry) -> None:
        """Add a row."""
        if entry.kind == Kind.CHANGE:
            self.changed = entry.step
        if not entry.is_observation:
            return
        if entry.executed is None or entry.observation is None:
            raise Corrupt(f"row {entry.seq}: an observation without its parts")
        if entry.reward is None:
            self.waiting[entry.step] = len(self.rewards)
        self.indices.extend((entry.state, entry.executed, entry.observation, entry.following))
        if entry.payload is not None:
            self._note(entry)
        self.rewards.append(math.nan if entry.reward is None else entry.reward)

    def _note(self, entry: Entry) -> None:
        """Add the named numbers of a row; a propensity counts if the proposal decided what was executed."""
        for name, value in entry.numbers.items():
            if name == PROPENSITY and (entry.mode == Mode.SHADOW or entry.executed != entry.proposed):
                continue
            column = self.numbers.setdefault(name, array("d"))
            column.extend(math.nan for _ in range(len(self.rewards) - len(column)))
            column.append(value)

    def complete(self, entry: Entry) -> None:
        """Add a reward that came late, if its observation is here."""
        place = self.waiting.pop(entry.rewarded, None)
        if place is not None and entry.reward is not None:
            self.rewards[place] = entry.reward

    def transitions(self) -> Transitions:
        """Return the arrays."""
        states, actions, observations, following = np.array(self.indices, dtype=np.int64).reshape(-1, 4).T
        rewards = np.array(self.rewards, dtype=np.float64)
        numbers = {name: np.full(len(rewards), math.nan) for name in self.numbers}
        for name, column in self.numbers.items():
            numbers[name][: len(column)] = column
        return Transitions(states, actions, observations, rewards, following, self.changed, numbers)


def _entries(reader: Reader, agent: int, first: int) -> Iterator[Entry]:
    """Yield the rows from a step on, page by page; some rows before it may come first."""
    after, check = first - 1, None  # rows are numbered no lower than steps
    while True:
        page = list(islice(reader.rows(agent, after, check), PAGE))
        yield from page
        if len(page) < PAGE:
            return
        after, check = page[-1].seq, page[-1].check
