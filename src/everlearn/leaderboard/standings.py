"""Who lost how much on which task: relative regret at several times, ranks, and how often an agent leads.

The relative regret of a run after T steps is (lambda_* - average reward) / |lambda_*|, with the exact optimum lambda_*
of the task; the size of lambda_*, so that more is worse also where the optimum is negative.  Where the aleatoric state
hides something, regret against the best policy over aleatoric states is there too, as a share of the same |lambda_*|:
the two differ by what the state hides.  An agent may earn more than that policy, which never changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from everlearn.analysis.statistics import regret_table
from everlearn.experiments.rows import Rows
from everlearn.leaderboard.lineup import KINDS, Lineup, Reference
from everlearn.results.arm import Arm

TIMES = 3
"""At how many times regret is shown: the last powers of ten, and the end."""


def times_shown(arm: Arm) -> list[int]:
    """Return the times at which regret is shown.

    Examples
    --------
    >>> times_shown(Arm("shop", "smooth", {}, np.array([1, 10, 60, 100, 600]), np.zeros((1, 5))))
    [10, 100, 600]

    """
    last = int(arm.times[-1])
    return [time for time in arm.times.tolist() if time == last or str(time).strip("0") == "1"][-TIMES:]


def standings(arms: Sequence[Arm], lineup: Lineup) -> Rows:
    """Return a row for each agent, task and time, best first at each."""
    rows = Rows(row for arm in arms for row in _rows(arm, lineup.kind(arm.task), lineup.references[arm.task]))
    order = {task: place for place, task in enumerate(lineup.tasks)}
    rows.sort(key=lambda row: (order[row["task"]], row["time"], row["relative_regret"]))
    return rows


def _rows(arm: Arm, kind: str, reference: Reference) -> list[dict[str, Any]]:
    size, found = abs(reference.optimum), []
    for row in regret_table([arm], times_shown(arm)):
        time = row["time"]
        mean, low, high = (None if row[key] is None else row[key] / (time * size) for key in ("mean", "low", "high"))
        worst = np.max(np.asarray(arm.regret)[:, np.searchsorted(arm.times, time)]) / (time * size)
        found.append(
            {
                "task": arm.task,
                "kind": kind,
                "agent": arm.agent,
                "time": time,
                "runs": arm.units,
                "optimum": reference.optimum,
                "best_aleatoric": reference.best_aleatoric,
                "relative_regret": mean,
                "low": low,
                "high": high,
                "worst_run": float(worst),
                "against_best_aleatoric": row["mean"] / (time * size) - reference.lost if reference.hidden else None,
            }
        )
    return found


def final(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the rows of the last time.

    Examples
    --------
    >>> final([{"time": 10}, {"time": 100}])
    [{'time': 100}]

    """
    listed = list(rows)
    last = max(row["time"] for row in listed)
    return [row for row in listed if row["time"] == last]


def ranks(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Return for each task the rank of each agent at the last time, 1 the best; equals share the mean of theirs.

    Examples
    --------
    >>> lost = {"good": 0.1, "fair": 0.2, "same": 0.2}
    >>> ranks({"task": "shop", "agent": name, "time": 9, "relative_regret": one} for name, one in lost.items())
    {'shop': {'good': 1.0, 'fair': 2.5, 'same': 2.5}}

    """
    from scipy.stats import rankdata

    tasks: dict[str, dict[str, float]] = {}
    for row in final(rows):
        tasks.setdefault(row["task"], {})[row["agent"]] = row["relative_regret"]
    return {
        task: dict(zip(lost, map(float, rankdata(list(lost.values()))), strict=True)) for task, lost in tasks.items()
    }


def overall(rows: Sequence[Mapping[str, Any]]) -> Rows:
    """Return a row for each agent: its mean rank, and how many tasks it leads, by kind of task; best first.

    They are sorted by the mean rank on tasks that were set aside, where there are any.
    """
    kinds, places = {row["task"]: row["kind"] for row in rows}, ranks(rows)
    found = Rows()
    for agent in dict.fromkeys(row["agent"] for row in rows):
        each: dict[str, Any] = {"agent": agent}
        for kind in KINDS:
            held = [places[task][agent] for task in places if kinds[task] == kind]
            each[f"tasks, {kind}"] = len(held)
            each[f"mean rank, {kind}"] = float(np.mean(held)) if held else None
            each[f"led, {kind}"] = sum(rank == 1 for rank in held)
        found.append(each)
    found.sort(key=lambda each: [each[f"mean rank, {kind}"] or 0.0 for kind in KINDS])
    return found
