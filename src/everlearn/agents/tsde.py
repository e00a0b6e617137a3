"""TSDE, Thompson sampling with dynamic episodes: the best policy of a model drawn from what is believed.

Yi Ouyang, Mukul Gagrani, Ashutosh Nayyar and Rahul Jain, "Learning Unknown Markov Decision Processes: A Thompson
Sampling Approach", Advances in Neural Information Processing Systems 30 (NeurIPS), 2017; arXiv 1709.04570.  It works in
episodes.  At the beginning of one it draws a Markov decision process from its posterior distribution and follows a
policy that is optimal for it, for at most one step longer than in the episode before, and no longer than until the
visits of some pair have doubled.

What differs from the source:

- The aleatoric state is treated as if it were a Markov state.
- Rewards, which the source takes as known, are learned: the mean reward of a pair has a beta distribution, in whose
  counts a reward r in [0, 1] is r of a success and 1 - r of a failure.  They are brought into [0, 1] by the declared
  range, also where a task is learned from raw rewards.
- The prior over transitions, which the source leaves open, is a symmetric Dirichlet distribution.
- Planning is value iteration, begun from the values of the episode before, and stops at a precision that grows with
  the episodes, or after a bounded number of sweeps.
- In the first episode, which is one step, nothing tells the actions apart, so that the policy that is optimal for a
  draw from the prior is a uniform draw from all policies: no model is drawn for that.

What is drawn in episode k comes from a stream of its own, numbered k.
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
from everlearn.agents.planning import middle, relative_value_iteration
from everlearn.agents.sampling import check_shape, fill_log_gamma, normalise
from everlearn.errors import require
from everlearn.protocol import Experience, ScheduleValues, Table
from everlearn.randomness import KEY, WORDS, begin, choose, draw_key, kept
from everlearn.tasks.indexed import IndexedTask

GOOD, BAD, NUMBERS = -5, -6, 6
"""Places in a row of the shapes of the distribution of the mean reward; how many numbers a row ends with."""

EPISODE, BEGAN, LAST = KEY, KEY + 1, KEY + 2
PROGRESS = KEY + 3


class Posterior(NamedTuple):
    """What was counted, the model and the policy of the episode, and room for planning the next."""

    pairs: Table
    """Rows as in :mod:`everlearn.agents.experienced`; after the counts come the probabilities in the model."""
    values: Table
    """First the key of the streams; k, the number of the episode; t_k, the time at which it began; T_{k-1}, the length
    of the one before.  Then for each aleatoric state its value in the model; then room for the changes of these."""
    chosen: NDArray[np.int64]
    """The policy: an action for each aleatoric state."""
    room: NDArray[np.uint64]
    """The stream of the episode."""
    prior: float
    reward_prior: float
    reward_mean: bool
    precision: float
    sweeps: int


def tsde(
    *,
    prior: float = 0.1,
    rewards: str = "beta",
    reward_prior: float = 1.0,
    precision: float = 1.0,
    sweeps: int = 1000,
) -> Design:
    """Follow the best policy of a model drawn from the posterior, in growing episodes (Thompson sampling, TSDE).

    Ouyang, Gagrani, Nayyar and Jain, Learning unknown Markov decision processes: a Thompson sampling approach, NeurIPS
    2017.  The paper takes rewards as known; here they are learned like transitions.

    Parameters
    ----------
    prior:
        each next state counts as seen so often before the first step (a symmetric Dirichlet distribution)
    rewards:
        how the mean reward of a pair is taken: "beta", drawn from a beta distribution, or "mean", the mean of that
    reward_prior:
        rewards of 0, and as many of 1, that count as seen for each pair before the first step
    precision:
        planning stops where the gain is certain to within this over k + 1, in episode k; 1 is the paper's
    sweeps:
        planning stops after so many sweeps of value iteration, certain or not

    Examples
    --------
    >>> from everlearn.agents.agent import Agent
    >>> agent = Agent("service-station", tsde(), seed=1)
    >>> for _ in range(20):
    ...     reward = agent.observe("nothing", executed="slow")
    >>> agent.inspect()["N"].tolist(), agent.inspect()["episode"].tolist()
    ([[0.0, 20.0], [0.0, 0.0]], [6.0])

    """
    check_shape(prior, "agent.prior")
    require(rewards in ("beta", "mean"), "agent.rewards", rewards, "give beta or mean")
    check_shape(reward_prior, "agent.reward_prior")
    require(0 < precision < math.inf, "agent.precision", precision, "give a finite number above 0")
    check_sweeps(sweeps)

    def build(indexed: IndexedTask) -> Posterior:
        check_size(indexed, "tsde")
        states, actions = indexed.states, indexed.actions
        return Posterior(
            np.zeros((states, actions, 2 * states + NUMBERS)),
            np.array([0.0] * KEY + [1.0, 1.0, 1.0] + [0.0] * (2 * states)),
            np.zeros(states, dtype=np.int64),
            np.zeros(WORDS, dtype=np.uint64),
            prior,
            reward_prior,
            rewards == "mean",
            precision,
            sweeps,
        )

    return Design(build, act, learn, policy, inspect=inspect, unit=True, plans=True, name="tsde")


def act(knowledge: Posterior, aleatoric_state: int, now: ScheduleValues, stream: Any) -> int:  # noqa: ARG001
    """Follow the policy of the episode; in the first, draw from all actions."""
    if knowledge.values[EPISODE] > 1.0:
        return knowledge.chosen[aleatoric_state]  # type: ignore[no-any-return]
    ensure_key(knowledge.values, stream)
    begin(knowledge.room, knowledge.values, 1)
    return choose(kept(knowledge.room), knowledge.pairs.shape[1])


def learn(knowledge: Posterior, experience: Experience, now: ScheduleValues, stream: Any) -> None:
    """Count the step, and begin an episode where this one is longer than the last, or the visits of a pair doubled."""
    pairs = knowledge.pairs
    values = knowledge.values
    count(pairs, experience)
    s = experience.aleatoric_state
    a = experience.action
    t = float(now.t + 1)
    if t > values[BEGAN] + values[LAST] or pairs[s, a, VISITS] > 2.0 * pairs[s, a, BEFORE]:
        ensure_key(values, stream)
        begin_episode(knowledge, t)


def ensure_key(key: Table, stream: Any) -> None:
    """Draw the key of the streams, unless it was drawn: whichever of ``act`` and ``learn`` is called first does it."""
    if key[0] == 0.0 and key[1] == 0.0 and key[2] == 0.0:
        draw_key(key, stream)


def begin_episode(knowledge: Posterior, t: float) -> None:
    """Draw a model and find a policy for it, from the values of the last, which are near those sought."""
    values = knowledge.values
    states = knowledge.pairs.shape[0]
    values[EPISODE] += 1.0
    values[LAST] = t - values[BEGAN]
    values[BEGAN] = t
    begin(knowledge.room, values, int(values[EPISODE]))
    draw_model(knowledge, kept(knowledge.room))
    relative_value_iteration(
        knowledge.pairs[:, :, states : 2 * states],
        knowledge.pairs[:, :, REWARD],
        values[PROGRESS : PROGRESS + states],
        values[PROGRESS + states :],
        knowledge.chosen,
        knowledge.precision / (values[EPISODE] + 1.0),
        knowledge.sweeps,
    )


def draw_model(knowledge: Posterior, stream: Any) -> None:
    """Draw transitions and rewards of every pair, and note how often each was visited."""
    pairs = knowledge.pairs
    states = pairs.shape[0]
    for s in range(states):
        for a in range(pairs.shape[1]):
            pairs[s, a, BEFORE] = pairs[s, a, VISITS]
            for following in range(states):
                pairs[s, a, states + following] = pairs[s, a, following] + knowledge.prior
            pairs[s, a, GOOD] = knowledge.reward_prior + pairs[s, a, EARNED]
            pairs[s, a, BAD] = knowledge.reward_prior + max(0.0, pairs[s, a, VISITS] - pairs[s, a, EARNED])
            pairs[s, a, REWARD] = pairs[s, a, GOOD] / (pairs[s, a, GOOD] + pairs[s, a, BAD])
            fill_log_gamma(pairs[s, a, states:REWARD], stream)
            normalise(pairs[s, a, states:BAD])
            normalise(pairs[s, a, BAD:REWARD])
            if not knowledge.reward_mean:
                pairs[s, a, REWARD] = pairs[s, a, GOOD]


def policy(knowledge: Posterior) -> Table:
    """Return the policy of the episode, which in the first is drawn uniformly."""
    states, actions, _ = knowledge.pairs.shape
    if knowledge.values[EPISODE] > 1.0:
        return deterministic(knowledge.chosen, actions)
    return np.full((states, actions), 1.0 / actions)


def inspect(knowledge: Posterior, now: ScheduleValues) -> dict[str, Table]:  # noqa: ARG001
    """Return N, the values V (the least is 0) and gain of the model that was drawn, and the number of the episode."""
    value, change = np.split(knowledge.values[PROGRESS:], 2)
    return {
        "N": knowledge.pairs[:, :, VISITS].copy(),
        "V": value.copy(),
        "gain": np.array([middle(change)]),
        "episode": knowledge.values[EPISODE : EPISODE + 1].copy(),
    }
