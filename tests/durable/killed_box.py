"""A process that swings a pendulum and is killed: it says which steps were acknowledged, and nothing else.

``python killed_box.py DIR STEPS``, as in :mod:`tests.durable.killed`.  The observations are points of a box.
"""

from __future__ import annotations

import math
import random
import sys
from typing import Any

import everlearn as el

SETUP: dict[str, Any] = {
    "actions": ["left", "none", "right"],
    "observations": el.Box([-math.pi, -8.0], [math.pi, 8.0]),
    "reward_range": (0, 1),
    "agent": "q-lambda",
    "seed": 3,
    "snapshot_every": 25,
}


def advance(agent: el.Live, steps: int) -> None:
    """Let an agent swing up to a step; what it sees depends on step and action alone."""
    while agent.step < steps:
        action = agent.act()
        draw = random.Random(f"{agent.step} {action}")
        point = [draw.uniform(-math.pi, math.pi), draw.uniform(-8, 8)]
        agent.observe(point, reward=abs(point[0]) / math.pi)
        if __name__ == "__main__":
            sys.stdout.write(f"{agent.step}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    with el.live(sys.argv[1], **SETUP) as swinging:
        print("open", swinging.step, flush=True)
        advance(swinging, int(sys.argv[2]))
