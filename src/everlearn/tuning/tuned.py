"""Run a search in a directory, and read its result: the best settings, and all candidates that were tried.

::

    tuned.toml    the agent with the best settings, for the spec of an experiment
    tried.parquet every candidate at the end of every rung (round of the search) and in the final, by task
    tried.png     the same as a figure; also tried.svg
    rungs/        one experiment per rung, with the new runs of that rung
    final/        the experiment whose runs were not used to choose

The same search gives the same files to the last byte, except for the manifests and cells of the experiments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from everlearn.experiments.directory import Directory
from everlearn.experiments.execute import Watcher
from everlearn.experiments.experiment import check_figure_formats
from everlearn.experiments.rows import Rows
from everlearn.experiments.spec import name_of
from everlearn.experiments.work import Threads, Workforce
from everlearn.files import expanded, refuse_unwritable
from everlearn.locks import working
from everlearn.registry import plain, settings_text
from everlearn.results.tables import encoded, rows_table
from everlearn.tuning.candidates import Candidate
from everlearn.tuning.halving import Standing, Tournament
from everlearn.tuning.scores import Estimate, difference, estimate, score
from everlearn.tuning.search import Range
from everlearn.tuning.snippet import toml, toml_key
from everlearn.tuning.spec import TuningSpec

ALL = "all tasks"
"""The name of the task in rows about all tasks together."""


class Tuned:
    """The result of a search, as :func:`everlearn.tune` returns it.

    Parameters
    ----------
    spec:
        the search
    path:
        its directory
    standings:
        the loss of every candidate at the end of every rung (a stage of the search, from which the best advance), and
        in the final

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
        from everlearn.figures.tried import Evaluated, tried

        check_figure_formats(formats)
        last = {standing.candidate.number: standing for standing in self.standings if standing.rung > 0}
        trials = [Evaluated(each.candidate.settings, self._score(each), each.rung) for each in last.values()]
        marked = {
            "default": Evaluated(self.default.settings, self.default_score.mean, self.rungs),
            "chosen": Evaluated(self.best.settings, self.score.mean, self.rungs),
        }
        ranges = {name: values for name, values in self.spec.search.items() if isinstance(values, Range)}
        logarithmic = [name for name, values in ranges.items() if values.scale == "log"]
        figure = tried(trials, marked, logarithmic, f"{self.spec.objective} loss" if self.several else "loss")
        folder = self.path if out is None else expanded(out)
        return [save_figure(figure, folder / f"tried.{form}") for form in formats]

    @property
    def several(self) -> bool:
        """Whether there are several tasks."""
        return len(self.final[1].units) > 1

    def to_toml(self) -> str:
        """Return the agent with the best settings as an entry ``[[agent]]``, with comments about its origin."""
        spec, tasks = self.spec.experiment, ", ".join(self.final[1].units)
        scores = f"{self.score.mean:.4g}, and {self.default_score.mean:.4g} by default"
        remarks = [
            f"Found by everlearn tune: {spec.name}, {spec.steps:,} steps on {tasks}.",
            f"Its loss over {self.spec.final_runs} fresh runs was {scores}.",
        ]
        lines = [*(f"# {' '.join(remark.split())}" for remark in remarks), "", "[[agent]]"]
        for key, value in self.agent.items():
            if isinstance(value, Mapping):
                lines += [f"{key}.{toml_key(name)} = {toml(each)}" for name, each in value.items() if each is not None]
            else:
                lines.append(f"{key} = {toml(value if isinstance(value, str) else name_of(value))}")
        return "\n".join(lines) + "\n"

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


def search(
    spec: TuningSpec, path: str | Path, *, workforce: Workforce | None = None, watcher: Watcher | None = None
) -> Tuned:
    """Run what is missing of a search in a directory, and return its result.

    Call it again to resume after an interruption; the result is the same.
    """
    refuse_unwritable(path)
    directory = Directory(path)
    directory.refuse_agents()
    tournament = Tournament(spec, directory.path, workforce or Threads(), watcher or Watcher())
    with working(directory.path):
        tuned = Tuned(spec, directory.path, tournament.run())
        directory.write("tried.parquet", encoded(rows_table(tuned.tried()), "parquet"))
        directory.write("tuned.toml", tuned.to_toml().encode())
        tuned.plot()
    return tuned


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
