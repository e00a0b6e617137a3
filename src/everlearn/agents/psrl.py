"""PSRL, posterior sampling for reinforcement learning: follow the best policy of a drawn model until a count doubles.

Ian Osband, Daniel Russo and Benjamin Van Roy, "(More) Efficient Reinforcement Learning via Posterior Sampling",
NeurIPS 26, 2013; arXiv 1306.0940.  The source has episodes of a fixed length.  In one endless stream, as in the
source's own experiments without resets, an episode lasts until the visits of some pair have doubled, as in
:mod:`everlearn.agents.ucrl2`.  Everything else is as in :mod:`everlearn.agents.tsde`, which also ends
an episode that is longer than the one before.  Its deviations hold here too.

Deviation from the rule of UCRL2: the episode ends with the visit that doubles a count, and not when the policy is about
to choose that pair again.
"""

from __future__ import annotations

from typing import Any

from everlearn.agents.counts import BEFORE, VISITS, count_step
from everlearn.agents.design import Design
from everlearn.agents.tsde import Posterior, begin_episode, ensure_key, posterior_design
from everlearn.protocol import Experience, ScheduleValues


def learn(knowledge: Posterior, experience: Experience, now: ScheduleValues, stream: Any) -> None:
    """Count the step, and begin an episode if the visits of the pair have doubled, or are its first."""
    pairs = knowledge.pairs
    count_step(pairs, experience)
    s = experience.aleatoric_state
    a = experience.action
    if pairs[s, a, VISITS] - pairs[s, a, BEFORE] >= max(1.0, pairs[s, a, BEFORE]):
        ensure_key(knowledge.values, stream)
        begin_episode(knowledge, float(now.t + 1))


def psrl(
    *,
    prior: float = 0.1,
    rewards: str = "beta",
    reward_prior: float = 1.0,
    precision: float = 1.0,
    sweeps: int = 1000,
) -> Design:
    """Follow the best policy of a model drawn from the posterior, until a state-action count has doubled (PSRL).

    Parameters
    ----------
    prior:
        the count of each next state before the first step (a symmetric Dirichlet distribution)
    rewards:
        the mean reward of a pair in the model: "beta", drawn from a beta distribution, or "mean", the mean of that
    reward_prior:
        the number of rewards of 0, and of rewards of 1, counted for each pair before the first step
    precision:
        planning stops when the gain is certain to within this over k + 1, in episode k
    sweeps:
        planning stops after so many sweeps of value iteration in any case

    """
    return posterior_design("psrl", learn, prior, rewards, reward_prior, precision, sweeps)
