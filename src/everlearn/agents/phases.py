"""Phases: two policies take turns, and the one that earned more acts more often.

Time is divided into phases, each of which lasts a share of the time so far.  In a phase one of the two acts.  What
both earned per step is compared, with more weight on recent phases.  Let z be the lead of the second, divided by its
standard error.  There are two rules:

- *Equal* (:func:`next_to_act`).  The one that earned less acts in a share exp(-z^2 / 2) / 2 of the phases, which bounds
  the chance that it is the better one, and in a least share.  So both act equally often while nothing is known.
- *Challenged* (:func:`challenged`).  The first is the challenger, with a share w of the phases while nothing is known.
  If z is positive, its share is w exp(-z^2 / 2), otherwise 1 - (1 - w) exp(-z^2 / 2), but at most 1 less a least share.
  It also has trials, whose share of the time goes to 0.  Only the second half of a phase counts, since the rewards of
  the first may come from what the other one did.

The standard error of the one that does not act grows, as what is known of it becomes old, unless it is that of the
differences between its phases, which does not change.  It is tried again in any case, because of the least share, or of
the trials.

The sums are fields of a record, ``choice``, with the names in ``ONCE`` and ``EACH``.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

CORRELATION = 4.0
"""The variance of a mean of rewards is taken to be so many times that of independent rewards, or more if phases differ
by more."""

FLOOR = 0.01
"""The least variance of a reward, times the correlation: rewards that are the same so far may differ later."""

TRIAL = 0.25
"""A trial lasts this share of t^p, but at least as long as the shortest phase, and at most as long as a phase."""

COUNTED = 0.5
"""The share of a phase at its end in which rewards count, if the first of the two is a challenger."""

ONCE = ("began", "ends", "earned", "squared", "turns")
"""Fields with one number: the step after which rewards count in the phase, its last step, the sums of its rewards and
of their squares, and a number that grows until there is a turn."""

EACH = ("steps", "steps_squared", "rewards", "means_squared", "variances")
"""Fields with a number for each of the two: sums over its phases."""


class Rule(NamedTuple):
    """How two take turns of which the first is the challenger (:func:`challenged`)."""

    phase: float
    """The length of a phase, as a share of the steps so far."""
    shortest: float
    """The least length of a phase."""
    least: float
    """The least share of the phases in which the second acts."""


def credit(choice: Any, reward: float, t: float) -> None:
    """Add a reward to the phase, unless it is from the part of the phase that does not count."""
    if t > choice["began"][0, 0]:
        choice["earned"][0, 0] += reward
        choice["squared"][0, 0] += reward * reward


def end_phase(choice: Any, acted: int, t: float) -> None:
    """Add what was earned in a phase to the sums of the one that acted."""
    length = t - choice["began"][0, 0]
    mean = choice["earned"][0, 0] / length
    kept = (1.0 - length / t) * (1.0 - length / t)
    for each in range(2):
        choice["steps"][0, each] *= kept
        choice["steps_squared"][0, each] *= kept * kept
        choice["rewards"][0, each] *= kept
        choice["means_squared"][0, each] *= kept
        choice["variances"][0, each] *= kept
    choice["steps"][0, acted] += length
    choice["steps_squared"][0, acted] += length * length
    choice["rewards"][0, acted] += length * mean
    choice["means_squared"][0, acted] += length * mean * mean
    choice["variances"][0, acted] += choice["squared"][0, 0] - length * mean * mean


def begin_phase(choice: Any, t: float, length: float, counted: float) -> None:
    """Begin a phase after step t; rewards count in a share of it at its end."""
    steps = math.ceil(length)
    choice["earned"][0, 0] = 0.0
    choice["squared"][0, 0] = 0.0
    choice["began"][0, 0] = t + math.floor((1.0 - counted) * steps)
    choice["ends"][0, 0] = t + steps


def challenged(choice: Any, t: float, rule: Rule, prior: float, power: float) -> bool:
    """Begin a phase after step t; return whether the first of the two acts in it, the challenger.

    Its share of the phases is ``prior`` while nothing is known.  Besides, it has a trial whenever it acted in fewer
    than t^``power`` steps (``acted`` of the record), unless ``power`` is 0.
    """
    acted = choice["acted"][0, 0]
    length = max(rule.shortest, rule.phase * t)
    steps = math.pow(t, power)
    trial = min(max(TRIAL * steps, rule.shortest), length)
    first = acted > 0.0 and has_turn(choice, share(choice, prior, rule.least))
    if not first and power > 0.0 and acted + trial <= steps:
        first = True
        length = trial
    begin_phase(choice, t, length, COUNTED)
    return first


def share(choice: Any, prior: float, least: float) -> float:
    """Return the share of the phases in which the first acts, from its share while nothing is known."""
    z = lead(choice, FLOOR)
    likely = math.exp(-0.5 * z * z)
    return prior * likely if z >= 0.0 else min(1.0 - (1.0 - prior) * likely, 1.0 - least)


def has_turn(choice: Any, part: float) -> bool:
    """Return whether the one that has a part of the phases has this one: phases with a turn are spread evenly."""
    choice["turns"][0, 0] += part
    if choice["turns"][0, 0] >= 1.0:
        choice["turns"][0, 0] -= 1.0
        return True
    return False


def next_to_act(choice: Any, least: float) -> float:
    """Return which of the two acts in the next phase, 0 or 1; the one that earned less does so in a least share."""
    for each in range(2):
        if choice["steps"][0, each] <= 0.0:
            return float(each)
    z = lead(choice, 0.0)
    better = 1.0 if z >= 0.0 else 0.0
    return 1.0 - better if has_turn(choice, max(least, 0.5 * math.exp(-0.5 * z * z))) else better


def lead(choice: Any, floor: float) -> float:
    """Return by how many standard errors the second earned more per step than the first."""
    difference = 0.0
    variance = 1e-12
    for each in range(2):
        steps = choice["steps"][0, each]
        mean = choice["rewards"][0, each] / steps
        within = CORRELATION * max(choice["variances"][0, each], 0.0) / (steps * steps)
        between = max(choice["means_squared"][0, each] / steps - mean * mean, 0.0)
        variance += max(within, between * choice["steps_squared"][0, each] / (steps * steps)) + floor / steps
        difference = mean - difference
    return float(difference / math.sqrt(variance))


def gap(choice: Any) -> float:
    """Return by how much one of the two earned more per step than the other; 0 if one of them has not acted."""
    first = choice["steps"][0, 0]
    second = choice["steps"][0, 1]
    if first <= 0.0 or second <= 0.0:
        return 0.0
    return float(abs(choice["rewards"][0, 1] / second - choice["rewards"][0, 0] / first))


def earnings(choice: Any, first: str, second: str) -> str:
    """Say what the two earn; nothing if one of them has not acted."""
    if not (choice["steps"] > 0.0).all():
        return ""
    of_first, of_second = (choice["rewards"] / choice["steps"])[0]
    return f" Recent rewards per step, scaled to [0, 1]: {of_second:.4f} by {second}, {of_first:.4f} by {first}."
