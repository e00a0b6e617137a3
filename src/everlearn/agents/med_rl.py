"""MED-RL: draw actions with probabilities that fall with their empirical divergence from being the best.

The randomised form of :mod:`everlearn.agents.imed_rl`, after the bandit algorithm MED: Junya Honda and Akimichi
Takemura, "An Asymptotically Optimal Policy for Finite Support Models in the Multiarmed Bandit Problem", Machine
Learning 85, 2011.  With N and K as in :mod:`everlearn.agents.divergence`, an action is drawn with a probability
proportional to exp(-N K), so that an action of the greatest potential has weight 1.

No text that defines MED-RL was available; the definition here is that of MED, with the divergence of IMED-RL.  The
package of the authors of IMED-RL (statisticalrl_learners 2.2507) has an agent of this name with the weights 1 / N for
an action of the greatest potential and exp(-N D) / D for any other, where D is K + log M.  These do not follow
from MED, and ``index="package"`` here adds log M to K only.  What :mod:`everlearn.agents.imed_rl` says about ergodic
processes and about actions that were never tried holds here too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from everlearn.agents.counts import VISITS
from everlearn.agents.design import Design
from everlearn.agents.divergence import DIVERGENCE, Empirical, divergence_design, judge_or_mark, judged_rows
from everlearn.protocol import ScheduleValues, Table
from everlearn.randomness import uniform


def act(knowledge: Empirical, aleatoric_state: int, now: ScheduleValues, stream: Any) -> int:  # noqa: ARG001
    """Draw an action with its weight, with one uniform number."""
    weights = knowledge.judged[DIVERGENCE]
    left = uniform(stream) * fill_weights(knowledge, aleatoric_state)
    action = 0
    for a in range(len(weights)):
        if weights[a] > 0.0:
            action = a
            left -= weights[a]
            if left < 0.0:
                break
    return action


def fill_weights(knowledge: Empirical, s: int) -> float:
    """Write the weight of each action, in place of its divergence; return the sum."""
    weights = knowledge.judged[DIVERGENCE]
    judged = judge_or_mark(knowledge, s)
    total = 0.0
    for a in range(len(weights)):
        if judged:
            weights[a] = math.exp(-knowledge.pairs[s, a, VISITS] * weights[a])
        total += weights[a]
    return total


def policy(knowledge: Empirical) -> Table:
    """Return the probabilities with which actions would be drawn now."""
    weights = judged_rows(knowledge, fill_weights)
    total: Table = weights.cumsum(axis=1)[:, -1:]  # added up in the order in which act does it
    return np.asarray(weights / total)


def med_rl(
    *, index: str = "source", prior: float = 1.0, levels: int = 11, precision: float = 1e-3, sweeps: int = 3000
) -> Design:
    """Draw actions with weights that fall with their empirical divergence from the best (MED-RL).

    Parameters
    ----------
    index:
        "source", or "package", which adds log M to the divergence, as the package of the authors of IMED-RL does
    prior:
        the weight of one observation of a uniform next state and a reward of 1/2, for each pair before the first step
    levels:
        the number of values, from 0 to 1, on which the distribution of rewards is kept
    precision:
        planning stops when the gain is certain to within this
    sweeps:
        planning stops after so many sweeps of value iteration in any case

    Examples
    --------
    >>> from everlearn.agents.agent import Agent
    >>> agent = Agent("service-station", med_rl(), seed=1)
    >>> for _ in range(20):
    ...     reward = agent.observe("nothing", executed="slow")
    >>> agent.policy.round(3).tolist()
    [[1.0, 0.0], [0.5, 0.5]]

    """
    return divergence_design("med-rl", act, policy, index, prior, levels, precision, sweeps)
