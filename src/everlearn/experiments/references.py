"""What can be earned on a task, exactly: stated with it, or computed from its model."""

from __future__ import annotations

import warnings
from typing import Any

from everlearn.errors import EverlearnError
from everlearn.results.references import BEST, FOUND, OPTIMUM
from everlearn.tables import SETTLED, AnyTable, FixedTable
from everlearn.tasks.task import Task

DIFFERENT = 1e-6
"""A stated optimum that is further from the computed one is wrong."""


def reference_lines(task: Task, identity: str | None = None) -> dict[str, float]:
    """Return the averages of the best policies, as far as they can be computed in a second or two.

    ``identity`` is a text that no other task has, where equal tasks are made again and again.

    Examples
    --------
    >>> from everlearn.tasks.t_maze import t_maze
    >>> {name: round(value, 6) for name, value in reference_lines(t_maze(window=1)).items()}
    {'optimum over all policies': 0.166667, 'best over aleatoric states, by search': 0.083333}

    """
    from everlearn.theory.known import known

    found, lines = known(task, identity), {}
    if found.optimum is not None:
        lines[OPTIMUM] = found.optimum
        stated = task.references.get("optimum", found.optimum)
        if abs(stated - found.optimum) > DIFFERENT * max(1.0, abs(stated)):
            message = f"task {task.name!r} states the optimum {stated:.6g}, its model has {found.optimum:.6g}"
            warnings.warn(f"{message}; correct what it states", stacklevel=2)
    if found.best is not None:
        lines[BEST if found.proved else FOUND] = found.best
    return lines


def optimal_average(
    task: Task, table: AnyTable | None, identity: str | None = None, *, best: bool = True
) -> dict[str, Any] | None:
    """Return lambda_* with its bounds and how it is known, or None where it is not.

    ``best`` says whether to look for the best policy over aleatoric states, too; it is under ``best``, by its name.

    Examples
    --------
    >>> from everlearn.tasks.service_station import service_station
    >>> optimal_average(service_station(cap=2), None)
    {'value': 0.5, 'lower': 0.5, 'upper': 0.5, 'how': 'closed form', 'best': {'best over aleatoric states': 0.5...}}

    """
    found = _optimum(task, table)
    if found is None or not best:
        return found
    lines = reference_lines(task, identity)
    return {**found, "best": {name: value for name, value in lines.items() if name in (BEST, FOUND)}}


def _optimum(task: Task, table: AnyTable | None) -> dict[str, Any] | None:
    if (known := task.references.get("optimum")) is not None:
        return {"value": known, "lower": known, "upper": known, "how": "closed form"}
    if not isinstance(table, FixedTable) or table.expanded > SETTLED:
        return None
    from everlearn.theory.optimum import optimum
    from everlearn.theory.pairs import tabulate

    try:
        found = optimum(tabulate(task))
    except EverlearnError:
        return None
    how = "certified" if found.certified else "computed, its bounds have not closed"
    return {"value": found.average_reward, "lower": found.lower, "upper": found.upper, "how": how}
