"""Reference average rewards of a task: those that it states, and those that are computed from its model."""

from __future__ import annotations

import warnings
from typing import NotRequired, TypedDict

from everlearn.errors import EverlearnError
from everlearn.notices import Notice
from everlearn.results.references import AT_LEAST, AT_MOST, BEST, FOUND, OPTIMUM
from everlearn.tables import SETTLED, AnyTable, FixedTable
from everlearn.tasks.task import Task

DIFFERENT = 1e-6
"""The largest difference between a stated optimum and the computed one; beyond it, the stated one is wrong."""

INTERVAL = "an interval"
"""How an optimum is known of which there are bounds only."""


class Optimum(TypedDict):
    """The optimal average reward of a task, as the manifest stores it."""

    value: float
    lower: float
    upper: float
    how: str
    best: NotRequired[dict[str, float]]
    """The best over aleatoric states, by name."""


class OptimumWarning(Notice):
    """The optimum that a task states is not that of its model."""

    def __init__(self, task: str, stated: float, optimum: float) -> None:
        self.task, self.stated, self.optimum = task, stated, optimum
        message = f"task {task!r} states the optimum {stated:.6g}, its model has {optimum:.6g}"
        super().__init__(f"{message}; correct the statement")


def reference_lines(task: Task, identity: str | None = None) -> dict[str, float]:
    """Return the average rewards of the best policies, if they can be computed in a few seconds.

    ``identity`` is a text that no other task has, as in :func:`everlearn.theory.known.known`.
    """
    from everlearn.theory.known import known

    averages, lines = known(task, identity), {}
    if averages.optimum is not None:
        lines[OPTIMUM] = averages.optimum
        stated = task.references.get("optimum", averages.optimum)
        if abs(stated - averages.optimum) > DIFFERENT * max(1.0, abs(stated)):
            warnings.warn(OptimumWarning(task.name, stated, averages.optimum), stacklevel=2)
    elif averages.lower is not None and averages.upper is not None:
        lines |= {AT_LEAST: averages.lower, AT_MOST: averages.upper}
    if averages.best is not None:
        lines[BEST if averages.proved else FOUND] = averages.best
    return lines


def optimal_average(
    task: Task, table: AnyTable | None, identity: str | None = None, *, best: bool = True
) -> Optimum | None:
    """Return the optimal average reward of a task; None if it is not known.

    With ``best`` it includes the best over aleatoric states, if that is known.
    """
    optimum = _hidden_optimum(task, identity) if task.hidden else _optimum(task, table)
    if optimum is not None and best:
        lines = reference_lines(task, identity)
        optimum["best"] = {name: value for name, value in lines.items() if name in (BEST, FOUND)}
    return optimum


def _hidden_optimum(task: Task, identity: str | None) -> Optimum | None:
    """Return the optimum of a task that hides its memory; its value is the lower bound, which is attained."""
    from everlearn.theory.known import known

    averages = known(task, identity)
    if averages.lower is None or averages.upper is None:
        return None
    how = INTERVAL if averages.optimum is None else "certified"
    return {"value": averages.lower, "lower": averages.lower, "upper": averages.upper, "how": how}


def _optimum(task: Task, table: AnyTable | None) -> Optimum | None:
    if (stated := task.references.get("optimum")) is not None:
        return {"value": stated, "lower": stated, "upper": stated, "how": "closed form"}
    if not isinstance(table, FixedTable) or table.expanded > SETTLED:
        return None
    from everlearn.theory.optimum import optimum
    from everlearn.theory.pairs import tabulate

    try:
        computed = optimum(tabulate(task))
    except EverlearnError:
        return None
    how = "certified" if computed.certified else "computed, its bounds have not closed"
    return {"value": computed.average_reward, "lower": computed.lower, "upper": computed.upper, "how": how}
