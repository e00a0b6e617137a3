"""The closed forms of Appendix B for the policies pi_epsilon on the service station, as the paper has them.

They are not the average reward.  They divide by E[P] where renewal theory needs E[1/P], and take the law of W per
customer where the arrival probability is met in time.  The average reward, as ``Theory.average_reward`` gives it,
is 0.0909364893 at epsilon = 0, where the closed form has 0.0910917081, and 0.0667843929 at 0.5, where it has
0.0821640907.  The paper's conclusions about the baselines survive.
"""

from __future__ import annotations

import cmath
from typing import Any

WINDOW = 12
LONGEST = 60
"""Service times up to which sums run; what is left out is below 1e-17."""

_STEP = 1e-20
_DIFFERENCE = 1e-4


def law_of_longest_service(w: int, epsilon: Any = 0.0) -> Any:
    """Return P(W <= w) under pi_epsilon, per customer (``eq:prob_W_inf``).

    Examples
    --------
    >>> law_of_longest_service(1) == 1 / 4096
    True

    """
    return (1 - ((1 - epsilon) / 2) ** w) ** WINDOW


def mean_arrival_probability(epsilon: Any = 0.0) -> Any:
    """Return G(epsilon), the mean of P under the law of W.

    Examples
    --------
    >>> round(mean_arrival_probability(0.0), 10)
    0.1002210112

    """
    total, before = 0.0, 0.0
    for w in range(1, LONGEST):
        at_most = law_of_longest_service(w, epsilon)
        total = total + (at_most - before) * (0.1 + 0.9 * cmath.exp(-10 * (w - 1)).real)
        before = at_most
    return total + (1 - before) * 0.1


def closed_form_average(epsilon: Any = 0.0) -> Any:
    """Return G / ((1 - epsilon) G + 1 + epsilon), the paper's average reward (``eq:average_reward1``).

    Examples
    --------
    >>> round(closed_form_average(0.0), 10), round(closed_form_average(0.5), 10)
    (0.0910917081, 0.0821640907)

    """
    G = mean_arrival_probability(epsilon)
    return G / ((1 - epsilon) * G + (1 + epsilon))


def closed_form_derivative(epsilon: float = 0.0) -> float:
    """Return the first derivative of the closed form, which the paper puts below -0.072 at 0.

    By a complex step, which has no cancellation: the closed form is analytic.

    Examples
    --------
    >>> round(closed_form_derivative(), 7)
    -0.0723096

    """
    return float(closed_form_average(complex(epsilon, _STEP)).imag / _STEP)


def closed_form_half_second_derivative(epsilon: float = 0.0) -> float:
    """Return half the second derivative of the closed form, which the paper puts below 0.0716 at 0.

    Examples
    --------
    >>> round(closed_form_half_second_derivative(), 7)
    0.0715359

    """
    high, low = (closed_form_derivative(epsilon + sign * _DIFFERENCE) for sign in (1, -1))
    return (high - low) / (4 * _DIFFERENCE)
