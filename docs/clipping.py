"""Compare Algorithm 2 with its repaired form: ``python -m docs.clipping`` prints the table of docs/repairs.md.

Each row is a registered task: the mean over runs of the average reward of both agents, and the difference, paired by
run, with its standard error.  Names of tasks may be given: ``python -m docs.clipping riverswim tiger``.
"""

from __future__ import annotations

import sys

import numpy as np

import everlearn as el
from everlearn.tasks.registry import TASKS

STEPS, RUNS, SEED = 100_000, 10, 1
BOLD = 3
"""A difference is bold if it exceeds so many of its standard errors."""


def row(task: str) -> str:
    """Return the row of a task."""
    cells = [f"`{task}`"]
    for schedule in ("smooth", "change-points"):
        printed, repaired = (
            el.run(task, agent, schedule=schedule, steps=STEPS, runs=RUNS, seed=SEED).per_run[:, -1]
            for agent in ("growing-horizon", "growing-horizon-v")
        )
        gain = repaired - printed
        mean, error = float(gain.mean()), float(gain.std(ddof=1) / np.sqrt(RUNS))
        text = f"{mean:+.4f} ({error:.4f})"
        cells += [f"{printed.mean():.4f}", f"{repaired.mean():.4f}"]
        cells.append(f"**{text}**" if abs(mean) > BOLD * error else text)
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    for name in sys.argv[1:] or TASKS:
        print(row(name), flush=True)  # noqa: T201
