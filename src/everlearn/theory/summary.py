"""Rows that summarise the theory of a task: a number, and a sentence about it."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from typing import TYPE_CHECKING

from everlearn.labels import counted
from everlearn.theory.aleatoric import attained
from everlearn.theory.beliefs import Bracket
from everlearn.theory.ledger import LOSS, RAW
from everlearn.theory.network import NetworkOptimum
from everlearn.theory.repairs import GAP

if TYPE_CHECKING:
    from everlearn.theory.report import Theory

LONG = 10**12
"""The number of steps from which on it is written with an exponent."""

IDLE = "; it may let servers idle, so no agent need attain it"
WORKS = "; its servers never idle while a job waits for them"
"""What must be known about the policy that earns the lower bound of a network."""


def optimum_rows(theory: Theory) -> list[tuple[str, str]]:
    """Return the optimum over all policies and the span of its bias, or its bounds if the memory is hidden."""
    best = theory.optimum
    if isinstance(best, NetworkOptimum):
        idles = best.working < best.lower
        kind = IDLE if idles else WORKS
        rows = [
            (f"{best.lower:.7g}", f"optimum over all policies, at least: a known policy earns it{kind}"),
            (f"{best.upper:.7g}", f"optimum over all policies, at most: certified, {best.source}"),
        ]
        known = idles and isfinite(best.working)
        return rows + known * [(f"{best.working:.7g}", f"what a known policy earns at least{WORKS}")]
    if isinstance(best, Bracket):
        return [
            (f"{best.lower:.10g}", f"optimum over all policies, at least: {_who(best)}"),
            (f"{best.upper:.10g}", f"optimum over all policies, at most: certified, from {best.beliefs:,} beliefs"),
            (f"{theory.clairvoyant.average_reward:.10g}", "the best of a clairvoyant, who sees the memory"),
        ]
    certified = f"certified between {best.lower:.12g} and {best.upper:.12g}"
    return [
        (f"{best.average_reward:.10g}", f"optimum over all policies: the best average reward, {certified}"),
        (f"{best.span:.6g}", "the span of an optimal bias: what the best start is worth beyond the worst"),
        (f"{theory.optimal_averaging_time.value:.6g}", "the averaging time of that optimal policy"),
    ]


def summary_rows(
    theory: Theory, policies: Iterable[str] = (), horizons: Iterable[float] = (), steps: Iterable[int] = ()
) -> list[tuple[str, str]]:
    """Return both optima, then what was asked for: policies, the distortion at horizons, bounds after steps.

    Examples
    --------
    >>> from everlearn.theory.report import Theory
    >>> for number, meaning in summary_rows(Theory("alternating"))[::3]:
    ...     print(number, meaning)
    1 optimum over all policies: the best average reward, certified between 1 and 1
    0.5 best over aleatoric states: a randomised policy, the best that a search found

    """
    rows, horizons = optimum_rows(theory), tuple(horizons)
    rows.append((f"{theory.best_aleatoric.average_reward:.10g}", f"best over aleatoric states: {_how_found(theory)}"))
    for text in policies:
        policy = theory.policy(text)
        rows.append((f"{policy.average_reward:.10g}", f"the average reward of {text}, from the empty history"))
        if policy.depends_on_start:
            rows.append(("", policy.depends_on_start))
        time = f"{policy.averaging_time.value:.6g}"
        rows.append((time, "its averaging time: over T steps it is off by at most that / T"))
    for tau in horizons:
        lost, sup = theory.distortion(tau), theory.distortion_sup(tau)
        values = "the clairvoyant's values" if theory.task.hidden else "optimal values"
        meaning = f"distortion at horizon {tau:g}: what the aleatoric state hides of {values}"
        proof = "certified" if sup.certified else "the best of a grid"
        rows.append((f"{round(lost.value, 12):.9g}", meaning))
        rows.append((f"{round(sup.value, 12):.9g}", f"the greatest distortion at longer horizons, {proof}"))
    for number in steps:
        rows += _bound_rows(theory, number, horizons)
    return rows


def _bound_rows(theory: Theory, steps: int, horizons: tuple[float, ...]) -> list[tuple[str, str]]:
    """Return each bound as printed, and below it as repaired; a reason that is the same for all is given once."""
    repairs = theory.repairs(steps, horizons or None)
    if not repairs:
        return [("", "there are no bounds: the average reward of the best policy found depends on the start")]
    rows = [("", f"the bounds do not apply: {RAW}")] if theory.task.reward.raw else []
    for label, repair in repairs.items():
        after = "" if label == LOSS else f" after {_written(steps)} steps"
        gap = f": {repair.why}" if repair.status == GAP else ""
        bounded = f"{repair.printed.place} bounds {repair.bounded}{after}, tau = {repair.printed.horizon:.4g}"
        rows.append((f"{repair.printed.value:.6g}", f"{bounded}: {repair.status}{gap}"))
        rows.append(
            (f"{repair.repaired.value:.6g}", f"the same, tau = {repair.repaired.horizon:.4g}: {repair.repaired_status}")
        )
    return rows


def _written(steps: int) -> str:
    """Return a number of steps: with its digits if they are few."""
    return f"{steps:,}" if steps < LONG else f"{steps:.10g}"


def _who(best: Bracket) -> str:
    if best.attained_by != "controller":
        return f"it is that of the {best.attained_by}"
    return f"the exact average reward of a controller with {counted(len(best.controller.policy), 'state')}"


def _how_found(theory: Theory) -> str:
    best = theory.best_aleatoric
    if attained(best.average_reward, theory.optimum):
        return "nothing is lost"
    if best.randomised:
        return "a randomised policy, the best that a search found"
    return "every deterministic policy was tried" if best.exact else "the best policy that a search found"
