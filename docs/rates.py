"""Measure the rates of docs/theory.md.

``python -m docs.rates tasks FILE STEPS`` runs the paper's agent on tasks without distortion.
``python -m docs.rates search FILE SECONDS`` searches, for seconds of one core, for worlds on which the exponent is
largest: random worlds over 10^6 steps, and then the three steepest of them again, with new seeds, over 10^7 steps.
Both append a line to FILE per run or world.  If they are interrupted, the same command resumes.
``python -m docs.rates draw FILE`` prints the tables and draws the figure from what FILE has.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np

from everlearn.figures.saving import save_figure
from everlearn.figures.style import PALETTE, REFERENCE_COLOUR, house_style
from everlearn.paper.rates import exponent, random_worlds, rate, regret_curves
from everlearn.tasks.garnet import garnet

FIRST, RUNS = 10**3, 4
CASES = tuple(product(("riverswim", "garnet"), ("smooth", "change-points")))
SEARCH: dict[str, Any] = {"schedule": "smooth", "steps": 10**6, "since": 10**4, "runs": 2, "seed": 1}
STEEPEST, FOLLOWED = 3, 10**7
"""How many worlds are followed, and for how many steps."""

IMAGE = Path(__file__).parent / "images" / "rates.png"


def run_tasks(path: Path, steps: int) -> None:
    """Append the curves that are missing, the first run of each case before the second."""
    for seed, (task, schedule) in product(range(1, RUNS + 1), CASES):
        follow(path, f"{task}, {schedule}", task, schedule, steps, seed)


def run_search(path: Path, seconds: float) -> None:
    """Append random worlds until the time is up, and then the curves of the steepest."""
    searched = worlds(path)
    spent = sum(line["seconds"] for line in searched)
    for world in islice(random_worlds(SEARCH["seed"]), len(searched), None):
        if spent >= seconds:
            break
        began = time.process_time()
        found = rate(garnet(**world), threads=1, **SEARCH)
        taken = time.process_time() - began
        spent += taken
        append(path, {"name": "world", "world": world, "seconds": taken, **found._asdict()})
    for line in worlds(path)[:STEEPEST]:
        for seed in range(2, RUNS + 2):
            follow(path, called(line["world"]), garnet(**line["world"]), "smooth", FOLLOWED, seed)


def called(world: dict[str, Any]) -> str:
    """Return the name of a world."""
    return "garnet " + ", ".join(f"{key}={value}" for key, value in world.items())


def follow(path: Path, name: str, task: object, schedule: str, steps: int, seed: int) -> None:
    """Append the regret of one run, unless it is there."""
    if any((line["name"], line.get("steps"), line.get("seed")) == (name, steps, seed) for line in lines(path)):
        return
    began = time.process_time()
    at: dict[str, Any] = {"schedule": schedule, "steps": steps, "runs": 1, "seed": seed, "threads": 1}
    times, regrets = regret_curves(task, "growing-horizon", **at)
    late, seconds = times >= FIRST, time.process_time() - began
    curve = {"times": times[late].tolist(), "regret": regrets[0, late].tolist()}
    append(path, {"name": name, "steps": steps, "seed": seed, "seconds": seconds, **curve})


def lines(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a file, if there is one."""
    return [json.loads(text) for text in path.read_text().splitlines()] if path.exists() else []


def append(path: Path, line: dict[str, Any]) -> None:
    """Append a line."""
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")


def worlds(path: Path) -> list[dict[str, Any]]:
    """Return the worlds that were searched, the steepest first."""
    return sorted((line for line in lines(path) if line["name"] == "world"), key=lambda line: -line["exponent"])


def curves(path: Path) -> dict[str, tuple[Any, Any]]:
    """Return by name the times, and the regret of each run, of the longest measurement; of worlds, the steepest."""
    steepest = [called(line["world"]) for line in worlds(path)[:STEEPEST]]
    found: dict[str, list[dict[str, Any]]] = {}
    for line in sorted((line for line in lines(path) if "steps" in line), key=lambda line: -int(line["steps"])):
        runs = found.setdefault(line["name"], [])
        if not runs or runs[0]["steps"] == line["steps"]:
            runs.append(line)
    table = {name: np.array([run["regret"] for run in runs]) for name, runs in found.items()}
    shown = [name for name in table if not name.startswith("garnet ") or name in steepest]
    return {name: (np.array(found[name][0]["times"]), table[name]) for name in shown}


def rows(path: Path) -> Iterator[str]:
    """Yield the rows of the table: exponents over all steps, every two decades and the last decade, with intervals."""
    for name, (times, regrets) in curves(path).items():
        last = round(times[-1])
        windows = [
            (FIRST, last),
            *((10**k, min(last, 10 ** (k + 2))) for k in (3, 5, 7) if 10**k < last),
            (last // 10, last),
        ]
        fits = []
        for low, high in windows:
            inside = (times >= low) & (times <= high)
            fitted = exponent(times[inside], regrets[:, inside])
            interval = f" ({fitted.low:.3f} to {fitted.high:.3f})" if len(regrets) > 1 else ""
            fits.append(f"{fitted.exponent:.3f}{interval}")
        yield f"| {name} | {len(regrets)} | {' | '.join(fits)} |"
    searched = worlds(path)
    if searched:
        exponents = np.array([line["exponent"] for line in searched])
        spent = sum(line["seconds"] for line in searched)
        parts = ", ".join(f"{part:.3f}" for part in np.percentile(exponents, (10, 50, 90)))
        yield f"{len(searched)} worlds in {spent:,.0f} s; 10%, 50% and 90% of them are below {parts}"
        yield f"{np.mean(exponents > 0.8):.0%} above 0.8; {np.mean(exponents > 2 / 3):.0%} above 2/3"
        yield from (f"{line['world']}: {line['exponent']:.3f}" for line in searched[:STEEPEST])


def draw(path: Path) -> None:
    """Draw the regret of every curve over time."""
    from matplotlib.figure import Figure

    with house_style():
        figure = Figure(figsize=(9.6, 4.0))
        sides = figure.subplots(1, 2, sharey=True)
        for name, (times, regrets) in curves(path).items():
            found = name.startswith("garnet ")
            axes = sides[int(found)]
            place = len([line for line in axes.get_lines() if line.get_linestyle() == "-"])
            axes.loglog(times, regrets.mean(axis=0), "-", color=PALETTE[place % len(PALETTE)], label=name)
        for axes, title in zip(sides, ("tasks without distortion", "the steepest worlds found"), strict=True):
            times = np.array(axes.get_xlim())
            for power, style, name in ((0.8, "--", "T^(4/5)"), (2 / 3, ":", "T^(2/3)")):
                axes.loglog(times, 30 * (times / FIRST) ** power, style, color=REFERENCE_COLOUR, label=name)
            axes.set(xlabel="time step", title=title)
            axes.legend(fontsize=7, loc="upper left")
        sides[0].set_ylabel("regret")
        print(save_figure(figure, IMAGE))  # noqa: T201


def main() -> None:
    """Measure, or print and draw."""
    command, path = sys.argv[1], Path(sys.argv[2])
    if command == "draw":
        print(*rows(path), sep="\n")  # noqa: T201
        draw(path)
    else:
        size = float(sys.argv[3])
        run_search(path, size) if command == "search" else run_tasks(path, int(size))


if __name__ == "__main__":
    main()
