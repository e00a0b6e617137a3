"""What a search found: the best settings, their score on fresh runs, and everything that was tried."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from everlearn.errors import InputError
from everlearn.experiments.experiment import FIGURE_FORMATS
from everlearn.experiments.rows import Rows
from everlearn.registry import plain, settings_text
from everlearn.tuning.candidates import Candidate
from everlearn.tuning.halving import Standing
from everlearn.tuning.scores import Estimate, difference, estimate, score
from everlearn.tuning.search import Range
from everlearn.tuning.spec import TuningSpec

ALL = "all tasks"
"""What the task is called in a row that is of all of them together."""


class Tuned:
    """A search that was done, as :func:`everlearn.tune` returns it.

    Parameters
    ----------
    spec, path:
        what was searched, and where it is kept
    standings:
        how every candidate stood at the end of every rung, and in the final

    Examples
    --------
    >>> import everlearn as el
    >>> tuned = el.tune({"steps": 200, "runs": 2, "candidates": 3, "final_runs": 4, "task": "riverswim",
    ...                  "agent": "growing-horizon", "search": {"schedule.horizon_scale": {"low": 1, "high": 9}}})
    >>> tuned.best.number in (1, 2, 3, 4), tuned.score.low <= tuned.score.mean <= tuned.score.high
    (True, True)
    >>> tuned.agent["name"], sorted(tuned.agent)
    ('growing-horizon', ['label', 'name', 'schedule_parameters'])

    """

    def __init__(self, spec: TuningSpec, path: Path, standings: Sequence[Standing]) -> None:
        self.spec, self.path, self.standings = spec, path, list(standings)
        self.final = {one.candidate.number: one for one in standings if one.rung == 0}
        self.rungs = max(one.rung for one in standings)
        self.best: Candidate = next(one.candidate for one in standings if one.rung == self.rungs)
        self.default: Candidate = self.final[1].candidate

    def __repr__(self) -> str:
        name, score, default = self.spec.experiment.name, self.score, self.default_score
        chosen = settings_text(self.best.settings) or "the default"
        return (
            f"Tuned({name!r} in {str(self.path)!r}: {chosen}, loss {score.mean:.4g}, of the default {default.mean:.4g})"
        )

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.table()._repr_html_()}"

    @property
    def score(self) -> Estimate:
        """What the best candidate lost in the final, on runs that had no part in choosing it."""
        return self._estimate(self.best)

    @property
    def default_score(self) -> Estimate:
        """What the default lost in the final."""
        return self._estimate(self.default)

    @cached_property
    def improvement(self) -> Estimate:
        """By how much the best candidate lost less than the default in the final, over pairs of runs."""
        ours, theirs = self.final[self.best.number].units, self.final[1].units
        return difference(theirs, ours, self.spec.objective)

    @property
    def agent(self) -> dict[str, Any]:
        """The agent with the best settings, as :func:`everlearn.experiment` and the spec of an experiment take it."""
        entry = self.best.entry(self.spec.agent)
        found = {"name": entry.given, "label": "tuned", "schedule": entry.schedules[0]}
        for key in ("parameters", "schedule_parameters"):
            given = getattr(entry, key)
            # A list of values would be a grid, so that a value that is itself a list is wrapped in one.
            found[key] = {name: values if isinstance(values[0], list) else values[0] for name, values in given.items()}
        return {key: value for key, value in found.items() if value not in (None, {})}

    def table(self) -> Rows:
        """Return how the best candidates did in the final, the chosen one first, and the default last."""
        others = sorted(set(self.final) - {self.best.number, 1}, key=self._final_score)
        order = dict.fromkeys([self.best.number, *others, 1])
        return Rows(_final_row(self.final[number], self.spec.objective) for number in order)

    def tried(self) -> Rows:
        """Return a row for each candidate, rung and task, and one for all tasks together; rung 0 is the final."""
        return Rows(row for one in self.standings for row in _rows(one, self.spec.objective))

    def plot(self, out: str | Path | None = None, *, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
        """Draw what was tried, a panel for each parameter, and return where the figures are."""
        from everlearn.figures.saving import save_figure
        from everlearn.figures.tried import Trial, tried

        for form in formats:
            if form not in FIGURE_FORMATS:
                raise InputError("format", form, f"give one of {', '.join(FIGURE_FORMATS)}")
        last = {one.candidate.number: one for one in self.standings if one.rung > 0}
        trials = [Trial(one.candidate.settings, self._score(one), one.rung) for one in last.values()]
        marked = {
            name: Trial(one.settings, self._estimate(one).mean, self.rungs)
            for name, one in (("default", self.default), ("chosen", self.best))
        }
        logarithmic = [name for name, one in self.spec.search.items() if isinstance(one, Range) and one.scale == "log"]
        figure = tried(trials, marked, logarithmic, f"{self.spec.objective} loss" if self.several else "loss")
        folder = self.path if out is None else Path(out)
        return [save_figure(figure, folder / f"tried.{form}") for form in formats]

    @property
    def several(self) -> bool:
        """Whether there are several tasks."""
        return len(self.final[1].units) > 1

    def to_dict(self) -> dict[str, Any]:
        """Return what was found as JSON can hold it."""
        return {
            "name": self.spec.experiment.name,
            "directory": str(self.path),
            "agent": plain(self.agent),
            "settings": dict(self.best.settings),
            "candidate": self.best.number,
            "score": self.score._asdict(),
            "default_score": self.default_score._asdict(),
            "improvement": self.improvement._asdict(),
            "final": list(self.table()),
            "tried": list(self.tried()),
        }

    def _estimate(self, candidate: Candidate) -> Estimate:
        return estimate(self.final[candidate.number].units, self.spec.objective)

    def _score(self, standing: Standing) -> float:
        return score(standing.units, self.spec.objective)

    def _final_score(self, number: int) -> float:
        return self._score(self.final[number])


def _rows(standing: Standing, objective: str) -> list[dict[str, Any]]:
    everything = {**{task: {task: units} for task, units in standing.units.items()}, ALL: standing.units}
    return [
        {
            "candidate": standing.candidate.number,
            "settings": dict(standing.candidate.settings),
            "rung": standing.rung,
            "runs": standing.runs,
            "kept": standing.kept,
            "task": task,
            **_numbers(estimate(units, objective)),
        }
        for task, units in everything.items()
    ]


def _final_row(standing: Standing, objective: str) -> dict[str, Any]:
    return {
        "candidate": standing.candidate.label,
        "settings": dict(standing.candidate.settings),
        "runs": standing.runs,
        **_numbers(estimate(standing.units, objective)),
        "tasks": {task: float(units.mean()) for task, units in standing.units.items()},
    }


def _numbers(found: Estimate) -> dict[str, float | None]:
    return {"score": found.mean, "low": found.low, "high": found.high}
