"""The closed forms of Appendix B for the policies pi_epsilon on the service station, as printed.

The closed forms are not the average reward.  They divide by E[P] where renewal theory needs E[1/P], and they use the
law of W per customer where the arrival probability is met in time.  At epsilon = 0 the average reward is 0.0909364893
and the closed form 0.0910917081; at 0.5 they are 0.0667843929 and 0.0821640907.  The paper's conclusions about the
baselines hold all the same.
"""

from __future__ import annotations

import cmath
from typing import Any

WINDOW = 12
LONGEST = 60
"""The longest service time in the sums; the rest is below 1e-17."""

_STEP = 1e-20
_DIFFERENCE = 1e-4


def law_of_longest_service(w: int, epsilon: Any = 0.0) -> Any:
    """Return P(W <= w) under pi_epsilon, per customer (Equation 26)."""
    return (1 - ((1 - epsilon) / 2) ** w) ** WINDOW


def mean_arrival_probability(epsilon: Any = 0.0) -> Any:
    """Return G(epsilon), the mean of P under the law of W."""
    total, before = 0.0, 0.0
    for w in range(1, LONGEST):
        at_most = law_of_longest_service(w, epsilon)
        total = total + (at_most - before) * (0.1 + 0.9 * cmath.exp(-10 * (w - 1)).real)
        before = at_most
    return total + (1 - before) * 0.1


def closed_form_average(epsilon: Any = 0.0) -> Any:
    """Return G / ((1 - epsilon) G + 1 + epsilon), the paper's average reward (Equation 27)."""
    G = mean_arrival_probability(epsilon)
    return G / ((1 - epsilon) * G + (1 + epsilon))


def closed_form_derivative(epsilon: float = 0.0) -> float:
    """Return the derivative of the closed form by a complex step, which has no cancellation."""
    return float(closed_form_average(complex(epsilon, _STEP)).imag / _STEP)


def closed_form_half_second_derivative() -> float:
    """Return half the second derivative of the closed form at epsilon = 0."""
    high, low = (closed_form_derivative(sign * _DIFFERENCE) for sign in (1, -1))
    return (high - low) / (4 * _DIFFERENCE)
