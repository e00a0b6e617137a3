"""What a trial of an environment tells where nothing else does: its rewards, and what its points look like."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from everlearn.adapters.making import Maker
from everlearn.adapters.rewards import MOST_FOUND, Rewards, found
from everlearn.adapters.stream import Step, trial
from everlearn.errors import require
from everlearn.labels import few

MOST_STEPS = 1_000_000

LONGER = 20
"""How many times longer a trial is advised where one told too little: Acrobot ends for the first time after 15,000."""


@dataclass(frozen=True)
class Trial:
    """A trial of an environment; made anew whenever it is asked for, always the same, and never kept."""

    maker: Maker
    steps: int

    def __post_init__(self) -> None:
        fine = 1 <= self.steps <= MOST_STEPS
        require(fine, "task.trial_steps", self.steps, f"give at least 1, and at most {MOST_STEPS:,}")

    def __iter__(self) -> Iterator[Step]:
        """Return what happens."""
        return trial(self.maker, self.steps)

    def points(self) -> list[Any]:
        """Return every point that was seen."""
        points = []
        for step in self:
            points += [step.before, step.after] if step.past == 0 else [step.after]
        return points

    def rewards(self) -> Rewards:
        """Return every reward that was paid, and warn where others are likely.

        The share of what has not been seen yet is estimated by the share of what was seen once (Good, 1953).  And
        where no episode was terminated, nobody has seen what that pays.
        """
        counts: Counter[float] = Counter()
        terminated = False
        for step in self:
            counts[step.reward] += 1
            terminated = terminated or step.terminated
            if len(counts) > 100 * MOST_FOUND:
                break
        rewards = found(counts)
        if not terminated:
            self._warn(rewards, "no episode was terminated")
        elif 1 in counts.values():
            self._warn(rewards, "some were paid only once")
        return rewards

    def _warn(self, rewards: Rewards, why: str) -> None:
        what = f"{self.maker.name} paid {few(rewards.texts)} in a trial of {self.steps:,} steps, and {why}"
        longer = min(LONGER * self.steps, MOST_STEPS)
        look = f"look further with task.trial_steps={longer}, or, " if longer > self.steps else ""
        none = f"if it pays no others, say so with task.rewards={','.join(rewards.texts)}"
        warnings.warn(f"{what}: it may pay others; {look}{none}", stacklevel=5)
