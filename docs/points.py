"""``python -m docs.points``: how long a live step on a box takes, without the disk, in docs/large-states.md."""

from __future__ import annotations

import sys
import time

import numpy as np

import everlearn as el
from everlearn.durable.core import Core
from everlearn.durable.setup import make_setup

STEPS = 100


def milliseconds(agent: str, coordinates: int) -> float:
    """Return the processor time of a step, of which the first ten do not count."""
    box = el.Box([0] * coordinates, [1] * coordinates)
    core = Core(make_setup(actions=["off", "on"], observations=box, reward_range=(0, 1), agent=agent))
    points = np.random.default_rng(1).random((STEPS, coordinates)).tolist()
    for number, point in enumerate(points):
        if number == STEPS // 10:
            began = time.process_time()
        core.act()
        core.apply(core.prepare(point, reward=0.5))
    return (time.process_time() - began) / (STEPS - STEPS // 10) * 1e3


if __name__ == "__main__":
    for name in ("linear", "q-lambda", "network"):
        times = (f"{size}: {milliseconds(name, size):.2g}" for size in (2, 6, 15, 64))
        sys.stdout.write(f"{name}, milliseconds per step by coordinates: {', '.join(times)}\n")
