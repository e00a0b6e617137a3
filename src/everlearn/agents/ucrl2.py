"""UCRL2: the best policy of the best model that is still plausible.

Thomas Jaksch, Ronald Ortner and Peter Auer, "Near-optimal Regret Bounds for Reinforcement Learning", Journal of Machine
Learning Research 11, 1563-1600, 2010.  It works in episodes.  At the beginning of one it takes all Markov decision
processes whose rewards and transitions are within confidence bounds of what was counted, finds a policy that is optimal
for the best of them, and follows it until a pair that the policy chooses has been visited as often in this episode as
in all before.

What differs from the source:

- The aleatoric state is treated as if it were a Markov state.
- Rewards are brought into [0, 1] by the declared range, also where a task is learned from raw rewards, since the
  confidence bounds are made for that.
- Ties, which the source leaves open, go to the action that was visited least, and of these to the first; values within
  1e-10 of each other count as tied.  So nothing is drawn.
- A scale multiplies both confidence bounds, and there is a bound on sweeps of value iteration; at the defaults the
  first is the source's, and the second is hardly ever met.
- A pair that was never visited may do anything, whatever the scale.  At a scale of 1 that is what the source says.
- Values are shifted so that the least is 0, which changes no policy.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.design import Design
from everlearn.agents.experienced import (
    BEFORE,
    EARNED,
    REWARD,
    VISITS,
    check_size,
    check_sweeps,
    count,
    deterministic,
)
from everlearn.agents.planning import extended_value_iteration, middle
from everlearn.errors import require
from everlearn.protocol import Experience, ScheduleValues, Table
from everlearn.tasks.indexed import IndexedTask

RADIUS, NUMBERS = -5, 5
"""The place in a row of how far plausible transitions are from the frequencies; how many numbers a row ends with."""

VALUE, CHANGE = 0, 1
EPISODE = -1


class Plausible(NamedTuple):
    """What was counted, the policy of the episode, and room for planning the next."""

    pairs: Table
    """Rows as in :mod:`everlearn.agents.experienced`, with the radius."""
    values: Table
    """For each aleatoric state its value, and room for its change."""
    plan: NDArray[np.int64]
    """For each aleatoric state the action of the policy; then room for the states by value; last k, the number of the
    episode."""
    confidence: float
    scale: float
    precision: float
    sweeps: int


def ucrl2(*, confidence: float = 0.05, scale: float = 1.0, precision: float = 1.0, sweeps: int = 10_000) -> Design:
    """Plan optimistically within confidence bounds, an episode ending where counts double (UCRL2).

    Jaksch, Ortner and Auer, Near-optimal regret bounds for reinforcement learning, JMLR 11 (2010), Figures 1 and 2.

    Parameters
    ----------
    confidence:
        delta, the probability with which the bounds may fail
    scale:
        multiplies both confidence bounds; 1 is the paper's, less is bolder
    precision:
        planning stops where the gain is certain to within this over sqrt(t_k); 1 is the paper's
    sweeps:
        planning stops after so many sweeps of value iteration, certain or not

    Examples
    --------
    >>> from everlearn.agents.agent import Agent
    >>> agent = Agent("service-station", ucrl2())
    >>> for _ in range(20):
    ...     reward = agent.observe("nothing", executed="slow")
    >>> agent.inspect()["N"].tolist(), agent.inspect()["gain"].tolist()
    ([[0.0, 20.0], [0.0, 0.0]], [1.0])

    """
    require(0 < confidence < 1, "agent.confidence", confidence, "give a probability in (0, 1)")
    require(0 < scale < math.inf, "agent.scale", scale, "give a finite number above 0")
    require(0 < precision < math.inf, "agent.precision", precision, "give a finite number above 0")
    check_sweeps(sweeps)

    def build(indexed: IndexedTask) -> Plausible:
        check_size(indexed, "ucrl2")
        states, actions = indexed.states, indexed.actions
        return Plausible(
            np.zeros((states, actions, states + NUMBERS)),
            np.array([[0.0] * states, [1.0] * states]),
            np.array([0] * (2 * states) + [1]),
            confidence,
            scale,
            precision,
            sweeps,
        )

    return Design(build, act, learn, policy, inspect=inspect, unit=True, plans=True, name="ucrl2")


def act(knowledge: Plausible, aleatoric_state: int, now: ScheduleValues, stream: Any) -> int:  # noqa: ARG001
    """Follow the policy of the episode."""
    return knowledge.plan[aleatoric_state]  # type: ignore[no-any-return]


def learn(knowledge: Plausible, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Count the step, and begin an episode where the policy has visited the next pair often enough in this one."""
    pairs = knowledge.pairs
    count(pairs, experience)
    s = experience.next_aleatoric_state
    a = knowledge.plan[s]
    if pairs[s, a, VISITS] - pairs[s, a, BEFORE] >= max(1.0, pairs[s, a, BEFORE]):
        begin_episode(knowledge, float(now.t + 1))


def begin_episode(knowledge: Plausible, t: float) -> None:
    """Steps 1 to 5 of Figure 1."""
    states = knowledge.pairs.shape[0]
    knowledge.plan[EPISODE] += 1
    hope(knowledge.pairs, t, knowledge.confidence, knowledge.scale)
    extended_value_iteration(
        knowledge.pairs,
        knowledge.pairs[:, :, VISITS],
        knowledge.pairs[:, :, REWARD],
        knowledge.pairs[:, :, RADIUS],
        knowledge.values[VALUE],
        knowledge.values[CHANGE],
        knowledge.plan[states : 2 * states],
        knowledge.plan[:states],
        knowledge.precision / math.sqrt(t),
        knowledge.sweeps,
    )


def hope(pairs: Table, t: float, confidence: float, scale: float) -> None:
    """Compute the bounds (3) and (4) for each pair; one that was never visited may do anything, for a reward of 1."""
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


def policy(knowledge: Plausible) -> Table:
    """Return the policy of the episode."""
    states, actions, _ = knowledge.pairs.shape
    return deterministic(knowledge.plan[:states], actions)


def inspect(knowledge: Plausible, now: ScheduleValues) -> dict[str, Table]:  # noqa: ARG001
    """Return N, the optimistic values V (the least is 0) and gain, and the number of the episode."""
    value, change = knowledge.values
    return {
        "N": knowledge.pairs[:, :, VISITS].copy(),
        "V": value.copy(),
        "gain": np.array([middle(change)]),
        "episode": knowledge.plan[EPISODE:].astype(np.float64),
    }
