"""Arms made up for tests, of which every number is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from everlearn.engine.curves import recording_times
from everlearn.results.arm import Arm


def made(
    final: Any,
    *,
    task: str = "shop",
    agent: str = "smooth",
    steps: int = 1000,
    optimum: float | None = 1.0,
    settings: dict[str, Any] | None = None,
    references: dict[str, float] | None = None,
    upper: float | None = None,
) -> Arm:
    """Return an arm whose units earn, at every step, what is given for each."""
    rates = np.asarray(final, dtype=float)
    times = recording_times(steps)
    known = None if optimum is None else np.full(rates.size, optimum)
    bound = None if upper is None else np.full(rates.size, upper)
    total = rates[:, None] * times
    return Arm(task, agent, settings or {}, times, total, known, references=references or {}, optimum_upper=bound)
