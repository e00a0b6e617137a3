"""Agents with a model against the package statisticalrl_learners on RiverSwim: regret and speed.

The package needs an old NumPy.  Install it into an environment of its own, and name that Python in EVERLEARN_PACKAGE;
without it, only our side is measured.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import time
from pathlib import Path

import everlearn as el

STEPS = 10_000

RIVALS = {
    "ucrl2b": ("UCRL2B", {"agent.constant": 18}),
    "ucrl3": ("UCRL3", {"agent.support": "package"}),
    "kl-ucrl": ("KLUCRL", {"agent.rows": "package"}),
    "imed-rl": ("IMED_RL", {"agent.index": "package"}),
    "med-rl": ("MED_RL", {"agent.index": "package"}),
    "psrl": ("PSRL", {"agent.prior": 1}),
}
"""The module of the package, whose class is called the same without ``_``, and parameters that make ours the same."""


def against_package(runs: int = 200, their_runs: int = 40) -> list[dict[str, str]]:
    """Measure each rival, ours and theirs; the seconds are those of the processor."""
    rows = []
    for name, (theirs, parameters) in RIVALS.items():
        regrets, seconds = _ours(name, parameters, runs)
        row = {"agent": name, "regret here": _mean(regrets), "steps a second here": f"{STEPS * runs / seconds:,.0f}"}
        if python := os.environ.get("EVERLEARN_PACKAGE"):
            measured = _theirs(python, theirs, their_runs)
            rate = STEPS / statistics.fmean(took for _, took in measured)
            row["regret of the package"] = _mean([regret for regret, _ in measured])
            row["steps a second"] = f"{rate:,.0f}"
            row["times faster"] = f"{STEPS * runs / seconds / rate:,.0f}"
        rows.append(row)
    return rows


def _ours(name: str, parameters: dict[str, object], runs: int) -> tuple[list[float], float]:
    el.run("riverswim", name, steps=100, runs=1, parameters=parameters)  # compile
    began = time.process_time()
    result = el.run("riverswim", name, steps=STEPS, runs=runs, seed=1, parameters=parameters)
    seconds = time.process_time() - began
    optimum = el.Theory("riverswim").optimal_average_reward
    return [STEPS * optimum - float(total) for total in result.total_reward[:, -1]], seconds


def _theirs(python: str, name: str, runs: int) -> list[list[float]]:
    script = str(Path(__file__).with_name("package.py"))
    done = subprocess.run([python, script, name, str(runs), str(STEPS)], check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]


def _mean(regrets: list[float]) -> str:
    return f"{statistics.fmean(regrets):,.0f} ± {statistics.stdev(regrets) / len(regrets) ** 0.5:,.0f}"
