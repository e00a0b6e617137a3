"""What theory says of a task, as numbers and a sentence each, for people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from everlearn.theory.aleatoric import attained

if TYPE_CHECKING:
    from everlearn.theory.report import Theory


def optimum_rows(theory: Theory) -> list[tuple[str, str]]:
    """Return the optimum over all policies and the span of its bias.

    Examples
    --------
    >>> from everlearn.theory.report import Theory
    >>> optimum_rows(Theory("alternating"))[0]
    ('1', 'optimum over all policies: the best average reward, certified between 1 and 1')

    """
    found = theory.optimum
    certified = f"certified between {found.lower:.12g} and {found.upper:.12g}"
    return [
        (f"{found.average_reward:.10g}", f"optimum over all policies: the best average reward, {certified}"),
        (f"{found.span:.6g}", "the span of an optimal bias: what the best start is worth beyond the worst"),
    ]


def best_rows(theory: Theory) -> list[tuple[str, str]]:
    """Return the best average reward of a policy over aleatoric states.

    Examples
    --------
    >>> from everlearn.theory.report import Theory
    >>> best_rows(Theory("alternating"))
    [('0.5', 'best over aleatoric states: a randomised policy, the best that a search found')]

    """
    return [(f"{theory.best_aleatoric.average_reward:.10g}", f"best over aleatoric states: {_searched(theory)}")]


def policy_rows(theory: Theory, policies: Iterable[str]) -> list[tuple[str, str]]:
    """Return what each policy earns, and its averaging time."""
    rows = []
    for text in policies:
        one = theory.policy(text)
        rows.append((f"{one.average_reward:.10g}", f"the average reward of {text}, from the empty history"))
        if one.depends_on_start:
            rows.append(("", one.depends_on_start))
        time = f"{one.averaging_time.value:.6g}"
        rows.append((time, "its averaging time: over T steps it is off by at most that / T"))
    return rows


def distortion_rows(theory: Theory, horizons: Iterable[float]) -> list[tuple[str, str]]:
    """Return the distortion at each horizon, and the greatest at longer ones."""
    rows = []
    for tau in horizons:
        spread, sup = theory.distortion(tau), theory.distortion_sup(tau)
        meaning = f"distortion at horizon {tau:g}: what the aleatoric state hides of optimal values"
        proof = "certified" if sup.certified else "the best of a grid"
        rows += [
            (f"{spread.value:.9g}", meaning),
            (f"{sup.value:.9g}", f"the greatest distortion at longer horizons, {proof}"),
        ]
    return rows


def bound_rows(theory: Theory, steps: Iterable[int]) -> list[tuple[str, str]]:
    """Return the paper's bounds after each number of steps."""
    return [
        (f"{bound.value:.4g}", f"{label}, after {number:,} steps")
        for number in steps
        for label, bound in theory.bounds(number).items()
    ]


def _searched(theory: Theory) -> str:
    if theory.best_aleatoric.randomised:
        return "a randomised policy, the best that a search found"
    if not theory.best_deterministic.exact:
        return "the best policy that a search found"
    lossless = attained(theory.best_aleatoric.average_reward, theory.optimum)
    return "nothing is lost" if lossless else "every deterministic policy was tried"
