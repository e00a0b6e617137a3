"""UCRL3: UCRL2 with time-uniform bounds on each transition probability, and few next states to hope for.

Hippolyte Bourel, Odalric-Ambrym Maillard and Mohammad Sadegh Talebi, "Tightening Exploration in Upper Confidence
Reinforcement Learning", ICML 2020.  With n the visits of a pair, and a probability delta / (S A (3 + 3 S)) for each
bound to fail:

- A probability q is plausible if it is within a Bernstein bound of the frequency, and within a sub-Gaussian bound, both
  with the variance that q implies.  Both hold at all times at once, by peeling and by the method of Laplace.
- The reward has an empirical Bernstein bound and a Hoeffding bound, made in the same two ways.
- A pair may hope for the next states that were observed from it, and for the best few others.  Others are left out if
  together they contribute little: at most kappa = slack * (span of v) * (observed next states) / max N^(2/3), and no
  more than those that are included.  :mod:`everlearn.agents.intervals` has the rest.

Deviations from the source, in addition to those in :mod:`everlearn.agents`, in :mod:`everlearn.agents.intervals` and in
:mod:`everlearn.agents.ucrl2` (scaled rewards, ties, sweeps).  The first three are those of the authors' package
statisticalrl_learners 2.2507:

- Peeling uses log(1.12 n) where the bound on paper has log(n), so that it is defined for n = 1.
- A next state that followed every time has a probability of at least 2^(-1/n).
- The bounds of a probability are found by bisection to 1e-4.
- The package never adds a state but the best one: it sums the keys of a dictionary of probabilities instead of the
  values, so that the rest seems to contribute nothing.  ``support="package"`` does the same; the default does not.
- Near q = 1/2 the sub-Gaussian bound is computed without its 0 / 0, which rounding decides in the package.

The full text of the paper was not available when this was written, only its abstract.  So the bounds are read from the
package's code, and the support from what that code is meant to compute.
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
from everlearn.errors import require
from everlearn.protocol import Experience, ScheduleValues, Table

PEELING = 1.12
"""eta, the ratio of the sizes of consecutive slices of time."""

RESOLUTION = 1e-4
"""Bisection for a bound of a probability stops at this width."""

NEAR_HALF = 1e-6
"""So close to 1/2, g is 1/4 to the twelfth digit, while its formula divides rounding errors."""


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
    row[REWARD] = most_reward(row[EARNED] / n, row[SPREAD] / n, n, failure)
    each = peeled(n, failure)
    laplace = (1.0 + 1.0 / n) * math.log(2.0 * math.sqrt(n + 1.0) / failure) / n
    unseen = upper_bound(0.0, each, laplace)
    row[FREE] = 1.0
    for to in range((len(row) - NUMBERS) // TABLES):
        p = row[to] / n
        if p == 0.0:
            set_interval(row, to, 0.0, unseen)
        else:
            certain = 0.5 ** (1.0 / n) if p == 1.0 else 0.0
            set_interval(row, to, max(certain, lower_bound(p, each, laplace)), upper_bound(p, each, laplace))


def peeled(n: float, failure: float) -> float:
    """Return l_n / n, where l_n makes bounds hold at all times at once."""
    slices = math.log(PEELING * n) * math.log(PEELING * PEELING * n) / math.log(PEELING) ** 2
    return PEELING * math.log(slices / failure) / n


def most_reward(mean: float, variance: float, n: float, failure: float) -> float:
    """Return the least of 1, the empirical Bernstein bound, and Hoeffding's bound by the method of Laplace."""
    each = peeled(n, failure)
    bernstein = math.sqrt(2.0 * max(0.0, variance) * each) + 7.0 / 3.0 * each
    laplace = math.sqrt((1.0 + 1.0 / n) * math.log(math.sqrt(n + 1.0) / failure) / (2.0 * n))
    return min(1.0, mean + min(bernstein, laplace))


def upper_bound(p: float, each: float, laplace: float) -> float:
    """Return the greatest probability that may show the frequency p, by bisection."""
    least = p
    most = 1.0
    while most - least > RESOLUTION:
        q = 0.5 * (least + most)
        if q - p <= deviation(q, q < 0.5, each, laplace):
            least = q
        else:
            most = q
    return most if most - p <= deviation(most, False, each, laplace) else least


def lower_bound(p: float, each: float, laplace: float) -> float:
    """Return the least probability that may show the frequency p, by bisection."""
    least = 0.0
    most = p
    while most - least > RESOLUTION:
        q = 0.5 * (least + most)
        if p - q <= deviation(q, True, each, laplace):
            most = q
        else:
            least = q
    return most


def deviation(q: float, below: bool, each: float, laplace: float) -> float:
    """Return how far a frequency may be from the probability q, by Bernstein's inequality and the method of Laplace.

    A Bernoulli variable is sub-Gaussian with the parameter g(q) = (1/2 - q) / log(1/q - 1); below its mean, if q is at
    least 1/2, with its variance already.
    """
    variance = q * (1.0 - q)
    proxy = variance
    if below and 0.0 < q < 1.0:
        proxy = 0.25 if abs(q - 0.5) < NEAR_HALF else (0.5 - q) / math.log(1.0 / q - 1.0)
    return min(math.sqrt(2.0 * variance * each) + each / 3.0, math.sqrt(2.0 * proxy * laplace))


def ucrl3(
    *,
    confidence: float = 0.05,
    support: str = "source",
    slack: float = 10.0,
    precision: float = 1.0,
    sweeps: int = 1000,
) -> Design:
    """Plan optimistically within time-uniform bounds on each probability; few unobserved next states count (UCRL3).

    Parameters
    ----------
    confidence:
        delta, the probability with which the bounds may fail
    support:
        which next states a pair may hope for: "source", the definition above, or "package", only those that were
        observed and the best one, as in the authors' package
    slack:
        the factor of kappa, which leaves out next states; 10 is the package's, and with 0 none is left out
    precision:
        planning stops when the gain is certain to within this over t_k; 1 is the package's
    sweeps:
        planning stops after so many sweeps of value iteration in any case

    """
    check_confidence(confidence)
    require(support in ("source", "package"), "agent.support", support, "give source or package")
    check_at_least(0, slack=slack)
    return interval_design(
        "ucrl3",
        learn,
        lambda states, actions: confidence / (states * actions * (3 + 3 * states)),
        slack if support == "source" else math.inf,
        precision,
        sweeps,
    )
