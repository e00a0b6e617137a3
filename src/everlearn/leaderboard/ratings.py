"""Ratings of agents over tasks: the share of the others that an agent does better than, averaged over tasks.

Tasks of one kind, such as all garnets, resemble each other, so kinds are resampled and left out as a whole.  The
interval says how far a rating could be different with other kinds of tasks; the range says how far it is different
without any one of them.  An agent that was run on some of the tasks only is ordered by the rating that it would have
if it did better than nobody on the others, so that no agent leads by tasks that it was spared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from everlearn.leaderboard.standings import Standing
from everlearn.protocol import Table

SEED, RESAMPLES = 20_262, 1_999

FEWEST_KINDS = 5
"""How many kinds of tasks an interval needs: fewer are nearly the same whenever they are drawn."""


class Rating(NamedTuple):
    """The rating of one agent: the mean over tasks of the share of the others that it does better than."""

    agent: str
    tasks: int
    """The number of tasks that the agent was run on."""
    all_tasks: int
    """The number of tasks that any agent was run on."""
    led: int
    beaten: float
    low: float | None
    high: float | None
    """The interval; None if the agent was run on too few kinds of tasks."""
    least: float
    """The rating without the kind of tasks that raises it most."""
    most: float
    """The rating without the kind of tasks that lowers it most."""


def ratings(rows: Sequence[Standing], kinds: Mapping[str, str]) -> list[Rating]:
    """Rate agents by rows of one time, best first; ``kinds`` has the kind of each task.

    An agent that was not run on a task is not rated by it, but does not rise by it either: the order is that of
    ``beaten * tasks``.

    Examples
    --------
    >>> row = Standing("x", "set aside", "a", 1000, 1, 1.0, 1.0, 0.1, None, None, 0.1, None)
    >>> rows = [row, row._replace(agent="b", relative_regret=0.2)]
    >>> rows += [row._replace(task="y", agent=agent) for agent in "ab"]
    >>> [(each.agent, each.led, each.beaten, each.least) for each in ratings(rows, {"x": "x", "y": "y"})]
    [('a', 2, 0.75, 0.5), ('b', 1, 0.25, 0.0)]

    """
    lost: dict[str, dict[str, float]] = {}
    for row in rows:
        lost.setdefault(row.task, {})[row.agent] = row.relative_regret
    rated = [_rating(agent, lost, kinds) for agent in dict.fromkeys(row.agent for row in rows)]
    return sorted(rated, key=lambda each: -each.beaten * each.tasks)


def _rating(agent: str, lost: Mapping[str, Mapping[str, float]], kinds: Mapping[str, str]) -> Rating:
    tasks = [task for task, agents in lost.items() if agent in agents]
    shares = np.array([_share(agent, lost[task]) for task in tasks])
    led = sum(lost[task][agent] == min(lost[task].values()) for task in tasks)
    members = [np.array([kinds[task] == kind for task in tasks]) for kind in dict.fromkeys(map(kinds.get, tasks))]
    counts = np.array([each.sum() for each in members], dtype=float)
    sums = np.array([shares[each].sum() for each in members])
    low, high = _resampled(sums, counts) if len(counts) >= FEWEST_KINDS else (None, None)
    without = (sums.sum() - sums) / (counts.sum() - counts) if len(counts) > 1 else shares.mean(keepdims=True)
    beaten = float(shares.mean())
    return Rating(agent, len(tasks), len(lost), led, beaten, low, high, float(without.min()), float(without.max()))


def _share(agent: str, lost: Mapping[str, float]) -> float:
    """Return the share of the others that lost more; those that lost as much count half."""
    others = np.array([value for name, value in lost.items() if name != agent])
    if not others.size:
        return 1.0
    return float(np.mean((others > lost[agent]) + 0.5 * (others == lost[agent])))


def _resampled(sums: Table, counts: Table) -> tuple[float, float]:
    """Return the 95% interval of the mean, if kinds of tasks are drawn anew."""
    drawn = np.random.default_rng(SEED).integers(len(counts), size=(RESAMPLES, len(counts)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)
