"""The bounds of the paper as printed, by their labels, term by term; :mod:`everlearn.theory.repairs` has them repaired.

Each bounds the regret sum_t (lambda_pi - R_{t+1}), for rewards in [0, 1].  For rewards over another range, of width w,
the learner sees rewards divided by w.  So averaging times and distortions, which scale with rewards, are divided by w
going in, and the bound is multiplied by w coming out.  It promises nothing for agents that learn from raw rewards.

A bound *says something* from the T on at which it is less than w T, which no regret exceeds.

In every function, ``pairs`` is the number of aleatoric states times that of actions, and ``width`` is w.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from everlearn.errors import require
from everlearn.theory.places import place_of


class Bound(NamedTuple):
    """A bound on regret, and the terms that make it up."""

    label: str  # the paper's label
    terms: dict[str, float]
    horizon: float | None = None  # the tau of it, in the learner's units, where it is known

    @property
    def value(self) -> float:
        """The sum of the terms."""
        return math.fsum(self.terms.values())

    @property
    def place(self) -> str:
        """Where the printed paper has it."""
        return place_of(self.label)


def discounted_regret(
    steps: float, *, pairs: int, horizon: float, averaging_time: float, distortion: float, width: float = 1.0
) -> Bound:
    """Bound the regret of Algorithm 1 at a fixed horizon (Theorem 3).

    The stronger form in the appendix has a factor of three on the averaging time, which its own proof does not need;
    see :func:`discounted_regret_any_history`.

    Examples
    --------
    >>> bound = discounted_regret(1e6, pairs=4, horizon=2, averaging_time=1, distortion=0)
    >>> round(bound.value)
    1222618

    """
    label, tau, delta = "theorem:average-reward-discounted-algorithm", averaging_time / width, distortion / width
    return _fixed_horizon(label, steps, pairs, horizon, tau, delta, width)


def discounted_regret_any_history(
    steps: float,
    *,
    pairs: int,
    horizon: float,
    averaging_time: float,
    distortion: float,
    shortfall: float = 0.0,
    width: float = 1.0,
) -> Bound:
    """Bound the regret of Algorithm 3 from any history and values (Theorem 13).

    It is as printed, with a factor of three on the averaging time, and for T > tau log(T).  ``shortfall`` is the
    paper's iota, in the learner's units: values begin at most iota tau below the optimal ones.
    """
    label, tau, delta = "theorem:average-reward-any-policy", averaging_time / width, max(distortion / width, shortfall)
    return _fixed_horizon(label, steps, pairs, horizon, 3 * tau, delta, width)


def discounted_value_loss(
    steps: float, *, pairs: int, horizon: float, distortion: float, shortfall: float = 0.0, width: float = 1.0
) -> Bound:
    """Bound the sum of V_* - V of Algorithm 3 along its own path (Theorem 9)."""
    check_arguments(steps, horizon)
    return scaled(
        "theorem:discounted",
        width,
        exploration=24 * horizon**2.5 * math.sqrt(pairs * steps * logarithm(steps)),
        distortion=3 * max(distortion / width, shortfall) * steps * horizon,
        horizon=(pairs + 3) * horizon**2,
    )


def growing_horizon_regret(
    steps: float, *, pairs: int, averaging_time: float, distortion_sup: float, width: float = 1.0
) -> Bound:
    """Bound the regret of Algorithm 2 with change points (Theorem 4).

    ``distortion_sup`` is Delta-bar at the averaging time, or at 1 if that is less.

    Examples
    --------
    >>> says_something_from(lambda T: growing_horizon_regret(T, pairs=1, averaging_time=0, distortion_sup=0)) > 1e15
    True

    """
    return _growing_horizon("theorem:main", steps, pairs, averaging_time / width, 3 * distortion_sup / width, width)


def class_regret(steps: float, *, pairs: int, horizon: float, distortion_sup: float, width: float = 1.0) -> Bound:
    """Bound the regret of Algorithm 2 relative to all policies that average within tau (Corollary 5).

    It is as printed, with Delta-bar at tau.  The theorem has Delta-bar at the averaging time of the policy, where it is
    no less.  So from its statement the corollary follows only with Delta-bar at 1; its proof gives it with tau in place
    of tau_pi.
    """
    check_arguments(steps, horizon / width)
    label, tau = "cor:avg-time-upper-bound", horizon / width
    return _growing_horizon(label, steps, pairs, tau, 3 * distortion_sup / width, width)


def optimum_regret(
    steps: float, *, pairs: int, averaging_time: float, distortion_sup: float, width: float = 1.0
) -> Bound:
    """Bound the regret of Algorithm 2 relative to lambda_* (Corollary 7).

    ``averaging_time`` and ``distortion_sup`` are those of the best policy over aleatoric states.
    """
    label, tau = "cor:global-optimum", averaging_time / width
    return _growing_horizon(label, steps, pairs, tau, 4 * distortion_sup / width, width)


def aleatoric_loss(distortion_sup: float) -> Bound:
    """Bound lambda_* - lambda_pi~, for the class with randomised policies (Lemma 6)."""
    return Bound("lemma:aleatoric-vs-global", {"distortion": distortion_sup})


def says_something_from(bound: Callable[[float], Bound], width: float = 1.0, most: float = 1e60) -> float:
    """Return the T from which on a bound is below w T, the greatest possible regret; infinity if there is none.

    It is solved for to 12 digits, between two powers of two.  A bound divided by T decreases from T = 9 on.

    Examples
    --------
    >>> round(says_something_from(lambda T: discounted_regret(T, pairs=2, horizon=1, averaging_time=0, distortion=0)))
    24100

    """
    high = 2.0
    while not bound(high).value < width * high:
        high *= 2
        if high > most:
            return math.inf
    low = high / 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if bound(middle).value < width * middle else (middle, high)
    return high


def _fixed_horizon(
    label: str, steps: float, pairs: int, horizon: float, tau: float, delta: float, width: float
) -> Bound:
    check_arguments(steps, horizon)
    return scaled(
        label,
        width,
        exploration=24 * horizon**1.5 * math.sqrt(pairs * steps * logarithm(steps)),
        distortion=3 * delta * steps,
        averaging=tau / horizon * steps,
        horizon=(pairs + 5 + 2 * math.log(steps)) * horizon,
    )


def _growing_horizon(label: str, steps: float, pairs: int, tau: float, slope: float, width: float) -> Bound:
    check_arguments(steps, 1.0)
    return scaled(
        label,
        width,
        exploration=120 * math.sqrt(pairs * logarithm(steps)) * steps**0.8,
        averaging=5 * tau * steps**0.8,
        distortion=slope * steps,
        horizon=(54 * pairs + 18 * math.log(steps)) * steps**0.2,
        assessment=2 * tau**5 if tau < 1e60 else math.inf,
    )


def logarithm(steps: float) -> float:
    """Return log(2 T^2), without overflow."""
    return math.log(2.0) + 2 * math.log(steps)


def check_arguments(steps: float, horizon: float) -> None:
    """Raise if there is no step, or the horizon is less than 1."""
    require(steps >= 1, "steps", steps, "give at least 1")
    require(horizon >= 1, "horizon", horizon, "give at least 1")


def scaled(label: str, width: float, **terms: float) -> Bound:
    """Return a bound for rewards of this width from its terms for rewards of width 1."""
    return Bound(label, {name: width * term for name, term in terms.items()})
