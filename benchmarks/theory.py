"""How the time of exact computation grows with the number of memories."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from typing import Any

from benchmarks.size import random_task
from everlearn.tasks.registry import make_task
from everlearn.theory.averaging import averaging_time
from everlearn.theory.distortion import distortion
from everlearn.theory.optimum import optimum
from everlearn.theory.pairs import tabulate


def growth() -> list[dict[str, str]]:
    """Time what a user waits for: tables, the certified optimum, its averaging time, a distortion."""
    tasks = {"service-station": make_task("service-station")}
    tasks |= {f"random, {states:,} memories": random_task(states) for states in (1_000, 10_000, 100_000)}
    rows = []
    for name, task in tasks.items():
        pairs, tabulated = _timed(lambda task=task: tabulate(task))
        best, solved = _timed(lambda pairs=pairs: optimum(pairs))
        _, averaged = _timed(lambda pairs=pairs, best=best: averaging_time(pairs.chain(best.policy)))
        _, distorted = _timed(lambda pairs=pairs: distortion(pairs, 100.0))
        rows.append(
            {
                "task": name,
                "tables, s": f"{tabulated:.2f}",
                "optimum, s": f"{solved:.2f}",
                "certified to": f"{best.upper - best.lower:.0e}",
                "averaging time, s": f"{averaged:.2f}",
                "distortion, s": f"{distorted:.2f}",
                "memory so far, GB": f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f}",
            }
        )
    return rows


def _timed(compute: Callable[[], Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    found = compute()
    return found, time.perf_counter() - began
