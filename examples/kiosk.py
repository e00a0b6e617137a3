"""A kiosk that follows the seasons without seeing them: how fast a change each way to keep the past can follow.

As a script:            python kiosk.py
From this directory:    everlearn run kiosk:kiosk --set task.year=6000 --set task.aleatoric=window:1+actions
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator

import everlearn as el

PROFIT = {"sold out": 1.0, "some left": 0.3, "nothing sold": -0.4}


def chance(ware: str, season: float) -> float:
    """Return the probability that a batch of a ware is sold; ``season`` is 1 in midsummer and -1 in midwinter."""
    return {"ice": 0.5 + 0.45 * season, "soup": 0.5 - 0.45 * season, "umbrellas": 0.55}[ware]


def kiosk(*, year: int = 600) -> el.Task:
    """Stock one of three wares each day, in two batches; the day of the year is hidden."""

    @el.task(actions=["ice", "soup", "umbrellas"], observations=list(PROFIT), reward_range=(-0.4, 1), memory=0)
    def dynamics(memory: int, action: str) -> Iterator[tuple[str, float, int]]:
        sold = chance(action, math.cos(2 * math.pi * memory / year))
        tomorrow = (memory + 1) % year
        yield "sold out", sold * sold, tomorrow
        yield "some left", 2 * sold * (1 - sold), tomorrow
        yield "nothing sold", (1 - sold) ** 2, tomorrow

    @dynamics.reward
    def profit(_state: object, _action: str, observation: str) -> float:
        return PROFIT[observation]

    return dynamics


if __name__ == "__main__":
    steps = float(sys.argv[1]) if len(sys.argv) > 1 else 1e5
    for year in (600, 6000):
        for state in ("natural", "window:1+actions"):
            for agent in ("versatile", "q-learning"):
                parameters = {"task.year": year, "task.aleatoric": state}
                result = el.run(kiosk, agent, steps=steps, runs=4, seed=1, parameters=parameters)
                print(f"{year:5,} days  {state:16} {agent:10} {result.average_reward[-1]:.3f} per day")
