"""Which of two agents did better on the same task, by how much, and whether the runs suffice to say so.

Unit i of two arms on one task saw the same random numbers of the environment, so arms are compared in pairs:
for each unit a difference is taken, and the differences are what is resampled.  A *p-value* is that of a
permutation test: how often the mean difference would be as large, were the sign of each difference tossed by a
coin.  All comparisons made together are adjusted together, by the method of Holm: the chance that any of them
shows what is not there is kept to that of one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from everlearn.analysis.measures import LOSSES, measurable, measured
from everlearn.analysis.names import agent_names, task_names, task_settings
from everlearn.analysis.sentences import Finding, sentence
from everlearn.analysis.statistics import MOST_NUMBERS, SEED, interval, number
from everlearn.errors import InputError, UnknownName, require
from everlearn.protocol import Table
from everlearn.results.arm import Arm

RESAMPLES = 9_999
"""Up to 13 pairs, every choice of signs is tried; beyond, so many: no p-value is then below 0.0002."""


@dataclass(frozen=True)
class Comparison:
    """How an agent did against another on one task.

    Examples
    --------
    >>> times, optimum = np.array([1]), np.array([1.0] * 8)
    >>> poor = Arm("shop", "poor", {}, times, np.arange(8.0).reshape(8, 1), optimum)
    >>> good = Arm("shop", "good", {}, times, poor.total_reward + 0.5, optimum)
    >>> (found,) = comparisons([poor, good], "regret")
    >>> found.agent, found.against, found.difference, found.p_value, found.better
    ('good', 'poor', -0.5, 0.0078125, 1.0)

    """

    task: str
    agent: str
    against: str
    settings: dict[str, Any]
    """All settings of the agent's arm."""
    against_settings: dict[str, Any]
    """All settings of the other's."""
    measure: str
    units: int
    """How many pairs there are."""
    difference: float
    """The mean over pairs of the agent's measure minus the other's."""
    low: float | None
    high: float | None
    p_value: float | None
    """None where there is but one pair."""
    adjusted: float | None
    """The p-value, adjusted for all comparisons made."""
    better: float
    """The share of pairs in which the agent did better: earned more, or had less regret."""
    verdict: str
    """``better`` or ``worse`` where interval and adjusted p-value agree, else ``unclear``."""
    sentence: str
    task_name: str
    agent_name: str
    against_name: str
    """What the three are called where they stand side by side: with the settings in which their like differ."""


class _Named(NamedTuple):
    arm: Arm
    task: str
    agent: str


def comparisons(
    arms: Sequence[Arm], measure: str = "final", against: str | None = None, confidence: float = 0.95
) -> list[Comparison]:
    """Compare arms on the same task: all pairs, the first listed as baseline, or all others against one.

    Tasks are the same if their labels and their ``task.`` settings are.  Of arms that have
    different runs, those are paired that both have.  Arms of which the measure is not known are left out.

    Parameters
    ----------
    arms:
        on one task or several
    measure:
        one of ``MEASURES``
    against:
        the label of an agent, or its name with settings, as in ``smooth (horizon_scale=3)``
    confidence:
        of the intervals; a difference is said to be shown if its adjusted p-value is at most 1 - confidence

    Examples
    --------
    >>> earned = {"slow": np.arange(8.0), "fast": np.arange(8.0) + [0.4, 0.6] * 4}
    >>> arms = [Arm("shop", name, {}, np.array([1]), total.reshape(8, 1)) for name, total in earned.items()]
    >>> print(comparisons(arms)[0].sentence)
    on shop, fast earned 0.50 more a step than slow
    (95% interval 0.43 to 0.57, 8 paired runs, adjusted p = 0.0078)

    """
    kept = [arm for arm in arms if measurable(arm, measure)]
    named = [_Named(*each) for each in zip(kept, task_names(kept), agent_names(kept), strict=True)]
    compared = [(pair, _differences(*pair, measure)) for pair in _pairs(named, against)]
    pairs = [pair for pair, values in compared if values.size]
    differences = [values for _, values in compared if values.size]
    p_values = [_p_value(values) for values in differences]
    number_made = sum(p is not None for p in p_values)
    adjusted = iter(holm([p for p in p_values if p is not None]))
    return [
        _comparison(pair, measure, values, (p, None if p is None else next(adjusted)), number_made, confidence)
        for pair, values, p in zip(pairs, differences, p_values, strict=True)
    ]


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for their number (Holm, 1979), in the order given.

    The least is multiplied by their number, the next by one less, and so on; none falls below one before it.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]

    """
    for p in p_values:
        require(0 <= p <= 1, "p_values", p, "give probabilities")
    adjusted, reached = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        reached = max(reached, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = reached
    return adjusted


def _pairs(named: Sequence[_Named], against: str | None) -> Iterator[tuple[_Named, _Named]]:
    """Yield the arms to be compared, each with its baseline, task by task."""
    if against is not None and not any(_is(each, against) for each in named):
        raise UnknownName("against", against, {name for each in named for name in (each.arm.agent, each.agent)})
    for group in _by_task(named):
        if against is None:
            yield from ((other, baseline) for baseline, other in combinations(group, 2))
        else:
            baselines = [each for each in group if _is(each, against)]
            yield from ((each, baseline) for baseline in baselines for each in group if not _is(each, against))


def _is(each: _Named, against: str) -> bool:
    return against in (each.arm.agent, each.agent)


def _by_task(named: Sequence[_Named]) -> Iterable[list[_Named]]:
    tasks: dict[str, list[_Named]] = {}
    for each in named:
        key = repr((each.arm.task, sorted(task_settings(each.arm).items())))
        tasks.setdefault(key, []).append(each)
    return tasks.values()


def _differences(one: _Named, other: _Named, measure: str) -> Table:
    if not _same_times(one.arm, other.arm, measure):
        ends = {each.agent: int(each.arm.times[-1]) for each in (one, other)}
        raise InputError("arms", ends, "were not recorded at the same times; run both for as many steps")
    _, here, there = np.intersect1d(one.arm.numbered, other.arm.numbered, return_indices=True)
    return measured(one.arm, measure)[here] - measured(other.arm, measure)[there]


def _same_times(one: Arm, other: Arm, measure: str) -> bool:
    if measure in ("late", "anytime"):  # these look at times before the last
        return np.array_equal(one.times, other.times)
    return bool(one.times[-1] == other.times[-1])


def _p_value(differences: Table) -> float | None:
    from scipy.stats import permutation_test

    if differences.size < 2:
        return None
    if not differences.any():
        return 1.0
    found = permutation_test(
        (differences,),
        np.mean,
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=max(1, MOST_NUMBERS // differences.size),
        rng=np.random.default_rng(SEED),
    )
    return float(found.pvalue)


def _comparison(
    pair: tuple[_Named, _Named],
    measure: str,
    values: Table,
    chances: tuple[float | None, float | None],
    number_made: int,
    confidence: float,
) -> Comparison:
    (one, other), (p, adjusted) = pair, chances
    low, high = interval(values, confidence)
    finding = Finding(
        one.task, one.agent, other.agent, measure, float(values.mean()), low, high, values.size, adjusted
    )._replace(made=number_made)
    return Comparison(
        task=one.arm.task,
        agent=one.arm.agent,
        against=other.arm.agent,
        settings=dict(one.arm.settings),
        against_settings=dict(other.arm.settings),
        measure=measure,
        units=values.size,
        difference=finding.difference,
        low=number(low),
        high=number(high),
        p_value=p,
        adjusted=adjusted,
        better=float(np.mean(values < 0 if measure in LOSSES else values > 0)),
        verdict=finding.verdict(confidence),
        sentence=sentence(finding, confidence, one.arm.unit),
        task_name=one.task,
        agent_name=one.agent,
        against_name=other.agent,
    )
