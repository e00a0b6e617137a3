"""Appendix C.2: the learning rates alpha_l = (1 + 2 tau) / (l + 2 tau), and the doubling lemma of Appendix C.6."""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from everlearn.paper.claims.claim import Finding, claim, verdict

HORIZONS = (1.0, 1.5, 2.0, 5.0, 20.0, 100.0)
VISITS = 5000
ROUNDING = 1e-12


def _rates(tau: float) -> list[float]:
    return [(1 + 2 * tau) / (visit + 2 * tau) for visit in range(1, VISITS + 1)]


@claim(
    "lemma:learning-rate (a)",
    "the weighted sum of 1 / sqrt(i) lies between 1 / sqrt(k) and 2 / sqrt(k)",
    paper="for all k >= 1",
    how="the recursion of the weights, in floating point, over horizons and visits",
)
def weighted_roots() -> Finding:
    least, most = math.inf, 0.0
    for tau in HORIZONS:
        total = 0.0
        for k, alpha in enumerate(_rates(tau), start=1):
            total = (1 - alpha) * total + alpha / math.sqrt(k)
            least, most = min(least, total * math.sqrt(k)), max(most, total * math.sqrt(k))
    text = f"sqrt(k) times the sum lies between {least:.6f} and {most:.6f}"
    text += f", for {len(HORIZONS)} horizons from 1 to 100 and k up to {VISITS:,}"
    return Finding(text, verdict(least >= 1 - ROUNDING and most <= 2 + ROUNDING))


@claim(
    "lemma:learning-rate (b)",
    "no weight, and no sum of squared weights, exceeds 4 tau / k",
    paper="for all k >= 1",
    how="the recursion of the weights, over horizons and visits",
)
def largest_weight() -> Finding:
    worst = worst_sum = 0.0
    for tau in HORIZONS:
        largest = squares = 0.0
        for k, alpha in enumerate(_rates(tau), start=1):
            largest, squares = max((1 - alpha) * largest, alpha), (1 - alpha) ** 2 * squares + alpha**2
            worst, worst_sum = max(worst, largest * k / (4 * tau)), max(worst_sum, squares * k / (4 * tau))
    text = f"the largest weight reaches {worst:.4f} of its bound, the sum of squares {worst_sum:.4f}"
    return Finding(text, verdict(worst <= 1 and worst_sum <= 1))


@claim(
    "lemma:learning-rate (c)",
    "what one visit contributes to all later values sums to 1 + 1 / (2 tau)",
    paper="for all i >= 1; the horizon is fixed",
    how="summation, with the remainder in closed form",
)
def total_weight() -> Finding:
    off = 0.0
    for tau, first in product(HORIZONS, (1, 2, 7, 50)):
        total, weight = 0.0, (1 + 2 * tau) / (first + 2 * tau)
        for k in range(first, 100_000):
            total += weight
            weight *= k / (k + 1 + 2 * tau)
        total += weight * (100_000 + 2 * tau) / (2 * tau)  # the rest, in closed form (Equation 34)
        off = max(off, abs(total - 1 - 1 / (2 * tau)))
    text = f"off by at most {off:.1e} at a fixed horizon; with the horizon of the smooth schedule"
    text += f" {_total_weight_of_growing_horizon():.3f} for i = 1, where 1 + 1 / (2 tau_1) = {1 + 1 / 3:.3f}"
    return Finding(text, verdict(off < 1e-9))


def _total_weight_of_growing_horizon() -> float:
    """Return the sum for one pair that is visited at every step while tau = 1.5 t^(1/5)."""
    total = weight = 1.0
    for k in range(2, 200_000):
        tau = 1.5 * k**0.2
        weight *= 1 - (1 + 2 * tau) / (k + 2 * tau)
        total += weight
    return total


@claim(
    "lemma:doubling-trick",
    "over doubling epochs, sums of powers are at most 2^(2 zeta) / (2^zeta - 1) S^zeta",
    paper="for integers a, S > 0, b >= 0 and zeta in (0, 1)",
    how="evaluation over a grid of a, b, S and zeta",
)
def doubling() -> Finding:
    worst = proof = 0.0  # the shares of the lemma's bound, and of the bound in the middle of its proof
    for a, b, S, zeta in product((1, 3, 20), (0, 1, 4), (5, 47, 1000, 10**6), (0.05, 0.2, 0.5, 0.8, 0.95)):
        terms = [a * 2 ** (b + j) for j in range(64)]
        k = next(j for j, reached in enumerate(np.cumsum(terms)) if reached >= S)
        if k >= 1:
            total = sum(term**zeta for term in terms[: k + 1])
            worst = max(worst, total / (2 ** (2 * zeta) / (2**zeta - 1) * S**zeta))
            proof = max(proof, total / (a**zeta * 2 ** ((k + 1) * zeta) / (2**zeta - 1)))
    text = f"the sum reaches {worst:.3f} of the bound; the proof's middle term, which drops 2^b, is exceeded"
    return Finding(f"{text} by a factor of up to {proof:.2f}, and the last step repairs it", verdict(worst <= 1))
