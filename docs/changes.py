"""Print what the remedies for change earn, and what they cost where nothing changes, for the page ``practical.md``.

``python -m docs.changes changing [NAME...]`` prints the average reward on systems that change, and ``python -m
docs.changes stationary [NAME...]`` the relative regret on training tasks that do not; with names, only the rows whose
names contain one of them.  A tuned rival has the best of its settings for each row, which is found with another seed.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from examples import changing

import everlearn as el

STEPS, RUNS = 100_000, 10

SEED, ANOTHER = 2, 1
"""The seed of the table, and that with which rivals are tuned."""

NEAR = 0.02
"""A remedy that earns at most this much less than the best tuned rival is printed in bold."""

Settings = dict[str, Any]

RESTLESS = {"schedule.forgetting": 0.05, "schedule.persistence": 0.0, "schedule.optimism_scale": 0.3}
"""Forget, hold no action, and explore more: the best of sixteen such settings on ``drifting`` with 5,000 steps, with
another seed."""

SMOOTH = {"horizon_scale": 5.0, "horizon_power": 0.1, "optimism_scale": 0.1, "optimism_power": 0.2}
"""The schedule ``smooth`` as on the leaderboard."""

REMEDIES: dict[str, tuple[str, Settings]] = {
    "practical": ("growing-horizon", {}),
    "forgetting 0.005": ("growing-horizon", {"schedule.forgetting": 0.005}),
    "forgetting 0.02": ("growing-horizon", {"schedule.forgetting": 0.02}),
    "forgetting 0.1": ("growing-horizon", {"schedule.forgetting": 0.1}),
    "forgetting 0.05, restless": ("growing-horizon", RESTLESS),
    "smooth": ("growing-horizon", {"schedule": "smooth"} | {f"schedule.{name}": SMOOTH[name] for name in SMOOTH}),
    "planner": ("planner", {}),
    "versatile": ("versatile", {}),
    "practical, alarm": ("restarting", {}),
    "planner, alarm": ("restarting", {"agent.of": "planner"}),
    "q-learning": ("q-learning", {}),
}


class System(NamedTuple):
    """A task that changes, how long a run is, and after how many steps it has changed."""

    task: object
    given: Settings
    change: int
    steps: int = STEPS


CHANGING = {
    "`drifting`, 500 steps": System("drifting", {"task.period": 500}, 250),
    "`drifting`, 5,000 steps": System("drifting", {"task.period": 5_000}, 2_500),
    "`drifting`, 50,000 steps": System("drifting", {"task.period": 50_000}, 25_000, 10 * STEPS),
    "`seasons`, sudden": System("seasons", {"task.year": 2_000, "task.seed": 1}, 1_000),
    "`seasons`, slow": System("seasons", {"task.year": 2_000, "task.change": "slow", "task.seed": 2}, 1_000),
    "station": System(changing.station(), {}, 2_000),
    "machine": System(changing.machine(), {}, 1_000),
    "demand": System(changing.demand(), {}, 500),
}

STATIONARY: dict[str, tuple[str, Settings]] = {
    "`service-station`, scaled": ("service-station", {"task.raw": False}),
    "`riverswim`": ("riverswim", {}),
    "`riverswim-12`": ("riverswim-12", {}),
    "`access-control`": ("access-control", {}),
    "`garnet`, seed 0": ("garnet", {"task.seed": 0}),
    "`garnet`, seed 1": ("garnet", {"task.seed": 1}),
    "`garnet`, groups of 3": ("garnet", {"task.group": 3, "task.distortion": 0.8, "task.seed": 2}),
    "`maintenance`, 4 levels": ("maintenance", {"task.levels": 4}),
    "`maintenance`, 4 levels, age": ("maintenance", {"task.levels": 4, "task.see": "age"}),
    "`inventory`, on hand": ("inventory", {"task.lead_time": 1, "task.mean_demand": 3.0, "task.see": "on-hand"}),
    "`queueing-network`, 2 places": ("queueing-network", {"task.capacity": 2, "task.fast_cost": 1.0}),
    "`t-maze`, short window": ("t-maze", {"task.length": 3, "task.window": 2}),
}


def grid(**lists: tuple[Any, ...]) -> list[Settings]:
    """Return every choice of one value per parameter of the agent."""
    names = [f"agent.{name}" for name in lists]
    return [dict(zip(names, values, strict=True)) for values in itertools.product(*lists.values())]


def rivals(change: int) -> dict[str, tuple[str, list[Settings]]]:
    """Return the rivals that are tuned for a system, and their settings."""
    constant: dict[str, tuple[Any, ...]] = {"step_size": (0.03, 0.1, 0.3, 0.6), "epsilon": (0.01, 0.03, 0.1)}
    return {
        "q-learning, tuned": ("q-learning", grid(**constant)),
        "restarts, tuned": ("q-learning", grid(restart=(change // 4, change // 2, change), **constant)),
        "optimistic-q, tuned": ("optimistic-q", grid(horizon=(2.0, 5.0, 20.0), scale=(0.03, 0.1, 0.3, 1.0))),
    }


def earned(system: System, agent: str, parameters: Settings, seed: int) -> np.ndarray:
    """Return the average reward of every run."""
    given = {**system.given, **parameters}
    options: Settings = {"schedule": given.pop("schedule", None), "parameters": given, "seed": seed}
    result = el.run(system.task, agent, steps=system.steps, runs=RUNS, threads=1, **options)
    return np.asarray(result.total_reward[:, -1] / system.steps)


def optimum(system: System) -> float:
    """Return the optimum that the task states, or compute it."""
    parameters = {key.removeprefix("task."): value for key, value in system.given.items()}
    stated = el.Agent(system.task, parameters=system.given).task.references
    return stated["optimum"] if "optimum" in stated else el.Theory(system.task, parameters).optimal_average_reward


def changing_row(name: str) -> Iterator[str]:
    """Yield the cells of a row: the system, its optimum, and the average reward of each remedy and tuned rival."""
    system = CHANGING[name]
    remedies = [earned(system, agent, parameters, SEED) for agent, parameters in REMEDIES.values()]
    tuned = []
    for agent, settings in rivals(system.change).values():
        best = max(settings, key=lambda each: earned(system, agent, each, ANOTHER).mean())
        sys.stderr.write(f"{name}: {agent} {best}\n")
        tuned.append(earned(system, agent, best, SEED))
    most = max(each.mean() for each in tuned)
    yield name
    yield f"{optimum(system):.3f}"
    yield from (entry(each, bold=each.mean() >= most - NEAR) for each in remedies)
    yield from (entry(each) for each in tuned)


def stationary_row(name: str) -> Iterator[str]:
    """Yield the cells of a row: the task, the relative regret of ``practical``, and how much more each remedy has."""
    system = System(*STATIONARY[name], change=0)
    best = optimum(system)
    lost = [(best - earned(system, *remedy, SEED)) / abs(best) for remedy in REMEDIES.values()]
    yield name
    yield entry(lost[0])
    yield from (entry(each - lost[0], sign="+") for each in lost[1:])


def entry(values: np.ndarray, sign: str = "", *, bold: bool = False) -> str:
    """Return the mean and its standard error."""
    text = f"{values.mean():{sign}.3f} ± {values.std(ddof=1) / np.sqrt(RUNS):.3f}"
    return f"**{text}**" if bold else text


TABLES = {
    "changing": (["system", "optimum", *REMEDIES, *rivals(4)], CHANGING, changing_row),
    "stationary": (["task", *REMEDIES], STATIONARY, stationary_row),
}


def main(arguments: list[str]) -> int:
    """Print a table, a row at a time."""
    if not arguments or arguments[0] not in TABLES:
        sys.stderr.write("usage: python -m docs.changes changing|stationary [NAME...]\n")
        return 2
    heads, systems, row = TABLES[arguments[0]]
    sys.stdout.write(f"| {' | '.join(heads)} |\n|---|{'--:|' * (len(heads) - 1)}\n")
    for name in systems:
        if not arguments[1:] or any(word in name for word in arguments[1:]):
            sys.stdout.write(f"| {' | '.join(row(name))} |\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
