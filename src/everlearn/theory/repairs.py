"""The bounds of the paper with their proofs repaired, term by term; docs/repairs.md derives each.

The paper proves its bounds for Algorithm 3, which clips V, and states them for Algorithms 1 and 2, which clip Q (E2).
The repaired bounds are for the same algorithms with V(s) = min(max_a Q(s, a), tau) in the target instead of the clip of
Q: Algorithm 3 at a fixed horizon, and the agent ``growing-horizon-v`` for a growing one.  Everything is as in
:mod:`everlearn.theory.bounds`: rewards in [0, 1] or scaled by their width w.  Further symbols:

- Delta~ = max(Delta_tau, iota), where values begin at most iota tau below the optimal ones;
- c(zeta) = 2^zeta / (2^zeta - 1), the sum over j of 2^(-j zeta), for epochs that double;
- M = the greatest Delta_{tau_j} tau_j over the horizons tau_j = T_j^(1/5) of change points with tau_j < tau (E3).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from everlearn.theory.bounds import Bound, check_arguments, logarithm, scaled

PROVED, GAP, REPAIRED = "proved as printed", "proof has a gap", "repaired here"
CONDITIONAL = "repaired, if averaging times are bounded over the class"
OUTSIDE = "not applicable"

FAILURES = 0.25
"""More than the expected shortfall at the beginning of an epoch that is due to epochs in which optimism failed."""


class Repair(NamedTuple):
    """A bound as printed and as repaired, and what is known of the printed one."""

    printed: Bound
    repaired: Bound
    status: str  # of the printed bound: proved as printed, proof has a gap, or not applicable
    repaired_status: str  # repaired here, or not applicable
    why: str
    bounded: str  # what it bounds


def fixed_horizon(
    label: str,
    steps: float,
    *,
    pairs: int,
    horizon: float,
    averaging_time: float,
    distortion: float,
    shortfall: float = 0.0,
    width: float = 1.0,
) -> Bound:
    """Bound the regret of Algorithm 3 from any history, for T >= 1 and any initial values of at least 0.

    Examples
    --------
    >>> at = {"pairs": 4, "horizon": 2.0, "averaging_time": 1.0, "distortion": 0.1}
    >>> bound = fixed_horizon("theorem:average-reward-any-policy", 1e6, **at)
    >>> {name: round(term) for name, term in bound.terms.items()}
    {'exploration': 722545, 'distortion': 200000, 'averaging': 500000, 'horizon': 13, 'recounting': 350}

    """
    check_arguments(steps, horizon)
    delta, gamma = max(distortion / width, shortfall), 1 - 1 / horizon
    return scaled(
        label,
        width,
        exploration=24 * horizon**1.5 * math.sqrt(pairs * steps * logarithm(steps)),
        distortion=2 * delta * steps,
        averaging=averaging_time / width / horizon * steps,
        horizon=(pairs * (1 + gamma * min(delta, 0.5)) + 1 + 3 * gamma) * horizon,
        recounting=_recounting(steps, pairs, horizon),
    )


def value_loss(
    steps: float, *, pairs: int, horizon: float, distortion: float, shortfall: float = 0.0, width: float = 1.0
) -> Bound:
    """Bound the sum of V_* - V of Algorithm 3 along its own path."""
    check_arguments(steps, horizon)
    delta, gamma = max(distortion / width, shortfall), 1 - 1 / horizon
    return scaled(
        "theorem:discounted",
        width,
        exploration=24 * horizon**2.5 * math.sqrt(pairs * steps * logarithm(steps)),
        distortion=2 * delta * steps * horizon,
        horizon=(pairs * (1 + gamma * min(delta, 0.5)) + 1 + gamma) * horizon**2,
        recounting=_recounting(steps, pairs, horizon) * horizon,
    )


def growing_horizon(
    label: str,
    steps: float,
    *,
    pairs: int,
    horizon: float,
    averaging_time: float,
    distortion_sup: float,
    early_distortion: float,
    loss: float = 0.0,
    width: float = 1.0,
) -> Bound:
    """Bound the regret of ``growing-horizon-v`` with change points, for a free choice of tau >= max(1, tau_pi).

    ``horizon`` is tau, in the learner's units; ``distortion_sup`` is Delta-bar at tau, and ``early_distortion`` is M.
    ``loss`` is lambda_* - lambda_pi, if regret is relative to lambda_*.
    """
    check_arguments(steps, horizon)
    long, middle, short = steps**0.8, steps**0.4, steps**0.2
    return scaled(
        label,
        width,
        exploration=24 * doubling(0.8) * math.sqrt(pairs * logarithm(steps)) * long,
        averaging=doubling(0.8) * averaging_time / width * long,
        distortion=2 * distortion_sup / width * steps,
        early_distortion=2 * doubling(0.8) * early_distortion / width * long,
        failures=2 * doubling(0.8) * FAILURES * long,
        loss=loss / width * steps,
        recounting=pairs * (3 * doubling(0.4) * middle * math.log(steps) + doubling(0.2) * short),
        horizon=doubling(0.2) * (1.5 * pairs + 4) * short,
        assessment=max(19.0, 2 * horizon**5 if horizon < 1e60 else math.inf),
    )


def aleatoric_loss(distortion_sup: float, actions: int) -> Bound:
    """Bound lambda_* - lambda_pi~, where averaging times are bounded over the class."""
    return Bound("lemma:aleatoric-vs-global", {"distortion": (1 - 1 / actions) * distortion_sup})


def doubling(power: float) -> float:
    """Return c(zeta): the sum of 2^(-j zeta) over j = 0, 1, ..."""
    ratio = math.pow(2.0, power)
    return ratio / (ratio - 1)


def change_horizons(below: float) -> list[float]:
    """Return the horizons T_j^(1/5) of the change points that are less than a horizon."""
    horizons, point = [1.0], 20.0
    while point**0.2 < below:
        horizons.append(point**0.2)
        point *= 2
    return horizons if below > 1 else []


def _recounting(steps: float, pairs: int, horizon: float) -> float:
    """Return what E1 adds: gamma (3 - gamma) / 2 times the sum of what updates take from V."""
    gamma = 1 - 1 / horizon
    return gamma * (3 - gamma) / 2 * pairs * horizon * (1 + (1 + 2 * horizon) * math.log(steps))
