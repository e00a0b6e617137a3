"""The reproduction of the paper: run what it needs, draw every figure, write the tables behind them and a report.

Everything that is run is an experiment (:mod:`everlearn.experiments`), so that interrupted or killed it goes on where
it was, and comes to the same tables to the last byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from everlearn.experiments.execute import Watcher, execute
from everlearn.experiments.experiment import Experiment
from everlearn.experiments.spec import read_spec
from everlearn.figures.saving import save_figure
from everlearn.files import replacing
from everlearn.paper import plates
from everlearn.paper.experiments import experiments
from everlearn.paper.plates import Plate
from everlearn.paper.report import report
from everlearn.results.tables import encoded, rows_table

FORMATS = ("png", "svg")


class Watching(Protocol):
    """Makes, from the name of an experiment, what is told how it goes."""

    def __call__(self, title: str) -> AbstractContextManager[Watcher]:
        """Return a context in which a watcher is told."""


@dataclass(frozen=True)
class Reproduction:
    """What was made, and where it is."""

    plates: list[Plate]
    figures: list[Path]
    tables: list[Path]
    report: Path
    experiments: dict[str, Experiment]


def reproduce(
    out: Path, *, steps: int, runs: int, full: bool = False, watching: Watching | None = None
) -> Reproduction:
    """Run, draw and write everything, and return where it is."""
    done = {}
    for name, document in experiments(steps, runs, full).items():
        spec = read_spec(document)
        with watching(spec.name) if watching else nullcontext(Watcher()) as watcher:
            done[name] = Experiment(execute(spec, out / "experiments" / name, watcher=watcher).path)
    made = list(_plates(done))
    figures = [save_figure(one.figure, out / f"{one.name}.{form}") for one in made for form in FORMATS]
    tables = [_write(out / "tables" / f"{one.name}.parquet", encoded(rows_table(one.rows), "parquet")) for one in made]
    command = f"everlearn reproduce --runs {runs} --steps {steps}{' --full' if full else ''}"
    page = _write(out / "report.html", report(made, command, runs, steps).encode())
    return Reproduction(made, figures, tables, page, done)


def _plates(done: dict[str, Experiment]) -> Iterator[Plate]:
    yield plates.arrival_probability()
    yield plates.agent_comparison(done["station"])
    yield plates.better_schedules(done["station"], done.get("long"))
    yield plates.appendix_b_plate()
    yield plates.regret_and_bound(done["bound"])
    yield plates.aggregation_plate(done["aggregation"])


def _write(path: Path, data: bytes) -> Path:
    with replacing(path) as file:
        file.write(data)
    return path
