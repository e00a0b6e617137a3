"""Tell from rewards alone that an environment has changed."""

from __future__ import annotations

import math

import numpy as np

from everlearn.protocol import Table

FIRST, SCALES = 16, 40
SUM, PARTS, N, MEAN, SQUARES, STEPS, LAST, PENDING, HELD = range(9)
ENOUGH = 8


def begin_record() -> Table:
    """Return an empty record."""
    return np.zeros((SCALES, 9))


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
    """Count a window, and return whether it and the one before are lower than all before them."""
    fallen = record[k, HELD] > 0.0 and is_low(record, k, max(mean, record[k, PENDING]), alarm)
    if record[k, HELD] > 0.0:
        value = record[k, PENDING]
        n = record[k, N] + 1.0
        error = value - record[k, MEAN]
        record[k, N] = n
        record[k, MEAN] += error / n
        record[k, SQUARES] += error * (value - record[k, MEAN])
        if n > 1.0:
            record[k, STEPS] += (value - record[k, LAST]) * (value - record[k, LAST])
        record[k, LAST] = value
    record[k, PENDING] = mean
    record[k, HELD] = 1.0
    return fallen


def is_low(record: Table, k: int, mean: float, alarm: float) -> bool:
    """Return whether a mean is lower than those of earlier windows."""
    n = record[k, N]
    drop = record[k, MEAN] - mean
    if n < ENOUGH or drop <= 0.0:
        return False
    squares = record[k, SQUARES] + drop * drop / n
    ratio = min(1.0, max(0.5 * record[k, STEPS] / squares - 1.0 / math.sqrt(n), 1.0 / n))
    error = squares / (n - 1.0) * (2.0 - ratio) / ratio * (1.0 + 1.0 / n)
    freedom = n - 1.0
    z = math.sqrt(freedom * math.log(1.0 + drop * drop / error / freedom)) * (8.0 * freedom + 1.0) / (8.0 * freedom + 3.0)
    return bool(z * z > alarm * alarm + 2.0 * math.log(n))
