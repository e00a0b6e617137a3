"""An experiment in a directory, finished or not: its tables, comparisons and figures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from everlearn import notebook
from everlearn.analysis.comparison import comparisons
from everlearn.analysis.matrix import Comparisons
from everlearn.analysis.measures import known_measure, measurable
from everlearn.analysis.names import agent_names, known_averages, task_names
from everlearn.analysis.statistics import regret_table, summary
from everlearn.errors import Damaged, InputError, StoreError
from everlearn.experiments.directory import Directory
from everlearn.experiments.manifest import Manifest, platforms
from everlearn.experiments.rows import Rows
from everlearn.experiments.tables import read_arms, read_results
from everlearn.files import expanded, refuse_unwritable, replacing
from everlearn.labels import counted
from everlearn.results.arm import Arm, arms
from everlearn.results.result import Result
from everlearn.results.store import full_disk
from everlearn.results.tables import FORMATS, encoded, runs_table

if TYPE_CHECKING:
    import pyarrow as pa

FIGURE_FORMATS = ("png", "svg", "pdf")

SHOWN = ("final", "late", "relative regret")
"""The measures that are shown by default."""


def check_figure_formats(formats: Sequence[str]) -> None:
    """Raise if there is a format in which figures cannot be saved."""
    for form in formats:
        if form not in FIGURE_FORMATS:
            raise InputError("format", form, f"give one of {', '.join(FIGURE_FORMATS)}")


class Experiment:
    """An experiment directory, as written by :func:`everlearn.experiment` and ``everlearn experiment run``.

    To read it you need only the directory, not the code of its tasks or agents.

    Examples
    --------
    >>> import everlearn as el
    >>> experiment = el.experiment("riverswim", ["growing-horizon", "always"], steps=1000, runs=4, seed=1)
    >>> experiment.status["cells_done"], len(experiment.arms)
    (2, 2)
    >>> [(row["agent"], row["measure"]) for row in experiment.table(["final"])]
    [('growing-horizon, practical', 'final'), ('always', 'final')]

    """

    def __init__(self, path: str | Path, *, temporary: bool = False) -> None:
        self.temporary = temporary
        """Whether the directory is removed with this object."""
        self.directory = Directory(path)
        self.manifest: Manifest = self.directory.read_manifest()

    def __repr__(self) -> str:
        agents, tasks = ({entry[kind] for entry in self.manifest["variants"]} for kind in ("agent", "task"))
        what = f"{counted(len(agents), 'agent')} on {counted(len(tasks), 'task')}"
        runs = f"{counted(self.manifest['runs'], 'run')} of {self.manifest['steps']:,} steps"
        return f"Experiment({self.manifest['name']!r} in {str(self.directory.path)!r}: {what}, {runs})"

    def _repr_html_(self) -> str:
        try:
            rows = self.table(SHOWN)
        except StoreError as error:
            return notebook.table((), [[error]], repr(self))
        known = dict(zip(task_names(self.arms), map(known_averages, self.arms), strict=True))
        notes = [f"{task}: {averages}" for task, averages in known.items() if averages]
        return rows.html("measure", repr(self), ["below each mean its 95% interval, by bootstrap", *notes])

    @cached_property
    def recorded(self) -> list[Arm]:
        """The finished runs of every agent on every task, with one entry per member of a family."""
        recorded = read_arms(self.directory)
        if not recorded:
            steps = self.manifest["steps"]
            raise StoreError(f"no cell has reached {steps:,} steps yet; run it again to resume", self.directory.path)
        return recorded

    @cached_property
    def arms(self) -> list[Arm]:
        """Every agent on every task, with the members of a family combined into one entry."""
        return arms(self.recorded)

    @cached_property
    def results(self) -> list[Result]:
        """The result of every agent on every task, in the order of the spec, as :func:`everlearn.run` returns it."""
        return read_results(self.directory)

    @property
    def status(self) -> dict[str, Any]:
        """The progress as a JSON document: cells and steps done, what is damaged, and how long it took."""
        damaged: list[Damaged] = []
        runs = {cell["name"]: range(*cell["runs"]) for entry in self.manifest["variants"] for cell in entry["cells"]}
        steps, begun, done, steps_done, seconds = self.manifest["steps"], 0, 0, 0, 0.0
        for name, cell in self.directory.read_cells(list(runs), damaged):
            if cell is not None:
                done += cell.checkpoint.t >= steps
                begun += cell.checkpoint.t < steps
                steps_done += min(cell.checkpoint.t, steps) * len(runs[name])
                seconds += cell.notes.get("seconds", 0.0)
        stored = {path.stem for path in self.directory.cells.directory.glob("*.npz")}
        return {
            "name": self.manifest["name"],
            "directory": str(self.directory.path),
            "complete": done == len(runs),
            "cells": len(runs),
            "cells_done": done,
            "cells_begun": begun,
            "steps": steps * sum(map(len, runs.values())),
            "steps_done": steps_done,
            "seconds_worked": seconds,
            "cells_unused": len(stored - runs.keys()),
            "damaged": [str(error) for error in damaged],
            "steps_each": steps,
            "tables_steps": self.manifest["tables_steps"],
            "altered_tables": self.directory.altered_tables(),
            "provenance": self.manifest["provenance"],
            "platforms": [str(platform) for platform in platforms(self.manifest)],
        }

    def table(self, measures: Sequence[str] | None = None, *, confidence: float = 0.95) -> Rows:
        """Return a row for each agent, task and measure, with a confidence interval over runs or members of a family.

        ``measures`` are among ``final`` (the average reward over all steps), ``late`` (over the last nine tenths of the
        steps), ``anytime`` (the mean of the average reward over logarithmic time), ``regret`` and ``relative regret``
        (the optimum minus ``final``, divided by the absolute value of the optimum); by default all.  A measure that
        needs an unknown optimum has no row.
        """
        listed = (measures,) if isinstance(measures, str) else measures
        chosen = {} if listed is None else {"measures": tuple(listed)}
        return Rows(summary(self.arms, confidence=confidence, **chosen))

    def regret(self, *, confidence: float = 0.95) -> Rows:
        """Return realized regret against the optimum over all policies, at several times.

        If only bounds of the optimum are known, ``mean`` is the regret against the lower bound, and ``mean_upper`` is
        the regret against the upper bound.  If nothing is known, there are no rows.
        """
        return Rows(regret_table(self.arms, confidence=confidence))

    def compare(
        self, measure: str = "final", *, against: str | None = None, all_pairs: bool = False, confidence: float = 0.95
    ) -> Comparisons:
        """Compare agents on the same task and return a matrix; runs with the same random numbers are compared in pairs.

        By default each agent is compared with the first.  Pass the name of another agent as ``against``, or pass
        ``all_pairs=True`` to compare every agent with every other.  In the matrix, ``rows`` has each comparison as a
        dict, and ``sentences`` has each as text.

        Examples
        --------
        >>> import everlearn as el
        >>> experiment = el.experiment("riverswim", ["always", "growing-horizon"], steps=1000, runs=8)
        >>> [(row.agent, row.against, row.verdict) for row in experiment.compare("regret")]
        [('growing-horizon, practical', 'always', 'better')]

        """
        if all_pairs and against is not None:
            raise InputError("against", against, "leave it out with all_pairs, or leave out all_pairs")
        kept = [arm for arm in self.arms if measurable(arm, measure)]
        if against is None and not all_pairs and kept:
            against = agent_names(kept)[0]
        return Comparisons(comparisons(self.arms, measure, against, confidence), measure, confidence)

    def plot(
        self, out: str | Path | None = None, *, formats: Sequence[str] = ("png", "svg"), measure: str = "final"
    ) -> list[Path]:
        """Draw average reward, regret if the optimum is known, and heat maps of swept parameters; return the paths."""
        from everlearn.figures.gallery import draw_figures
        from everlearn.figures.saving import save_figure

        folder = self._output_path(out, "figures")
        refuse_unwritable(folder)
        known_measure(measure)
        check_figure_formats(formats)
        figures = draw_figures(self.arms, measure)
        return [save_figure(figure, folder / f"{name}.{form}") for name, figure in figures.items() for form in formats]

    def to_arrow(self) -> pa.Table:
        """Return every run at every recording time as an Arrow table, which pandas and polars can read."""
        return runs_table(self.recorded)

    def export(self, form: str = "parquet", out: str | Path | None = None) -> Path:
        """Write every run at every recording time to a file of the given format, and return its path."""
        if form not in FORMATS:
            raise InputError("format", form, f"give one of {', '.join(FORMATS)}")
        path = self._output_path(out, f"runs.{form}")
        with full_disk(path), replacing(path) as file:
            file.write(encoded(self.to_arrow(), form))
        return path

    def _output_path(self, out: str | Path | None, name: str) -> Path:
        """Return ``out``, or by default a path in the directory of the experiment, unless that is temporary."""
        if out is None and self.temporary:
            remedy = "say where to write; this experiment is in a temporary directory, which is removed with it"
            raise InputError("out", None, remedy)
        return self.directory.path / name if out is None else expanded(out)
