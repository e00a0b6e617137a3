"""Q-learning with Hoeffding's upper confidence bounds, in pseudo-episodes of H steps on an endless stream.

Chi Jin, Zeyuan Allen-Zhu, Sebastien Bubeck and Michael I. Jordan, "Is Q-learning Provably Efficient?", NeurIPS 31,
2018; arXiv 1807.03765.  Algorithm 1, for the stages h = 1, ..., H, where n is how often a was taken in s at stage h:

    alpha_n = (H + 1) / (H + n),   b_n = c sqrt(H^3 log(S A T / p) / n),   V_{H+1} = 0,   Q = H at first,
    Q_h(s, a) = (1 - alpha_n) Q_h(s, a) + alpha_n (r + V_{h+1}(s') + b_n),   V_h(s) = min(H, max_a Q_h(s, a)).

Deviations from the source, in addition to those in :mod:`everlearn.agents`:

- There are no episodes: the stage of step t is (t - 1) mod H + 1, and the environment is not reset after stage H.  In
  the source an adversary chooses where an episode begins, so its regret bound against the best H-stage policy from
  there holds.  It says nothing about the average reward.
- The constant c, which the source only bounds, is 1 by default.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.checks import MOST_COUNTED, MOST_ENTRIES, check_at_least, check_confidence, check_duration
from everlearn.agents.design import Design
from everlearn.agents.tabular import greedy_action, greedy_policy, largest, latest_rows, records, show_fields
from everlearn.errors import require
from everlearn.protocol import Experience, ScheduleValues, Table
from everlearn.tasks.indexed import IndexedTask


class Stages(NamedTuple):
    """Q and N by aleatoric state, stage and action."""

    cells: NDArray[Any]
    """One record per aleatoric state and stage: Q and N of each action."""
    entered: Table
    """When each aleatoric state was last entered."""
    optimism: float
    horizon: int
    states: int


def act(knowledge: Stages, aleatoric_state: int, now: ScheduleValues, stream: Any) -> int:
    """Take the best action of the stage."""
    stage = (now.t - 1) % knowledge.horizon
    return greedy_action(knowledge.cells["value"][aleatoric_state], stage, stream)


def learn(knowledge: Stages, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Move the value of the stage towards the reward, the value of the next stage and the bonus."""
    q = knowledge.cells["value"]
    count = knowledge.cells["count"]
    s = experience.aleatoric_state
    a = experience.action
    stage = (now.t - 1) % knowledge.horizon
    count[s, stage, a] += 1.0
    n = count[s, stage, a]
    following = 0.0
    if stage + 1 < knowledge.horizon:
        following = min(largest(q[experience.next_aleatoric_state], stage + 1), float(knowledge.horizon))
    alpha = step_size(n, float(knowledge.horizon))
    target = experience.reward + following + knowledge.optimism / math.sqrt(n)
    q[s, stage, a] = (1.0 - alpha) * q[s, stage, a] + alpha * target
    knowledge.entered[experience.next_aleatoric_state] = now.t


def step_size(count: float, horizon: float) -> float:
    """Return alpha_n = (H + 1) / (H + n)."""
    return (horizon + 1.0) / (horizon + count)


def policy(knowledge: Stages) -> Table:
    """Return the greedy policy of the next stage."""
    entered = knowledge.entered[latest_rows(knowledge.entered, knowledge.states)]
    stage = np.repeat(entered.astype(np.int64) % knowledge.horizon, knowledge.states)
    return greedy_policy(knowledge.cells["value"][np.arange(len(stage)), stage])


def ucb_h(*, horizon: int = 10, duration: int | None = None, confidence: float = 0.05, scale: float = 1.0) -> Design:
    """Q-learning with Hoeffding bonuses, in pseudo-episodes (Jin, Allen-Zhu, Bubeck and Jordan, 2018).

    Parameters
    ----------
    horizon:
        H, the steps of a pseudo-episode
    duration:
        T, the duration that the agent plans for; default: the number of steps of the run
    confidence:
        p, the probability with which the bound of the source may fail
    scale:
        c, which multiplies the bonus

    """
    require(horizon >= 1, "agent.horizon", horizon, "give a whole number of at least 1")
    steps = check_duration(duration, MOST_COUNTED)
    check_confidence(confidence)
    check_at_least(0, scale=scale)

    def build(indexed: IndexedTask) -> Stages:
        check_table(indexed, horizon)
        states, actions = indexed.states, indexed.actions
        cells = records((states, horizon), value=actions, count=actions)
        cells["value"] = horizon
        logarithm = math.log(states * actions * steps / confidence)
        optimism = scale * math.sqrt(horizon**3 * logarithm)
        return Stages(cells, np.zeros(states), optimism, horizon, states)

    inspect = show_fields(Q="value", N="count")
    return Design(build, act, learn, policy, inspect=inspect, by_state=True, name="ucb-h", duration=duration)


def check_table(indexed: IndexedTask, horizon: int) -> None:
    """Require a horizon with which the table fits into memory."""
    states, actions = indexed.states, indexed.actions
    most = MOST_ENTRIES // (states * actions)
    remedy = (
        f"its table has |S| |A| H entries, at most {MOST_ENTRIES:,}; {indexed.task.name!r} has {states:,} aleatoric "
        f"states and {actions:,} actions: " + (f"give 1 to {most:,}" if most else "choose a task with fewer")
    )
    require(horizon <= most, "agent.horizon", horizon, remedy)
