"""What a theory says, as JSON documents."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from everlearn.agents.policies import policy_text
from everlearn.theory.beliefs import Bracket
from everlearn.theory.bounds import Bound
from everlearn.theory.network import NetworkOptimum
from everlearn.theory.repairs import Repair

if TYPE_CHECKING:
    from everlearn.theory.report import Theory


def whole(theory: Theory, policies: Iterable[str], horizons: Iterable[float], steps: Iterable[float]) -> dict[str, Any]:
    """Return both optima, the policies, distortions at the horizons, and bounds after the steps."""
    best, horizons = theory.best_aleatoric, tuple(horizons)
    return {
        **optimum(theory),
        "best_aleatoric": {
            "average_reward": best.average_reward,
            "policy": theory.written(best.policy),
            "text": theory.best_policy,
            "averaging_time": _finite(theory.averaging_time(best.policy).value),
            "randomised": best.randomised,
            "exact": best.exact,
        },
        "policies": {
            text: {
                "average_reward": theory.average_reward(text),
                "averaging_time": _finite(theory.averaging_time(text).value),
            }
            for text in policies
        },
        "distortion": {key(tau): theory.distortion(tau).value for tau in horizons},
        "distortion_sup": {key(tau): _finite(theory.distortion_sup(tau).value) for tau in horizons},
        "bounds": {
            key(number): {label: _repair(repair) for label, repair in theory.repairs(number, horizons or None).items()}
            for number in steps
        },
    }


def key(number: float) -> str:
    """Return a number as the key of a document: in its short form if that is exact, as 1e+16, otherwise in full.

    Examples
    --------
    >>> key(100_000), key(1e16), key(1_234_567), key(10.0), key(10.0000001)
    ('100000', '1e+16', '1234567', '10', '10.0000001')

    """
    short = f"{number:g}"
    return short if number in (float(short), Decimal(short)) else str(number)


def optimum(theory: Theory) -> dict[str, Any]:
    """Return the optimum over all policies: a number, or bounds if the memory is hidden or queues are unbounded."""
    best, name = theory.optimum, theory.task.name
    if isinstance(best, NetworkOptimum):
        ends = {"lower": best.lower, "upper": best.upper}
        size = {"task": name, "jobs": best.values.shape[0] - 1}
        return {**size, "optimal_average_reward": ends, "never_idling": _finite(best.working)}
    size = {"task": name, "memory_states": theory.pairs.memories, "pairs": theory.pairs.size}
    if not isinstance(best, Bracket):
        tau = theory.optimal_averaging_time
        bounds = {"optimal_bounds": [best.lower, best.upper], "span": best.span}
        bounds |= {"optimal_averaging_time": _finite(tau.value), "optimal_averaging_time_error": _finite(tau.error)}
        return {**size, "optimal_average_reward": best.average_reward, **bounds}
    return {
        **size,
        "hidden": True,
        "optimal_average_reward": {"lower": best.lower, "upper": best.upper},
        "lower_bound": {"attained_by": best.attained_by, "controller_states": len(best.controller.policy)},
        "clairvoyant_average_reward": theory.clairvoyant.average_reward,
        "beliefs": best.beliefs,
    }


def frontier_points(theory: Theory) -> list[dict[str, Any]]:
    """Return each point of the frontier with its bracket, in the units of the task and of the learner."""
    width, low = theory.task.reward.high - theory.task.reward.low, theory.task.reward.low
    rows = []
    for point in theory.frontier.points:
        lower, upper = theory.frontier.at(point.averaging_time + point.error)
        learner = {"averaging_time": point.averaging_time / width}
        learner |= {"lower": (lower - low) / width, "upper": (upper - low) / width}
        rows.append(
            {
                "averaging_time": point.averaging_time,
                "error": point.error,
                "lower": lower,
                "upper": upper,
                "policy": policy_text(theory.task, point.policy),
                "randomised": bool((point.policy.max(axis=1) < 1).any()),
                "distortion": theory.distortion(max(1.0, point.averaging_time / width)).value,
                "learner": learner,
            }
        )
    return rows


def _repair(repair: Repair) -> dict[str, Any]:
    """Return both bounds: ``value`` and ``terms`` are the printed ones."""
    return {
        **_bound(repair.printed),
        "name": repair.printed.place,
        "bounded": repair.bounded,
        "status": repair.status,
        "why": repair.why,
        "repaired": {**_bound(repair.repaired), "status": repair.repaired_status},
    }


def _bound(bound: Bound) -> dict[str, Any]:
    terms = {name: _finite(term) for name, term in bound.terms.items()}
    return {"value": _finite(bound.value), "terms": terms, "horizon": bound.horizon}


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
