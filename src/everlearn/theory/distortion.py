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
from everlearn.theory.pairs import Pairs
from everlearn.theory.values import action_values, discount_of, optimal_values

GRID = 4
"""Horizons a decade at which the supremum is looked for; around the greatest it is looked for more closely."""

DECADES = 6
"""Over how many decades from the shortest horizon."""


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
    """Return the limit of Delta_tau as the horizon grows: infinite where the optimal gain depends on the start.

    A horizon of a million stands for the limit where gains agree: past the Blackwell discount, values are those of one
    policy, and differences of them are within (span of the bias) / horizon of the limit.
    """
    found = optimal_values(pairs, 1 - 1e-6, near)
    if float(np.ptp(found.V)) > 1e-3 * 1e6 * max(1e-300, float(np.ptp(pairs.rewards))):
        return np.inf
    return spread(pairs, action_values(pairs, found.V - found.V[0], 1 - 1e-6))[0]


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

    It is proved where the distortion is zero at one horizon beyond which values are determined by the aleatoric state
    (memory a function of it); otherwise it is the best of a grid.
    """
    horizons = max(horizon, 1.0) * 10.0 ** (np.arange(DECADES * GRID + 1) / GRID)
    found, near = [], None
    for tau in horizons:
        values = optimal_values(pairs, discount_of(float(tau)), near)
        found.append((spread(pairs, values.Q)[0], float(tau)))
        near = values.policy
    limit = distortion_limit(pairs, near)
    value, where = max(found)
    inside = 0 < (place := found.index((value, where))) < len(found) - 1
    if inside:
        value, where = max((value, where), _refined(pairs, found[place - 1][1], found[place + 1][1]))
    if limit > value:
        value, where = limit, np.inf
    single = len(set(pairs.states.tolist())) == pairs.size
    return DistortionSup(value, where, limit, certified=single or bool(np.isinf(limit)))
