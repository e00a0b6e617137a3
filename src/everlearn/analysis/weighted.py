"""Estimate the average reward of one policy with logged propensities, without a Markov state.

Let p_t be the propensity of the action that was taken at step t, given everything before it, and rho_t = pi(a_t|s_t) /
p_t.  Let lambda, h and q be those of the empirical chain of :mod:`everlearn.analysis.off_policy`, and e_t = r_t +
h(s_{t+1}) - q(s_t, a_t).  Whether or not the aleatoric state is a Markov state, pi earns

    lambda + E_pi[e_t],    where E_pi[e_t] is estimated by    sum_t W_t e_t / sum_t W_t,

and W_t = w(s_{t-k+1}) rho_{t-k+1} ... rho_t weights the last k decisions; w is the ratio of the stationary distribution
of the empirical chain to the share of each state in the data.  This is a per-decision importance weighting of a partial
history (Hu and Wager, *Off-policy evaluation in partially observed Markov decision processes*, 2023), with the model as
a control variate, as in Kallus and Uehara's *Double reinforcement learning* (2022), where k = 1.

It is *doubly robust*: if the aleatoric state is a Markov state, e_t has mean zero given (s_t, a_t), whatever the
weights; if it is not, what is left of the error is that the distribution k decisions ago was not that of the policy,
which decays with k as fast as the environment forgets.  How long it remembers is read off the data: e_t is correlated
over that many steps.  Not every memory shows in these correlations, so k is at least 4, and larger where that costs
little.  If the weights leave too few effective steps, (sum W)^2 / sum W^2, there is no estimate.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from everlearn.analysis.off_policy import Estimate
from everlearn.durable.entry import PROPENSITY
from everlearn.durable.transitions import Transitions
from everlearn.protocol import Table

HISTORIES = (32, 24, 16, 12, 8, 6, 4)
"""How many decisions a history has: the most that leave ample effective steps."""

AMPLE = 0.1
"""The share of effective steps that is ample."""

LONGEST = 64
"""How many steps apart correlations are looked for."""

ENOUGH = 300
"""The least effective number of steps of an estimate."""

SIGNIFICANT, QUIET, MARGIN = 3.0, 3, 1.5
"""Correlations count from so many standard errors on; they end where so many lags have none; the margin is a factor."""


class Weighted(NamedTuple):
    """An estimate by weights, and what it rests on."""

    average: float
    half_width: float
    history: int  # the number of decisions that are weighted
    effective: float  # the effective number of steps


def weighted(data: Transitions, policy: Table, by_model: Estimate, confidence: float = 0.95) -> Weighted | None:
    """Return the estimate for a policy whose estimate by the model is ``by_model``; None if the data cannot tell.

    Steps whose propensity was not logged are left out, and so are the histories that contain them.

    Examples
    --------
    >>> from everlearn.analysis.off_policy import estimate
    >>> random, zeros = np.random.default_rng(0), np.zeros(8000, dtype=int)
    >>> actions = random.integers(2, size=8000)
    >>> rewards = actions * random.random(8000)
    >>> numbers = {"propensity": np.full(8000, 0.5)}
    >>> data = Transitions(zeros, actions, zeros, rewards, zeros, None, numbers)
    >>> policy = np.array([[0.0, 1.0]])
    >>> estimated = weighted(data, policy, estimate(data, policy))
    >>> abs(estimated.average - 0.5) < estimated.half_width < 0.05, estimated.history
    (True, 4)

    """
    logged = data.numbers.get(PROPENSITY)
    if logged is None:
        return None
    ratios = policy[data.states, data.actions] / logged
    states = np.bincount(data.states, minlength=len(policy))
    density = by_model.weights.sum(axis=1) * len(logged) / np.maximum(states, 1)
    memory, chosen = _memory(by_model.residuals), None
    for history in (*(each for each in HISTORIES if each > memory), memory):
        weights = _weights(ratios, density[data.states], history)
        squares = float((weights**2).sum())
        effective = float(weights.sum()) ** 2 / squares if squares > 0 else 0.0
        if chosen is None and effective >= (ENOUGH if history == memory else max(ENOUGH, AMPLE * len(ratios))):
            chosen = history, effective, weights
    return None if chosen is None else _estimate(data, policy, by_model, confidence, *chosen)


def _memory(residuals: Table) -> int:
    """Return the least number of decisions to weight: half as many again as the lags at which residuals correlate."""
    centred = residuals - residuals.mean()
    variance, limit = float(centred @ centred), SIGNIFICANT / math.sqrt(len(centred))
    last = 0
    for lag in range(1, min(LONGEST, len(centred) - 1) + 1):
        if abs(float(centred[lag:] @ centred[:-lag])) > limit * variance > 0:
            last = lag
        elif lag >= last + QUIET:
            break
    return max(HISTORIES[-1], 1 + round(MARGIN * last))


def _weights(ratios: Table, density: Table, history: int) -> Table:
    """Return W_t; zero for histories that begin before the data, or have a step that was not logged."""
    if history > len(ratios):
        return np.zeros(len(ratios))
    windows = np.lib.stride_tricks.sliding_window_view(ratios, history)
    products = density[: len(windows)] * windows.prod(axis=1)
    return np.concatenate([np.zeros(history - 1), np.nan_to_num(products, nan=0.0)])


def _estimate(
    data: Transitions,
    policy: Table,
    by_model: Estimate,
    confidence: float,
    history: int,
    effective: float,
    weights: Table,
) -> Weighted:
    from scipy.special import stdtrit

    shares = weights / weights.sum()
    pairs = data.states * policy.shape[1] + data.actions
    n = np.maximum(np.bincount(pairs, minlength=policy.size), 1)
    model = (by_model.weights.ravel() / n)[pairs]
    mean = (np.bincount(pairs, shares, policy.size) / n)[pairs]
    influence = (model + shares - mean) * by_model.residuals
    average = by_model.average + float(shares @ by_model.residuals)
    freedom = effective / (2 * history)  # histories overlap; so many are about independent
    half = float(stdtrit(freedom, (1 + confidence) / 2)) * math.sqrt(_long_run_variance(influence, history))
    return Weighted(average, max(half + by_model.unseen / 2, by_model.least_width), history, float(effective))


def _long_run_variance(influence: Table, history: int) -> float:
    """Return the variance of a sum whose terms depend on near ones, with Bartlett's weights (Newey and West, 1987)."""
    lags = min(max(6 * history, round(2 * len(influence) ** (1 / 3))), len(influence) // 10)
    centred = influence - influence.mean()
    total = float(centred @ centred)
    for lag in range(1, min(lags, len(centred) - 1) + 1):
        total += 2 * (1 - lag / (lags + 1)) * float(centred[lag:] @ centred[:-lag])
    return max(total, 0.0)
