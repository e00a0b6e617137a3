"""The result of a search: the best settings, their score on fresh runs, and all candidates that were tried."""

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
"""The name of the task in rows about all tasks together."""


class Tuned:
    """The result of a search, as :func:`everlearn.tune` returns it.

    Parameters
    ----------
    spec, path:
        the search, and its directory
    standings:
        the standings of every candidate at the end of every rung, and in the final

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
        self.final = {standing.candidate.number: standing for standing in standings if standing.rung == 0}
        self.rungs = max(standing.rung for standing in standings)
        self.best: Candidate = next(standing.candidate for standing in standings if standing.rung == self.rungs)
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
        """The loss of the best candidate in the final, on runs that were not used to choose it."""
        return self._estimate(self.best)

    @property
    def default_score(self) -> Estimate:
        """The loss of the default in the final."""
        return self._estimate(self.default)

    @cached_property
    def improvement(self) -> Estimate:
        """The loss of the default minus that of the best candidate in the final, over pairs of runs."""
        default, best = self.final[1].units, self.final[self.best.number].units
        return difference(default, best, self.spec.objective)

    @property
    def agent(self) -> dict[str, Any]:
        """The agent with the best settings, as an entry of :func:`everlearn.experiment` or of a spec."""
        entry = self.best.entry(self.spec.agent)
        agent = {"name": entry.given, "label": "tuned", "schedule": entry.schedules[0]}
        for key in ("parameters", "schedule_parameters"):
            given = getattr(entry, key)
            # A list would be a grid, so a value that is a list stays wrapped in another list.
            agent[key] = {name: values if isinstance(values[0], list) else values[0] for name, values in given.items()}
        return {key: value for key, value in agent.items() if value not in (None, {})}

    def table(self) -> Rows:
        """Return the losses of the candidates in the final, the chosen one first and the default last."""
        others = sorted(set(self.final) - {self.best.number, 1}, key=lambda number: self._score(self.final[number]))
        order = dict.fromkeys([self.best.number, *others, 1])
        return Rows(_final_row(self.final[number], self.spec.objective) for number in order)

    def tried(self) -> Rows:
        """Return one row per candidate, rung and task, and one for all tasks together; rung 0 is the final."""
        return Rows(row for standing in self.standings for row in _rows(standing, self.spec.objective))

    def plot(self, out: str | Path | None = None, *, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
        """Draw what was tried, with one panel per parameter, and return the paths of the figures."""
        from everlearn.figures.saving import save_figure
        from everlearn.figures.tried import Trial, tried

        for form in formats:
            if form not in FIGURE_FORMATS:
                raise InputError("format", form, f"give one of {', '.join(FIGURE_FORMATS)}")
        last = {standing.candidate.number: standing for standing in self.standings if standing.rung > 0}
        trials = [Trial(each.candidate.settings, self._score(each), each.rung) for each in last.values()]
        marked = {
            "default": Trial(self.default.settings, self.default_score.mean, self.rungs),
            "chosen": Trial(self.best.settings, self.score.mean, self.rungs),
        }
        ranges = {name: values for name, values in self.spec.search.items() if isinstance(values, Range)}
        logarithmic = [name for name, values in ranges.items() if values.scale == "log"]
        figure = tried(trials, marked, logarithmic, f"{self.spec.objective} loss" if self.several else "loss")
        folder = self.path if out is None else Path(out)
        return [save_figure(figure, folder / f"tried.{form}") for form in formats]

    @property
    def several(self) -> bool:
        """Whether there are several tasks."""
        return len(self.final[1].units) > 1

    def to_dict(self) -> dict[str, Any]:
        """Return the result as a JSON document."""
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


def _rows(standing: Standing, objective: str) -> list[dict[str, Any]]:
    by_task = {**{task: {task: units} for task, units in standing.units.items()}, ALL: standing.units}
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
        for task, units in by_task.items()
    ]


def _final_row(standing: Standing, objective: str) -> dict[str, Any]:
    return {
        "candidate": standing.candidate.label,
        "settings": dict(standing.candidate.settings),
        "runs": standing.runs,
        **_numbers(estimate(standing.units, objective)),
        "tasks": {task: float(units.mean()) for task, units in standing.units.items()},
    }


def _numbers(estimated: Estimate) -> dict[str, float | None]:
    return {"score": estimated.mean, "low": estimated.low, "high": estimated.high}
