"""Run the board of learned states and write it into its page: ``python -m docs.learned DIR [--steps 1e6] [--runs 20]``.

The agent ``learned`` starts from the last observation.  The same learner with a given state, ``growing-horizon``, runs
with windows of 1 to 4 observations and with the best view that was found by hand.  All agents have their default
parameters.  If it is interrupted, run the same command again to resume.  ``--task LABEL``, which may be repeated, runs
a part of the board; ``--page`` writes the table into ``learned-states.md``.  After a change of ``learned`` alone,
``--keep`` runs only its column, and takes the others from the page.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

import everlearn as el
from everlearn.errors import EverlearnError, InputError, UnknownName
from everlearn.experiments.execute import execute
from everlearn.experiments.experiment import Experiment
from everlearn.experiments.spec import read_spec
from everlearn.experiments.work import Threads
from everlearn.files import replacing
from everlearn.leaderboard.tables import Grid

PAGE = Path(__file__).parent / "learned-states.md"
BEGIN, END = "<!-- the board begins -->", "<!-- the board ends -->"
SEED = 2
CLOSE = 0.02
"""By how much the relative regret of ``learned`` may exceed that of the best of all given states."""


class Row(NamedTuple):
    """A task of the board: its parameters, how many windows are run, and the best view that was found by hand."""

    label: str
    name: str
    parameters: dict[str, Any]
    windows: int
    by_hand: dict[str, Any]
    aside: bool = False
    """Whether it was set aside: no setting of ``learned`` was chosen on it."""


def _maze(length: int, *, aside: bool = False) -> Row:
    given = {"length": length, "window": 1}
    return Row(f"t-maze, {length}", "t-maze", given, 4, {**given, "aleatoric": "last-change:3"}, aside)


def _view(name: str, windows: int, view: str, *, aside: bool = False) -> Row:
    return Row(name.partition(":")[2] or name, name, {}, windows, {"aleatoric": view}, aside)


ROWS = (
    _view("tiger", 4, "window:3"),
    _view("extended-tiger", 3, "window:3+actions"),
    _view("cheese-maze", 4, "window:2+actions"),
    _view("maze-4x3", 3, "window:2+actions"),
    _view("shuttle", 3, "window:2+actions"),
    _view("hallway", 2, "window:2"),
    _view("maze-1d", 4, "window:2+actions", aside=True),
    _view("grid-4x4", 4, "actions:3"),
    _view("biased-rps", 3, "window:1+actions"),
    _view("kuhn-poker", 2, "window:1", aside=True),
    _maze(4),
    _maze(10),
    _maze(50, aside=True),
    Row("maintenance", "maintenance", {}, 3, {"see": "age"}),
    Row("queueing-network", "queueing-network", {}, 1, {"see_reputation": True}, True),
    _view("drifting", 1, "window:2+actions", aside=True),
    _view("alternating", 4, "window:1+actions"),
    _view("docs.regimes:moods", 4, "window:3", aside=True),
    _view("docs.regimes:season", 4, "window:6", aside=True),
    _view("docs.regimes:key", 3, "window:4", aside=True),
    _view("docs.regimes:favourite", 3, "window:3+actions", aside=True),
    _view("docs.regimes:sensor", 4, "window:1+actions", aside=True),
)
"""The tasks of the board."""

LEARNED, BY_HAND = "learned", "by hand"


def variants(row: Row) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return the agent and the parameters of the task for each column of a row."""
    given_states = given(row).items()
    return {LEARNED: ("learned", row.parameters)} | {label: ("growing-horizon", state) for label, state in given_states}


def given(row: Row) -> dict[str, dict[str, Any]]:
    """Return the parameters of the task for each given state."""
    windows = {f"window:{k}": {**row.parameters, "aleatoric": f"window:{k}"} for k in range(1, row.windows + 1)}
    return {**windows, BY_HAND: row.by_hand}


def average_rewards(row: Row, column: str, chosen: argparse.Namespace) -> np.ndarray:
    """Run what is missing of a row in a column; return the average reward of each run."""
    agent, parameters = variants(row)[column]
    task = {"name": row.name, "label": row.label, "parameters": parameters}
    spec = read_spec({"steps": chosen.steps, "runs": chosen.runs, "seed": SEED, "task": [task], "agent": agent})
    folder = chosen.directory / f"{row.label} {column}".replace(":", "-").replace(", ", "-").replace(" ", "-")
    experiment = Experiment(execute(spec, folder, workforce=Threads(chosen.threads)).path)
    return experiment.arms[0].average_reward[:, -1]


def kept(row: Row) -> dict[str, float]:
    """Return what the page says of the given states."""
    table = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0].splitlines()
    lines = [[cell.strip() for cell in text.strip("|").split("|")] for text in table if text.startswith("|")]
    cells = next((cells for cells in lines if cells[0].removesuffix(" *") == row.label), None)
    if cells is None:
        raise InputError("--keep", row.label, "is not a row of the page; run it without --keep")
    return {column: float(cell) for column, cell in zip(lines[0], cells, strict=True) if column in given(row)}


def bounds(row: Row, directory: Path) -> tuple[float, float]:
    """Return the certified bounds of the optimum; they are computed once."""
    path = directory / "bounds.json"
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if row.label not in known:
        optimum = el.Theory(row.name, row.parameters).optimal_bounds
        known[row.label] = [float(optimum.lower), float(optimum.upper)]
        with replacing(path) as target:
            target.write(json.dumps(known, indent=1).encode())
    lower, upper = known[row.label]
    return lower, upper


def line(row: Row, own: np.ndarray, others: dict[str, float], optimum: tuple[float, float]) -> list[str]:
    """Return the cells of a row: relative regrets against the lower bound, and a 95 percent interval of ``learned``."""
    lower, upper = optimum
    mean = float(own.mean())
    margin = stats.t.ppf(0.975, len(own) - 1) * own.std(ddof=1) / len(own) ** 0.5
    windows = [f"{others[column]:.3f}" if column in others else "-" for column in map("window:{}".format, range(1, 5))]
    interval = f"{lower:.4g}" if upper - lower < 1e-3 * abs(lower) else f"{lower:.4g} to {upper:.4g}"
    close = "yes" if mean <= min(others.values()) + CLOSE else "no"
    task = f"{row.label}{' *' if row.aside else ''}"
    return [task, interval, f"{mean:.3f} ± {margin:.3f}", *windows, f"{others[BY_HAND]:.3f}", close]


def grid(lines: list[list[str]], steps: float, runs: int) -> Grid:
    """Return the board as a table."""
    columns = ["task", "optimum", LEARNED, *(f"window:{k}" for k in range(1, 5)), BY_HAND, f"within {CLOSE}"]
    return Grid(f"Relative regret after {int(steps):,} steps, {runs} runs", columns, lines)


def main(arguments: list[str]) -> int:
    """Run the board; an error is one line and exit code 2."""
    parser = argparse.ArgumentParser(prog="python -m docs.learned")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--steps", type=float, default=1e6)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--task", action="append", default=[], help="the label of a task; may be repeated")
    parser.add_argument("--threads", type=int, help="by default all of this machine")
    parser.add_argument("--keep", action="store_true", help="run learned only; take the given states from the page")
    parser.add_argument("--page", action="store_true", help="write the table into the documentation")
    chosen = parser.parse_args(arguments)
    try:
        lines = run(chosen)
    except EverlearnError as error:
        sys.stderr.write(f"everlearn: {error}\n")
        return 2
    table = grid(lines, chosen.steps, chosen.runs).markdown(level=3)
    sys.stdout.write(table)
    if chosen.page:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        with replacing(PAGE) as target:
            target.write(f"{before}{BEGIN}\n\n{table}\n{END}{rest.partition(END)[2]}".encode())
    return 0


def run(chosen: argparse.Namespace) -> list[list[str]]:
    """Run the chosen rows, and return their cells."""
    known = {row.label for row in ROWS}
    for label in chosen.task:
        if label not in known:
            raise UnknownName("--task", label, known)
    chosen.directory.mkdir(parents=True, exist_ok=True)
    lines = []
    for row in ROWS:
        if not chosen.task or row.label in chosen.task:
            lower, upper = bounds(row, chosen.directory)
            own = (lower - average_rewards(row, LEARNED, chosen)) / abs(lower)
            others = kept(row) if chosen.keep else {}
            for column in () if chosen.keep else given(row):
                others[column] = float((lower - average_rewards(row, column, chosen).mean()) / abs(lower))
            lines.append(line(row, own, others, (lower, upper)))
            sys.stderr.write(f"{' | '.join(lines[-1])}\n")
    return lines


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
