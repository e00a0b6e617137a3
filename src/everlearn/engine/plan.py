"""What is to be run, and what comes of it: the words that runner and engines share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.design import Design
from everlearn.engine.times import PER_DECADE, recording_times
from everlearn.errors import require
from everlearn.protocol import Table
from everlearn.registry import MOST_STEPS
from everlearn.tasks.registry import make_task
from everlearn.tasks.task import Task

Progress: TypeAlias = Callable[[int], None]
"""Called now and then with the number of steps done since it was last called."""

POLICY_CELLS = 256
"""Up to how many aleatoric states times actions the policy is recorded beside the rewards."""


@dataclass(frozen=True)
class Plan:
    """What is to be run: everything on which the outcome depends."""

    task: Task
    """As the design learns from it."""
    design: Design
    steps: int
    runs: int
    seed: int
    per_decade: int = PER_DECADE
    """How many recording times there are in a decade."""
    times: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "task", self.design.view(make_task(self.task)))
        require(self.steps >= 1, "steps", self.steps, "give at least 1")
        require(self.steps <= MOST_STEPS, "steps", self.steps, f"give at most {MOST_STEPS:,}")
        require(self.runs >= 1, "runs", self.runs, "give at least 1")
        object.__setattr__(self, "times", recording_times(self.steps, self.per_decade))


class Finished(NamedTuple):
    """A run at its end."""

    run: int
    total_reward: Table
    """The sum of rewards, in the task's own units, at each recording time."""
    policies: Table | None
    """The policy at each recording time: the probability of each action in each aleatoric state."""


def policy_shape(plan: Plan) -> tuple[int, int] | None:
    """Return how large a recorded policy is, or None where it is too large or the design tells none."""
    shape = (len(plan.task.states), len(plan.task.actions))
    return None if plan.design.policy is None or shape[0] * shape[1] > POLICY_CELLS else shape


def recorded_policies(plan: Plan, runs: int) -> Table | None:
    """Return room for the policies of so many runs, or None where they are not recorded."""
    shape = policy_shape(plan)
    return None if shape is None else np.zeros((runs, plan.times.size, *shape))
