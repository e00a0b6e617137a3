"""The plan of a simulation: everything that determines its results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.design import Design
from everlearn.engine.curves import PER_DECADE, Curves, recording_times
from everlearn.errors import require
from everlearn.grids import Grid
from everlearn.protocol import Knowledge
from everlearn.registry import MOST_STEPS
from everlearn.tasks.registry import make_task
from everlearn.tasks.task import Task

Progress: TypeAlias = Callable[[int], None]
"""Called now and then with the number of steps taken since the last call."""

Finished: TypeAlias = Callable[[Knowledge], object]
"""Called with what the first run knows at its end."""

POLICY_CELLS = 256
"""Policies are recorded up to this many aleatoric states times actions."""


@dataclass(frozen=True)
class Plan:
    """What to run: a task as the design sees it, a design, the number of steps and runs, and the seed."""

    task: Task
    design: Design
    steps: int
    runs: int
    seed: int
    per_decade: int = PER_DECADE
    """The number of recording times per decade."""
    times: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "task", self.design.view(make_task(self.task)))
        require(self.steps >= 1, "steps", self.steps, "give at least 1")
        require(self.steps <= MOST_STEPS, "steps", self.steps, f"give at most {MOST_STEPS:,}")
        require(self.runs >= 1, "runs", self.runs, "give at least 1")
        object.__setattr__(self, "times", recording_times(self.steps, self.per_decade))

    @property
    def policy_shape(self) -> tuple[int, int] | None:
        """The shape of a recorded policy, or None if there is no policy function, or no table of all states."""
        shape = (len(self.task.states), len(self.task.actions))
        recorded = self.design.policy is not None and not isinstance(self.task.states, Grid)
        return shape if recorded and shape[0] * shape[1] <= POLICY_CELLS else None

    def blank_curves(self, runs: int) -> Curves:
        """Return curves of zeros for a number of runs, to be filled in."""
        shape = self.policy_shape
        policies = None if shape is None else np.zeros((runs, self.times.size, *shape))
        return Curves(self.times, np.zeros((runs, self.times.size)), policies)
