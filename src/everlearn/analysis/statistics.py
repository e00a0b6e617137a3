"""Means of arms with their uncertainty.

Only units are resampled, because only units are independent: the steps of a run and its recording times are not.  Every
bootstrap has a fixed seed, so the same data give the same bytes.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from everlearn.analysis.measures import MEASURES, measurable, measured
from everlearn.errors import require
from everlearn.protocol import Table
from everlearn.results.arm import Arm, finite, standard_error

SEED = 20_261
RESAMPLES = 1_999
BAND_RESAMPLES = 2_000
MOST_NUMBERS = 2**21
"""How many resampled numbers are held in memory at a time."""

_QUANTILES = {"min": 0.0, "q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95, "max": 1.0}


class Interval(NamedTuple):
    """The ends of a confidence interval."""

    low: float
    high: float


class Band(NamedTuple):
    """The ends of a confidence interval at each time."""

    low: Table
    high: Table


def interval(values: Table, confidence: float = 0.95) -> Interval:
    """Return a confidence interval of the mean over units, by the bootstrap (BCa).

    The interval of one unit is (nan, nan).  If all units are equal, both ends are their value.  If BCa is not defined,
    for example because values differ only by rounding, the ends are percentiles.  With few units all of these are too
    narrow: with ten, about 90 of 100 intervals of 95% contain the mean.

    Examples
    --------
    >>> interval(np.arange(100.0))
    Interval(low=43.7..., high=55.1...)
    >>> interval(np.array([0.5, 0.5]))
    Interval(low=0.5, high=0.5)

    """
    _check_confidence(confidence)
    if values.size < 2:
        return Interval(math.nan, math.nan)
    if np.all(values == values[0]):
        return Interval(float(values[0]), float(values[0]))
    ends = _bootstrap(values, confidence, "BCa")
    return ends if math.isfinite(ends.low + ends.high) else _bootstrap(values, confidence, "percentile")


def _bootstrap(values: Table, confidence: float, method: str) -> Interval:
    from scipy.stats import bootstrap

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy warns if BCa is not defined; the caller sees that from the ends
        ends = bootstrap(
            (values,),
            np.mean,
            vectorized=True,
            batch=max(1, MOST_NUMBERS // values.size),
            n_resamples=RESAMPLES,
            confidence_level=confidence,
            method=method,
            rng=np.random.default_rng(SEED),
        ).confidence_interval
    return Interval(float(ends.low), float(ends.high))


def bands(table: Table, confidence: float = 0.95) -> Band:
    """Return an interval of the mean over units (rows) at each time (column), by percentiles of the bootstrap.

    The same units are drawn at all times, so that the ends are as smooth as the curves.  The interval holds at each
    time by itself, not at all of them together.  The band of one unit is nan.

    Examples
    --------
    >>> band = bands(np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0]]))
    >>> band.low.tolist(), band.high.tolist()
    ([0.0, 1.0], [0.0, 3.0])

    """
    _check_confidence(confidence)
    units, times = table.shape
    if units < 2:
        return Band(np.full(times, math.nan), np.full(times, math.nan))
    generator = np.random.default_rng(SEED)
    block = max(1, MOST_NUMBERS // units)
    sizes = [min(block, BAND_RESAMPLES - start) for start in range(0, BAND_RESAMPLES, block)]
    means = np.concatenate([_draw_counts(generator, size, units) @ table / units for size in sizes])
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    return Band(low, high)


def _draw_counts(generator: np.random.Generator, resamples: int, units: int) -> Table:
    """Return how often each resample contains each unit."""
    places = generator.integers(units, size=(resamples, units)) + np.arange(resamples)[:, None] * units
    return np.bincount(places.ravel(), minlength=resamples * units).reshape(resamples, units).astype(float)


def summary(
    arms: Iterable[Arm], measures: Sequence[str] = tuple(MEASURES), confidence: float = 0.95
) -> list[dict[str, Any]]:
    """Return a row for each arm and measure; measures that an arm lacks, such as regret without an optimum, have none.

    Examples
    --------
    >>> arm = Arm("shop", "smooth", {}, np.array([1, 2]), np.array([[0.0, 1.0], [1.0, 2.0]]))
    >>> [(row["measure"], row["mean"], row["low"], row["high"]) for row in summary([arm], ["final", "regret"])]
    [('final', 0.75, 0.5, 1.0)]

    """
    rows = []
    for arm in arms:
        for name in measures:
            if measurable(arm, name):
                values = measured(arm, name)
                upper = arm.against_upper if MEASURES[name].optimum != "unused" else None
                moments = _moments(values, confidence, None if upper is None else measured(upper, name))
                row = {**_heading(arm), "steps": int(arm.times[-1]), "measure": name, **moments}
                quantiles = np.quantile(values, list(_QUANTILES.values()))
                row |= {key: finite(value) for key, value in zip(_QUANTILES, quantiles, strict=True)}
                bounds = {"optimum": arm.optimum, "optimum_upper": arm.optimum_upper}
                rows.append({**row, **{key: None if b is None else float(b.mean()) for key, b in bounds.items()}})
    return rows


def regret_table(
    arms: Iterable[Arm], times: Sequence[int] | None = None, confidence: float = 0.95
) -> list[dict[str, Any]]:
    """Return the realized regret, a row for each arm and time; arms without an optimum have none.

    The default times are the recorded powers of ten, and the last.

    Examples
    --------
    >>> total = np.array([[0.0, 1.0, 5.0, 6.0]])
    >>> arm = Arm("shop", "smooth", {}, np.array([1, 3, 10, 12]), total, np.array([1.0]))
    >>> [(row["time"], row["mean"]) for row in regret_table([arm])]
    [(1, 1.0), (10, 5.0), (12, 6.0)]

    """
    return [
        {**_heading(arm), "time": int(arm.times[place]), **_regret_moments(arm, place, confidence)}
        for arm in arms
        if arm.regret is not None
        for place in _places(arm, times)
    ]


def _regret_moments(arm: Arm, place: int, confidence: float) -> dict[str, float | None]:
    ends = [np.asarray(each.regret)[:, place] for each in (arm, arm.against_upper) if each is not None]
    return _moments(ends[0], confidence, *ends[1:])


def _places(arm: Arm, times: Sequence[int] | None) -> list[int]:
    recorded = {time: place for place, time in enumerate(arm.times.tolist())}
    if times is None:
        return [place for time, place in recorded.items() if time == arm.times[-1] or str(time).strip("0") == "1"]
    for time in times:
        require(time in recorded, "times", time, f"was not recorded; choose among {', '.join(map(str, recorded))}")
    return [recorded[time] for time in times]


def _heading(arm: Arm) -> dict[str, Any]:
    settings = dict(arm.settings)
    return {"task": arm.task, "agent": arm.agent, "settings": settings, "unit": arm.unit, "units": arm.units}


def _moments(values: Table, confidence: float, upper: Table | None = None) -> dict[str, float | None]:
    """Return the mean and its interval; against bounds of the optimum, the interval covers what both ends give."""
    low, high = interval(values, confidence)
    error = float(standard_error(values))
    moments = {"mean": values.mean(), "standard_error": error, "low": low, "high": high, "confidence": confidence}
    if upper is not None:
        moments |= {"high": interval(upper, confidence)[1]}
    other = {"mean_upper": None if upper is None else finite(upper.mean())}
    return {name: finite(value) for name, value in moments.items()} | other


def _check_confidence(confidence: float) -> None:
    require(0 < confidence < 1, "confidence", confidence, "give a number between 0 and 1, such as 0.95")
