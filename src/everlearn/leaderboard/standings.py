"""Standings: the relative regret and the rank of each agent on each task, and duels with our agent.

The relative regret of a run after T steps is (lambda_* - average reward) / |lambda_*|, with the exact optimum lambda_*
of the task; the size of lambda_*, so that more is worse also if the optimum is negative.  If the aleatoric state hides
something, there is regret against the best policy over aleatoric states too, as a share of the same |lambda_*|: the two
differ by what the state hides.  An agent may earn more than that policy, which never changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from everlearn.analysis.comparison import comparisons
from everlearn.analysis.statistics import regret_table
from everlearn.experiments.rows import Rows
from everlearn.leaderboard.lineup import KINDS, Lineup
from everlearn.results.arm import Arm

TIMES = 3
"""The number of times at which regret is shown: the last powers of ten, and the end."""

BETTER, WORSE, OPEN = "better", "worse", "not shown"
VERDICTS = (BETTER, WORSE, OPEN)


class Standing(NamedTuple):
    """What one agent lost on one task until a time: the mean over runs, its interval, and the worst run."""

    task: str
    kind: str
    agent: str
    time: int
    runs: int
    optimum: float
    best_aleatoric: float
    relative_regret: float
    low: float | None
    high: float | None
    worst_run: float
    against_best_aleatoric: float | None
    """The regret against the best policy over aleatoric states; None if the state hides nothing."""


def standings(arms: Sequence[Arm], lineup: Lineup) -> list[Standing]:
    """Return a row for each agent, task and time, best first at each time."""
    rows = [row for arm in arms for row in _rows(arm, lineup)]
    return sorted(rows, key=lambda row: (lineup.tasks.index(row.task), row.time, row.relative_regret))


def _rows(arm: Arm, lineup: Lineup) -> Iterator[Standing]:
    reference = lineup.references[arm.task]
    for row in regret_table([arm], times_shown(arm)):
        scale = row["time"] * abs(reference.optimum)
        mean = row["mean"] / scale
        regrets = np.asarray(arm.regret)[:, np.searchsorted(arm.times, row["time"])]
        low, high = (None if row[key] is None else row[key] / scale for key in ("low", "high"))
        yield Standing(
            task=arm.task,
            kind=lineup.kind(arm.task),
            agent=arm.agent,
            time=row["time"],
            runs=arm.units,
            optimum=reference.optimum,
            best_aleatoric=reference.best_aleatoric,
            relative_regret=mean,
            low=low,
            high=high,
            worst_run=float(regrets.max() / scale),
            against_best_aleatoric=mean - reference.lost if reference.hidden else None,
        )


def times_shown(arm: Arm) -> list[int]:
    """Return the times at which regret is shown."""
    last = int(arm.times[-1])
    return [time for time in arm.times.tolist() if time == last or str(time).strip("0") == "1"][-TIMES:]


def final(rows: Sequence[Standing]) -> list[Standing]:
    """Return the rows of the last time."""
    last = max(row.time for row in rows)
    return [row for row in rows if row.time == last]


def ranks(rows: Sequence[Standing]) -> dict[str, dict[str, float]]:
    """Return the rank of each agent on each task at the last time, 1 the best; equal agents share their mean rank."""
    from scipy.stats import rankdata

    tasks: dict[str, dict[str, float]] = {}
    for row in final(rows):
        tasks.setdefault(row.task, {})[row.agent] = row.relative_regret
    return {
        task: dict(zip(lost, map(float, rankdata(list(lost.values()))), strict=True)) for task, lost in tasks.items()
    }


def overall(rows: Sequence[Standing]) -> Rows:
    """Return a row for each agent: its mean rank, and the number of tasks it leads, by kind of task; best first.

    They are sorted by the mean rank on tasks that were set aside, if there are any.
    """
    kinds, places = {row.task: row.kind for row in rows}, ranks(rows)
    agents = Rows()
    for agent in dict.fromkeys(row.agent for row in rows):
        document: dict[str, Any] = {"agent": agent}
        for kind in KINDS:
            held = [places[task][agent] for task in places if kinds[task] == kind]
            document[f"tasks, {kind}"] = len(held)
            document[f"mean rank, {kind}"] = float(np.mean(held)) if held else None
            document[f"led, {kind}"] = sum(rank == 1 for rank in held)
        agents.append(document)
    agents.sort(key=lambda document: [document[f"mean rank, {kind}"] or 0.0 for kind in KINDS])
    return agents


class Duel(NamedTuple):
    """Our agent and a rival on one task, compared by pairs of runs with the same random numbers."""

    task: str
    kind: str
    rival: str
    verdict: str
    """How our agent did: ``better`` or ``worse`` if interval and adjusted p-value agree, else ``not shown``."""
    difference: float
    """The mean over pairs of the rival's relative regret minus ours: above zero, ours did better."""
    low: float | None
    high: float | None
    adjusted: float | None
    sentence: str


def duels(arms: Sequence[Arm], lineup: Lineup) -> list[Duel]:
    """Compare every other agent with ours on every task; all comparisons are adjusted together (Holm)."""
    if len(lineup.agents) < 2:
        return []
    ours = {"better": WORSE, "worse": BETTER, "unclear": OPEN}  # by the verdict on the rival
    fought = []
    for rival in comparisons(arms, "relative regret", lineup.ours):
        verdict, numbers = ours[rival.verdict], (rival.difference, rival.low, rival.high, rival.adjusted)
        fought.append(Duel(rival.task, lineup.kind(rival.task), rival.agent, verdict, *numbers, rival.sentence))
    return fought
