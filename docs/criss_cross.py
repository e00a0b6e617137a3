"""Learn the criss-cross network in every regime and evaluate the frozen policies: ``python -m docs.criss_cross OUT``.

For each seed and regime, the agent ``lattice`` learns for 10^7 events.  Its greedy policy is then frozen and simulated
with another seed, in 10 runs of 2 10^7 events.  A line per policy is appended to the
file OUT; what is there already is not computed again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import everlearn as el
from everlearn.tasks.networks import REGIMES

SEEDS, EVENTS, RUNS, EVALUATED = (1, 2, 3), 1e7, 10, 2e7
SETTINGS = {"task.seen": 45}


def learned(regime: str, seed: int) -> tuple[float, Any]:
    """Return the average cost while learning, and the greedy policy at the end."""
    agents: list[Any] = []
    chosen = {"task.regime": regime, **SETTINGS}
    result = el.run(
        "criss-cross", "lattice", steps=EVENTS, seed=seed, threads=1, parameters=chosen, finished=agents.append
    )
    values = agents[0].inspect()["Q"]
    return -float(result.average_reward[-1]), np.eye(2)[values.argmax(axis=1)]


def evaluated(regime: str, policy: Any) -> tuple[float, float]:
    """Return the average cost of a policy and its standard error."""
    chosen = {"task.regime": regime, "agent.policy": policy, **SETTINGS}
    result = el.run("criss-cross", "always", steps=EVALUATED, runs=RUNS, seed=99, threads=1, parameters=chosen)
    averages = -np.asarray(result.per_run[:, -1])
    return float(averages.mean()), float(averages.std(ddof=1) / RUNS**0.5)


def main(path: Path) -> None:
    """Compute what is missing."""
    lines = path.read_text().splitlines() if path.exists() else []
    done = {(row["regime"], row["seed"]) for row in map(json.loads, lines)}
    for seed in SEEDS:
        for regime in reversed(REGIMES):
            if (regime, seed) not in done:
                learning, policy = learned(regime, seed)
                frozen, error = evaluated(regime, policy)
                row = {"regime": regime, "seed": seed, "learning": learning, "frozen": frozen, "error": error}
                with path.open("a") as file:
                    file.write(json.dumps(row) + "\n")
                print(row, flush=True)  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]))
