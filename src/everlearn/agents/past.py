"""What the agent ``learned`` keeps of the past, in bounded memory: the features about which its tree asks questions.

A feature is a small whole number.  There are six kinds, in this order:

==============  ==========================================================  ==================================
kind            its value                                                   a question about it
==============  ==========================================================  ==================================
observations    the observation now, and those 1, 2, ..., ``lags`` before   is it v?
actions         the last ``lags`` actions                                   is it v?
changes         the last ``changes`` observations that differ from the      is it v?
                observation after them: repetitions are skipped
clocks          for each label, how long ago it was last seen or done       at least n steps ago?
leads           for each observation, how much more often it was seen       at least n?
                than every other since the last change of action, or
                after an observation was last made
orders          for each pair of labels, 1 if the first was seen or done    is it 1?
                last, else 0
==============  ==========================================================  ==================================

Changes detect a cue that was seen long ago; clocks detect wear and rhythm; leads approximate the belief of an agent
that collects evidence, until an event makes it worthless; orders detect a switch that one event turns on and another
off, however long ago.  A task with more than ``MOST_TIMED`` labels has no clocks, leads and orders, and one with more
than ``MOST_LEADS`` leads has fewer of them, so that a step takes a bounded time.
Before the first step, observations, actions and changes have the first label of the task, clocks are at their maximum,
and leads and orders are 0.

A step updates at most one number per feature, from which :func:`value_of` computes the value only when it is asked for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.tasks.indexed import IndexedTask

MOST_TIMED = 16
"""The most labels, observations and actions together, that have clocks, leads and orders."""

MOST_LEADS = 48
"""The most leads."""

AGES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192)
"""The numbers of steps that clocks tell apart."""

LEVELS = np.searchsorted(np.array(AGES), np.arange(AGES[-1] + 1), side="right")
"""For each number of steps, how many of the ages it has reached."""

MOST_LEAD = 4
"""Leads are clipped to the range from minus this to this."""

MOST_COUNTED = 2 * MOST_LEAD
"""The largest count of an observation; when it is reached, the counts of all others are reduced instead."""


class Sizes(NamedTuple):
    """How many features there are of each kind.

    Examples
    --------
    >>> from everlearn.tasks.t_maze import t_maze
    >>> sizes = sizes_of(IndexedTask(t_maze(window=1)), lags=1, changes=2)
    >>> sizes
    Sizes(lags=1, changes=2, observations=6, actions=2, timed=8, resets=7)
    >>> sizes.kinds[:6]
    [('observation', 0), ('observation', 1), ('action', 1), ('change', 1), ('change', 2), ('clock', 0)]

    """

    lags: int
    changes: int
    observations: int
    actions: int
    timed: int
    """The number of clocks: the observations, then the actions."""
    resets: int
    """How many counts of all observations there are: since a change of action, then after each observation."""

    @property
    def kinds(self) -> list[tuple[str, int]]:
        """Return the kind of each feature, with its lag, the number of its label, or that of its count."""
        return [
            *(("observation", lag) for lag in range(self.lags + 1)),
            *(("action", lag) for lag in range(1, self.lags + 1)),
            *(("change", number) for number in range(1, self.changes + 1)),
            *(("clock", label) for label in range(self.timed)),
            *(("lead", count) for count in range(self.resets * self.observations)),
            *(("order", pair) for pair in range(self.timed * (self.timed - 1) // 2)),
        ]

    @property
    def values(self) -> list[int]:
        """Return how many values each feature has."""
        lead = 2 * MOST_LEAD + 1
        labels = {"observation": self.observations, "action": self.actions, "change": self.observations}
        return [{**labels, "clock": len(AGES) + 1, "lead": lead, "order": 2}[kind] for kind, _ in self.kinds]

    @property
    def ordered(self) -> int:
        """Return the first feature whose questions are "at least"; the questions of those before it are "is it"."""
        return 2 * self.lags + 1 + self.changes

    @property
    def features(self) -> int:
        """Return the number of features."""
        return len(self.kinds)

    def begin(self) -> NDArray[np.int64]:
        """Return the past before the first step: the features, and the tally (:mod:`everlearn.agents.tally`)."""
        past = np.zeros(self.features + 1 + 2 * self.actions, dtype=np.int64)
        past[self.ordered : self.ordered + self.timed] = AGES[-1]
        return past


def sizes_of(indexed: IndexedTask, lags: int, changes: int) -> Sizes:
    """Return the sizes for a task."""
    labels = indexed.observations + indexed.actions
    few = labels <= MOST_TIMED
    resets = min(indexed.observations + 1, MOST_LEADS // indexed.observations) if few else 0
    return Sizes(lags, changes, indexed.observations, indexed.actions, labels if few else 0, resets)


def value_of(past: NDArray[np.int64], sizes: Sizes, feature: int) -> int:
    """Return the value of a feature."""
    first = 2 * sizes.lags + 1 + sizes.changes
    if feature < first:
        return past[feature]  # type: ignore[no-any-return]
    if feature < first + sizes.timed:
        return LEVELS[past[feature]]  # type: ignore[no-any-return]
    labels = sizes.observations
    if feature >= first + sizes.timed + sizes.resets * labels:
        return past[feature]  # type: ignore[no-any-return]
    start = feature - (feature - first - sizes.timed) % labels
    most = 0
    for place in range(start, start + labels):
        if place != feature:
            most = max(most, past[place])
    return min(max(past[feature] - most, -MOST_LEAD), MOST_LEAD) + MOST_LEAD  # type: ignore[no-any-return]


def update(past: NDArray[np.int64], sizes: Sizes, action: int, observation: int) -> None:
    """Move the past one step on."""
    lags, labels = sizes.lags, sizes.observations
    again = past[lags + 1] == action
    if past[0] != observation:
        shift(past, 2 * lags + 1, sizes.changes, past[0])
    shift(past, 0, lags + 1, observation)
    shift(past, lags + 1, lags, action)
    clocks = 2 * lags + 1 + sizes.changes
    for i in range(clocks, clocks + sizes.timed):
        past[i] = min(past[i] + 1, AGES[-1])
    if sizes.timed > 0:
        past[clocks + observation] = 0
        past[clocks + labels + action] = 0
    counts = clocks + sizes.timed
    for reset in range(sizes.resets):
        if reset == observation + 1 or (reset == 0 and not again):
            for i in range(labels):
                past[counts + i] = 0
        if reset != observation + 1:
            count(past, counts, labels, observation)
        counts += labels
    if sizes.timed > 0:
        put_last(past, counts, sizes.timed, labels + action)
        put_last(past, counts, sizes.timed, observation)


def shift(past: NDArray[np.int64], place: int, length: int, newest: int) -> None:
    """Put a value in front of ``length`` values, and drop the last of them."""
    for i in range(place + length - 1, place, -1):
        past[i] = past[i - 1]
    past[place] = newest


def put_last(past: NDArray[np.int64], place: int, labels: int, label: int) -> None:
    """Note that a label came after all others.

    There is a number for each pair of labels, from ``place``: 1 if the first of them came last, else 0.
    """
    pair = place + label - 1
    for other in range(label):
        past[pair] = 0
        pair += labels - other - 2
    first = place + label * (2 * labels - label - 1) // 2
    for i in range(first, first + labels - label - 1):
        past[i] = 1


def count(past: NDArray[np.int64], place: int, labels: int, observation: int) -> None:
    """Count an observation; if it was counted often enough, count all others down."""
    if past[place + observation] < MOST_COUNTED:
        past[place + observation] += 1
    else:
        for i in range(place, place + labels):
            if i != place + observation and past[i] > 0:
                past[i] -= 1
