"""The result of runs: the curves, how they were made, and what they can be compared with."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from everlearn import notebook
from everlearn._version import __version__
from everlearn.errors import InputError, require
from everlearn.protocol import Table
from everlearn.results.arm import Arm, finite, standard_error, with_policy
from everlearn.results.platform import Platform
from everlearn.results.references import References

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.axes import Axes

ARRAYS = ("times", "total_reward", "policies")
"""The fields of a result that are arrays."""

_SETUP = ("task", "agent", "schedule", "parameters", "steps", "runs", "seed", "engine", "scaling", "pairs")
"""The fields that say what was run."""


@dataclass(frozen=True, eq=False)
class Result:
    """The result of running an agent on a task, in the task's own units.

    Two results are equal if all fields are equal except ``seconds``, ``platform``, ``references`` and ``label``.

    Examples
    --------
    >>> import everlearn as el
    >>> result = el.run("service-station", "always", parameters={"agent.policy": "fast"}, steps=1000, runs=3)
    >>> result.final["mean"]
    0.5005
    >>> result.per_run.shape == (3, result.times.size)
    True
    >>> print(result)
    Result(always fast on service-station: 3 runs of 1,000 steps, seed 0, average reward 0.5005, standard error 0)
    optimum over all policies 0.5, best over aleatoric states 0.5, always fast 0.5, always slow 0.09094

    """

    task: str
    agent: str
    schedule: str | None
    parameters: Mapping[str, Any]
    """Every parameter of the task, the agent and the schedule, including defaults."""
    steps: int
    runs: int
    seed: int
    engine: str
    scaling: str
    """How rewards were scaled for the agent."""
    times: NDArray[np.int64]
    total_reward: Table
    """The sum of rewards until each time, one row per run."""
    policies: Table | None
    """The policy at each time: run, time, aleatoric state, action; None if the design has no policy
    function or the tables would be large."""
    pairs: int | None
    """The number of pairs of a memory and an aleatoric state whose outcomes the compiled engine computed; None with the
    reference engine."""
    references: Mapping[str, float]
    """Known average rewards by name: those in ``Task.references``, and those of the best policies if they can be
    computed in a few seconds (see :mod:`everlearn.theory.known`).  They are computed on first use.  If the memory is
    hidden and the lower and the upper bound of the optimum differ, :class:`everlearn.Theory` may find narrower bounds,
    because it computes longer."""
    seconds: float
    version: str = field(default=__version__)
    platform: Platform = field(default_factory=Platform.here)
    """Where it was computed.  On another platform the last bit may differ."""
    label: str = ""
    """The agent's name in tables and figures: by default its name, its policy if that is fixed, and its schedule."""

    def __post_init__(self) -> None:
        if not self.label:
            name = with_policy(self.agent, self.parameters)
            object.__setattr__(self, "label", name if self.schedule is None else f"{name}, {self.schedule}")
        if not isinstance(self.references, References):
            object.__setattr__(self, "references", References(self.references))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Result):
            return NotImplemented
        arrays = ((getattr(self, name), getattr(other, name)) for name in ARRAYS)
        texts = [json.dumps(each._setup(), sort_keys=True, default=repr) for each in (self, other)]
        return (
            texts[0] == texts[1]
            and self.version == other.version
            and all(
                mine is theirs if mine is None or theirs is None else np.array_equal(mine, theirs, equal_nan=True)
                for mine, theirs in arrays
            )
        )

    def __repr__(self) -> str:
        runs = f"{self.runs:,} run" + ("s" if self.runs > 1 else "")
        final = self.final
        error = "" if self.runs == 1 else f", standard error {final['standard_error']:.2g}"
        summary = f"{runs} of {self.steps:,} steps, seed {self.seed}, average reward {final['mean']:.4g}{error}"
        return f"Result({self.label} on {self.task}: {summary})"

    def __str__(self) -> str:
        known = ", ".join(f"{name} {value:.4g}" for name, value in self.references.items())
        return f"{self!r}\n{known}" if known else repr(self)

    def _repr_html_(self) -> str:
        from everlearn.figures.curves import thumbnail

        numbers = ["-" if math.isnan(value) else f"{value:.4f}" for value in self.final.values()]
        rows = [[f"over {self.steps:,} steps", *numbers]]
        rows += [[name, f"{value:.4f}", "", "", ""] for name, value in self.references.items()]
        columns = ("average reward", "mean", "standard error", "worst run", "best run")
        drawn = notebook.picture(thumbnail(self), f"average reward over time: {self!r}")
        return notebook.table(columns, rows, repr(self)) + drawn

    def _setup(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _SETUP} | {"parameters": dict(self.parameters)}

    @property
    def per_run(self) -> Table:
        """The cumulative average reward at each time, one row per run."""
        return self.total_reward / self.times

    @property
    def average_reward(self) -> Table:
        """The mean over runs of the cumulative average reward, at each time."""
        return np.asarray(self.per_run.mean(axis=0))

    @property
    def standard_error(self) -> Table:
        """The standard error of ``average_reward`` over runs; nan if there is only one run."""
        return standard_error(self.per_run)

    @property
    def final(self) -> dict[str, float]:
        """Mean, standard error, minimum and maximum of the runs' average rewards at the end."""
        ends = self.per_run[:, -1]
        return {
            "mean": float(ends.mean()),
            "standard_error": float(self.standard_error[-1]),
            "min": float(ends.min()),
            "max": float(ends.max()),
        }

    @property
    def steps_per_second(self) -> float:
        """Steps per second, all runs together."""
        return self.steps * self.runs / self.seconds

    def to_dict(self) -> dict[str, Any]:
        """Return the result as a JSON document; numbers that are not finite are None."""
        return {
            **self._setup(),
            "references": References(self.references).short(),
            "times": self.times.tolist(),
            "average_reward": self.average_reward.tolist(),
            "standard_error": [finite(value) for value in self.standard_error],
            "final": {key: finite(value) for key, value in self.final.items()},
            "seconds": self.seconds,
            "steps_per_second": self.steps_per_second,
            "version": self.version,
            "platform": str(self.platform),
        }

    def to_arrow(self) -> pa.Table:
        """Return every run at every recording time as an Arrow table: ``run``, ``t``, rewards and regret."""
        from everlearn.results.tables import runs_table

        known = [self.references.get(name) for name in ("optimum", "optimum_lower", "optimum_upper")]
        optimum, lower, upper = (None if value is None else np.full(self.runs, value) for value in known)
        best = lower if optimum is None else optimum
        arm = Arm(self.task, self.label, {}, self.times, self.total_reward, best, optimum_upper=upper)
        return runs_table([arm]).drop_columns(["member"])

    def to_pandas(self) -> Any:
        """Return every run at every recording time as a pandas data frame; pandas must be installed.

        The columns are ``task``, ``agent``, ``run``, ``t``, ``total_reward``, ``average_reward``, ``regret`` and
        ``regret_upper``.  The regret is against the optimum over all policies.  If only bounds of the optimum are
        known, ``regret`` is against the lower and ``regret_upper`` against the upper bound; otherwise ``regret_upper``
        is empty.  If nothing is known, both are empty.

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
        """Write the result to a file atomically and return its path; :func:`everlearn.load` reads it."""
        from everlearn.results.saving import save

        return save(self, path)

    def plot(
        self, measure: str = "average reward", *, reference: float | str | None = None, axes: Axes | None = None
    ) -> Axes:
        """Draw a measure over time with its uncertainty.

        Parameters
        ----------
        measure:
            ``average reward`` or ``regret`` (:func:`everlearn.regret` returns its numbers)
        reference:
            for ``average reward``, the name of the only reference to draw; by default all are drawn.  For ``regret``,
            the name of a reference or an average reward to compare with; by default the optimum over all policies
        axes:
            draw on these axes instead of a new figure

        """
        from everlearn.figures.curves import learning_curve
        from everlearn.figures.regret import regret_curve

        if measure == "regret":
            return regret_curve(self, reference=reference, axes=axes)
        remedy = "draw 'average reward' or 'regret'; name a line with reference=..."
        require(measure == "average reward", "measure", measure, remedy)
        return learning_curve(self, reference=reference, axes=axes)
