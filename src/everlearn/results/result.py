"""The result of runs: the curves, what made them, and what is known to compare them with."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from everlearn._version import __version__
from everlearn.protocol import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Result:
    """What runs of an agent on a task gave, in the task's own units.

    Examples
    --------
    >>> import everlearn as el
    >>> result = el.run("service-station", "always", parameters={"agent.policy": "fast"}, steps=1000, runs=3)
    >>> result.final["mean"]
    0.5005
    >>> result.per_run.shape == (3, result.times.size)
    True

    """

    task: str
    agent: str
    schedule: str | None
    parameters: Mapping[str, Any]
    """Every parameter of task, agent and schedule, given or default."""
    steps: int
    runs: int
    seed: int
    engine: str
    scaling: str
    """What the learner saw of the rewards."""
    times: NDArray[np.int64]
    total_reward: Table
    """The sum of rewards until each time, a row for each run."""
    policies: Table | None
    """The policy at each time: run, time, aleatoric state, action; None where the tables are large."""
    pairs: int | None
    """How many pairs of a memory and an aleatoric state the compiled engine expanded."""
    references: Mapping[str, float]
    """Average rewards known for the task, by name."""
    seconds: float
    version: str = field(default=__version__)

    @property
    def per_run(self) -> Table:
        """The cumulative average reward at each time, a row for each run."""
        return self.total_reward / self.times

    @property
    def average_reward(self) -> Table:
        """The mean over runs of the cumulative average reward, at each time."""
        return np.asarray(self.per_run.mean(axis=0))

    @property
    def standard_error(self) -> Table:
        """The standard error of ``average_reward`` over runs; nan where there is but one run."""
        if self.runs == 1:
            return np.full(self.times.size, math.nan)
        return np.asarray(self.per_run.std(axis=0, ddof=1) / math.sqrt(self.runs))

    @property
    def final(self) -> dict[str, float]:
        """Mean, standard error, least and greatest of the runs' average rewards at the end."""
        ends = self.per_run[:, -1]
        return {
            "mean": float(ends.mean()),
            "standard_error": float(self.standard_error[-1]),
            "min": float(ends.min()),
            "max": float(ends.max()),
        }

    @property
    def steps_per_second(self) -> float:
        """Steps of all runs together, a second."""
        return self.steps * self.runs / self.seconds

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON can hold it; what is not a number is None."""
        return {
            "task": self.task,
            "agent": self.agent,
            "schedule": self.schedule,
            "parameters": dict(self.parameters),
            "steps": self.steps,
            "runs": self.runs,
            "seed": self.seed,
            "engine": self.engine,
            "scaling": self.scaling,
            "pairs": self.pairs,
            "references": dict(self.references),
            "times": self.times.tolist(),
            "average_reward": self.average_reward.tolist(),
            "standard_error": [_number(value) for value in self.standard_error.tolist()],
            "final": {key: _number(value) for key, value in self.final.items()},
            "seconds": self.seconds,
            "steps_per_second": self.steps_per_second,
            "version": self.version,
        }

    def plot(self, reference: str | None = None, axes: Axes | None = None) -> Axes:
        """Draw the average reward over time with its uncertainty, and the known lines (or the one named)."""
        from everlearn.figures.curves import learning_curve

        return learning_curve(self, reference=reference, axes=axes)


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
