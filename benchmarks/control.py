"""Learning curves on continuing control tasks: `python -m benchmarks.control DIRECTORY`.

Every agent runs on every task with every seed, and each run is a file in DIRECTORY.  Run the command again to resume:
only runs without a file are computed.  Then a table is printed, and the figure is drawn from the files that are there.
With `--dqn PYTHON`, the runs of DQN are computed by this interpreter, which needs torch and stable-baselines3.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.curves import draw

STEPS, EVERY = 30_000, 1000

SEEDS = (2, 3, 4)
"""Seed 1 is not among them: the defaults of ``q-lambda`` and ``differential-sarsa`` were chosen with it."""


class Control(NamedTuple):
    """A task: its parameters, those of a table, and how its average reward is shown."""

    name: str
    parameters: dict[str, Any]
    table: dict[str, Any]
    shown: str
    scale: float = 1.0
    offset: float = 0.0


def _gymnasium(name: str, table: dict[str, Any], *shown: Any, **parameters: Any) -> Control:
    return Control(f"gymnasium:{name}", {**parameters, "time_limit": "none"}, table, *shown)


POLE = {"bins": "3,3,6,6", "low": "none,-3,none,-2", "high": "none,3,none,2"}

TASKS = {
    "CartPole-v1": _gymnasium(
        "CartPole-v1", POLE, "falls per 1000 steps", -1000.0, -1.0, rewards=1, termination_reward=-1
    ),
    "MountainCar-v0": _gymnasium(
        "MountainCar-v0", {"bins": 20}, "arrivals per 1000 steps", 1000.0, 1.0, rewards=-1, termination_reward=1
    ),
    "Acrobot-v1": _gymnasium(
        "Acrobot-v1", {"bins": "3,3,3,3,4,4"}, "arrivals per 1000 steps", 1000.0, 1.0, rewards="-1,0"
    ),
    "Pendulum-v1": _gymnasium(
        "Pendulum-v1",
        {"bins": "8,8,12"},
        "reward per step",
        reward_levels=1001,
        reward_range="-16.5,0",
        action_levels=3,
    ),
    "catch": Control("catch", {}, {}, "reward per 1000 steps", 1000.0),
    "puckworld": Control("puckworld", {}, {}, "reward per step"),
}

AGENTS: dict[str, dict[str, Any]] = {
    "q-lambda": {},
    "linear": {},
    "differential-sarsa": {},
    "network": {},
    "table": {"agent": "growing-horizon"},
    "dqn": {},
}


def compute(task: str, agent: str, seed: int, steps: int) -> dict[str, Any]:
    """Run one of our agents, and return the sums of rewards every 1000 steps and the processor time."""
    from everlearn.agents.registry import make_design
    from everlearn.engine.plan import Plan
    from everlearn.engine.reference import ReferenceBatch
    from everlearn.tasks.registry import make_task

    control = TASKS[task]
    parameters = control.parameters | (control.table if agent == "table" else {})
    design = make_design(AGENTS[agent].get("agent", agent))
    plan = Plan(design.view(make_task(control.name, parameters)), design, steps=steps, runs=1, seed=seed)
    loop = ReferenceBatch(plan, [0]).loops[0]
    began, sums = time.process_time(), []
    for end in range(EVERY, steps + 1, EVERY):
        loop.advance(end)
        sums.append(loop.total_reward)
    return {"every": EVERY, "sums": sums, "seconds": time.process_time() - began}


def compute_dqn(python: str, task: str, seed: int, steps: int, file: Path) -> None:
    """Run DQN in its own environment, which writes the file."""
    command = [python, "-m", "benchmarks.dqn", task, str(seed), str(steps), str(file)]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": f"src{os.pathsep}."})


def read(folder: Path, steps: int) -> dict[str, dict[str, list[Any]]]:
    """Return the runs that are there, by task and agent: what each 1000 steps earned, as it is shown, and the speed."""
    found: dict[str, dict[str, list[Any]]] = {}
    for task, control in TASKS.items():
        for agent in AGENTS:
            for file in sorted(folder.glob(f"{task}-{agent}-*.json")):
                run = json.loads(file.read_text(encoding="utf-8"))
                if len(run["sums"]) * run["every"] < steps:
                    continue
                means = np.diff(run["sums"][: steps // EVERY], prepend=0.0) / EVERY
                speed = len(run["sums"]) * run["every"] / run["seconds"]
                found.setdefault(task, {}).setdefault(agent, []).append(
                    ((means + control.offset) * control.scale, speed)
                )
    return found


def late(runs: list[Any]) -> str:
    """Return the mean of the second half of all runs, and the least and the greatest of them."""
    means = [float(means[len(means) // 2 :].mean()) for means, _ in runs]
    return f"{np.mean(means):.2f} ({min(means):.2f} to {max(means):.2f})"


def speed(runs: list[Any]) -> str:
    """Return the steps per second of processor time."""
    return f"{round(np.mean([speed for _, speed in runs]), -2):,.0f}"


def table(found: dict[str, dict[str, list[Any]]], cell: Callable[[list[Any]], str]) -> str:
    """Return a Markdown table with a row per task and a column per agent."""
    lines = ["| task | " + " | ".join(AGENTS) + " |", "|---|" + "--:|" * len(AGENTS)]
    for task, agents in found.items():
        cells = [cell(agents[agent]) if agent in agents else "" for agent in AGENTS]
        lines.append(f"| `{task}`, {TASKS[task].shown} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _is_long_enough(file: Path, steps: int) -> bool:
    """Return whether a file has a run of at least so many steps."""
    if not file.exists():
        return False
    run = json.loads(file.read_text(encoding="utf-8"))
    return bool(len(run["sums"]) * run["every"] >= steps)


def main() -> None:
    """Compute what is missing, print the table, and draw the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seeds", default=",".join(map(str, SEEDS)), help="2,3,4 by default")
    parser.add_argument("--agents", default=",".join(AGENTS), help="by default all: " + ", ".join(AGENTS))
    parser.add_argument("--dqn", help="an interpreter with torch and stable-baselines3")
    parser.add_argument("--draw", action="store_true", help="draw what is there, and compute nothing")
    parser.add_argument("--figure", type=Path, help="the figure; by default control.png in the folder")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    seeds, agents = given.seeds.split(","), given.agents.split(",")
    for seed, task, agent in () if given.draw else product(map(int, seeds), TASKS, agents):
        file = given.folder / f"{task}-{agent}-{seed}.json"
        if _is_long_enough(file, given.steps) or (agent == "dqn" and not given.dqn):
            continue
        if agent == "dqn":
            compute_dqn(given.dqn, task, seed, given.steps, file)
        else:
            file.write_text(json.dumps(compute(task, agent, seed, given.steps)), encoding="utf-8")
        print(file.name, flush=True)
    found = read(given.folder, given.steps)
    print(table(found, late), table(found, speed), sep="\n\n")
    draw(found, {task: control.shown for task, control in TASKS.items()}, given.figure or given.folder / "control.png")


if __name__ == "__main__":
    main()
