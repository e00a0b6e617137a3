"""Tell from rewards alone that something has changed: an alarm for agents that restart.

Rewards are averaged over windows of 16, 32, 64, ... steps, as MASTER does (Wei and Luo, COLT 2021).  At every length,
the last two windows are compared with all windows before them, of which later ones weigh more: the j-th of n in
proportion to about j^2, so that the poor rewards of an agent that is still learning soon count for little.  The alarm
is raised if both are lower than the mean of the earlier ones

- by more than ``alarm`` standard deviations of a normal distribution, where those of the windows are enlarged if
  successive windows are correlated, and Student's t is converted (David L. Wallace, Annals of Mathematical Statistics
  30, 1121-1130, 1959), since few windows tell little of their own variation, and
- by more than 1.5 times the deepest earlier drop, so that rare losses raise no alarm again and again.

A length is in use while there are 16 to 64 earlier windows.  So the alarm takes at least a sixty-fourth of the time
since the restart, short dips of an agent that explores do not count, and the number of comparisons grows only with the
logarithm of time.  Rises never count: an agent that learns earns more and more.
"""

from __future__ import annotations

import math

import numpy as np

from everlearn.protocol import Table

FIRST, SCALES = 16, 40
"""The number of steps in the shortest window, and the number of lengths, each twice the one before."""

LEAST, MOST = 16, 64
"""The numbers of earlier windows with which windows are compared."""

WEIGHT, DEEPER = 2.0, 1.5
"""The power with which later windows weigh more, and how much deeper than earlier drops a drop must be."""

SHARE = (2.0 * WEIGHT + 1.0) / ((1.0 + WEIGHT) * (1.0 + WEIGHT))
"""How many windows of equal weight are as good as one of these."""

SUM, PARTS, N, MEAN, VARIANCE, CHANGE, DEEPEST, LAST, HELD, PENDING = range(10)
"""The numbers of a length: the sum and number of rewards, or of shorter windows, in the present window; the number of
earlier windows, their mean, their variance, the mean square of changes from one to the next, the deepest drop, and the
last of them; and whether there is a window that waits for another, and its mean."""


def begin_record() -> Table:
    """Return an empty record: a row per length."""
    return np.zeros((SCALES, 10))


def falls(record: Table, reward: float, alarm: float) -> bool:
    """Count a reward, and return whether rewards have fallen."""
    value = reward
    fallen = False
    for k in range(len(record)):
        record[k, SUM] += value
        record[k, PARTS] += 1.0
        if record[k, PARTS] < (FIRST if k == 0 else 2):
            return fallen
        value = record[k, SUM] / record[k, PARTS]
        record[k, SUM] = 0.0
        record[k, PARTS] = 0.0
        fallen = window_falls(record, k, value, alarm) or fallen
    return fallen


def window_falls(record: Table, k: int, mean: float, alarm: float) -> bool:
    """Count a window, and return whether it and the one before are lower than those before them."""
    fallen = False
    if record[k, HELD] > 0.0:
        fallen = is_low(record, k, max(mean, record[k, PENDING]), alarm)
        count_window(record, k, record[k, PENDING])
    record[k, PENDING] = mean
    record[k, HELD] = 1.0
    return fallen


def count_window(record: Table, k: int, value: float) -> None:
    """Add a window to the earlier ones."""
    n = record[k, N] + 1.0
    gain = (1.0 + WEIGHT) / (n + WEIGHT)
    error = value - record[k, MEAN]
    if n > 1.0:
        change = value - record[k, LAST]
        record[k, CHANGE] += (1.0 + WEIGHT) / (n - 1.0 + WEIGHT) * (change * change - record[k, CHANGE])
        record[k, DEEPEST] = max((1.0 - gain) * record[k, DEEPEST], -error)
    record[k, VARIANCE] = (1.0 - gain) * (record[k, VARIANCE] + gain * error * error)
    record[k, MEAN] += gain * error
    record[k, N] = n
    record[k, LAST] = value


def is_low(record: Table, k: int, mean: float, alarm: float) -> bool:
    """Return whether a mean is lower than those of the earlier windows."""
    drop = record[k, MEAN] - mean
    if record[k, N] < LEAST or record[k, N] > MOST or drop <= DEEPER * record[k, DEEPEST]:
        return False
    n = SHARE * record[k, N]
    variance = record[k, VARIANCE] * n / (n - 1.0) + drop * drop / (n * n)  # never 0: rewards may have been constant
    # Without correlation the ratio is 1 (von Neumann); with a correlation r it is 1 - r, less what chance may add.
    ratio = min(1.0, max(0.5 * record[k, CHANGE] / variance - 0.5 / math.sqrt(n), 1.0 / n))
    error = variance * (2.0 - ratio) / ratio * (1.0 + 1.0 / n)
    squared = (n - 1.0) * math.log(1.0 + drop * drop / error / (n - 1.0))
    normal = math.sqrt(squared) * (8.0 * n - 7.0) / (8.0 * n - 5.0)
    return bool(normal > alarm)
