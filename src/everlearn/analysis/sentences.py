"""A comparison of two agents, and the sentence that reports it: what was seen, how sure it is, and no more."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from everlearn.analysis.measures import MEASURES


@dataclass(frozen=True)
class Comparison:
    """The difference between two agents on one task.

    Examples
    --------
    >>> import everlearn as el
    >>> experiment = el.experiment("riverswim", ["always", "growing-horizon"], steps=1000, runs=8)
    >>> (comparison,) = experiment.compare("regret")
    >>> comparison.agent, comparison.against, comparison.p_value, comparison.better
    ('growing-horizon, practical', 'always', 0.0078125, 1.0)

    """

    task: str
    agent: str
    against: str
    settings: dict[str, Any]
    """All settings of the agent's arm."""
    against_settings: dict[str, Any]
    """All settings of the other agent's arm."""
    measure: str
    units: int
    """The number of pairs."""
    difference: float
    """The mean over pairs of the agent's measure minus the other's."""
    low: float | None
    high: float | None
    p_value: float | None
    """None if there is only one pair."""
    adjusted: float | None
    """The p-value, adjusted for all comparisons made together."""
    better: float
    """The share of pairs in which the agent did better: earned more, or had less regret."""
    verdict: str
    """``better`` or ``worse`` if interval and adjusted p-value agree, otherwise ``unclear``."""
    sentence: str
    task_name: str
    agent_name: str
    against_name: str
    """Names for display: labels with the settings in which arms of the same label differ."""

    def shown(self, confidence: float) -> bool:
        """Return whether interval and test agree that there is a difference."""
        low, high = _ends(self)
        return self.adjusted is not None and self.adjusted <= 1 - confidence and low * high > 0


def verdict(comparison: Comparison, confidence: float) -> str:
    """Return ``better``, ``worse`` or ``unclear``."""
    if not comparison.shown(confidence):
        return "unclear"
    return "better" if (comparison.difference < 0) == MEASURES[comparison.measure].less_is_better else "worse"


def too_few(units: int, made: int, confidence: float) -> bool:
    """Return whether so few pairs cannot show any difference, however large, among ``made`` comparisons."""
    return max(2.0 ** (1 - units), 2 / 10_000) * made > 1 - confidence


def sentence(comparison: Comparison, confidence: float = 0.95, unit: str = "run", made: int = 1) -> str:
    """Return a comparison as a sentence; it was one of ``made`` comparisons made together."""
    measure, (low, high) = MEASURES[comparison.measure], _ends(comparison)
    task, agent, against = comparison.task_name, comparison.agent_name, comparison.against_name
    if comparison.adjusted is None:
        nothing = f"on {task}, one {unit} shows nothing of {agent} and {against}"
        return f"{nothing}: its difference in {measure.quantity} is {comparison.difference:.4g}"
    shown = comparison.shown(confidence)
    if shown:  # the clause says "more" or "less", so numbers are sizes
        ends = sorted((abs(low), abs(high)))
        size = rounded(abs(comparison.difference), low, high)
        more = "more" if comparison.difference > 0 else "less"
        statement = f"{agent} {measure.clause.format(size=size, more=more, against=against)}"
    else:
        ends = [low, high]
        size = rounded(comparison.difference, low, high)
        statement = f"no difference in {measure.quantity} between {agent} and {against} is shown: {size}"
    interval = " to ".join(rounded(end, low, high) for end in ends)
    p = "p < 0.001" if comparison.adjusted < 0.001 else f"p = {comparison.adjusted:.2g}"
    details = f"{100 * confidence:g}% interval {interval}, {comparison.units} paired {unit}s, adjusted {p}"
    if measure.less_is_better:
        details += "; less is better"
    if not shown and too_few(comparison.units, made, confidence):
        details += f"; so few {unit}s cannot show one" + (f" among {made} comparisons" if made > 1 else "")
    return f"on {task}, {statement} ({details})"


def rounded(value: float, low: float, high: float, sign: str = "") -> str:
    """Return a number to two digits of an interval's width, since further digits are noise; ``sign`` may be a plus."""
    width = high - low
    if not width > 1e-6 * abs(value):
        return f"{value:{sign}.4g}"
    decimals = max(0, 1 - math.floor(math.log10(width)))
    return f"{round(value, decimals) + 0.0:{sign},.{decimals}f}"  # the sum turns -0.0 into 0.0


def _ends(comparison: Comparison) -> tuple[float, float]:
    low, high = comparison.low, comparison.high
    return math.nan if low is None else low, math.nan if high is None else high
