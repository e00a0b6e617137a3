"""An experiment that was done, or is under way: its tables, comparisons and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from everlearn import notebook
from everlearn.analysis.comparison import comparisons
from everlearn.analysis.matrix import Comparisons
from everlearn.analysis.measures import known_measure, measurable
from everlearn.analysis.names import agent_names, known_averages, task_names
from everlearn.analysis.statistics import regret_table, summary
from everlearn.errors import InputError, StoreError
from everlearn.experiments.directory import Directory
from everlearn.experiments.gather import recorded, results
from everlearn.experiments.platforms import platforms
from everlearn.experiments.rows import Rows
from everlearn.files import refuse_unwritable, replacing
from everlearn.labels import counted
from everlearn.results.arm import Arm, arms
from everlearn.results.result import Result
from everlearn.results.store import full_disk
from everlearn.results.tables import FORMATS, encoded, runs_table

if TYPE_CHECKING:
    import pyarrow as pa

FIGURE_FORMATS = ("png", "svg", "pdf")

SHOWN = ("final", "late", "relative regret")
"""What a person is shown of the measures unless others are asked for."""


class Experiment:
    """An experiment directory, as written by :func:`everlearn.experiment` and ``everlearn experiment run``.

    To read it you need only the directory, not the code of its tasks or agents.

    Examples
    --------
    >>> import everlearn as el
    >>> experiment = el.experiment("service-station", ["growing-horizon", "always"], steps=1000, runs=4, seed=1)
    >>> experiment.status["cells_done"], len(experiment.arms)
    (2, 2)
    >>> [(row["agent"], row["measure"]) for row in experiment.table(["final"])]
    [('growing-horizon, practical', 'final'), ('always', 'final')]

    """

    def __init__(self, path: str | Path, *, temporary: bool = False) -> None:
        self.temporary = temporary
        """Whether the directory is removed together with this object."""
        self.directory = Directory(path)
        self.manifest: Mapping[str, Any] = self.directory.described()

    def __repr__(self) -> str:
        kinds = {kind: len({entry[kind] for entry in self.manifest["variants"]}) for kind in ("agent", "task")}
        what = " on ".join(counted(number, kind) for kind, number in kinds.items())
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
        """What was recorded of every variant, of the runs that are finished."""
        found = recorded(self.directory)
        if not found:
            steps = self.manifest["steps"]
            raise StoreError(f"{self.directory.path}: no cell has reached {steps:,} steps yet; run it again to go on")
        return found

    @cached_property
    def arms(self) -> list[Arm]:
        """One agent on one task each, as statistics and figures see them."""
        return arms(self.recorded)

    @cached_property
    def results(self) -> list[Result]:
        """What each agent gave on each task, in the order of the spec, each as :func:`everlearn.run` returns it."""
        return results(self.directory)

    @property
    def status(self) -> dict[str, Any]:
        """How far it is: cells and steps done, what is damaged, and what it took."""
        damaged: list[str] = []
        names = {cell["name"]: cell["runs"] for entry in self.manifest["variants"] for cell in entry["cells"]}
        steps, begun, done, taken, seconds = self.manifest["steps"], 0, 0, 0, 0.0
        for name, found in self.directory.read_cells(list(names), damaged):
            if found is not None:
                checkpoint, notes = found
                done += checkpoint.t >= steps
                begun += checkpoint.t < steps
                taken += min(checkpoint.t, steps) * (names[name][1] - names[name][0])
                seconds += notes.get("seconds", 0.0)
        total = steps * sum(last - first for first, last in names.values())
        return {
            "name": self.manifest["name"],
            "directory": str(self.directory.path),
            "complete": done == len(names),
            "cells": len(names),
            "cells_done": done,
            "cells_begun": begun,
            "steps": total,
            "steps_done": taken,
            "seconds_worked": seconds,
            "cells_unused": len({path.stem for path in self.directory.cells.directory.glob("*.npz")} - names.keys()),
            "damaged": damaged,
            "steps_each": steps,
            "tables_steps": self.manifest["tables_steps"],
            "altered_tables": self.directory.altered_tables(),
            "provenance": self.manifest["provenance"],
            "platforms": [str(platform) for platform in platforms(self.manifest)],
        }

    def table(self, measures: Sequence[str] | None = None, *, confidence: float = 0.95) -> Rows:
        """Return a row for each agent, task and measure, with an interval over runs."""
        listed = (measures,) if isinstance(measures, str) else measures
        chosen = {} if listed is None else {"measures": tuple(listed)}
        return Rows(summary(self.arms, confidence=confidence, **chosen))

    def regret(self, *, confidence: float = 0.95) -> Rows:
        """Return realized regret against the exact optimum at several times, where that is known."""
        return Rows(regret_table(self.arms, confidence=confidence))

    def compare(
        self, measure: str = "final", *, against: str | None = None, all_pairs: bool = False, confidence: float = 0.95
    ) -> Comparisons:
        """Compare agents on the same task in pairs of runs with the same random numbers; printed, it is a matrix.

        Every agent is compared with the first, or with the one that ``against`` names; with ``all_pairs``, with every
        other.  Of what is returned, ``sentences`` says the same in words, and ``rows`` has the numbers.

        Examples
        --------
        >>> import everlearn as el
        >>> experiment = el.experiment("riverswim", ["always", "growing-horizon"], steps=1000, runs=8)
        >>> [(one.agent, one.against, one.verdict) for one in experiment.compare("regret")]
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
        """Draw average reward, regret where the optimum is known, and sweeps; return where the figures are."""
        from everlearn.figures.multiples import average_rewards, regrets
        from everlearn.figures.saving import save_figure
        from everlearn.figures.sweep import heat_maps, swept

        folder = self._place(out, "figures")
        refuse_unwritable(folder)
        known_measure(measure)
        for form in formats:
            if form not in FIGURE_FORMATS:
                raise InputError("format", form, f"give one of {', '.join(FIGURE_FORMATS)}")
        figures = {"average-reward": average_rewards(self.arms)}
        if any(arm.optimum is not None for arm in self.arms):
            figures["regret"] = regrets(self.arms)
        if swept(self.arms):
            figures[f"sweep-{measure.replace(' ', '-')}"] = heat_maps(self.arms, measure)
        return [save_figure(figure, folder / f"{name}.{form}") for name, figure in figures.items() for form in formats]

    def to_arrow(self) -> pa.Table:
        """Return every run at every recording time as an Arrow table, which pandas and polars take as it is."""
        return runs_table(self.recorded)

    def export(self, form: str = "parquet", out: str | Path | None = None) -> Path:
        """Write every run at every recording time to a file of the given format, and return where it is."""
        if form not in FORMATS:
            raise InputError("format", form, f"give one of {', '.join(FORMATS)}")
        path = self._place(out, f"runs.{form}")
        with full_disk(path), replacing(path) as file:
            file.write(encoded(self.to_arrow(), form))
        return path

    def _place(self, out: str | Path | None, name: str) -> Path:
        """Return where to write something: where the user says, or in the directory, if that will remain."""
        if out is None and self.temporary:
            remedy = "say where to write; this experiment is in a temporary directory, which is removed with it"
            raise InputError("out", None, remedy)
        return self.directory.path / name if out is None else Path(out)
