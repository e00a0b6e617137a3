"""Realized regret (Section 1.2), from recorded runs, against a reference average reward.

Regret_pi(T) = E[sum_{t<T} (lambda_pi - R_{t+1})].  A run gives one value of T lambda_pi - (sum of rewards until T) at
each recording time; their mean over runs estimates the regret.  Nothing is smoothed, clipped or replaced by a
stationary value.

:func:`policy_averages` returns something else: the exact average reward of the policy recorded at each time.  It says
how well the agent would do if it stopped learning then.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.environments.pure import as_number
from everlearn.errors import InputError, UnknownName
from everlearn.labels import counted
from everlearn.protocol import Table
from everlearn.results.arm import standard_error
from everlearn.results.references import AT_LEAST, AT_MOST, OPTIMUM
from everlearn.results.result import Result
from everlearn.theory.aleatoric import average_reward
from everlearn.theory.pairs import Pairs


class Regret(NamedTuple):
    """Realized regret at each recording time: the mean over runs, its standard error, and every run.

    ``result.plot("regret")`` draws it.

    If only bounds of the optimum are known, these numbers are the regret against the lower bound, and ``mean_upper`` is
    the mean against the upper bound.  The regret lies between the two.
    """

    times: NDArray[np.int64]
    mean: Table
    standard_error: Table
    per_run: Table
    mean_upper: Table | None = None

    def __repr__(self) -> str:
        runs, times = self.per_run.shape
        error = "" if runs == 1 else f", standard error {self.standard_error[-1]:.2g}"
        upper = "" if self.mean_upper is None else f" to {self.mean_upper[-1]:.4g}"
        size = f"{counted(runs, 'run')} at {counted(times, 'time')}"
        return f"Regret({size}, at the end {self.mean[-1]:.4g}{upper}{error})"


def regret(result: Result, reference: float | str = "optimum") -> Regret:
    """Return the realized regret of runs against an average reward.

    Parameters
    ----------
    result:
        what :func:`everlearn.run` returned
    reference:
        an average reward, or the name of one in ``result.references``, such as ``best over aleatoric states``; by
        default the optimum over all policies

    Examples
    --------
    >>> import everlearn as el
    >>> result = el.run("service-station", "always", parameters={"agent.policy": "fast"}, steps=1000, runs=2)
    >>> regret(result)
    Regret(2 runs at 50 times, at the end -0.5, standard error 0)
    >>> always_fast = regret(result)
    >>> [round(float(mean), 2) for t, mean in zip(always_fast.times, always_fast.mean) if t in (1, 10, 1000)]
    [-0.5, -0.5, -0.5]
    >>> regret(result, "always slow").mean[-1] == regret(result, result.references["always slow"]).mean[-1]
    np.True_

    """
    if not isinstance(result, Result):
        raise InputError("result", result, "give what everlearn.run returned")
    bounded = reference == "optimum" and "optimum" not in result.references and AT_MOST in result.references
    per_run = _average(result, AT_LEAST if bounded else reference) * result.times - result.total_reward
    mean = per_run.mean(axis=0)
    width = (result.references[AT_MOST] - result.references[AT_LEAST]) * result.times if bounded else None
    return Regret(result.times, mean, standard_error(per_run), per_run, None if width is None else mean + width)


def _average(result: Result, reference: object) -> float:
    if isinstance(reference, str):
        if reference in result.references:
            return result.references[reference]
        if reference != "optimum":
            raise UnknownName("reference", reference, result.references, "; or give an average reward")
        remedy = f"is not known for {result.task!r}; give an average reward, as in el.regret(result, 0.5)"
        raise InputError("reference", OPTIMUM, remedy)
    number = None if isinstance(reference, bool | np.bool_) else as_number(reference)
    if number is None or not math.isfinite(number):
        remedy = "give an average reward, or the name of one in result.references; the default is the optimum"
        raise InputError("reference", reference, remedy)
    return number


def policy_averages(result: Result, pairs: Pairs) -> Table:
    """Return the exact average reward of the policy recorded at each time, one row per run.  This is not regret.

    Examples
    --------
    >>> import everlearn as el
    >>> result = el.run("service-station", steps=100, runs=1, seed=1)
    >>> policy_averages(result, el.Theory("service-station").pairs).shape == result.per_run.shape
    True

    """
    if result.policies is None:
        raise InputError("policies", None, "were not recorded; the task has too many aleatoric states and actions")
    known: dict[bytes, float] = {}
    averages = np.empty(result.policies.shape[:2])
    for place in np.ndindex(*averages.shape):
        policy = result.policies[place]
        if (key := policy.tobytes()) not in known:
            known[key] = average_reward(pairs, policy)
        averages[place] = known[key]
    return averages
