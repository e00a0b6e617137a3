"""Distortion (Section 2.2.2): what is lost by predicting optimal values from the aleatoric state.

    Delta_tau = max over (s, a) of sup Q_*(h, a) - inf Q_*(h, a) over histories h with phi(h) = s,   gamma = 1 - 1/tau,

and Delta-bar_tau is its supremum over horizons of at least tau.  Histories are those that can happen; they are
represented by pairs.  As gamma goes to one, differences of optimal values go to differences of the bias of a
Blackwell-optimal policy, if the optimal gain is the same from every start, and without bound if it is not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from everlearn.protocol import Label, Table
from everlearn.theory.optimum import optimum
from everlearn.theory.pairs import Pairs
from everlearn.theory.values import discount_of, optimal_values

GRID = 4
"""Horizons a decade at which the supremum is looked for; around the greatest it is looked for more closely."""

DECADES = 6
"""Up to which power of ten."""

LONG = 1e6
"""A horizon from which on the distortion approaches its limit as c / tau."""


class Distortion(NamedTuple):
    """Delta_tau, how far it may be off, and where it is attained."""

    value: float
    error: float
    aleatoric_state: Label
    action: Label
    memories: tuple[Label, Label]
    """The memory with the greatest and the one with the least value there."""


class DistortionSup(NamedTuple):
    """Delta-bar_tau: the greatest of a grid of horizons and of the limit; ``certified`` where that is proved."""

    value: float
    horizon: float
    """Where the greatest was found; infinite for the limit."""
    limit: float
    certified: bool


def distortion(pairs: Pairs, horizon: float) -> Distortion:
    """Return Delta_tau at a horizon of at least 1.

    Examples
    --------
    >>> from everlearn.tasks.service_station import service_station
    >>> from everlearn.theory.pairs import tabulate
    >>> found = distortion(tabulate(service_station()), 10)
    >>> round(found.value, 8), found.aleatoric_state, found.memories[0]
    (4.57562979, 0, (-1, (0, 0, 0, 0)))

    """
    values = optimal_values(pairs, discount_of(horizon))
    value, state, action, high, low = spread(pairs, values.Q)
    labels = pairs.labels[high][0], pairs.labels[low][0]
    return Distortion(value, 2 * values.error, pairs.task.states[state], pairs.task.actions[action], labels)


def spread(pairs: Pairs, Q: Table) -> tuple[float, int, int, int, int]:
    """Return the greatest range of Q(., a) over pairs with one aleatoric state, and where it is."""
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
    """Return the limit of Delta_tau as the horizon grows: infinite where the aleatoric state hides differences in gain.

    Otherwise Delta_tau approaches its limit as c / tau, which two long horizons tell apart.
    """
    gain = optimum(pairs).gain
    gains = np.array([transition @ gain for transition in pairs.transitions])
    if spread(pairs, gains)[0] > 1e-9 * max(1.0, float(np.abs(gain).max())):
        return np.inf
    near_limit = []
    for horizon in (LONG, 2 * LONG):
        values = optimal_values(pairs, 1 - 1 / horizon, near)
        near_limit.append(spread(pairs, values.Q)[0])
        near = values.policy
    return max(0.0, 2 * near_limit[1] - near_limit[0])


def _refined(pairs: Pairs, low: float, high: float) -> tuple[float, float]:
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(
        lambda power: -distortion(pairs, float(np.exp(power))).value,
        bounds=(np.log(low), np.log(high)),
        method="bounded",
        options={"maxiter": 12},
    )
    return -float(found.fun), float(np.exp(found.x))


def distortion_sup(pairs: Pairs, horizon: float) -> DistortionSup:
    """Return Delta-bar_tau, the greatest distortion over horizons of at least ``horizon``.

    The grid has fixed places, so that a longer horizon looks at a part of what a shorter one does.  It is proved where
    every aleatoric state has one pair, so that there is none, and where the limit is infinite.
    """
    first = max(horizon, 1.0)
    places = 10.0 ** (np.arange(DECADES * GRID + 1) / GRID)
    found, near = [], None
    for tau in [first, *places[places > first].tolist()]:
        values = optimal_values(pairs, discount_of(float(tau)), near)
        found.append((spread(pairs, values.Q)[0], float(tau)))
        near = values.policy
    limit = distortion_limit(pairs, near)
    value, where = max(found)
    place = found.index((value, where))
    if 0 < place < len(found) - 1:
        value, where = max((value, where), _refined(pairs, found[place - 1][1], found[place + 1][1]))
    if limit > value:
        value, where = limit, np.inf
    single = len(set(pairs.states.tolist())) == pairs.size
    return DistortionSup(value, where, limit, certified=single or bool(np.isinf(limit)))
