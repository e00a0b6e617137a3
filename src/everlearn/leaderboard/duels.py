"""Where our agent does better than another, and where worse: by pairs of runs with the same random numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from everlearn.analysis.comparison import Comparison, comparisons
from everlearn.leaderboard.lineup import KINDS, Lineup
from everlearn.results.arm import Arm

CONFIDENCE = 0.95
BETTER, WORSE, OPEN = "better", "worse", "not shown"
VERDICTS = (BETTER, WORSE, OPEN)


class Duel(NamedTuple):
    """Our agent and a rival on one task."""

    task: str
    kind: str
    rival: str
    verdict: str
    """How our agent did: ``better`` or ``worse`` where interval and adjusted p-value agree, else ``not shown``."""
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
    found = comparisons(arms, "relative regret", lineup.ours, CONFIDENCE)
    return [_duel(one, lineup.kind(one.task)) for one in found]


def tally(fought: Iterable[Duel]) -> dict[str, dict[str, dict[str, int]]]:
    """Return for each rival, and each kind of task, how many duels had which verdict.

    Examples
    --------
    >>> one = Duel("shop", "training", "rival", BETTER, 0.1, 0.05, 0.2, 0.001, "")
    >>> tally([one, one])["rival"]["training"]
    {'better': 2, 'worse': 0, 'not shown': 0}

    """
    counts: dict[str, dict[str, dict[str, int]]] = {}
    for one in fought:
        empty = {kind: dict.fromkeys(VERDICTS, 0) for kind in KINDS}
        counts.setdefault(one.rival, empty)[one.kind][one.verdict] += 1
    return counts


def _duel(found: Comparison, kind: str) -> Duel:
    return Duel(
        found.task,
        kind,
        found.agent,
        _verdict(found),
        found.difference,
        found.low,
        found.high,
        found.adjusted,
        found.sentence,
    )


def _verdict(found: Comparison) -> str:
    """Return what is shown, where interval and test agree that there is a difference."""
    if found.adjusted is None or found.low is None or found.high is None:
        return OPEN
    if found.adjusted > 1 - CONFIDENCE or found.low * found.high <= 0:
        return OPEN
    return BETTER if found.difference > 0 else WORSE
