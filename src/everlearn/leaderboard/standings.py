"""Standings: the relative regret and the rank of each agent on each task, and duels with our agent.

The relative regret of a run after T steps is (lambda_* - average reward) / |lambda_*|, with the exact optimum lambda_*
of the task; the size of lambda_*, so that more is worse also if the optimum is negative.  If the aleatoric state hides
something, there is regret against the best policy over aleatoric states too, as a share of the same |lambda_*|: the two
differ by what the state hides.  An agent may earn more than that policy, which never changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from everlearn.analysis.comparison import comparisons, holm
from everlearn.analysis.sentences import Comparison, sentence, verdict
from everlearn.leaderboard.lineup import Lineup
from everlearn.leaderboard.shipped import powers_of_ten
from everlearn.protocol import Table
from everlearn.results.arm import Arm, standard_error

BETTER, WORSE, OPEN = "better", "worse", "not shown"
VERDICTS = (BETTER, WORSE, OPEN)

CONFIDENCE = 0.95


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
    for time, totals in zip(arm.times.tolist(), arm.total_reward.T, strict=True):
        lost = (reference.optimum - totals / time) / abs(reference.optimum)
        low, high = _interval(lost)
        mean = float(lost.mean())
        yield Standing(
            task=arm.task,
            kind=lineup.kind(arm.task),
            agent=arm.agent,
            time=time,
            runs=arm.units,
            optimum=reference.optimum,
            best_aleatoric=reference.best_aleatoric,
            relative_regret=mean,
            low=low,
            high=high,
            worst_run=float(lost.max()),
            against_best_aleatoric=mean - reference.lost if reference.hidden else None,
        )


def _interval(lost: Table) -> tuple[float | None, float | None]:
    """Return Student's 95% interval of the mean; the board has thousands, for which a bootstrap takes a minute."""
    from scipy.stats import t

    if lost.size < 2:
        return None, None
    mean, half = float(lost.mean()), float(t.ppf(0.975, lost.size - 1) * standard_error(lost))
    return mean - half, mean + half


def times(rows: Sequence[Standing]) -> list[int]:
    """Return the times that have rows."""
    return sorted({row.time for row in rows})


def at(rows: Sequence[Standing], time: int) -> list[Standing]:
    """Return the rows of one time."""
    return [row for row in rows if row.time == time]


def final(rows: Sequence[Standing]) -> list[Standing]:
    """Return the rows of the last time."""
    return at(rows, max(row.time for row in rows))


class Duel(NamedTuple):
    """Our agent and a rival on one task, compared by pairs of runs with the same random numbers."""

    task: str
    kind: str
    rival: str
    time: int
    """The end of the shorter of the two."""
    verdict: str
    """How our agent did: ``better`` or ``worse`` if interval and adjusted p-value agree, else ``not shown``."""
    difference: float
    """The mean over pairs of the rival's relative regret minus ours: above zero, ours did better."""
    low: float | None
    high: float | None
    adjusted: float | None
    sentence: str


def duels(arms: Sequence[Arm], lineup: Lineup) -> list[Duel]:
    """Compare every other agent with ours on every task, at the end of the shorter of the two.

    All comparisons on one task are adjusted together (Holm).
    """
    ours = {"better": WORSE, "worse": BETTER, "unclear": OPEN}  # by the verdict on the rival
    ends = {(arm.task, arm.agent): int(arm.times[-1]) for arm in arms}
    fought = []
    for rival in _compared(arms, lineup):
        verdict, numbers = ours[rival.verdict], (rival.difference, rival.low, rival.high, rival.adjusted)
        time, kind = min(ends[rival.task, agent] for agent in (lineup.ours, rival.agent)), lineup.kind(rival.task)
        fought.append(Duel(rival.task, kind, rival.agent, time, verdict, *numbers, rival.sentence))
    return fought


def lost_duels(duels: Sequence[Duel]) -> dict[str, list[Duel]]:
    """Return the duels that our agent is shown to lose, by task: those of most steps first, then by the difference."""
    worse: dict[str, list[Duel]] = {}
    for duel in duels:
        if duel.verdict == WORSE:
            worse.setdefault(duel.task, []).append(duel)
    return {task: sorted(each, key=lambda duel: (-duel.time, duel.difference)) for task, each in worse.items()}


def _compared(arms: Sequence[Arm], lineup: Lineup) -> Iterator[Comparison]:
    for task in lineup.tasks:
        group = [arm for arm in arms if arm.task == task]
        compared: list[Comparison] = []
        for own in (arm for arm in group if arm.agent == lineup.ours):
            for end in sorted({min(own.times[-1], arm.times[-1]) for arm in group}, reverse=True):
                same = [
                    powers_of_ten(arm, end) for arm in group if arm is own or min(own.times[-1], arm.times[-1]) == end
                ]
                if len(same) > 1:
                    compared += comparisons(same, "relative regret", lineup.ours, CONFIDENCE)
        yield from _adjusted(compared)


def _adjusted(compared: Sequence[Comparison]) -> Iterator[Comparison]:
    """Yield comparisons with p-values that are adjusted for all of them."""
    tested = [each.p_value for each in compared if each.p_value is not None]
    adjusted = iter(holm(tested))
    for each in compared:
        changed = replace(each, adjusted=None if each.p_value is None else next(adjusted))
        text = sentence(changed, CONFIDENCE, made=len(tested))
        yield replace(changed, verdict=verdict(changed, CONFIDENCE), sentence=text)
