"""Compare agents on the same task: which one did better, by how much, and whether the runs suffice to say so.

Unit i of two arms on one task saw the same random numbers of the environment, so arms are compared in pairs: each unit
gives a difference, and the differences are resampled.  The *p-value* is that of a permutation test: the share of random
choices of signs for which the mean difference is at least as large.  All comparisons made together are adjusted
together by Holm's method, so that the chance of one or more false findings is no larger than for a single test.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from everlearn.analysis.measures import MEASURES, measurable, measured
from everlearn.analysis.names import agent_names, task_names, task_settings
from everlearn.analysis.sentences import Comparison, sentence, verdict
from everlearn.analysis.statistics import MOST_NUMBERS, SEED, interval
from everlearn.errors import InputError, UnknownName, require
from everlearn.protocol import Table
from everlearn.results.arm import Arm, finite, grouped

RESAMPLES = 9_999
"""The number of random choices of signs, so no p-value is below 0.0002.  For up to 13 pairs, all choices are tried."""


class _Named(NamedTuple):
    """An arm, and the names that tell its task and its agent from others."""

    arm: Arm
    task: str
    agent: str

    def matches(self, name: str) -> bool:
        return name in (self.arm.agent, self.agent)


def comparisons(
    arms: Sequence[Arm], measure: str = "final", against: str | None = None, confidence: float = 0.95
) -> list[Comparison]:
    """Compare arms on the same task: all pairs, with the first listed as baseline, or all others against one.

    Tasks are the same if their labels and their ``task.`` settings are.  If arms have different runs, the runs that
    both have are paired.  Arms of which the measure is not known are left out.

    Parameters
    ----------
    arms:
        on one task or several
    measure:
        one of ``MEASURES``
    against:
        the label of an agent, or its name with settings, as in ``smooth (horizon_scale=3)``
    confidence:
        of the intervals; a difference is shown if its adjusted p-value is at most 1 - confidence

    Examples
    --------
    >>> earned = {"slow": np.arange(8.0), "fast": np.arange(8.0) + [0.4, 0.6] * 4}
    >>> arms = [Arm("shop", name, {}, np.array([1]), total.reshape(8, 1)) for name, total in earned.items()]
    >>> print(comparisons(arms)[0].sentence)
    on shop, fast earned 0.50 more per step than slow
    (95% interval 0.43 to 0.57, 8 paired runs, adjusted p = 0.0078)

    """
    kept = [arm for arm in arms if measurable(arm, measure)]
    named = [_Named(*each) for each in zip(kept, task_names(kept), agent_names(kept), strict=True)]
    pairs = [(*pair, _differences(*pair, measure)) for pair in _pairs(named, against)]
    pairs = [(arm, baseline, values) for arm, baseline, values in pairs if values.size]
    p_values = [_p_value(values) for _, _, values in pairs]
    tested = [p for p in p_values if p is not None]
    adjusted = iter(holm(tested))
    return [
        _comparison(*pair, measure, p, None if p is None else next(adjusted), len(tested), confidence)
        for pair, p in zip(pairs, p_values, strict=True)
    ]


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for their number (Holm, 1979), in the order given.

    The least is multiplied by their number, the next by one less, and so on; none falls below the one before it.

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
    """Yield each arm to compare with its baseline, task by task."""
    if against is not None and not any(arm.matches(against) for arm in named):
        raise UnknownName("against", against, {name for arm in named for name in (arm.arm.agent, arm.agent)})
    for group in grouped(named, lambda arm: repr((arm.arm.task, sorted(task_settings(arm.arm).items())))).values():
        if against is None:
            yield from ((arm, baseline) for baseline, arm in combinations(group, 2))
        else:
            baselines = [arm for arm in group if arm.matches(against)]
            yield from ((arm, baseline) for baseline in baselines for arm in group if not arm.matches(against))


def _differences(arm: _Named, baseline: _Named, measure: str) -> Table:
    """Return the differences of paired units."""
    times, others = arm.arm.times, baseline.arm.times
    same = np.array_equal(times, others) if MEASURES[measure].all_times else times[-1] == others[-1]
    if not same:
        ends = {each.agent: int(each.arm.times[-1]) for each in (arm, baseline)}
        raise InputError("arms", ends, "were not recorded at the same times; run both for as many steps")
    _, here, there = np.intersect1d(arm.arm.numbered, baseline.arm.numbered, return_indices=True)
    return measured(arm.arm, measure)[here] - measured(baseline.arm, measure)[there]


def _p_value(differences: Table) -> float | None:
    from scipy.stats import permutation_test

    if differences.size < 2:
        return None
    if not differences.any():
        return 1.0
    test = permutation_test(
        (differences,),
        np.mean,
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=max(1, MOST_NUMBERS // differences.size),
        rng=np.random.default_rng(SEED),
    )
    return float(test.pvalue)


def _comparison(
    arm: _Named,
    baseline: _Named,
    values: Table,
    measure: str,
    p: float | None,
    adjusted: float | None,
    made: int,
    confidence: float,
) -> Comparison:
    low, high = interval(values, confidence)
    comparison = Comparison(
        task=arm.arm.task,
        agent=arm.arm.agent,
        against=baseline.arm.agent,
        settings=dict(arm.arm.settings),
        against_settings=dict(baseline.arm.settings),
        measure=measure,
        units=values.size,
        difference=float(values.mean()),
        low=finite(low),
        high=finite(high),
        p_value=p,
        adjusted=adjusted,
        better=float(np.mean(values < 0 if MEASURES[measure].less_is_better else values > 0)),
        verdict="",
        sentence="",
        task_name=arm.task,
        agent_name=arm.agent,
        against_name=baseline.agent,
    )
    text = sentence(comparison, confidence, arm.arm.unit, made)
    return replace(comparison, verdict=verdict(comparison, confidence), sentence=text)
