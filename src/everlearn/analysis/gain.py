"""Estimate by how much a policy is better than the controller that made the transitions, with an interval.

Let b(a|s) = n(s, a) / n(s) be what the controller did.  Its empirical chain has the average lambda_b and the relative
values h_b, that of the policy lambda and h; see :mod:`everlearn.analysis.off_policy`.  The gain is lambda - lambda_b.
To first order its error is a sum over the same transitions (s, a, r, s'),

    w / n (r + h(s') - its expectation given s and a)  -  w_b / n (r + h_b(s') - its expectation given s),

where the second expectation is over the actions of the controller, too: in the long run it may choose them more or less
luckily than it did.  Both terms are martingale differences, and what they share cancels: where the policy does what the
controller does, the data say nothing about a difference, and add nothing to the interval.  The interval of the gain is
therefore computed from the differences themselves.  It is narrower than two intervals would suggest, or wider.

The second term assumes that the controller decides by the aleatoric state and chance alone.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from everlearn.analysis.off_policy import RESTART, ROUNDING, UNSEEN, EmpiricalChain, Estimate, distances, solve
from everlearn.durable.transitions import Transitions
from everlearn.protocol import Table

USUAL = 1.96
"""The quantile for which half of what unseen outcomes may do widens an interval; at a higher level it is more."""


class Gain(NamedTuple):
    """By how much a policy is better than the controller, per step."""

    paired: Estimate  # its average is the gain; weights are those of the policy, and residuals its own
    policy: float  # what the policy would earn
    controller: float  # what the controller earns


def estimate_gain(data: Transitions, policy: Table, confidence: float = 0.95, span: float | None = None) -> Gain:
    """Return the gain of a policy, a table of probabilities by state and action; ``span`` is as in ``estimate``.

    Examples
    --------
    >>> draw = np.random.default_rng(1).random((400, 2)) < 0.5
    >>> actions, rewards = draw[:, 0].astype(int), (draw[:, 0] & draw[:, 1]) * 1.0
    >>> still = np.zeros(400, dtype=int)
    >>> gain = estimate_gain(Transitions(still, actions, still, rewards, still), np.array([[0.0, 1.0]]))
    >>> 0.2 < gain.paired.average < 0.3, gain.paired.half_width < 0.06  # the truth is 0.25
    (True, True)

    """
    from scipy.special import stdtrit

    chain = solve(data, policy)
    other = solve(data, chain.visits / np.maximum(chain.visits.sum(axis=1, keepdims=True), 1))
    errors = _Errors.of(data, chain, other)
    total = float(errors.transitions.sum() + errors.choices.sum())
    quantile = float(stdtrit(max(errors.freedom, 1.0), (1 + confidence) / 2))
    unseen = _unseen(chain, other)
    spread = sum(float(np.ptp(each.values[data.states])) for each in (chain, other))
    half = quantile * math.sqrt(total) + unseen / 2 * max(1.0, quantile / USUAL) + RESTART * spread
    least = (float(np.ptp(data.rewards)) if span is None else span) * -math.log(1 - confidence) / len(data.rewards)
    parts, shares = errors.transitions + errors.choices, chain.stationary[:, None] * policy
    paired = Estimate(
        chain.average - other.average,
        max(half, least),
        least,
        errors.freedom,
        unseen,
        chain.visits,
        shares,
        parts,
        errors.residuals,
        chain.classes(),
    )
    return Gain(paired, chain.average, other.average)


class Earned(NamedTuple):
    """What whoever chose the actions earns per step."""

    average: float
    error: float  # the standard error
    freedom: float


def estimate_earned(data: Transitions) -> Earned:
    """Return what whoever made the transitions earns per step in the long run, if it continues like that."""
    shape = (int(max(data.states.max(), data.following.max())) + 1, int(data.actions.max()) + 1)
    visits = np.bincount(data.states * shape[1] + data.actions, minlength=shape[0] * shape[1]).reshape(shape)
    chain = solve(data, visits / np.maximum(visits.sum(axis=1, keepdims=True), 1))
    errors = _Errors.of(data, chain._replace(stationary=0 * chain.stationary), chain)  # against what earns nothing
    return Earned(chain.average, math.sqrt(float(errors.transitions.sum() + errors.choices.sum())), errors.freedom)


class _Errors(NamedTuple):
    """The variance of the gain: what the transitions of (s, a) contribute, and the choice of a in s."""

    transitions: Table
    choices: Table
    freedom: float
    residuals: Table  # of each transition, for the policy alone

    @classmethod
    def of(cls, data: Transitions, chain: EmpiricalChain, other: EmpiricalChain) -> _Errors:
        n = np.maximum(chain.visits, 1)
        scale, other_scale = (each.stationary[:, None] * each.played / n for each in (chain, other))
        targets, other_targets = (data.rewards + each.values[chain.following] for each in (chain, other))
        residuals, other_residuals = (chain.centred(each) for each in (targets, other_targets))
        differences = scale.ravel()[chain.pairs] * residuals - other_scale.ravel()[chain.pairs] * other_residuals
        differences[np.abs(differences) <= ROUNDING * scale.max() * np.abs(targets).max()] = 0.0
        single = (_pooled(residuals, n) * scale + _pooled(other_residuals, n) * other_scale) ** 2
        squares = chain.mean(differences**2) * n
        transitions = np.asarray(np.where(n > 1, squares / np.maximum(n - 1, 1), single) * chain.visits, dtype=float)
        choices = _choices(chain, other, other_targets) * other_scale**2
        visits = np.maximum(chain.visits.sum(axis=1) - 1, 1)
        uncertain = np.sum(transitions**2 / np.maximum(n - 1, 1)) + np.sum(choices.sum(axis=1) ** 2 / visits)
        total = float(transitions.sum() + choices.sum())
        freedom = total**2 / float(uncertain) if total > 0 else float(len(residuals))
        return cls(transitions, choices, freedom, residuals)


def _pooled(residuals: Table, n: Table) -> float:
    """Return the standard deviation of all transitions together, for pairs of which there is one transition."""
    return math.sqrt(float(np.sum(residuals**2)) / max(1, int((n - 1).sum())))


def _choices(chain: EmpiricalChain, other: EmpiricalChain, targets: Table) -> Table:
    """Return n times the squared advantage of each action for the controller, corrected for few visits of the state."""
    visits = chain.visits.sum(axis=1, keepdims=True)
    means = chain.mean(targets)
    advantages = means - np.sum(other.played * means, axis=1, keepdims=True)
    return np.asarray(chain.visits * advantages**2 * (visits / np.maximum(visits - 1, 1)))


def _unseen(chain: EmpiricalChain, other: EmpiricalChain) -> float:
    """Return by how much outcomes that were never seen could change the gain, as in ``estimate``."""
    n = np.maximum(chain.visits, 1)
    scale, other_scale = (each.stationary[:, None] * each.played / n for each in (chain, other))
    squares = scale**2 * distances(chain, chain) + other_scale**2 * distances(other, other)
    squares -= 2 * scale * other_scale * distances(chain, other)
    return math.sqrt(UNSEEN * max(0.0, float(np.sum(squares))))
