"""Learn the criss-cross network in every regime and evaluate the frozen policies: ``python -m docs.criss_cross OUT``.

For each seed and regime, the agent ``lattice`` learns for 10^7 events.  Its greedy policy is then frozen and simulated
for 10^8 events (10^9 in heavy traffic with the first seed) by a program of its own, which shares nothing with the
engine.  A line per policy is appended to OUT/results.jsonl, with a standard error from 50 batches; what is there is not
computed again.  With ``rules`` after OUT, it simulates the rules that operators use for 10^8 events each; with
``plans``, plans that know the rates, in the regime BH; with ``tables``, the frozen policies of other agents.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np

import everlearn as el
from everlearn.environments.fluid import LEVELS
from everlearn.tasks.networks import REGIMES, criss_cross

SEEDS, EVENTS, SEEN, BATCHES = (1, 2, 3), 1e7, 45, 50

LONGEST = 160
"""The most jobs of a class for which a rule is applied; beyond, which hardly ever happens, that of maximum pressure."""


def learned(regime: str, seed: int, agent: str = "lattice", seen: int = SEEN, **parameters: Any) -> tuple[float, Any]:
    """Return the average cost while learning, and the greedy policy at the end: 1 where class 3 is preferred."""
    agents: list[Any] = []
    chosen = {"task.regime": regime, "task.seen": seen, **{f"agent.{name}": parameters[name] for name in parameters}}
    result = el.run("criss-cross", agent, steps=EVENTS, seed=seed, threads=1, parameters=chosen, finished=agents.append)
    values = agents[0].inspect()["Q"][:-1]
    return -float(result.average_reward[-1]), values.argmax(axis=1).reshape((seen + 1,) * 3).astype(np.int8)


@numba.njit(error_model="numpy")
def batches(arrival: float, rate: float, policy: Any, events: int, seed: int) -> Any:
    """Return the average numbers of jobs in batches of events; outside, server 1 follows the maximum pressure."""
    np.random.seed(seed)  # noqa: NPY002
    clock, x1, x2, x3, most = 2 * arrival + 2.0 + rate, 0, 0, 0, policy.shape[0] - 1
    averages = np.zeros(BATCHES)
    for batch in range(BATCHES):
        total = 0
        for _ in range(events // BATCHES):
            event = clock * np.random.random()  # noqa: NPY002
            if event < arrival:
                x1 += 1
            elif event < 2 * arrival:
                x3 += 1
            elif event < 2 * arrival + 2.0:
                third = policy[x1, x2, x3] == 1 if max(x1, x2, x3) <= most else x1 - x2 < x3
                if x3 > 0 and (third or x1 == 0):
                    x3 -= 1
                elif x1 > 0:
                    x1 -= 1
                    x2 += 1
            elif x2 > 0:
                x2 -= 1
            total += x1 + x2 + x3
        averages[batch] = total / (events // BATCHES)
    return averages


def rules(regime: str) -> dict[str, Any]:
    """Return the policies of rules: 1 where class 3 is preferred."""
    x1, x2, x3 = lengths = np.indices((LONGEST + 1,) * 3)
    network: Any = criss_cross(regime=regime, seen=1).network
    small = np.ndindex((LEVELS + 1,) * 3)
    fluid = np.array([network.choose("fluid", each)[0] == 2 for each in small]).reshape((LEVELS + 1,) * 3)
    shrunk = np.rint(lengths * np.minimum(1.0, LEVELS / np.maximum(lengths.max(axis=0), 1))).astype(int)
    third = {
        "c-mu": np.zeros(x1.shape),
        "max-pressure": x1 - x2 < x3,
        "longest-queue": x1 < x3,
        "last-buffer": np.ones(x1.shape),
        "fluid": fluid[tuple(shrunk)],
    }
    return {name: policy.astype(np.int8) for name, policy in third.items()}


def compare_rules(out: Path) -> None:
    """Simulate the rules in all regimes."""
    for regime in reversed(REGIMES):
        for rule, policy in rules(regime).items():
            found = batches(*REGIMES[regime][:2], policy, 100_000_000, 1)
            row = {
                "regime": regime,
                "rule": rule,
                "cost": float(found.mean()),
                "error": float(found.std(ddof=1) / BATCHES**0.5),
            }
            with (out / "rules.jsonl").open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(row, flush=True)  # noqa: T201


PLANS = ((30, 1000), (45, 1000), (45, 300), (45, 100))
"""The most jobs per class inside, and how many sweeps through the states there are."""

BEYOND = 75
"""Beyond so many jobs per class, plans assume that arrivals are lost."""


@numba.njit(error_model="numpy")
def plan(arrival: float, rate: float, inside: int, sweeps: int) -> Any:
    """Return the greedy policy of value iteration; outside, server 1 follows the maximum pressure."""
    most, clock = BEYOND, 2 * arrival + 2.0 + rate
    values = np.zeros((most + 1, most + 1, most + 1))
    policy = np.zeros((inside + 1, inside + 1, inside + 1), np.int8)
    for _ in range(sweeps):
        for x1 in range(most + 1):
            for x2 in range(most + 1):
                for x3 in range(most + 1):
                    here = values[x1, x2, x3]
                    first = values[x1 - 1, min(x2 + 1, most), x3] if x1 > 0 else np.inf
                    third = values[x1, x2, x3 - 1] if x3 > 0 else np.inf
                    better = third < first
                    if max(x1, x2, x3) <= inside:
                        policy[x1, x2, x3] = better
                    else:
                        better = x3 > 0 and (x1 == 0 or x1 - x2 < x3)
                    served = third if better else first
                    total = 2.0 * (here if x1 == 0 and x3 == 0 else served)
                    total += rate * (values[x1, x2 - 1, x3] if x2 > 0 else here)
                    total += arrival * (values[min(x1 + 1, most), x2, x3] + values[x1, x2, min(x3 + 1, most)])
                    values[x1, x2, x3] = (x1 + x2 + x3 + total) / clock
        values -= values[0, 0, 0]
    return policy


def compare_plans(out: Path) -> None:
    """Simulate plans that know the rates."""
    for inside, sweeps in PLANS:
        found = batches(*REGIMES["BH"][:2], plan(*REGIMES["BH"][:2], inside, sweeps), 100_000_000, 1)
        error = float(found.std(ddof=1) / BATCHES**0.5)
        row = {"inside": inside, "sweeps": sweeps, "cost": float(found.mean()), "error": error}
        with (out / "plans.jsonl").open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(row, flush=True)  # noqa: T201


STEADY = {"horizon_scale": 1000, "horizon_power": 0, "persistence": 0, "commitment": 0, "fading": 0}
"""Parameters of ``planner``: a constant horizon, no held actions, and nothing forgotten."""

TABLES: tuple[tuple[str, str, int, dict[str, Any]], ...] = (
    ("IL", "q-learning", 12, {}),
    ("IL", "differential-q", 12, {}),
    ("IL", "growing-horizon", 12, {}),
    ("BM", "differential-q", 12, {}),
    ("IL", "planner", 12, STEADY),
    ("BM", "planner", 16, STEADY),
)
"""Agents that are not told that lengths are numbers: the regime, the agent, the most jobs of a class that it sees."""


def compare_tables(out: Path) -> None:
    """Let them learn, and simulate the frozen policies."""
    for regime, agent, seen, parameters in TABLES:
        learning, policy = learned(regime, 1, agent, seen, **parameters)
        found = batches(*REGIMES[regime][:2], policy, 100_000_000, 1)
        error = float(found.std(ddof=1) / BATCHES**0.5)
        row = {"regime": regime, "agent": agent, "learning": learning, "frozen": float(found.mean()), "error": error}
        with (out / "tables.jsonl").open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(row, flush=True)  # noqa: T201


def main(out: Path) -> None:
    """Compute what is missing."""
    path = out / "results.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    done = {(row["regime"], row["seed"]) for row in map(json.loads, lines)}
    for seed in SEEDS:
        for regime in reversed(REGIMES):
            if (regime, seed) not in done:
                learning, policy = learned(regime, seed)
                np.save(out / f"{regime}-{seed}.npy", policy)
                events = 1_000_000_000 if regime.endswith("H") and seed == SEEDS[0] else 100_000_000
                found = batches(*REGIMES[regime][:2], policy, events, seed)
                error = float(found.std(ddof=1) / BATCHES**0.5)
                row = {
                    "regime": regime,
                    "seed": seed,
                    "learning": learning,
                    "frozen": float(found.mean()),
                    "error": error,
                }
                with path.open("a") as file:
                    file.write(json.dumps(row) + "\n")
                print(row, flush=True)  # noqa: T201


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir(exist_ok=True)
    others = {"rules": compare_rules, "plans": compare_plans, "tables": compare_tables}
    others.get(" ".join(sys.argv[2:]), main)(Path(sys.argv[1]))
