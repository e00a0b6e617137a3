"""Draws from the normal, gamma, beta and Dirichlet distributions, made from uniform draws.

Gamma variates are returned as logarithms: with a shape near zero, as in a sparse Dirichlet prior, most of them
underflow, and only their ratios matter.  Compiled and interpreted code give the same bits.
"""

from __future__ import annotations

import math
from typing import Any

from everlearn.errors import require
from everlearn.protocol import Table
from everlearn.randomness import uniform

LEAST = 2.0**-54
"""Half the least uniform number above 0, used in place of 0 before a logarithm is taken."""

LEAST_SHAPE, MOST_SHAPE = 1e-300, 1e300
"""Between these the logarithm of a gamma variate is finite, and so is the sum of two shapes."""


def check_shape(shape: float, argument: str) -> None:
    """Require a shape of which a gamma variate can be drawn."""
    remedy = f"give a number from {LEAST_SHAPE:g} to {MOST_SHAPE:g}"
    require(LEAST_SHAPE <= shape <= MOST_SHAPE, argument, shape, remedy)


def normal(stream: Any) -> float:
    """Draw from the standard normal distribution, by the polar method (Marsaglia and Bray, 1964)."""
    square = 2.0
    x = 0.0
    while square >= 1.0 or square == 0.0:
        x = 2.0 * uniform(stream) - 1.0
        y = 2.0 * uniform(stream) - 1.0
        square = x * x + y * y
    return x * math.sqrt(-2.0 * math.log(square) / square)


def log_gamma_variate(stream: Any, shape: float) -> float:
    """Draw the logarithm of a gamma variate of scale 1."""
    return log_gamma_of_large_shape(stream, shape) if shape >= 1.0 else log_gamma_of_small_shape(stream, shape)


def log_gamma_of_large_shape(stream: Any, shape: float) -> float:
    """Transform a normal variate, with few rejections (Marsaglia and Tsang, 2000), for shapes of at least 1."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    drawn = math.nan
    while math.isnan(drawn):
        x = normal(stream)
        root = 1.0 + c * x
        log_u = math.log(1.0 - uniform(stream))
        if root > 0.0:
            log_cube = 3.0 * math.log(root)
            if log_u < 0.5 * x * x + d * (1.0 - root * root * root + log_cube):
                drawn = math.log(d) + log_cube
    return drawn


def log_gamma_of_small_shape(stream: Any, shape: float) -> float:
    """Draw from a power below 1 and from an exponential above, with few rejections (Ahrens and Dieter, 1974, GS)."""
    b = 1.0 + shape / math.e
    drawn = math.nan
    while math.isnan(drawn):
        u = max(uniform(stream), LEAST)
        log_v = math.log(1.0 - uniform(stream))
        if b * u <= 1.0:
            below = math.log(b * u) / shape
            drawn = below if log_v <= -math.exp(below) else math.nan
        else:
            above = math.log(-math.log(b * (1.0 - u) / shape))
            drawn = above if log_v <= (shape - 1.0) * above else math.nan
    return drawn


def fill_log_gamma(row: Table, stream: Any) -> None:
    """Replace shapes by the logarithms of gamma variates."""
    for place in range(len(row)):
        row[place] = log_gamma_variate(stream, row[place])


def normalise(row: Table) -> None:
    """Make a distribution of logarithms of weights; of gamma variates, a draw from the Dirichlet distribution."""
    most = -math.inf
    for place in range(len(row)):
        most = max(most, row[place])
    total = 0.0
    for place in range(len(row)):
        row[place] = math.exp(row[place] - most)
        total += row[place]  # a sum in order, which also keeps compilers from vectorising the exponentials
    for place in range(len(row)):
        row[place] /= total
