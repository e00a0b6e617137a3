"""What is known exactly of a task, said in a sentence each, and the lines that it gives to draw beside a curve."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from everlearn.errors import EverlearnError
from everlearn.results.references import BEST, FOUND, OPTIMUM, label
from everlearn.tasks.task import Task
from everlearn.theory.report import Theory

MOST_PAIRS = 60_000
"""How many pairs of a memory and an aleatoric state are looked into: some seconds of work."""

HORIZONS = (10.0, 100.0)
"""At which horizons the distortion is told."""

LISTED = 12
"""Up to how many aleatoric states a policy is written out."""

NEAR = 1e-9
"""Averages closer than this are the same line."""


class Fact(NamedTuple):
    """A number, what it is called, and what it means."""

    name: str
    value: str
    meaning: str


@dataclass(frozen=True)
class Facts:
    """What theory says of a task; where it is too large, why nothing is said."""

    facts: tuple[Fact, ...]
    lines: Mapping[str, float]
    """Average rewards by name, the optimum first."""
    refusal: str = ""


def find_facts(task: Task) -> Facts:
    """Compute what is known of a task.

    Examples
    --------
    >>> from everlearn.tasks.registry import make_task
    >>> found = find_facts(make_task("riverswim"))
    >>> [(fact.name, fact.value) for fact in found.facts][:2]
    [('λ*, optimum over all policies', '0.428622'), ('best policy over aleatoric states', 'right everywhere')]
    >>> list(found.lines)
    ['optimum over all policies', 'always right', 'always left']

    """
    try:
        theory = Theory(task, max_pairs=MOST_PAIRS)
        return Facts(tuple(_facts(theory)), _lines(theory))
    except EverlearnError as error:
        return Facts((), lines_of(task), str(error))


def _facts(theory: Theory) -> list[Fact]:
    best, found, kept = theory.best_aleatoric, theory.optimum, _proved(theory)
    near = abs(best.average_reward - found.average_reward) <= NEAR
    lost = "nothing is lost" if near else f"it earns {best.average_reward:.6g}"
    time = theory.averaging_time(best.policy).value
    listed = [
        Fact(
            f"λ*, {OPTIMUM}",
            f"{found.average_reward:.6g}",
            "the most that any policy earns per step in the long run, even one that remembers everything",
        ),
        Fact(
            "best policy over aleatoric states",
            _policy(theory.written(best.policy)),
            f"the best that sees no more than the agent does{'' if kept else ', of those searched'}; {lost}",
        ),
        Fact(
            "averaging time",
            f"{time:.4g}" if math.isfinite(time) else "∞",
            "of that policy: over T steps its average is off by at most this / T",
        ),
    ]
    for horizon in HORIZONS:
        value = theory.distortion(horizon).value
        meaning = "what the agent's view hides of optimal values; 0 where it hides nothing"
        listed.append(Fact(f"distortion at horizon {horizon:g}", f"{value:.4g}", meaning))
    return listed


def _lines(theory: Theory) -> dict[str, float]:
    """Return the optimum, the best over aleatoric states if that is less, and the references of the task."""
    lines = {OPTIMUM: theory.optimal_average_reward}
    best = theory.best_aleatoric.average_reward
    if abs(best - lines[OPTIMUM]) > NEAR:
        lines[BEST if _proved(theory) else FOUND] = best
    return {**lines, **{name: value for name, value in lines_of(theory.task).items() if name != OPTIMUM}}


def _proved(theory: Theory) -> bool:
    """Tell whether there is no better policy over aleatoric states than the one that was found."""
    return theory.best_deterministic.exact and not theory.best_aleatoric.randomised


def lines_of(task: Task) -> dict[str, float]:
    """Return the lines that a task brings along, before anything is computed.

    Examples
    --------
    >>> from everlearn.tasks.registry import make_task
    >>> list(lines_of(make_task("riverswim")))
    ['optimum over all policies', 'always right', 'always left']

    """
    return {label(name): value for name, value in task.references.items()}


def _policy(written: dict[str, dict[str, float]]) -> str:
    texts = {
        state: " or ".join(action if share == 1 else f"{action} {share:.3g}" for action, share in row.items())
        for state, row in written.items()
    }
    if len(set(texts.values())) == 1:
        return f"{next(iter(texts.values()))} everywhere"
    if len(texts) <= LISTED:
        return ", ".join(f"{state}: {text}" for state, text in texts.items())
    return f"{len(texts):,} states, {len(set(texts.values()))} ways to act"
