"""Phases: two policies take turns, and the one that earned more acts more often.

Time is divided into phases, each of which lasts a share of the time so far.  In a phase one of the two acts.  What
both earned per step is compared, with more weight on recent phases.  Let z be the difference divided by its standard
error.  The one that earned less acts in a share exp(-z^2 / 2) / 2 of the phases, which bounds the chance that it is
the better one, and in a least share.  So both act equally often while nothing is known.  The standard error of the one
that does not act grows, as what is known of it becomes old, unless it is that of the differences between its phases,
which does not change.  It is tried again in any case, because of the least share.

The sums are fields of a record, ``choice``, with the names in ``ONCE`` and ``EACH``.
"""

from __future__ import annotations

import math
from typing import Any

CORRELATION = 4.0
"""The variance of a mean of rewards is taken to be so many times that of independent rewards, or more if phases differ
by more."""

ONCE = ("began", "ends", "earned", "squared", "turns")
"""Fields with one number: the first and the last step of the phase, the sums of its rewards and of their squares, and a
number that grows until the one that earned less has a turn."""

EACH = ("steps", "steps_squared", "rewards", "means_squared", "variances")
"""Fields with a number for each of the two: sums over its phases."""


def credit(choice: Any, reward: float) -> None:
    """Add a reward to the phase."""
    choice["earned"][0, 0] += reward
    choice["squared"][0, 0] += reward * reward


def end_phase(choice: Any, acted: int, t: float, shortest: float, phase: float) -> None:
    """Add what was earned in a phase to the sums of the one that acted, and begin another phase."""
    length = t - choice["began"][0, 0]
    mean = choice["earned"][0, 0] / length
    kept = (1.0 - length / t) * (1.0 - length / t)
    for one in range(2):
        choice["steps"][0, one] *= kept
        choice["steps_squared"][0, one] *= kept * kept
        choice["rewards"][0, one] *= kept
        choice["means_squared"][0, one] *= kept
        choice["variances"][0, one] *= kept
    choice["steps"][0, acted] += length
    choice["steps_squared"][0, acted] += length * length
    choice["rewards"][0, acted] += length * mean
    choice["means_squared"][0, acted] += length * mean * mean
    choice["variances"][0, acted] += choice["squared"][0, 0] - length * mean * mean
    begin_phase(choice, t, shortest, phase)


def begin_phase(choice: Any, t: float, shortest: float, phase: float) -> None:
    """Begin a phase after step t."""
    choice["earned"][0, 0] = 0.0
    choice["squared"][0, 0] = 0.0
    choice["began"][0, 0] = t
    choice["ends"][0, 0] = t + math.ceil(max(shortest, phase * t))


def next_to_act(choice: Any, least: float) -> float:
    """Return which of the two acts in the next phase, 0 or 1; the one that earned less does so in a least share."""
    for one in range(2):
        if choice["steps"][0, one] <= 0.0:
            return float(one)
    z = lead(choice)
    better = 1.0 if z >= 0.0 else 0.0
    choice["turns"][0, 0] += max(least, 0.5 * math.exp(-0.5 * z * z))
    if choice["turns"][0, 0] >= 1.0:
        choice["turns"][0, 0] -= 1.0
        return 1.0 - better
    return better


def lead(choice: Any) -> float:
    """Return by how many standard errors the second earned more per step than the first."""
    difference = 0.0
    variance = 1e-12
    for one in range(2):
        steps = choice["steps"][0, one]
        mean = choice["rewards"][0, one] / steps
        within = CORRELATION * max(choice["variances"][0, one], 0.0) / (steps * steps)
        between = max(choice["means_squared"][0, one] / steps - mean * mean, 0.0)
        variance += max(within, between * choice["steps_squared"][0, one] / (steps * steps))
        difference = mean - difference
    return float(difference / math.sqrt(variance))


def gap(choice: Any) -> float:
    """Return by how much one of the two earned more per step than the other; 0 if one of them has not acted."""
    first = choice["steps"][0, 0]
    second = choice["steps"][0, 1]
    if first <= 0.0 or second <= 0.0:
        return 0.0
    return float(abs(choice["rewards"][0, 1] / second - choice["rewards"][0, 0] / first))
