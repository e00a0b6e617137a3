"""Run DQN of stable-baselines3 on a continuing control task, for `benchmarks.control`.

`PYTHONPATH=src:. python -m benchmarks.dqn TASK SEED STEPS FILE` needs an environment with torch, stable-baselines3 and
gymnasium; everlearn does not depend on them.  All parameters are the library's defaults.  Exploration ends after 10,000
steps, as it does by default in a run of 100,000, so that a shorter run is the beginning of a longer one.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3 import DQN

EVERY = 1000
"""The steps between two records."""

EXPLORATION = 10_000

EXTRA = {"CartPole-v1": -1.0, "MountainCar-v0": 1.0}
"""What is added to the reward of a termination, as in `benchmarks.control`."""

TORQUES = 3


class Continuing(gymnasium.Wrapper):  # type: ignore[type-arg]
    """One endless stream: after a termination, the next point is the first of the next episode, and nothing ends."""

    def __init__(self, environment: Any, extra: float) -> None:
        super().__init__(environment)
        self.extra, self.rewards = extra, list[float]()
        self.levels: Any = None
        if isinstance(environment.action_space, spaces.Box):
            self.levels = np.linspace(environment.action_space.low, environment.action_space.high, TORQUES)
            self.action_space = spaces.Discrete(TORQUES)

    def step(self, action: Any) -> Any:
        """Execute an action; the reward of a termination contains the addition."""
        point, reward, terminated, _, info = self.env.step(action if self.levels is None else self.levels[action])
        paid = float(reward)
        if terminated:
            paid += self.extra
            point, _ = self.env.reset()
        self.rewards.append(paid)
        return point, paid, False, False, info


def make(task: str) -> Continuing:
    """Return the stream of a task."""
    if task in ("catch", "puckworld"):
        from benchmarks.published import Catch, Puckworld

        return Continuing({"catch": Catch, "puckworld": Puckworld}[task](), 0.0)
    return Continuing(gymnasium.make(task).unwrapped, EXTRA.get(task, 0.0))


def main(task: str, seed: int, steps: int, file: Path) -> None:
    """Learn for a number of steps, and write the sums of rewards and the processor time."""
    torch.set_num_threads(1)
    stream = make(task)
    agent = DQN("MlpPolicy", stream, seed=seed, device="cpu", exploration_fraction=min(1.0, EXPLORATION / steps))
    began = time.process_time()
    agent.learn(steps)
    seconds = time.process_time() - began
    sums = np.cumsum(stream.rewards)[EVERY - 1 : steps : EVERY]
    file.write_text(json.dumps({"every": EVERY, "sums": sums.tolist(), "seconds": seconds}), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
