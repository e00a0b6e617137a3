"""The reward R = r(S, A, O) and its range.

The paper's clip and bonuses assume rewards in [0, 1]; with other rewards the agent fails silently.  So a reward
declares its range, and the agent learns from (r - low) / (high - low), unless the task is *raw*.  Reports are always in
the task's own units.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from everlearn.environments.pure import Pure, as_number
from everlearn.errors import RewardError, require
from everlearn.protocol import Label, RewardFunction

LARGEST = 1e290
"""The largest reward: the sum of one per step, over as many steps as a run can have, is finite."""


@dataclass(frozen=True, repr=False)
class Reward:
    """The reward function r and its range.

    Parameters
    ----------
    function:
        r(s, a, o), a function of the aleatoric state, the action and the observation.  It must be pure (the same
        arguments always give the same result, without side effects), because its results are cached
    low:
        the smallest reward
    high:
        the largest reward
    raw:
        if true, the agent learns from the rewards without scaling, unless its design or schedule has ``unit=True``, as
        the default schedule has; by default, it learns from rewards scaled to [0, 1]

    Examples
    --------
    >>> profit = Reward(lambda s, a, o: o - 2, low=-2, high=2)
    >>> profit(0, "go", 3), profit.learned(1.0)
    (1.0, 0.75)
    >>> profit(0, "go", 5)
    Traceback (most recent call last):
    ...
    everlearn.errors.RewardError: reward of (0, 'go', 5): 3.0; outside its range, -2 to 2; widen reward_range

    """

    function: RewardFunction
    low: float = 0.0
    high: float = 1.0
    raw: bool = False

    def __post_init__(self) -> None:
        require(callable(self.function), "reward", self.function, "give a function of (s, action, observation)")
        low, high = reward_range((self.low, self.high))
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        require(isinstance(self.raw, bool | np.bool_), "raw", self.raw, "give True or False")

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return f"Reward({name}, {self.low:g} to {self.high:g}{', raw' if self.raw else ''})"

    @cached_property
    def pure(self) -> Pure:
        """The function, with checks; a function that is not deterministic raises an error."""
        remedy = "make it a function of (s, action, observation) only; randomness belongs in the dynamics"
        return Pure(self.function, "reward", "(s, action, observation)", remedy)

    def __call__(self, aleatoric_state: Label, action: Label, observation: Label) -> float:
        """Return the reward in the task's own units, checked."""
        labels = aleatoric_state, action, observation
        paid = self.pure(*labels)
        if paid is None:
            raise RewardError(f"{self.pure.name} of {labels!r}", None, "it returned nothing; add a return")
        return self.check(paid, f"reward of {labels!r}")

    def check(self, given: object, where: str = "reward") -> float:
        """Return a reward as a number; raise if it is not a number, or is outside the range."""
        if type(given) is float and self.low <= given <= self.high:  # whose ends are finite
            return given
        if (reward := as_number(given)) is None:
            raise RewardError(where, given, "must be a number")
        if not math.isfinite(reward):
            raise RewardError(where, reward, "must be finite")
        if not self.low <= reward <= self.high:
            raise RewardError(where, reward, f"outside its range, {self.low} to {self.high}; widen reward_range")
        return reward

    def check_range(self, rewards: NDArray[np.float64]) -> None:
        """Raise if any of the rewards is outside the range."""
        outside = ~((rewards >= self.low) & (rewards <= self.high))
        if outside.any():
            remedy = f"outside its range, {self.low} to {self.high}; widen reward_range"
            raise RewardError("reward", float(rewards[outside].flat[0]), remedy)

    def learned(self, reward: float) -> float:
        """Return the reward from which the agent learns: scaled to [0, 1], unless it is raw."""
        return reward if self.raw else (reward - self.low) / (self.high - self.low)

    @property
    def scaling(self) -> str:
        """How rewards are scaled for the agent, in words."""
        if self.raw:
            return f"raw rewards, from {self.low:g} to {self.high:g}"
        return f"rewards scaled from [{self.low:g}, {self.high:g}] to [0, 1]"


def reward_range(given: object, argument: str = "reward_range") -> tuple[float, float]:
    """Return the least and the greatest reward, or raise if they are not a range; ``argument`` is its name."""
    ends = list(given) if isinstance(given, Iterable) and not isinstance(given, str | dict) else []
    numbers = [number for end in ends if not isinstance(end, bool) and (number := as_number(end)) is not None]
    valid = len(ends) == len(numbers) == 2 and math.isfinite(numbers[1] - numbers[0]) and numbers[0] < numbers[1]
    require(valid, argument, given, "give two finite numbers, the lower first")
    require(max(map(abs, numbers)) <= LARGEST, argument, given, f"give numbers of at most {LARGEST:g}")
    low, high = (end if isinstance(end, int | float) else number for end, number in zip(ends, numbers, strict=True))
    return low, high
