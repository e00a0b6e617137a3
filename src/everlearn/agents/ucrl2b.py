"""UCRL2B: UCRL2 with empirical Bernstein bounds on the reward and on each transition probability.

Ronan Fruit, Matteo Pirotta and Alessandro Lazaric, "Improved Analysis of UCRL2 with Empirical Bernstein Inequality",
arXiv 2007.05456, 2020.  With n the visits of a pair, at least 1, and L = log(6 S A n / delta), a reward or a
probability with the empirical variance w is within 2 sqrt(w L / n) + 6 L / n of its empirical mean.  So probabilities
near 0 or 1, which have little variance, are known much earlier than in UCRL2.  The rest is as in
:mod:`everlearn.agents.intervals`.

Deviations from the source, in addition to those in :mod:`everlearn.agents`, in :mod:`everlearn.agents.intervals` and in
:mod:`everlearn.agents.ucrl2` (scaled rewards, ties, sweeps):

- The constant in L, 6 in the source, is a parameter.  The package statisticalrl_learners 2.2507 has 18.
- The package draws one of several equally good and equally visited actions at each step; here it is the first.

The full text of the paper was not available when this was written: the form of the bounds is read from the package's
code, and the source's constant from a description of the paper.
"""

from __future__ import annotations

import math
from typing import Any

from everlearn.agents.checks import check_at_least, check_confidence
from everlearn.agents.counts import EARNED, REWARD, VISITS
from everlearn.agents.design import Design
from everlearn.agents.episodes import is_over
from everlearn.agents.intervals import (
    FREE,
    NUMBERS,
    SPREAD,
    TABLES,
    Intervals,
    interval_design,
    is_newly_visited,
    observe_step,
    plan_episode,
    set_interval,
)
from everlearn.protocol import Experience, ScheduleValues, Table


def learn(knowledge: Intervals, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Count the step, and begin an episode if the next pair of the policy was visited often enough in this one."""
    observe_step(knowledge.pairs, experience)
    if is_over(knowledge, experience.next_aleatoric_state):
        for s in range(knowledge.pairs.shape[0]):
            for a in range(knowledge.pairs.shape[1]):
                if is_newly_visited(knowledge.pairs[s, a]):
                    update_row(knowledge.pairs[s, a], knowledge.failure)
        plan_episode(knowledge, float(now.t + 1))


def update_row(row: Table, failure: float) -> None:
    """Compute the greatest plausible reward of a pair that was visited, and the bounds of its probabilities."""
    n = row[VISITS]
    each = math.log(n / failure) / n
    spread = 2.0 * math.sqrt(max(0.0, row[SPREAD]) / n * each)
    row[REWARD] = min(1.0, row[EARNED] / n + spread + 6.0 * each)
    row[FREE] = 1.0
    for to in range((len(row) - NUMBERS) // TABLES):
        p = row[to] / n
        bound = 2.0 * math.sqrt(p * (1.0 - p) * each) + 6.0 * each
        set_interval(row, to, max(0.0, p - bound), min(1.0, p + bound))


def ucrl2b(*, confidence: float = 0.05, constant: float = 6.0, precision: float = 1.0, sweeps: int = 10_000) -> Design:
    """Plan optimistically within empirical Bernstein bounds, starting a new episode when a count has doubled (UCRL2B).

    Parameters
    ----------
    confidence:
        delta, the probability with which the bounds may fail
    constant:
        the constant c in the logarithm, log(c S A n / delta); 6 is the source, 18 the package statisticalrl_learners
    precision:
        planning stops when the gain is certain to within this over t_k; 1 is the package's
    sweeps:
        planning stops after so many sweeps of value iteration in any case

    """
    check_confidence(confidence)
    check_at_least(2, constant=constant)
    return interval_design(
        "ucrl2b", learn, lambda states, actions: confidence / (constant * states * actions), 0.0, precision, sweeps
    )
