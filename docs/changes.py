"""Print what agents earn where the environment changes: ``python -m docs.changes``, for the page ``practical.md``.

``q-learning, tuned`` is the best of twelve settings of a constant step size and a constant epsilon, chosen for each row
with another seed.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from examples import changing

import everlearn as el

STEPS = 100_000
RUNS = 4

REMEDIES: dict[str, tuple[str, dict[str, Any]]] = {
    "default": ("growing-horizon", {}),
    "default, forgetting 0.1": ("growing-horizon", {"schedule.forgetting": 0.1}),
    "planner": ("planner", {}),
    "q-learning": ("q-learning", {}),
}

SETTINGS = [
    {"agent.step_size": step_size, "agent.epsilon": epsilon}
    for step_size, epsilon in itertools.product((0.03, 0.1, 0.3, 0.6), (0.01, 0.03, 0.1))
]


def earned(task: object, agent: str, parameters: dict[str, Any], steps: int, seed: int) -> np.ndarray:
    """Return the average reward of every run."""
    result = el.run(task, agent, steps=steps, runs=RUNS, seed=seed, threads=1, parameters=parameters)
    return np.asarray(result.total_reward[:, -1] / steps)


def optimum(task: object, given: dict[str, Any]) -> float:
    """Return the optimum that the task states, or compute it."""
    parameters = {key.removeprefix("task."): value for key, value in given.items()}
    stated = el.Agent(task, parameters=given).task.references
    return stated["optimum"] if "optimum" in stated else el.Theory(task, parameters).optimal_average_reward


def row(name: str, task: object, given: dict[str, Any], steps: int) -> Iterator[str]:
    """Yield the cells of a row: the task, its optimum, and what each remedy earns."""
    yield name
    yield f"{optimum(task, given):.3f}"
    tuned = max(SETTINGS, key=lambda each: earned(task, "q-learning", {**given, **each}, steps, seed=1).mean())
    for agent, parameters in (*REMEDIES.values(), ("q-learning", tuned)):
        averages = earned(task, agent, {**given, **parameters}, steps, seed=2)
        yield f"{averages.mean():.3f} ± {averages.std(ddof=1) / np.sqrt(RUNS):.3f}"


def main() -> int:
    """Print the table, a row at a time."""
    heads = ["system", "optimum", *REMEDIES, "q-learning, tuned"]
    sys.stdout.write(f"| {' | '.join(heads)} |\n|---|{'--:|' * (len(heads) - 1)}\n")
    rows: list[tuple[str, object, dict[str, Any], int]] = [
        ("`drifting`, 5,000 steps", "drifting", {"task.period": 5_000}, STEPS),
        ("`drifting`, 50,000 steps", "drifting", {"task.period": 50_000}, 5 * STEPS),
        ("station, customers change at once", changing.station(), {}, STEPS),
        ("machine that ages", changing.machine(), {}, STEPS),
        ("demand with seasons", changing.demand(), {}, STEPS),
    ]
    for each in rows:
        sys.stdout.write(f"| {' | '.join(row(*each))} |\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
