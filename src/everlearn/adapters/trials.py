"""Try an environment with random actions, to find out its rewards and what its points look like."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from everlearn.adapters.making import Maker
from everlearn.adapters.rewards import MOST_TRIED, Rewards, number_paid, tried_rewards
from everlearn.blame import blame
from everlearn.errors import require
from everlearn.labels import few
from everlearn.notices import Notice

SEED = 0
"""The seed of every trial, so that the same environment always makes the same task."""

LONGEST_TRIAL = 1_000_000

LONGER = 20
"""If a trial was too short, one this many times longer is advised: Acrobot first terminates after 15,000 steps."""


class Step(NamedTuple):
    """One step of a trial, as Gymnasium reports it."""

    before: Any
    action: int
    after: Any
    reward: float
    terminated: bool
    truncated: bool = False
    past: int = 1
    """The number of steps of the episode before this one."""


@dataclass(frozen=True)
class Trial:
    """A trial of an environment.  It runs whenever it is iterated over, always with the same result."""

    maker: Maker
    steps: int

    def __post_init__(self) -> None:
        fine = 1 <= self.steps <= LONGEST_TRIAL
        require(fine, "task.trial_steps", self.steps, f"give at least 1, and at most {LONGEST_TRIAL:,}")

    def __iter__(self) -> Iterator[Step]:
        """Take random actions, and yield every step."""
        environment = self.maker.make()
        try:
            environment.action_space.seed(SEED)
            before, past = environment.reset(seed=SEED)[0], 0
            for _ in range(self.steps):
                action = int(environment.action_space.sample())
                with blame(f"environment {self.maker.name!r}: step", f"action {action}"):
                    after, reward, terminated, truncated, _ = environment.step(action)
                    ends = bool(terminated), bool(truncated)
                yield Step(before, action, after, number_paid(reward), *ends, past)
                with blame(f"environment {self.maker.name!r}: reset"):
                    before, past = (environment.reset()[0], 0) if any(ends) else (after, past + 1)
        finally:
            environment.close()

    def points(self) -> list[Any]:
        """Return every point of the trial."""
        points = []
        for step in self:
            points += [step.before, step.after] if step.past == 0 else [step.after]
        return points

    def rewards(self) -> Rewards:
        """Return every reward of the trial, and warn if the environment is likely to pay others.

        The share of steps that would pay something new is estimated by the share of rewards that were paid once (Good,
        1953).  If no episode terminated, what a termination pays is unknown.
        """
        counts: Counter[float] = Counter()
        terminated = False
        for step in self:
            counts[step.reward] += 1
            terminated = terminated or step.terminated
            if len(counts) > 100 * MOST_TRIED:
                break
        rewards = tried_rewards(counts)
        if not terminated:
            warnings.warn(TrialWarning(self, rewards, terminated=False), stacklevel=4)
        elif 1 in counts.values():
            warnings.warn(TrialWarning(self, rewards, terminated=True), stacklevel=4)
        return rewards


class TrialWarning(Notice):
    """A trial may not have shown every reward of an environment.

    Parameters
    ----------
    trial:
        the trial
    rewards:
        what it paid
    terminated:
        whether an episode was terminated; if so, some rewards were paid only once

    """

    def __init__(self, trial: Trial, rewards: Rewards, *, terminated: bool) -> None:
        self.environment, self.rewards, self.terminated = trial.maker.name, rewards, terminated
        why = "some were paid only once" if terminated else "no episode was terminated"
        what = f"{self.environment} paid {few(rewards.texts)} in a trial of {trial.steps:,} steps, and {why}"
        longer = min(LONGER * trial.steps, LONGEST_TRIAL)
        look = f"look further with task.trial_steps={longer}, or, " if longer > trial.steps else ""
        none = f"if it pays no others, say so with task.rewards={','.join(rewards.texts)}"
        super().__init__(f"{what}: it may pay others; {look}{none}")
