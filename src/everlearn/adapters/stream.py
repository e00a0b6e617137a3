"""Run a Gymnasium environment as one endless stream."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np

from everlearn.adapters.making import Maker
from everlearn.adapters.rewards import Rewards
from everlearn.adapters.spaces import Reading
from everlearn.protocol import Label

TERMINATED, TRUNCATED, GOING_ON = "terminated", "truncated", ""
MARKS = (GOING_ON, TERMINATED, TRUNCATED)
"""How a step ended: the episode continues, terminated or was truncated; if both, it counts as terminated."""


class GymnasiumStream:
    """An environment whose observations are triples (point, reward, mark).

    When an episode ends, the environment is reset within the same step: the point is then the first of the next
    episode, and the reward is the last of the episode that ended.
    """

    def __init__(self, environment: Any, observed: Reading, rewards: Rewards) -> None:
        self.environment = environment
        self._observed, self._rewards = observed, rewards
        weakref.finalize(self, environment.close)

    def start(self, rng: np.random.Generator) -> None:
        """Begin the first episode; its first point is not observed, since no action came before it."""
        self.environment.reset(seed=int(rng.integers(2**31)))

    def step(self, action: Label) -> Label:
        """Execute an action and return the observation."""
        point, reward, terminated, truncated, _ = self.environment.step(action)
        if terminated or truncated:
            point, _ = self.environment.reset()
        return label(self._observed, self._rewards, point, reward, terminated, truncated)


def label(observed: Reading, rewards: Rewards, point: Any, reward: Any, terminated: bool, truncated: bool) -> Label:
    """Return the observation; at the end of an episode ``point`` is the first of the next episode."""
    mark = TERMINATED if terminated else TRUNCATED if truncated else GOING_ON
    return observed.read(point), rewards.text(reward), mark


@dataclass(frozen=True)
class Beginning:
    """Begins streams of an environment.

    It contains everything that distinguishes the environment from others, so it identifies the task.  ``identity``
    is that of the environment's source: if the source is edited, the task is another.
    """

    maker: Maker
    observed: Reading
    rewards: Rewards
    identity: str

    def __call__(self) -> GymnasiumStream:
        """Return a new stream, not yet begun."""
        return GymnasiumStream(self.maker.make(), self.observed, self.rewards)
