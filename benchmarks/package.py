"""Run an agent of statisticalrl_learners on our RiverSwim; for the Python that has that package and an old NumPy.

``python benchmarks/package.py MODULE RUNS STEPS`` prints a line of JSON per run: the regret and the seconds.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
import warnings

import numpy as np

STATES, AVERAGE = 6, 0.428622
UP, DOWN = np.array([0.6, 0.35, 0.35, 0.35, 0.35]), np.array([0.05, 0.05, 0.05, 0.05, 0.4])


def river() -> tuple[np.ndarray, np.ndarray]:
    """Return the cumulated transition probabilities and the rewards, as ``riverswim`` has them."""
    moves = np.diag(UP, 1) + np.diag(DOWN, -1)
    left = np.eye(STATES, k=-1)
    left[0, 0] = 1
    rewards = np.zeros((STATES, 2))
    rewards[0, 0], rewards[-1, 1] = 0.005, 1
    return np.array([left, moves + np.diag(1 - moves.sum(axis=1))]).swapaxes(0, 1).cumsum(axis=2), rewards


def main(name: str, runs: int, steps: int) -> None:
    """Print the regret and the seconds of each run, with delta = 0.05."""
    warnings.simplefilter("ignore")
    module = importlib.import_module(f"statisticalrl_learners.MDPs_discrete.{name}")
    make = getattr(module, name.replace("_", ""))
    cumulated, rewards = river()
    for seed in range(1, runs + 1):
        np.random.seed(seed)  # noqa: NPY002 - the package draws from there
        random, agent, s, earned = np.random.default_rng(seed), make(STATES, 2, 0.05), 0, 0.0
        began = time.process_time()
        agent.reset(s)
        for _ in range(steps):
            a = agent.play(s)
            following = min(STATES - 1, int(np.searchsorted(cumulated[s, a], random.random(), side="right")))
            agent.update(s, a, rewards[s, a], following)
            earned += rewards[s, a]
            s = following
        print(json.dumps([steps * AVERAGE - earned, time.process_time() - began]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
