"""Findings in words that say what was seen, how sure it is, and no more."""

from __future__ import annotations

import math
from typing import NamedTuple

from everlearn.analysis.measures import LOSSES

_QUANTITIES = {
    "final": "average reward",
    "late": "average reward past a tenth of the steps",
    "anytime": "average reward over logarithmic time",
    "regret": "regret",
    "relative regret": "relative regret",
}

_CLAUSES = {
    "final": "earned {size} {more} a step than {against}",
    "late": "earned {size} {more} a step than {against} past a tenth of the steps",
    "anytime": "earned {size} {more} a step than {against}, averaged over logarithmic time",
    "regret": "had {size} {more} regret than {against}",
    "relative regret": "had {size} {more} relative regret than {against}",
}


class Finding(NamedTuple):
    """What a sentence is made of: names as a reader should see them, and numbers of the agent minus the other.

    Examples
    --------
    >>> Finding("shop", "fast", "slow", "final", 0.1, -0.1, 0.3, 20, 0.4).shown(0.95)
    False

    """

    task: str
    agent: str
    against: str
    measure: str
    difference: float
    low: float
    high: float
    units: int
    adjusted: float | None
    """The adjusted p-value; None where there is but one pair."""
    made: int = 1
    """How many comparisons were made together."""

    def shown(self, confidence: float) -> bool:
        """Say whether interval and test agree that there is a difference."""
        return self.adjusted is not None and self.adjusted <= 1 - confidence and self.low * self.high > 0

    def verdict(self, confidence: float) -> str:
        """Return what is shown: ``better``, ``worse``, or ``unclear``."""
        if not self.shown(confidence):
            return "unclear"
        return "better" if (self.difference < 0) == (self.measure in LOSSES) else "worse"

    def cannot(self, confidence: float) -> bool:
        """Say whether there are so few pairs that no difference could be shown, however large."""
        return cannot(self.units, self.made, confidence)


def cannot(units: int, made: int, confidence: float) -> bool:
    """Say whether so few pairs can show no difference among so many comparisons, however large it is.

    Examples
    --------
    >>> cannot(5, 1, 0.95), cannot(10, 1, 0.95), cannot(10, 36, 0.95)
    (True, False, True)

    """
    return max(2.0 ** (1 - units), 2 / 10_000) * made > 1 - confidence


def sentence(finding: Finding, confidence: float = 0.95, unit: str = "run") -> str:
    """Return a finding as a sentence.

    Examples
    --------
    >>> finding = Finding("shop", "fast", "slow", "regret", -12.3, -15.1, -9.2, 20, 0.0002)
    >>> print(sentence(finding))
    on shop, fast had 12.3 less regret than slow
    (95% interval 9.2 to 15.1, 20 paired runs, adjusted p < 0.001; less is better)
    >>> print(sentence(finding._replace(low=-27.0, high=3.0, adjusted=0.19)))
    on shop, no difference in regret between fast and slow is shown: -12
    (95% interval -27 to 3, 20 paired runs, adjusted p = 0.19; less is better)
    >>> print(sentence(finding._replace(units=1, adjusted=None)))
    on shop, one run shows nothing of fast and slow: its difference in regret is -12.3

    """
    quantity, between = _QUANTITIES[finding.measure], f"{finding.agent} and {finding.against}"
    if finding.adjusted is None:
        nothing = f"on {finding.task}, one {unit} shows nothing of {between}"
        return f"{nothing}: its difference in {quantity} is {finding.difference:.4g}"
    if finding.shown(confidence):
        return f"on {finding.task}, {finding.agent} {_clause(finding)} ({_details(finding, confidence, unit)})"
    among = f" among {finding.made} comparisons" if finding.made > 1 else ""
    few = f"; so few {unit}s cannot show one{among}" if finding.cannot(confidence) else ""
    return (
        f"on {finding.task}, no difference in {quantity} between {between} is shown: "
        f"{rounded(finding.difference, finding.low, finding.high)} ({_details(finding, confidence, unit)}{few})"
    )


def _clause(finding: Finding) -> str:
    more = "more" if finding.difference > 0 else "less"
    size = rounded(abs(finding.difference), finding.low, finding.high)
    return _CLAUSES[finding.measure].format(size=size, more=more, against=finding.against)


def _details(finding: Finding, confidence: float, unit: str) -> str:
    ends = (finding.low, finding.high)
    if finding.shown(confidence):  # the clause says "less", so sizes are given
        ends = (min(map(abs, ends)), max(map(abs, ends)))
    low, high = (rounded(end, finding.low, finding.high) for end in ends)
    better = "; less is better" if finding.measure in LOSSES else ""
    return (
        f"{100 * confidence:g}% interval {low} to {high}, {finding.units} paired {unit}s, "
        f"adjusted {_probability(finding.adjusted)}{better}"
    )


def rounded(value: float, low: float, high: float, sign: str = "") -> str:
    """Return a number to two digits of an interval's width: what is beyond them is noise.

    ``sign`` is a plus where one should be written.

    Examples
    --------
    >>> rounded(0.123456, 0.11, 0.14), rounded(1234.5, 900, 1500, "+"), rounded(0.25, 0.25, 0.25)
    ('0.123', '+1,234', '0.25')

    """
    width = high - low
    if not width > 1e-6 * abs(value):
        return f"{value:{sign}.4g}"
    decimals = max(0, 1 - math.floor(math.log10(width)))
    return f"{round(value, decimals) + 0.0:{sign},.{decimals}f}"  # the sum turns -0.0 into 0.0


def _probability(p: float | None) -> str:
    return "p < 0.001" if p is not None and p < 0.001 else f"p = {p:.2g}"
