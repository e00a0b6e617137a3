"""UCRL2: follow the best policy of the best model that is still plausible.

Thomas Jaksch, Ronald Ortner and Peter Auer, "Near-optimal Regret Bounds for Reinforcement Learning", JMLR 11,
1563-1600, 2010, Figures 1 and 2.  The agent works in episodes.  When one begins, it considers all Markov decision
processes whose rewards and transitions are within confidence bounds of what it has counted, and finds a policy that is
optimal for the best of them.  It follows this policy until a pair that the policy chooses has been visited as often in
this episode as in all episodes before.

Deviations from the source, in addition to those in :mod:`everlearn.agents`:

- Rewards are scaled to [0, 1] even if the task is raw, since the confidence bounds assume it.
- Ties, which the source leaves open, go to the action that was visited least, and among these to the first; values
  within 1e-10 of each other count as tied.  So the agent draws nothing.
- A scale multiplies both confidence bounds, and the number of sweeps of value iteration is bounded.  The default scale
  is the source's, and the default bound is hardly ever reached.
- A pair that was never visited may do anything, whatever the scale.  With a scale of 1 that is what the source says.
- Values are shifted so that the least is 0, which changes no policy.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.checks import check_confidence, check_model_size, check_positive, check_sweeps
from everlearn.agents.counts import BEFORE, EARNED, REWARD, VISITS, count_step
from everlearn.agents.design import Design
from everlearn.agents.episodes import (
    CHANGE,
    EPISODE,
    VALUE,
    act,
    choose,
    first_values,
    has_settled,
    inspect,
    is_over,
    policy,
)
from everlearn.agents.planning import arrange
from everlearn.protocol import Experience, ScheduleValues, Table
from everlearn.tasks.indexed import IndexedTask

RADIUS, NUMBERS = -5, 5
"""The place in a row of the distance of plausible transitions from the frequencies; the numbers at the end of a row."""


class Plausible(NamedTuple):
    """The counts, the policy of the episode, and work space for planning the next episode."""

    pairs: Table
    """Rows as in :mod:`everlearn.agents.counts`, with the radius."""
    values: Table
    """The value of each aleatoric state, and its change."""
    plan: NDArray[np.int64]
    """The action of the policy for each aleatoric state; then the states ordered by value; last k, the number of the
    episode."""
    confidence: float
    scale: float
    precision: float
    sweeps: int


def learn(knowledge: Plausible, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Count the step, and begin an episode if the next pair of the policy was visited often enough in this one."""
    count_step(knowledge.pairs, experience)
    if is_over(knowledge, experience.next_aleatoric_state):
        begin_episode(knowledge, float(now.t + 1))


def begin_episode(knowledge: Plausible, t: float) -> None:
    """Steps 1 to 5 of Figure 1."""
    knowledge.plan[EPISODE] += 1
    update_bounds(knowledge.pairs, t, knowledge.confidence, knowledge.scale)
    plan_episode(knowledge, knowledge.precision / math.sqrt(t))


def plan_episode(knowledge: Plausible, precision: float) -> None:
    """Find a policy for the best of all models within the bounds (Section 3.1), from values of 0."""
    states = knowledge.pairs.shape[0]
    v = knowledge.values[VALUE]
    order = knowledge.plan[states : 2 * states]
    for s in range(states):
        v[s] = 0.0
        order[s] = s
    for _ in range(knowledge.sweeps):
        arrange(order, v)
        sweep_plausible(knowledge, order)
        if has_settled(knowledge.values, precision):
            break


def sweep_plausible(knowledge: Plausible, order: NDArray[np.int64]) -> None:
    """Do a sweep of value iteration with the most favourable row of each pair."""
    pairs = knowledge.pairs
    v = knowledge.values[VALUE]
    for s in range(len(v)):
        best = -math.inf
        for a in range(pairs.shape[1]):
            best = choose(pairs, knowledge.plan, s, a, hoped_value(pairs[s, a], order, v), best)
        knowledge.values[CHANGE, s] = best - v[s]


def hoped_value(row: Table, order: NDArray[np.int64], v: Table) -> float:
    """Return the reward and the greatest mean of v within the radius of the frequencies (Figure 2).

    That row moves half the radius to the best state, and takes it from the worst states.  The code distributes what is
    left from the second best state on; if nothing is left, rounding cannot make two such rows differ.  The row of a
    pair that was never visited is any distribution.
    """
    n = row[VISITS]
    each = 1.0 / max(1.0, n)
    p = min(1.0, row[order[0]] * each + 0.5 * row[RADIUS]) if n > 0.0 else 1.0
    left = 1.0 - p
    q = row[REWARD] + p * v[order[0]]
    place = 1
    while left > 0.0 and place < len(v):
        p = min(left, row[order[place]] * each)
        left -= p
        q += p * v[order[place]]
        place += 1
    return q  # type: ignore[no-any-return]


def update_bounds(pairs: Table, t: float, confidence: float, scale: float) -> None:
    """Compute the bounds (3) and (4) for each pair; an unvisited pair may do anything, for a reward of 1."""
    states, actions = pairs.shape[0], pairs.shape[1]
    of_rewards = 3.5 * math.log(2.0 * states * actions * t / confidence)
    of_transitions = 14.0 * states * math.log(2.0 * actions * t / confidence)
    for s in range(states):
        for a in range(actions):
            n = pairs[s, a, VISITS]
            pairs[s, a, BEFORE] = n
            pairs[s, a, REWARD] = 1.0
            if n > 0.0:
                bound = scale * math.sqrt(of_rewards / n)
                pairs[s, a, REWARD] = min(1.0, pairs[s, a, EARNED] / n + bound)
                pairs[s, a, RADIUS] = scale * math.sqrt(of_transitions / n)


def ucrl2(*, confidence: float = 0.05, scale: float = 1.0, precision: float = 1.0, sweeps: int = 10_000) -> Design:
    """Plan optimistically within confidence bounds, starting a new episode when a count has doubled (UCRL2).

    Parameters
    ----------
    confidence:
        delta, the probability with which the bounds may fail
    scale:
        multiplies both confidence bounds; 1 is the source, less is bolder
    precision:
        planning stops when the gain is certain to within this over sqrt(t_k); 1 is the source
    sweeps:
        planning stops after so many sweeps of value iteration in any case

    Examples
    --------
    >>> from everlearn.agents.agent import Agent
    >>> agent = Agent("service-station", ucrl2())
    >>> for _ in range(20):
    ...     reward = agent.observe("nothing", executed="slow")
    >>> agent.inspect()["N"].tolist(), agent.inspect()["gain"].tolist()
    ([[0.0, 20.0], [0.0, 0.0]], [1.0])

    """
    check_confidence(confidence)
    check_positive(scale=scale, precision=precision)
    check_sweeps(sweeps)

    def build(indexed: IndexedTask) -> Plausible:
        check_model_size(indexed, "ucrl2")
        states, actions = indexed.states, indexed.actions
        return Plausible(
            np.zeros((states, actions, states + NUMBERS)),
            first_values(states),
            np.array([0] * (2 * states) + [1]),
            confidence,
            scale,
            precision,
            sweeps,
        )

    return Design(build, act, learn, policy, inspect=inspect, unit=True, plans=True, name="ucrl2")
