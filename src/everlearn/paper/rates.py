"""At which rate regret grows: the exponent of T, fitted to runs, with an interval.

The *exponent* over (T_0, T_1] is the slope of log regret against log T, by least squares over recording times, of the
mean regret over runs.  Its interval is a percentile bootstrap over runs.  Theorem 4 has 4/5 on tasks without
distortion, for every task, and for T so large that constants do not matter; so an exponent below says nothing about a
bound, and one above only that T is not large enough.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from everlearn.agents.spec import split
from everlearn.api import run
from everlearn.errors import require
from everlearn.protocol import Table
from everlearn.tasks.garnet import garnet

if TYPE_CHECKING:
    from everlearn.theory.report import Theory

RESAMPLES = 1000
FIRST = 1000
NEGLIGIBLE = 1e-9
"""A distortion that may be rounding, as a part of the range of rewards."""
FEWEST = 100
"""The fewest steps to which an exponent is fitted."""


class Rate(NamedTuple):
    """A fitted exponent, its 95% interval, and the regret at the end with its standard error."""

    exponent: float
    low: float
    high: float
    regret: float
    standard_error: float


def exponent(times: Table, regrets: Table, seed: int = 0) -> Rate:
    """Fit the exponent to the regret of runs, one row per run; all times are used.

    Examples
    --------
    >>> times = np.geomspace(1e3, 1e6, 20)
    >>> fitted = exponent(times, np.array([2.0, 3.0])[:, None] * times**0.6)
    >>> round(fitted.exponent, 6), round(fitted.low, 6)
    (0.6, 0.6)

    """
    random, runs = np.random.default_rng(seed), len(regrets)
    drawn = [regrets[random.integers(runs, size=runs)].mean(axis=0) for _ in range(RESAMPLES if runs > 1 else 1)]
    slopes = [_slope(times, mean) for mean in drawn]
    error = float(regrets[:, -1].std(ddof=1) / np.sqrt(runs)) if runs > 1 else np.nan
    low, high = np.percentile(slopes, (2.5, 97.5))
    return Rate(_slope(times, regrets.mean(axis=0)), float(low), float(high), float(regrets[:, -1].mean()), error)


def _slope(times: Table, mean: Table) -> float:
    """Return the slope of log regret against log T where regret is positive; 0 if it is so at one time at most."""
    positive = mean > 0
    if positive.sum() < 2:
        return 0.0
    return float(np.polyfit(np.log(times[positive]), np.log(mean[positive]), 1)[0])


def rate(
    task: object,
    agent: object = "growing-horizon",
    *,
    steps: int,
    runs: int,
    seed: int,
    since: int | None = None,
    **more: Any,
) -> Rate:
    """Run an agent, and fit the exponent of its regret from a step on.

    By default that is step 1,000, or a hundredth of the steps if that is less.
    """
    require(steps >= FEWEST, "steps", steps, f"give at least {FEWEST}, to fit an exponent")
    first = min(FIRST, steps // 100) if since is None else since
    require(
        0 < first <= steps // 10, "since", first, f"give at least 1, and at most a tenth of the steps, {steps // 10}"
    )
    times, regrets = regret_curves(task, agent, steps=steps, runs=runs, seed=seed, **more)
    return exponent(times[times >= first], regrets[:, times >= first], seed)


def regret_curves(
    task: object, agent: object, *, parameters: Mapping[str, Any] | None = None, **more: Any
) -> tuple[Table, Table]:
    """Run an agent, and return the recording times and the regret relative to the optimum, one row per run."""
    result = run(task, agent, parameters=parameters, **more)
    times = result.times.astype(np.float64)
    return times, _theory(task, parameters).optimal_average_reward * times - result.total_reward


def has_distortion(task: object, parameters: Mapping[str, Any] | None = None) -> bool:
    """Return whether the aleatoric state hides something of optimal values at some horizon.

    Examples
    --------
    >>> has_distortion("riverswim"), has_distortion("alternating")
    (False, True)

    """
    theory = _theory(task, parameters)
    return not theory.pairs.distinct and theory.distortion_sup(1.0).value > NEGLIGIBLE * (
        theory.task.reward.high - theory.task.reward.low
    )


def _theory(task: object, parameters: Mapping[str, Any] | None) -> Theory:
    from everlearn.theory.report import Theory

    return Theory(task, split(parameters or {})["task"])


def random_worlds(seed: int) -> Iterator[dict[str, int]]:
    """Yield the parameters of Garnets without distortion: 2 to 10 states, 2 to 4 actions, 1 to 3 branches."""
    random = np.random.default_rng(seed)
    while True:
        states = int(random.integers(2, 11))
        world = {"states": states, "actions": int(random.integers(2, 5)), "seed": int(random.integers(10**6))}
        yield world | {"branching": min(states, int(random.integers(1, 4)))}


def steepest(agent: object, *, seconds: float, seed: int, **more: Any) -> Iterator[tuple[dict[str, int], Rate]]:
    """Yield random worlds, in the order of the seed, each with its rate, until the time is up; at least one."""
    require(seconds >= 0, "budget", seconds, "give at least 0")
    began = time.monotonic()
    for world in random_worlds(seed):
        yield world, rate(garnet(**world), agent, seed=seed, **more)
        if time.monotonic() - began >= seconds:
            return
