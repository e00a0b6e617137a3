"""The transitions of a journal as arrays: what was done in which aleatoric state, and what followed."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.durable.entry import PROPENSITY, Entry, Kind, Mode
from everlearn.durable.reader import Reader
from everlearn.errors import Corrupt, InputError
from everlearn.protocol import Table
from everlearn.registry import MOST_STEPS, whole

PAGE = 10_000
"""How many rows are read at a time, so that a reader never holds up the write-ahead log for long."""

_KIND, _STEP = (Entry._fields.index(name) for name in ("kind", "step"))


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


def step_range(first: int | None, last: int | None) -> list[int | None]:
    """Return the first and the last step of a range, checked; None leaves it open there."""
    return [None if step is None else whole(step, "step", most=MOST_STEPS) for step in (first, last)]


def read_transitions(
    reader: Reader, agent: int, first: int | None = None, last: int | None = None, *, warm: bool = True
) -> Transitions:
    """Return the observations of an agent, by its number, from step ``first`` to step ``last``; each row is checked.

    ``warm`` says whether those of a warm start are among them: in these nobody knows who was in charge.
    """
    columns = _Columns(first or 1, MOST_STEPS if last is None else last, Kind.WARM if warm else Kind.OBSERVED)
    for page in _pages(reader, agent, first or 1):
        try:
            columns.add(page)
        except Corrupt as error:
            raise reader.damaged(agent, error.problem, error.row) from None
        if page[-1][_STEP] > columns.last and not columns.waiting:
            break
    return columns.transitions()


class _Columns:
    """Collects pages of rows; a reward that comes late is put where its observation is."""

    def __init__(self, first: int, last: int, kinds: int) -> None:
        self.first, self.last, self.kinds = first, last, kinds  # kinds up to this one are observations
        self.indices: list[NDArray[np.int64]] = []
        self.rewards = array("d")
        self.numbers: dict[str, array[float]] = {}
        self.changed: int | None = None
        self.waiting: dict[int, int] = {}
        """By step, the places of the rewards that have not come."""

    def add(self, page: list[tuple[Any, ...]]) -> None:
        """Add a page; what it has beside observations is rare."""
        inside = page[0][_STEP] >= self.first and page[-1][_STEP] <= self.last
        rows = page if inside else [row for row in page if self.first <= row[_STEP] <= self.last]
        observed = [row for row in rows if row[_KIND] <= self.kinds]
        if observed:
            self._observe(observed)
        for row in page if len(observed) < len(page) else ():
            if row[_KIND] == Kind.REWARD:
                self._complete(Entry._make(row))
            elif row[_KIND] == Kind.CHANGE and self.first <= row[_STEP] <= self.last:
                self.changed = row[_STEP]

    def _observe(self, rows: list[tuple[Any, ...]]) -> None:
        place = len(self.rewards)
        columns = dict(zip(Entry._fields, zip(*rows, strict=True), strict=True))
        try:
            parts = [columns[name] for name in ("state", "executed", "observation", "following")]
            self.indices.append(np.array(parts, dtype=np.int64))
        except (TypeError, ValueError):
            if any(isinstance(number, str) for part in parts for number in part):
                remedy = "a replay takes points of up to 62 bits, as of a box with 10 coordinates"
                raise InputError("observations", "a box of more than 62 bits", remedy) from None
            raise Corrupt(f"row {rows[0][0]} or later: an observation without its parts") from None
        if any(columns["payload"]):
            for number, row in enumerate(rows):
                self._note(Entry._make(row), place + number)
        rewards = columns["reward"]
        if None in rewards:
            late = [number for number, reward in enumerate(rewards) if reward is None]
            self.waiting.update((rows[number][_STEP], place + number) for number in late)
            rewards = tuple(math.nan if reward is None else reward for reward in rewards)
        self.rewards.extend(rewards)

    def _note(self, entry: Entry, place: int) -> None:
        """Add the named numbers of a row; a propensity counts if the proposal decided what was executed.

        One of a frozen agent does not count: other actions could not be taken there, which weights cannot make up for.
        """
        for name, value in entry.numbers.items():
            if name == PROPENSITY and (entry.mode != Mode.LEARN or entry.executed != entry.proposed):
                continue
            column = self.numbers.setdefault(name, array("d"))
            column.extend(math.nan for _ in range(place - len(column)))
            column.append(value)

    def _complete(self, entry: Entry) -> None:
        """Add a reward that came late, if its observation is here."""
        place = self.waiting.pop(entry.rewarded, None)
        if place is not None and entry.reward is not None:
            self.rewards[place] = entry.reward

    def transitions(self) -> Transitions:
        """Return the arrays."""
        empty = np.zeros((4, 0), dtype=np.int64)
        states, actions, observations, following = np.concatenate([empty, *self.indices], axis=1)
        rewards = np.array(self.rewards, dtype=np.float64)
        numbers = {name: np.full(len(rewards), math.nan) for name in self.numbers}
        for name, column in self.numbers.items():
            numbers[name][: len(column)] = column
        return Transitions(states, actions, observations, rewards, following, self.changed, numbers)


def _pages(reader: Reader, agent: int, first: int) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows from a step on, page by page; some rows before it may come first."""
    after, check = first - 1, None  # rows are numbered no lower than steps
    while page := reader.page(agent, after, check, PAGE):
        yield page
        after, check = page[-1][0], page[-1][-1]
