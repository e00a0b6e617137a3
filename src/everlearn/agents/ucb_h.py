"""Q-learning with upper confidence bounds after Hoeffding, in pseudo-episodes of H steps on an endless stream.

Chi Jin, Zeyuan Allen-Zhu, Sebastien Bubeck and Michael I. Jordan, "Is Q-learning Provably Efficient?", Advances
in Neural Information Processing Systems 31 (NeurIPS), 2018; arXiv 1807.03765.  Its Algorithm 1, for the
stages h = 1, ..., H:

    alpha_n = (H + 1) / (H + n),   b_n = c sqrt(H^3 log(S A T / p) / n),   V_{H+1} = 0,
    Q_h(s, a) = (1 - alpha_n) Q_h(s, a) + alpha_n (r + V_{h+1}(s') + b_n),   V_h(s) = min(H, max_a Q_h(s, a)),

n being how often a was taken in s at stage h, and Q = H at first.

What differs from the source:

- There are no episodes: the stage of step t is (t - 1) mod H + 1, and after stage H the world is not reset but
  goes on from where it is.  The source lets an adversary choose where an episode begins, so its regret bound
  against the best H-stage policy from there holds; nothing is said of the average reward.
- The constant c, which the source only bounds, is 1 unless given.
- Rewards are scaled to [0, 1] by the declared range, which is what the source assumes.
- The aleatoric state is treated as if it were a Markov state.
- Ties, which the source leaves open, are broken uniformly.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.baton import bearers
from everlearn.agents.design import Design
from everlearn.agents.experienced import ENTRIES
from everlearn.agents.greedy import greedy_action, greedy_policy, largest
from everlearn.agents.records import records
from everlearn.errors import require
from everlearn.protocol import Experience, ScheduleValues, Table
from everlearn.tasks.indexed import IndexedTask

LONGEST = 10**18
"""More steps than any run has: they fit into the whole numbers of a computer."""


class Stages(NamedTuple):
    """Q and N by aleatoric state, stage and action."""

    cells: NDArray[Any]
    """One record per aleatoric state and stage: Q and N of each action."""
    entered: Table
    """When each aleatoric state was last entered."""
    optimism: float
    horizon: int
    states: int


def ucb_h(*, horizon: int = 10, duration: int | None = None, confidence: float = 0.05, scale: float = 1.0) -> Design:
    """Q-learning with Hoeffding bonuses, in pseudo-episodes (Jin, Allen-Zhu, Bubeck and Jordan, 2018).

    Parameters
    ----------
    horizon:
        H, the steps of a pseudo-episode
    duration:
        T, the number of steps that the agent is told it will run for; that of the run unless given
    confidence:
        p, the probability with which the bound of the source may fail
    scale:
        c, which multiplies the bonus

    """
    require(horizon >= 1, "agent.horizon", horizon, "give a whole number of at least 1")
    steps = told_duration(duration)
    check_bonus(confidence, scale)

    def build(indexed: IndexedTask) -> Stages:
        check_table(indexed, horizon)
        states, actions = indexed.states, indexed.actions
        cells = records((states, horizon), value=actions, count=actions)
        cells["value"] = horizon
        logarithm = math.log(states * actions * steps / confidence)
        optimism = scale * math.sqrt(horizon**3 * logarithm)
        return Stages(cells, np.zeros(states), optimism, horizon, states)

    return Design(build, act, learn, policy, inspect=inspect, by_state=True, name="ucb-h", duration=duration)


def told_duration(duration: int | None) -> int:
    """Return the duration that an agent was told; refuse if it was told none.

    Examples
    --------
    >>> told_duration(1000)
    1000

    """
    if duration is None or duration < 1:
        require(False, "agent.duration", duration, "give the number of steps that the agent will run for")
    steps = duration or 1
    require(steps <= LONGEST, "agent.duration", steps, f"give at most {LONGEST:.0e} steps")
    return steps


def check_table(indexed: IndexedTask, horizon: int) -> None:
    """Refuse a horizon with which the table would not fit into memory."""
    states, actions = indexed.states, indexed.actions
    most = ENTRIES // (states * actions)
    remedy = (
        f"its table has |S| |A| H entries, at most {ENTRIES:,}; {indexed.task.name!r} has {states:,} aleatoric "
        f"states and {actions:,} actions: " + (f"give 1 to {most:,}" if most else "choose a task with fewer")
    )
    require(horizon <= most, "agent.horizon", horizon, remedy)


def check_bonus(confidence: float, scale: float) -> None:
    """Refuse a probability outside (0, 1), and a scale of the bonus that is negative.

    Examples
    --------
    >>> check_bonus(0.05, 1.0)

    """
    require(0 < confidence < 1, "agent.confidence", confidence, "give a probability in (0, 1)")
    require(0 <= scale < math.inf, "agent.scale", scale, "give a finite number of at least 0")


def step_size(count: float, horizon: float) -> float:
    """Return alpha_n = (H + 1) / (H + n).

    Examples
    --------
    >>> step_size(1.0, 10.0), step_size(12.0, 10.0)
    (1.0, 0.5)

    """
    return (horizon + 1.0) / (horizon + count)


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


def policy(knowledge: Stages) -> Table:
    """Return the greedy policy of the stage that comes next."""
    entered = knowledge.entered[bearers(knowledge.entered, knowledge.states)]
    stage = np.repeat(entered.astype(np.int64) % knowledge.horizon, knowledge.states)
    return greedy_policy(knowledge.cells["value"][np.arange(len(stage)), stage])


def inspect(knowledge: Stages, now: ScheduleValues) -> dict[str, Table]:  # noqa: ARG001
    """Return Q and N, by aleatoric state, stage and action."""
    return {"Q": knowledge.cells["value"].copy(), "N": knowledge.cells["count"].copy()}
