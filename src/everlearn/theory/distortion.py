"""Distortion (Section 2.2.2): what is lost by predicting optimal values from the aleatoric state.

    Delta_tau = max over (s, a) of sup Q_*(h, a) - inf Q_*(h, a) over histories h with phi(h) = s,   gamma = 1 - 1/tau,

and Delta-bar_tau is its supremum over horizons of at least tau.  Histories are those that can happen; they are
represented by pairs.  As gamma goes to one, differences of optimal values converge to differences of the bias of a
Blackwell-optimal policy if the optimal gain is the same from every start, and diverge if it is not.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from everlearn.protocol import Label, Table
from everlearn.theory.optimum import optimum
from everlearn.theory.pairs import Pairs
from everlearn.theory.values import discount_of, optimal_values

GRID = 4  # the horizons per decade at which the supremum is looked for, before it is refined around the greatest
DECADES = 6  # the power of ten of the longest of them
LONG = 1e6  # a horizon beyond which the distortion approaches its limit as c / tau


class Distortion(NamedTuple):
    """Delta_tau, a bound on its error, and where it is attained."""

    value: float
    error: float
    aleatoric_state: Label
    action: Label
    memories: tuple[Label, Label]  # the memories with the greatest and the least value there


class DistortionSup(NamedTuple):
    """Delta-bar_tau: the greatest over a grid of horizons and the limit; ``certified`` if that is proved."""

    value: float
    horizon: float  # where the greatest was found; infinite for the limit
    limit: float
    certified: bool


def distortion(pairs: Pairs, horizon: float) -> Distortion:
    """Return Delta_tau at a horizon of at least 1."""
    values = optimal_values(pairs, discount_of(horizon))
    value, state, action, high, low = spread(pairs, values.Q)
    memories = pairs.labels[high][0], pairs.labels[low][0]
    return Distortion(value, 2 * values.error, pairs.task.states[state], pairs.task.actions[action], memories)


def spread(pairs: Pairs, Q: Table) -> tuple[float, int, int, int, int]:
    """Return the greatest range of Q(., a) within an aleatoric state, that state, a, and the pairs at either end."""
    order = np.argsort(pairs.states, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(pairs.states[order])) + 1)
    best = (-1.0, 0, 0, 0, 0)
    for group in groups:
        inside = Q[:, group]
        ranges = np.ptp(inside, axis=1)
        action = int(ranges.argmax())
        if ranges[action] > best[0]:
            high, low = int(group[inside[action].argmax()]), int(group[inside[action].argmin()])
            best = float(ranges[action]), int(pairs.states[group[0]]), action, high, low
    return best


def distortion_limit(pairs: Pairs, near: Table | None = None) -> float:
    """Return the limit of Delta_tau as the horizon grows: infinite if the aleatoric state hides differences in gain.

    Otherwise Delta_tau approaches its limit as c / tau, so that two long horizons determine it.
    """
    gain = optimum(pairs).gain
    gains = np.array([transition @ gain for transition in pairs.transitions])
    if spread(pairs, gains)[0] > 1e-9 * max(1.0, float(np.abs(gain).max())):
        return np.inf
    first, second = along(pairs, (LONG, 2 * LONG), near)[0]
    return max(0.0, 2 * second - first)


def distortion_sup(pairs: Pairs, horizon: float) -> DistortionSup:
    """Return Delta-bar_tau, the greatest distortion over horizons of at least ``horizon``.

    The grid is fixed, so that a longer horizon looks at a part of what a shorter one does.  The result is proved if
    every aleatoric state has one pair, so that there is no distortion, and if the limit is infinite.
    """
    grid = 10.0 ** (np.arange(DECADES * GRID + 1) / GRID)
    first = max(horizon, 1.0)
    horizons = [float(first), *grid[grid > first].tolist()]
    distortions, near = along(pairs, horizons)
    limit = distortion_limit(pairs, near)
    value, where = max(zip(distortions, horizons, strict=True))
    place = horizons.index(where)
    if 0 < place < len(horizons) - 1:
        value, where = max((value, where), _refine(pairs, horizons[place - 1], horizons[place + 1]))
    if limit > value:
        value, where = limit, np.inf
    return DistortionSup(value, where, limit, certified=pairs.distinct or bool(np.isinf(limit)))


def along(pairs: Pairs, horizons: Iterable[float], near: Table | None = None) -> tuple[list[float], Table | None]:
    """Return the distortion at each horizon, and the last optimal policy, each computed from the one before."""
    distortions = []
    for horizon in horizons:
        values = optimal_values(pairs, discount_of(horizon), near)
        distortions.append(spread(pairs, values.Q)[0])
        near = values.policy
    return distortions, near


def _refine(pairs: Pairs, low: float, high: float) -> tuple[float, float]:
    """Return the greatest distortion between two horizons, and where it is."""
    from scipy.optimize import minimize_scalar

    search = minimize_scalar(
        lambda power: -distortion(pairs, float(np.exp(power))).value,
        bounds=(np.log(low), np.log(high)),
        method="bounded",
        options={"maxiter": 12},
    )
    return -float(search.fun), float(np.exp(search.x))
