"""A Gymnasium environment as one endless stream, and trials of it."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from everlearn.adapters.making import Maker
from everlearn.adapters.rewards import Rewards, number_paid
from everlearn.adapters.spaces import Reading
from everlearn.blame import blame
from everlearn.protocol import Label

TERMINATED, TRUNCATED, GOING_ON = "terminated", "truncated", ""
MARKS = (GOING_ON, TERMINATED, TRUNCATED)
"""How a step ended: the episode went on, was over, or was cut off.  An episode that is over is never cut off."""

SEED = 0
"""The seed of every trial, so that the same task is made of the same environment."""


class GymnasiumStream:
    """Takes an action and yields (observation, reward, mark), for ever.

    Where an episode ends the environment is reset within the same step: the observation is then the first of the next
    episode, with the last reward of the one that ended.
    """

    def __init__(self, environment: Any, observed: Reading, rewards: Rewards) -> None:
        self.environment = environment
        self._observed, self._rewards = observed, rewards
        weakref.finalize(self, environment.close)

    def start(self, rng: np.random.Generator) -> None:
        """Begin the first episode; what its beginning looks like is not told, since no action came before it."""
        self.environment.reset(seed=int(rng.integers(2**31)))

    def step(self, action: Label) -> Label:
        """Execute an action and return what is observed."""
        point, reward, terminated, truncated, _ = self.environment.step(action)
        if terminated or truncated:
            point, _ = self.environment.reset()
        return label(self._observed, self._rewards, point, reward, terminated, truncated)


def label(observed: Reading, rewards: Rewards, point: Any, reward: Any, terminated: bool, truncated: bool) -> Label:
    """Return what is observed where the environment shows a point; at an end, the first of the next episode."""
    mark = TERMINATED if terminated else TRUNCATED if truncated else GOING_ON
    return observed.read(point), rewards.text(reward), mark


@dataclass(frozen=True)
class Beginning:
    """Begins streams of an environment; holds all that tells it from others, so that this identifies its task.

    Parameters
    ----------
    maker, observed, rewards:
        how the environment is made and read
    identity:
        of the environment that was made when the task was: an edited one is another

    """

    maker: Maker
    observed: Reading
    rewards: Rewards
    identity: str

    def __call__(self) -> GymnasiumStream:
        """Return a new stream, not yet begun."""
        return GymnasiumStream(self.maker.make(), self.observed, self.rewards)


class Step(NamedTuple):
    """A step of a trial, as Gymnasium tells it: the point before it, the action, and what came of it."""

    before: Any
    action: int
    after: Any
    reward: float
    terminated: bool
    truncated: bool = False
    past: int = 1
    """How many steps the episode had before this one."""


def trial(maker: Maker, steps: int) -> Iterator[Step]:
    """Try actions at random, with a seed of its own, and yield what happens."""
    environment = maker.make()
    try:
        environment.action_space.seed(SEED)
        before, past = environment.reset(seed=SEED)[0], 0
        for _ in range(steps):
            action = int(environment.action_space.sample())
            with blame(f"environment {maker.name!r}: step", f"action {action}"):
                after, reward, terminated, truncated, _ = environment.step(action)
                ends = bool(terminated), bool(truncated)
            yield Step(before, action, after, number_paid(reward), *ends, past)
            with blame(f"environment {maker.name!r}: reset"):
                before, past = (environment.reset()[0], 0) if any(ends) else (after, past + 1)
    finally:
        environment.close()
