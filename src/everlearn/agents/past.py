"""What the agent ``learned`` keeps of the past, in bounded memory: the features about which its tree asks questions.

A feature is a small whole number that a step updates.  There are five kinds, in this order:

==============  ==========================================================  ==================================
kind            its value                                                   a question about it
==============  ==========================================================  ==================================
observations    the observation now, and those 1, 2, ..., ``lags`` before   is it v?
actions         the last ``lags`` actions                                   is it v?
changes         the last ``changes`` observations that differ from the      is it v?
                observation after them: repetitions are skipped
clocks          for each label, how long ago it was last seen or done       at least n steps ago?
leads           for each observation, how much more often it was seen       at least n?
                than every other, since the last change of action
==============  ==========================================================  ==================================

Changes detect a cue that was seen long ago; clocks detect wear and rhythm; leads approximate the belief of an agent
that repeats one action to collect evidence.  A task with more than ``MOST_TIMED`` labels has no clocks and no leads, so
that a step takes a bounded time.  Before the first step, observations, actions and changes have the first label of the
task, clocks are at their maximum, and leads are 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.tasks.indexed import IndexedTask

MOST_TIMED = 16
"""The most labels, observations and actions together, that have clocks and leads."""

AGES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192)
"""The numbers of steps that clocks tell apart."""

MOST_LEAD = 4
"""Leads are told apart from minus this to this."""

MOST_COUNTED = 2 * MOST_LEAD
"""To how many an observation is counted; beyond that, all others are counted down instead."""


class Sizes(NamedTuple):
    """How many features there are of each kind.

    Examples
    --------
    >>> from everlearn.tasks.t_maze import t_maze
    >>> sizes = sizes_of(IndexedTask(t_maze(window=1)), lags=1, changes=2)
    >>> sizes
    Sizes(lags=1, changes=2, observations=6, actions=2, timed=8, compared=6)
    >>> sizes.kinds[:6]
    [('observation', 0), ('observation', 1), ('action', 1), ('change', 1), ('change', 2), ('clock', 0)]

    """

    lags: int
    changes: int
    observations: int
    actions: int
    timed: int
    """The number of clocks: the observations, then the actions."""
    compared: int
    """The number of leads."""

    @property
    def kinds(self) -> list[tuple[str, int]]:
        """Return the kind of each feature, with its lag or the number of its label."""
        return [
            *(("observation", lag) for lag in range(self.lags + 1)),
            *(("action", lag) for lag in range(1, self.lags + 1)),
            *(("change", number) for number in range(1, self.changes + 1)),
            *(("clock", label) for label in range(self.timed)),
            *(("lead", label) for label in range(self.compared)),
        ]

    @property
    def values(self) -> list[int]:
        """Return how many values each feature has."""
        lead = 2 * MOST_LEAD + 1
        labels = {"observation": self.observations, "action": self.actions, "change": self.observations}
        return [{**labels, "clock": len(AGES) + 1, "lead": lead}[kind] for kind, _ in self.kinds]

    @property
    def ordered(self) -> int:
        """Return the first feature whose questions are "at least"; the questions of those before it are "is it"."""
        return 2 * self.lags + 1 + self.changes

    def begin(self) -> NDArray[np.int64]:
        """Return the past before the first step: the features, then the numbers behind the clocks and the leads."""
        past = np.zeros(len(self.kinds) + self.timed + self.compared, dtype=np.int64)
        past[self.ordered : self.ordered + self.timed] = len(AGES)
        past[self.ordered + self.timed : len(self.kinds)] = MOST_LEAD
        past[len(self.kinds) : len(self.kinds) + self.timed] = AGES[-1]
        return past


def sizes_of(indexed: IndexedTask, lags: int, changes: int) -> Sizes:
    """Return the sizes for a task."""
    labels = indexed.observations + indexed.actions
    few = labels <= MOST_TIMED
    return Sizes(
        lags, changes, indexed.observations, indexed.actions, labels if few else 0, indexed.observations if few else 0
    )


def update(past: NDArray[np.int64], sizes: Sizes, action: int, observation: int) -> None:
    """Move the past one step on."""
    lags, labels = sizes.lags, sizes.observations
    again = past[lags + 1] == action
    if past[0] != observation:
        shift(past, 2 * lags + 1, sizes.changes, past[0])
    shift(past, 0, lags + 1, observation)
    shift(past, lags + 1, lags, action)
    if sizes.timed > 0:
        clocks = 2 * lags + 1 + sizes.changes
        behind = clocks + sizes.timed + sizes.compared
        tick(past, clocks, behind, sizes.timed)
        reset(past, clocks + observation, behind + observation)
        reset(past, clocks + labels + action, behind + labels + action)
        compare(past, clocks + sizes.timed, behind + sizes.timed, sizes.compared, observation, again)


def shift(past: NDArray[np.int64], place: int, length: int, newest: int) -> None:
    """Put a value in front of ``length`` values, and drop the last of them."""
    for i in range(place + length - 1, place, -1):
        past[i] = past[i - 1]
    past[place] = newest


def tick(past: NDArray[np.int64], place: int, behind: int, number: int) -> None:
    """Let every clock count one step, up to the greatest age."""
    for i in range(number):
        level = past[place + i]
        if level < len(AGES):
            past[behind + i] += 1
            if past[behind + i] >= AGES[level]:
                past[place + i] = level + 1


def reset(past: NDArray[np.int64], place: int, behind: int) -> None:
    """Start a clock again."""
    past[place] = 0
    past[behind] = 0


def compare(past: NDArray[np.int64], leads: int, behind: int, number: int, observation: int, again: bool) -> None:
    """Count an observation, from zero after another action, and compare it with the others."""
    full = past[behind + observation] == MOST_COUNTED
    for i in range(number):
        if not again:
            past[behind + i] = 0
        elif full and i != observation and past[behind + i] > 0:
            past[behind + i] -= 1
    past[behind + observation] = min(past[behind + observation] + 1, MOST_COUNTED)
    most = past[behind + observation]
    second = 0
    for i in range(number):
        if i != observation:
            second = max(second, min(most, past[behind + i]))
            most = max(most, past[behind + i])
    for i in range(number):
        n = past[behind + i]
        lead = n - most if n < most else n - second
        past[leads + i] = min(max(lead, -MOST_LEAD), MOST_LEAD) + MOST_LEAD
