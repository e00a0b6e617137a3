"""The result of runs: the curves, what made them, and what is known to compare them with."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from everlearn import notebook
from everlearn._version import __version__
from everlearn.errors import InputError
from everlearn.protocol import Table
from everlearn.results.platform import Platform
from everlearn.results.references import References

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.axes import Axes

ARRAYS = ("times", "total_reward", "policies")
"""The fields of a result that are arrays."""


@dataclass(frozen=True, eq=False)
class Result:
    """What runs of an agent on a task gave, in the task's own units.

    Two results are equal if everything is, but for ``seconds``, which is measured, ``platform``, on which they were
    computed, ``references``, which are of the task, and ``label``.

    Examples
    --------
    >>> import everlearn as el
    >>> result = el.run("service-station", "always", parameters={"agent.policy": "fast"}, steps=1000, runs=3)
    >>> result.final["mean"]
    0.5005
    >>> result.per_run.shape == (3, result.times.size)
    True
    >>> print(result)
    Result(always on service-station: 3 runs of 1,000 steps, seed 0, average reward 0.5005, standard error 0)
    optimum over all policies 0.5, best over aleatoric states 0.5, always fast 0.5, always slow 0.09094

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
    """Average rewards known for the task, by name: of the best policies, as far as these can be computed in a second or
    two (see :mod:`everlearn.theory.known`), and what the task states.  Computed when they are first asked for."""
    seconds: float
    version: str = field(default=__version__)
    platform: Platform = field(default_factory=Platform.here)
    """Where it was computed: on another platform the last bit may differ."""
    label: str = ""
    """What tables and figures call the agent: unless given, its name, and that of its schedule, where it has one."""

    def __post_init__(self) -> None:
        if not self.label:
            label = self.agent if self.schedule is None else f"{self.agent}, {self.schedule}"
            object.__setattr__(self, "label", label)
        if not isinstance(self.references, References):
            object.__setattr__(self, "references", References(self.references))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Result):
            return NotImplemented
        return self._described() == other._described() and all(
            _same(getattr(self, name), getattr(other, name)) for name in ARRAYS
        )

    def __repr__(self) -> str:
        runs = f"{self.runs:,} run" + ("s" if self.runs > 1 else "")
        final = self.final
        error = "" if self.runs == 1 else f", standard error {final['standard_error']:.2g}"
        what = f"{runs} of {self.steps:,} steps, seed {self.seed}, average reward {final['mean']:.4g}{error}"
        return f"Result({self.label} on {self.task}: {what})"

    def __str__(self) -> str:
        known = ", ".join(f"{name} {value:.4g}" for name, value in self.references.items())
        return f"{self!r}\n{known}" if known else repr(self)

    def _repr_html_(self) -> str:
        from everlearn.figures.curves import thumbnail

        rows = [[f"over {self.steps:,} steps", *self._numbers()]]
        rows += [[name, f"{value:.4f}", "", "", ""] for name, value in self.references.items()]
        columns = ("average reward", "mean", "standard error", "worst run", "best run")
        drawn = notebook.picture(thumbnail(self), f"average reward over time: {self!r}")
        return notebook.table(columns, rows, repr(self)) + drawn

    def _numbers(self) -> list[str]:
        """Return the end as a table shows it: mean, standard error, worst and best run."""
        return ["-" if math.isnan(value) else f"{value:.4f}" for value in self.final.values()]

    def _described(self) -> str:
        """Return everything that is compared, but for arrays, as a text."""
        left_out = {*ARRAYS, "seconds", "references", "platform", "label"}
        kept = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in left_out}
        return json.dumps({**kept, "parameters": dict(self.parameters)}, sort_keys=True, default=repr)

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
            "references": References(self.references).short(),
            "times": self.times.tolist(),
            "average_reward": self.average_reward.tolist(),
            "standard_error": [_number(value) for value in self.standard_error.tolist()],
            "final": {key: _number(value) for key, value in self.final.items()},
            "seconds": self.seconds,
            "steps_per_second": self.steps_per_second,
            "version": self.version,
            "platform": str(self.platform),
        }

    def to_arrow(self) -> pa.Table:
        """Return every run at every recording time as an Arrow table: ``run``, ``t``, rewards and regret."""
        from everlearn.results.arm import Recorded
        from everlearn.results.tables import runs_table

        runs, optimum = np.arange(self.runs), self.references.get("optimum")
        recorded = Recorded(self.task, self.label, {}, None, runs, self.times, self.total_reward, optimum)
        return runs_table([recorded]).drop_columns(["member"])

    def to_pandas(self) -> Any:
        """Return every run at every recording time as a data frame of pandas, which must be installed.

        The columns are ``task``, ``agent``, ``run``, ``t``, ``total_reward``, ``average_reward`` and ``regret``, which
        is against the optimum over all policies, and empty where that is not known.

        Examples
        --------
        >>> import everlearn as el
        >>> frame = el.run("riverswim", steps=100, runs=2).to_pandas()
        >>> frame.groupby("run").t.max().tolist()
        [100, 100]

        """
        if find_spec("pandas") is None:
            raise InputError("to_pandas", "pandas", "is not installed; install it with: pip install pandas")
        return self.to_arrow().to_pandas()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the result to a file, whole or not at all, and return its path; :func:`everlearn.load` reads it."""
        from everlearn.results.saving import save

        return save(self, path)

    def plot(self, reference: str | None = None, axes: Axes | None = None) -> Axes:
        """Draw the average reward over time with its uncertainty, and the known lines (or the one named)."""
        from everlearn.figures.curves import learning_curve

        return learning_curve(self, reference=reference, axes=axes)


def _same(one: Any, other: Any) -> bool:
    """Tell whether two arrays are equal, what is not a number being equal to itself."""
    if one is None or other is None:
        return one is other
    return bool(np.array_equal(one, other, equal_nan=True))


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
