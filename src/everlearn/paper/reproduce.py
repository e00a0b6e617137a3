"""Reproduce the paper: run the experiments, draw every figure, and write the tables behind them and a report.

Every run belongs to an experiment (:mod:`everlearn.experiments`).  A reproduction that is interrupted or killed
resumes, and ends with the same tables to the last byte.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from html import escape
from pathlib import Path

from everlearn._version import __version__
from everlearn.experiments.execute import Watcher, execute
from everlearn.experiments.experiment import Experiment
from everlearn.experiments.spec import read_spec
from everlearn.figures.saving import save_figure
from everlearn.figures.style import house_style
from everlearn.files import replacing
from everlearn.paper import plates
from everlearn.paper.experiments import experiments
from everlearn.paper.plates import Plate
from everlearn.results.tables import encoded, rows_table
from everlearn.theory.places import place_of

FORMATS = ("png", "svg")

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1 { line-height: 1.2; } figure { margin: 2.5rem 0; } img { max-width: 100%; height: auto; }
figcaption { margin-top: .5rem; } code { background: #f2f2f2; padding: 0 .2em; }
.small { color: #555; font-size: .9rem; }
"""


@dataclass(frozen=True)
class Reproduction:
    """The figures, and the paths of the files written."""

    plates: list[Plate]
    figures: list[Path]
    tables: list[Path]
    report: Path
    experiments: dict[str, Experiment]


def reproduce(
    out: Path,
    *,
    steps: int,
    runs: int,
    full: bool = False,
    watching: Callable[[str], AbstractContextManager[Watcher]] = lambda _title: nullcontext(Watcher()),
) -> Reproduction:
    """Run, draw and write everything; ``watching`` returns a watcher for the experiment with a title."""
    done: dict[str, Experiment] = {}
    for name, document in experiments(steps, runs, full).items():
        spec = read_spec(document)
        with watching(spec.name) as watcher:
            done[name] = Experiment(execute(spec, out / "experiments" / name, watcher=watcher).path)
    drawn = [
        plates.arrival_probability(),
        plates.agent_comparison(done["station"]),
        plates.better_schedules(done["station"], done.get("long")),
        plates.appendix_b_plate(),
        plates.regret_and_bound(done["bound"]),
        plates.aggregation_plate(done["aggregation"]),
    ]
    figures = [save_figure(plate.figure, out / f"{plate.name}.{form}") for plate in drawn for form in FORMATS]
    tables = [
        _write(out / "tables" / f"{plate.name}.parquet", encoded(rows_table(plate.rows), "parquet")) for plate in drawn
    ]
    command = f"everlearn reproduce --runs {runs} --steps {steps}{' --full' if full else ''}"
    report = _write(out / "report.html", _report(drawn, command, runs, steps).encode())
    return Reproduction(drawn, figures, tables, report, done)


def _write(path: Path, data: bytes) -> Path:
    with replacing(path) as file:
        file.write(data)
    return path


def _report(drawn: list[Plate], command: str, runs: int, steps: int) -> str:
    """Return a page of HTML that needs no other file."""
    figures = "\n".join(_figure(number, plate) for number, plate in enumerate(drawn, start=1))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Simple Agent, Complex Environment: the reproduction</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>Simple Agent, Complex Environment: the reproduction</h1>
<p>Shi Dong, Benjamin Van Roy and Zhengyuan Zhou, <i>Simple Agent, Complex Environment: Efficient Reinforcement Learning
with Agent States</i>, Journal of Machine Learning Research 23(255), 2022. Made by everlearn {escape(__version__)} with
<code>{escape(command)}</code>: {runs:,} runs of {steps:,} steps, and what is exact is exact. Curves are means over
runs, and bands are 95% bootstrap intervals for the mean at each time.</p>
{figures}
<p class="small">The table behind each figure is a Parquet file of the same name in <code>tables/</code>; every run is
in <code>experiments/</code>. Which claims of the paper hold is what <code>everlearn claims</code> computes.</p>
</body>
</html>
"""


def _figure(number: int, plate: Plate) -> str:
    buffer = io.BytesIO()
    with house_style():
        plate.figure.savefig(buffer, format="png")
    picture = base64.b64encode(buffer.getvalue()).decode()
    alternative = escape(f"{plate.title}. {plate.sentence}", quote=True)
    return f"""<figure id="{escape(plate.name)}">
<h2>{number}. {escape(plate.title)} <span class="small">{escape(place_of(plate.label))}</span></h2>
<img alt="{alternative}" src="data:image/png;base64,{picture}">
<figcaption>{escape(plate.sentence)}</figcaption>
</figure>"""
