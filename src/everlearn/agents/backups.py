"""Backups of the agent ``planner``: the values of a state, from the model and the values of the next states.

:mod:`everlearn.agents.planner` defines the values, the bonus and the states that count as reachable.
"""

from __future__ import annotations

import math
from typing import Any

from everlearn.agents.sparse_model import Planner

LEAST_COUNT = 1e-6
"""The least count of recent visits that is used: one that has faded to 0 would make the bonus infinite."""

TOLERANCE = 3e-3
"""There is nothing to plan while no backup changes the value of a state by more than this; rewards are in [0, 1]."""

REACHABLE = 0.5
"""A state counts as reachable at step t if the model knew a way to it after step t / 2."""


def settled(run: Any) -> bool:
    """Return whether no backup changed a value by much in the last turn and in this one."""
    return bool(run["moved"][0, 0] <= TOLERANCE and run["moved_ahead"][0, 0] <= TOLERANCE)


def back_up(knowledge: Planner, s: int, gamma: float, t: float, log: float) -> None:
    """Compute the values of a state from the model and the values of the next states; ``log`` is log(1 + t)."""
    run = knowledge.run
    cells = knowledge.cells
    values = cells["value"]
    mean = run["total"][0, 0] / run["known"][0, 0]
    ceiling = 1.0 + gamma * run["top"][0, 0]
    best = -math.inf
    for a in range(values.shape[1]):
        if values[s, a] > -math.inf:
            value = min(hoped_value(knowledge, s, a, gamma, log), ceiling) - mean
            values[s, a] = value
            best = max(best, value)
    if best > -math.inf:
        change = best - cells["best"][s, 0]
        run["total"][0, 0] += change
        run["moved_ahead"][0, 0] = max(run["moved_ahead"][0, 0], abs(change))
        cells["best"][s, 0] = best
        if cells["reached"][s, 0] >= REACHABLE * t:
            widen(run, best)


def widen(run: Any, best: float) -> None:
    """Let the extremes of the last turn and of this one include a value."""
    if best > run["top"][0, 0]:
        run["top"][0, 0] = best
    if best < run["low"][0, 0]:
        run["low"][0, 0] = best
    if best > run["top_ahead"][0, 0]:
        run["top_ahead"][0, 0] = best
    if best < run["low_ahead"][0, 0]:
        run["low_ahead"][0, 0] = best


def hoped_value(knowledge: Planner, s: int, a: int, gamma: float, log: float) -> float:
    """Return the mean of the reward and what follows, with the bonus; infinity if the action was never taken.

    Pass on to the next states the last step after which there was a way to them.
    """
    cells = knowledge.cells
    links = knowledge.links
    run = knowledge.run
    visits = cells["visits"][s, a]
    if visits <= 0.0:
        return math.inf
    to = links["to"]
    chance = links["chance"]
    reward = cells["reward"][s, a]
    variance = cells["variance"][s, a]
    if run["follows"][0, 0] > 0.0:
        visits = max(cells["recent_visits"][s, a], LEAST_COUNT)
        chance = links["recent"]
        reward = cells["recent_reward"][s, a]
        variance = cells["recent_variance"][s, a]
    best = cells["best"]
    reached = cells["reached"]
    here = reached[s, 0]
    successors = knowledge.settings.successors
    link = (s * cells["visits"].shape[1] + a) * successors
    end = link + successors
    following = int(to[link, 0])
    level = best[following, 0]  # values are compared with this one, so that little is lost to rounding
    mean = 0.0
    square = 0.0
    while following >= 0:
        above = best[following, 0] - level
        share = chance[link, 0] * above
        mean += share
        square += share * above
        if reached[following, 0] < here:
            reached[following, 0] = here
        link += 1
        following = int(to[link, 0]) if link < end else -1
    variance += max(square - mean * mean, 0.0)
    each = log / visits
    scope = 1.0 + run["top"][0, 0] - run["low"][0, 0]
    bonus = knowledge.settings.spread * math.sqrt(variance * each) + knowledge.settings.rarity * scope * each
    return reward + gamma * (level + mean) + bonus  # type: ignore[no-any-return]


def back_up_in_turn(knowledge: Planner, gamma: float, t: float, log: float) -> None:
    """Back up the state whose turn it is; after the last, begin another turn, and sum again, without rounding."""
    run = knowledge.run
    met = knowledge.cells["met"]
    back_up(knowledge, int(met[int(run["place"][0, 0]), 0]), gamma, t, log)
    run["place"][0, 0] += 1.0
    if run["place"][0, 0] >= run["known"][0, 0]:
        run["place"][0, 0] = 0.0
        run["top"][0, 0] = run["top_ahead"][0, 0]
        run["low"][0, 0] = run["low_ahead"][0, 0]
        run["top_ahead"][0, 0] = -math.inf
        run["low_ahead"][0, 0] = math.inf
        run["moved"][0, 0] = run["moved_ahead"][0, 0]
        run["moved_ahead"][0, 0] = 0.0
        run["total"][0, 0] = 0.0
        for place in range(int(run["known"][0, 0])):
            run["total"][0, 0] += knowledge.cells["best"][int(met[place, 0]), 0]
