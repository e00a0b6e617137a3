"""What can be earned on the tasks of an experiment, exactly: known beforehand, or computed from the model."""

from __future__ import annotations

from typing import Any

from everlearn.engine.table import SETTLED, AnyTable, FixedTable
from everlearn.errors import EverlearnError
from everlearn.tasks.task import Task


def optimal_average(task: Task, table: AnyTable | None) -> dict[str, Any] | None:
    """Return lambda_* with its bounds and how it is known, or None where it is not.

    Examples
    --------
    >>> from everlearn.tasks.service_station import service_station
    >>> optimal_average(service_station(), None)
    {'value': 0.5, 'lower': 0.5, 'upper': 0.5, 'how': 'closed form'}

    """
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
