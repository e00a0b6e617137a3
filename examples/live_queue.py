"""An agent that runs a counter for good: how many clerks to post, learned on the job, kept in a directory.

As a script: python live_queue.py.  It keeps its directory for as long as it runs.
"""

from __future__ import annotations

import sys
import tempfile

import numpy as np

import everlearn as el

LENGTHS = ("empty", "short", "long")
CLERKS = ("one", "two")


class Counter:
    """The world: people come, clerks serve them; only how long the queue looks is seen."""

    def __init__(self, seed: int) -> None:
        self.waiting, self.rng = 0, np.random.default_rng(seed)

    def hour(self, clerks: str) -> tuple[str, float]:
        """Let an hour pass; return how long the queue looks, and what was earned: service less wages."""
        self.waiting = min(self.waiting + int(self.rng.binomial(6, 0.35)), 12)
        served = min(self.waiting, 2 if clerks == "one" else 4)
        self.waiting -= served
        length = LENGTHS[(self.waiting > 0) + (self.waiting > 4)]
        return length, served - (1.0 if clerks == "two" else 0.0) - 0.2 * self.waiting


def open_agent(directory: str) -> el.Live:
    return el.live(
        directory,
        actions=CLERKS,
        observations=LENGTHS,
        aleatoric="window:2",
        reward="given",
        reward_range=(-4, 4),
        schedule="practical",
        seed=1,
    )


def work(directory: str, counter: Counter, until: int) -> None:
    """One shift: what was learned in those before is there again, however they ended."""
    with open_agent(directory) as agent:
        while agent.step < until:
            clerks = agent.act()
            length, earned = counter.hour(str(clerks))
            agent.observe(length, reward=earned)


def main(steps: int) -> None:
    counter = Counter(seed=1)
    with tempfile.TemporaryDirectory() as directory:
        for shift in (1, 2):
            work(directory, counter, shift * steps // 2)
        with open_agent(directory) as agent:
            print(f"after {agent.step:,} hours, lately {agent.inspect()['recent_average']:.2f} an hour")
            for row in agent.policy()["actions"]:
                print(f"{' then '.join(row['state']) or 'at first':16} {row['action']}")


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 2000)
