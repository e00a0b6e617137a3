"""The transitions of a journal as arrays: what was done in which aleatoric state, and what followed."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.durable.entry import Entry, Kind
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
    rewards: Table
    following: NDArray[np.int64]  # the aleatoric states that followed
    changed: int | None = None  # the last step among these at which a change of the task or the agent was accepted


def read_transitions(reader: Reader, agent: int, first: int | None = None, last: int | None = None) -> Transitions:
    """Return the observations of an agent, by its number, from step ``first`` to step ``last``; each row is checked."""
    indices, rewards, changed = array("q"), array("d"), None
    for entry in _entries(reader, agent, first or 1, last):
        if entry.kind == Kind.CHANGE:
            changed = entry.step
        if entry.is_observation:
            if entry.executed is None or entry.observation is None or entry.reward is None:
                raise Corrupt(f"{reader.path}: row {entry.seq}: an observation without its parts")
            indices.extend((entry.state, entry.executed, entry.observation, entry.following))
            rewards.append(entry.reward)
    states, actions, observations, following = np.array(indices, dtype=np.int64).reshape(-1, 4).T
    return Transitions(states, actions, observations, np.array(rewards, dtype=np.float64), following, changed)


def _entries(reader: Reader, agent: int, first: int, last: int | None) -> Iterator[Entry]:
    """Yield the rows of some steps, page by page."""
    after, check = first - 1, None  # rows are numbered no lower than steps
    while True:
        page = list(islice(reader.rows(agent, after, check), PAGE))
        for entry in page:
            if last is not None and entry.step > last:
                return
            if entry.step >= first:
                yield entry
        if len(page) < PAGE:
            return
        after, check = page[-1].seq, page[-1].check
