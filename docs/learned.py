"""Run the board of learned states and write it into its page: ``python -m docs.learned DIR [--steps 1e6] [--runs 20]``.

The agent ``learned`` starts from the last observation.  The same learner with a given state, ``growing-horizon``, runs
with windows of 1 to 4 observations and with the best view that was found by hand.  All agents have their default
parameters.  If it is interrupted, run the same command again to resume.  ``--task LABEL``, which may be repeated, runs
a part of the board; ``--page`` writes the table into ``learned-states.md``.
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
from everlearn.errors import EverlearnError, UnknownName
from everlearn.experiments.execute import execute
from everlearn.experiments.experiment import Experiment
from everlearn.experiments.spec import read_spec
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
    windows = {f"window:{k}": {**row.parameters, "aleatoric": f"window:{k}"} for k in range(1, row.windows + 1)}
    given = {**windows, BY_HAND: row.by_hand}
    return {LEARNED: ("learned", row.parameters)} | {label: ("growing-horizon", given[label]) for label in given}


def average_rewards(row: Row, directory: Path, steps: float, runs: int) -> dict[str, np.ndarray]:
    """Run what is missing of a row; return the average reward of each run in each column."""
    rewards = {}
    for column, (agent, parameters) in variants(row).items():
        task = {"name": row.name, "label": row.label, "parameters": parameters}
        spec = read_spec({"steps": steps, "runs": runs, "seed": SEED, "task": [task], "agent": agent})
        folder = directory / f"{row.label} {column}".replace(":", "-").replace(", ", "-").replace(" ", "-")
        experiment = Experiment(execute(spec, folder).path)
        rewards[column] = experiment.arms[0].average_reward[:, -1]
    return rewards


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


def line(row: Row, rewards: dict[str, np.ndarray], optimum: tuple[float, float]) -> list[str]:
    """Return the cells of a row: relative regrets against the lower bound, and a 95 percent interval of the first."""
    lower, upper = optimum
    lost = {column: (lower - values) / abs(lower) for column, values in rewards.items()}
    mean = {column: float(values.mean()) for column, values in lost.items()}
    own = lost[LEARNED]
    margin = stats.t.ppf(0.975, len(own) - 1) * own.std(ddof=1) / len(own) ** 0.5
    windows = [f"{mean[column]:.3f}" if column in mean else "-" for column in map("window:{}".format, range(1, 5))]
    interval = f"{lower:.4g}" if upper - lower < 1e-3 * abs(lower) else f"{lower:.4g} to {upper:.4g}"
    best = min(value for column, value in mean.items() if column != LEARNED)
    close = "yes" if mean[LEARNED] <= best + CLOSE else "no"
    task = f"{row.label}{' *' if row.aside else ''}"
    return [task, interval, f"{mean[LEARNED]:.3f} ± {margin:.3f}", *windows, f"{mean[BY_HAND]:.3f}", close]


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
            rewards = average_rewards(row, chosen.directory, chosen.steps, chosen.runs)
            lines.append(line(row, rewards, bounds(row, chosen.directory)))
            sys.stderr.write(f"{' | '.join(lines[-1])}\n")
    return lines


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
