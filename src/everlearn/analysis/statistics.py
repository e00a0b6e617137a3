"""What an arm earned, as numbers with their uncertainty.

Units are independent, so they alone are resampled: neither the steps of a run nor its recording times are
independent, and no interval here takes them to be.  Every bootstrap has a fixed seed: the same data give the
same bytes.
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
from everlearn.results.arm import Arm

__all__ = [
    "MEASURES",
    "Band",
    "Interval",
    "bands",
    "interval",
    "measurable",
    "measured",
    "number",
    "regret_table",
    "summary",
]

SEED = 20_261
RESAMPLES = 1_999
BAND_RESAMPLES = 2_000
MOST_NUMBERS = 2**21
"""How many resampled numbers are held at a time."""


class Interval(NamedTuple):
    """The ends of a confidence interval.

    Examples
    --------
    >>> Interval(0.1, 0.3).high
    0.3

    """

    low: float
    high: float


class Band(NamedTuple):
    """The ends of a confidence interval at each time.

    Examples
    --------
    >>> Band(low=np.zeros(2), high=np.ones(2)).high.tolist()
    [1.0, 1.0]

    """

    low: Table
    high: Table


def interval(values: Table, confidence: float = 0.95) -> Interval:
    """Return a confidence interval of the mean over units, by the bootstrap (BCa).

    One unit tells nothing of the others: its interval is (nan, nan).  Where all units are equal, so are the
    ends.  Where BCa is not defined, as for values that differ by rounding alone, the ends are percentiles.
    With few units all of these are too narrow: for ten, some 90 of 100 intervals of 95% hold the mean.

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
    found = _bootstrapped(values, confidence, "BCa")
    return found if math.isfinite(found.low + found.high) else _bootstrapped(values, confidence, "percentile")


def _bootstrapped(values: Table, confidence: float, method: str) -> Interval:
    from scipy.stats import bootstrap

    batch = max(1, MOST_NUMBERS // values.size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that BCa is not defined shows in its ends, and is dealt with
        found = bootstrap(
            (values,),
            np.mean,
            vectorized=True,
            batch=batch,
            n_resamples=RESAMPLES,
            confidence_level=confidence,
            method=method,
            rng=np.random.default_rng(SEED),
        ).confidence_interval
    return Interval(float(found.low), float(found.high))


def bands(table: Table, confidence: float = 0.95) -> Band:
    """Return an interval of the mean over units (rows) at each time (column), by percentiles of the bootstrap.

    The units that are drawn are the same at all times, so that the ends are as smooth as the curves.  It holds
    at each time taken by itself, not at all of them together.  One unit has no band: it is nan.

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
    means = np.concatenate([_drawn(generator, size, units) @ table / units for size in sizes])
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    return Band(low, high)


def _drawn(generator: np.random.Generator, resamples: int, units: int) -> Table:
    """Return how often each resample holds each unit."""
    places = generator.integers(units, size=(resamples, units)) + np.arange(resamples)[:, None] * units
    return np.bincount(places.ravel(), minlength=resamples * units).reshape(resamples, units).astype(float)


def summary(
    arms: Iterable[Arm], measures: Sequence[str] = tuple(MEASURES), confidence: float = 0.95
) -> list[dict[str, Any]]:
    """Return a row for each arm and measure; what cannot be measured, as regret without an optimum, has none.

    Examples
    --------
    >>> arm = Arm("shop", "smooth", {}, np.array([1, 2]), np.array([[0.0, 1.0], [1.0, 2.0]]))
    >>> [(row["measure"], row["mean"], row["low"], row["high"]) for row in summary([arm], ["final", "regret"])]
    [('final', 0.75, 0.5, 1.0)]

    """
    return [
        {**_who(arm), "steps": int(arm.times[-1]), "measure": name}
        | _moments(values := measured(arm, name), confidence)
        | _spread(values)
        | {"optimum": None if arm.optimum is None else float(arm.optimum.mean())}
        for arm in arms
        for name in measures
        if measurable(arm, name)
    ]


def regret_table(
    arms: Iterable[Arm], times: Sequence[int] | None = None, confidence: float = 0.95
) -> list[dict[str, Any]]:
    """Return the realized regret, a row for each arm and time; arms without an optimum have none.

    The times are, unless given, those recorded that are powers of ten, and the last.

    Examples
    --------
    >>> total = np.array([[0.0, 1.0, 5.0, 6.0]])
    >>> arm = Arm("shop", "smooth", {}, np.array([1, 3, 10, 12]), total, np.array([1.0]))
    >>> [(row["time"], row["mean"]) for row in regret_table([arm])]
    [(1, 1.0), (10, 5.0), (12, 6.0)]

    """
    rows = []
    for arm in arms:
        if arm.regret is not None:
            for place in _places(arm, times):
                moments = _moments(arm.regret[:, place], confidence)
                rows.append({**_who(arm), "time": int(arm.times[place]), **moments})
    return rows


def _places(arm: Arm, times: Sequence[int] | None) -> list[int]:
    recorded = {time: place for place, time in enumerate(arm.times.tolist())}
    if times is None:
        return [place for time, place in recorded.items() if time == arm.times[-1] or str(time).strip("0") == "1"]
    for time in times:
        require(time in recorded, "times", time, f"was not recorded; choose among {', '.join(map(str, recorded))}")
    return [recorded[time] for time in times]


def _who(arm: Arm) -> dict[str, Any]:
    return {
        "task": arm.task,
        "agent": arm.agent,
        "settings": dict(arm.settings),
        "unit": arm.unit,
        "units": arm.units,
    }


def _moments(values: Table, confidence: float) -> dict[str, float | None]:
    low, high = interval(values, confidence)
    error = values.std(ddof=1) / math.sqrt(values.size) if values.size > 1 else math.nan
    named = {"mean": values.mean(), "standard_error": error, "low": low, "high": high, "confidence": confidence}
    return {name: number(value) for name, value in named.items()}


_QUANTILES = {"min": 0.0, "q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95, "max": 1.0}


def _spread(values: Table) -> dict[str, float | None]:
    found = np.quantile(values, list(_QUANTILES.values()))
    return {name: number(value) for name, value in zip(_QUANTILES, found, strict=True)}


def number(value: float) -> float | None:
    """Return a value as JSON can hold it: what is not finite is None.

    Examples
    --------
    >>> number(np.float64(0.5)), number(math.nan)
    (0.5, None)

    """
    return float(value) if math.isfinite(value) else None


def _check_confidence(confidence: float) -> None:
    require(0 < confidence < 1, "confidence", confidence, "give a number between 0 and 1, such as 0.95")
