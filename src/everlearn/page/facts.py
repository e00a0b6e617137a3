"""Facts: what theory says of a task, one sentence each, and the lines to draw beside a curve."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from everlearn.errors import EverlearnError
from everlearn.page.chart import ZERO, write
from everlearn.results.references import AT_LEAST, AT_MOST, BEST, FOUND, OPTIMUM, label
from everlearn.tasks.portrait import words
from everlearn.tasks.task import Task
from everlearn.theory.report import Theory, written_optimum

MOST_PAIRS = 60_000
"""The largest number of pairs of a memory and an aleatoric state: some seconds of work."""

HORIZONS = (10.0, 100.0)
"""The horizons at which to show the distortion."""

LISTED = 12
"""Write out a policy up to this many aleatoric states."""

MOST_LISTED = 6
"""List so many actions and observations of a task that has no description."""

NEAR = 1e-9
"""Averages closer than this are the same line."""


class Fact(NamedTuple):
    """A number, its name, and its meaning."""

    name: str
    value: str
    meaning: str


@dataclass(frozen=True)
class Facts:
    """What theory says of a task, or why it says nothing."""

    facts: tuple[Fact, ...]
    lines: Mapping[str, float]
    """Average rewards by name, the optimum first."""
    refusal: str = ""


def find_facts(task: Task) -> Facts:
    """Compute the facts about a task."""
    try:
        theory = Theory(task, max_pairs=MOST_PAIRS)
        return Facts(tuple(_find_facts(theory)), _find_lines(theory))
    except EverlearnError as error:
        return Facts((), known_lines(task), str(error))


def known_lines(task: Task) -> dict[str, float]:
    """Return the lines that a task knows, before anything is computed."""
    return {label(name): value for name, value in task.references.items()}


def _find_facts(theory: Theory) -> list[Fact]:
    best, optimum = theory.best_aleatoric, _write_optimum(theory)
    near = abs(best.average_reward - theory.optimum.upper) <= NEAR
    lost = "nothing is lost" if near else f"it earns {write(best.average_reward, 6)}"
    searched = "" if _is_proved(theory) else ", of those searched"
    time = theory.averaging_time(best.policy).value
    values = "the values if the memory were seen" if theory.task.hidden else "optimal values"
    return [
        Fact(
            f"λ*, {OPTIMUM}",
            optimum,
            "the most that any policy earns per step in the long run, even one that remembers everything",
        ),
        Fact(
            "best policy over aleatoric states",
            _write_policy(theory.written(best.policy)),
            f"the best that sees no more than the agent does{searched}; {lost}",
        ),
        Fact(
            "averaging time",
            f"{time:.4g}" if math.isfinite(time) else "∞",
            "of that policy: over T steps its average is off by at most this / T",
        ),
        *(
            Fact(
                f"distortion at horizon {horizon:g}",
                write(theory.distortion(horizon).value),
                f"what the agent's view hides of {values}; 0 where it hides nothing",
            )
            for horizon in HORIZONS
        ),
    ]


def _write_optimum(theory: Theory) -> str:
    optimum = theory.optimum
    return "0" if max(abs(optimum.lower), abs(optimum.upper)) < ZERO else written_optimum(optimum)


def _find_lines(theory: Theory) -> dict[str, float]:
    """Return the optimum, the best over aleatoric states if that is less, and the lines that the task knows."""
    optimum = theory.optimum
    bounds = {AT_LEAST: optimum.lower, AT_MOST: optimum.upper}
    lines = {OPTIMUM: theory.optimal_average_reward} if optimum.certified else bounds
    best = theory.best_aleatoric.average_reward
    if abs(best - optimum.upper) > NEAR:
        lines[BEST if _is_proved(theory) else FOUND] = best
    return {**lines, **{name: value for name, value in known_lines(theory.task).items() if name != OPTIMUM}}


def _is_proved(theory: Theory) -> bool:
    """Return whether no policy over aleatoric states is better than the best one of the search."""
    return theory.best_deterministic.exact and not theory.best_aleatoric.randomised


def _write_policy(policy: dict[str, dict[str, float]]) -> str:
    texts = {
        state: " or ".join(action if share == 1 else f"{action} {share:.3g}" for action, share in row.items())
        for state, row in policy.items()
    }
    if len(set(texts.values())) == 1:
        return f"{next(iter(texts.values()))} everywhere"
    if len(texts) <= LISTED:
        return ", ".join(f"{state}: {text}" for state, text in texts.items())
    return f"{len(texts):,} states, {len(set(texts.values()))} ways to act"


def list_labels(task: Task) -> str:
    """Return what can be done and seen in a task that nobody has described.

    Examples
    --------
    >>> from everlearn.tasks.registry import make_task
    >>> list_labels(make_task("tiger"))
    'Actions: listen, open left, open right. Observations: hear left, hear right, treasure, tiger.'

    """
    kinds = {"Actions": task.actions, "Observations": task.observations}
    few = {kind: ", ".join(map(words, labels[:MOST_LISTED])) for kind, labels in kinds.items()}
    return " ".join(f"{kind}: {few[kind]}{', …' * (len(kinds[kind]) > MOST_LISTED)}." for kind in kinds)
