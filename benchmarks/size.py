"""Cost per step against the number of aleatoric states, beside the C program and the algorithm line by line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

import everlearn as el
from benchmarks.c_program import BUILD, CProgram
from benchmarks.engine import everlearn_seconds
from everlearn.agents.registry import make_design
from everlearn.engine.plan import Plan
from everlearn.tables import ArrayTable

SIZES = (2, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
RUNS = 32
ROUNDS = 3


def random_task(states: int, seed: int = 0) -> el.Task:
    """Return a task with so many states, two actions and three outcomes of each, at random."""
    random = np.random.default_rng(seed)
    width = min(3, states)
    matrices = []
    for _ in range(2):
        columns = random.integers(0, states, (states, width))
        data = random.dirichlet(np.ones(width), states)
        index = np.arange(0, states * width + 1, width)
        matrices.append(csr_array((data.ravel(), columns.ravel(), index), shape=(states, states)))
    return el.mdp(matrices, random.random((states, 2)), reward_range=(0, 1), name=f"random-{states}")


def by_size() -> list[dict[str, str]]:
    """Measure each size, best of several rounds, and draw the plot."""
    rows, points = [], []
    design = make_design("growing-horizon", schedule="smooth")
    for states in SIZES:
        steps = 1_000_000 if states <= 1_000 else 200_000
        table = ArrayTable(random_task(states))
        program = CProgram(table)
        plan = Plan(table.task, design, steps, RUNS, 1)
        everlearn_seconds(Plan(table.task, design, 100, RUNS, 1), table, 1)
        ours, c = np.inf, np.inf
        for _ in range(ROUNDS):
            seconds, expected = program.seconds(steps, RUNS, 1)
            c = min(c, seconds / steps / RUNS)
            seconds, total = everlearn_seconds(plan, table, 1)
            ours = min(ours, seconds / steps / RUNS)
            if not np.array_equal(total, expected):
                raise SystemExit(f"{states} states: the sums of rewards differ from the C program's")
        few = max(3, min(100_000, 20_000_000 // states))
        literal = program.literal_seconds(few, 1) / few
        memory = design.build(table.indexed).cells.nbytes / states / 2
        points.append((states, ours, c, literal))
        rows.append(
            {
                "aleatoric states": f"{states:,}",
                "everlearn, ns per step": f"{1e9 * ours:.1f}",
                "C": f"{1e9 * c:.1f}",
                "relative to C": f"{c / ours:.2f}",
                "line by line, ns per step": f"{1e9 * literal:,.0f}",
                "bytes a run and pair": f"{memory:.0f}",
            }
        )
    draw(points, BUILD / "size.png")
    return rows


def draw(points: list[tuple[int, float, float, float]], path: Path) -> None:
    """Plot what was measured."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    from everlearn.figures.style import PALETTE, house_style

    states, *columns = np.array(points).T
    with house_style():
        axes = plt.figure().add_subplot()
        for values, label, colour in zip(
            columns, ("everlearn", "C, offset form", "C, line by line"), PALETTE, strict=False
        ):
            axes.loglog(states, 1e9 * values, marker="o", label=label, color=colour)
        axes.set_xlabel("aleatoric states")
        axes.set_ylabel("nanoseconds per step, one core")
        axes.legend()
        axes.figure.savefig(path)
    plt.close("all")
