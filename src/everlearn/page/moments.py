"""The timeline of a race: the moments at which an agent changed what it does, or what it earns.

Moments are found at the recorded times of a run, which do not depend on how it was advanced.  What an agent earns is
its average over the second half of all steps so far; what it prefers is known for small tasks (:mod:`.run`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.page.run import WatchedRun
from everlearn.protocol import Table
from everlearn.tasks.portrait import words

FIRST = 100
"""Before this step, averages say little."""

HELD = 2.0
"""A preference counts if it is held until the time has grown by this factor; so does what an agent earns."""

NEAR, FAR = 0.1, 0.3
"""The optimum is reached, and lost again, at these distances from it, as shares of the distance between the lines."""

MOST = 10
"""Show so many moments of an agent, the latest ones: what was left out cannot contradict what is shown last."""


class Moment(NamedTuple):
    """A step, and what happened there."""

    t: int
    text: str


def find_moments(run: WatchedRun, lines: Mapping[str, float]) -> list[Moment]:
    """Return the moments of a run in order; ``lines`` are known average rewards by name."""
    curves = run.batch.curves.until(run.t)
    if not curves.times.size:
        return []
    moments = [*_earning(curves.times, curves.total_reward[0], lines)]
    if curves.policies is not None:
        moments += _preferring(run, curves.times, curves.policies[0])
    return sorted(moments)[-MOST:]


def write_moments(moments: Sequence[tuple[str, Sequence[Moment]]], t: int) -> str:
    """Return the moments of every agent, with its name, as a list of buttons; the latest before step t is marked."""
    ordered = sorted((moment, number, name) for number, (name, each) in enumerate(moments) for moment in each)
    if not ordered:
        return '<li class="quiet">Nothing has changed yet.</li>'
    latest = max((moment.t for moment, *_ in ordered if moment.t <= t), default=0)
    return "".join(
        f'<li><button type="button" class="agent{number}" data-at="{moment.t}"'
        + (' aria-current="step">' if moment.t == latest else ">")
        + escape(f"step {moment.t:,}: {name if len(moments) > 1 else 'it'} {moment.text}")
        + "</button></li>"
        for moment, number, name in ordered
    )


def recent(times: NDArray[np.int64], totals: Table) -> Table:
    """Return the average reward between half of each time and that time."""
    half = np.searchsorted(times, times // 2, side="right") - 1
    before = np.where(half >= 0, totals[half], 0.0), np.where(half >= 0, times[half], 0)
    return np.asarray((totals - before[0]) / (times - before[1]))


def _earning(times: NDArray[np.int64], totals: Table, lines: Mapping[str, float]) -> Iterator[Moment]:
    """Yield when an agent first earns more than each line, and when it reaches the highest, loses and regains it.

    If only one line is known, yield when half of the distance to it is closed.
    """
    first = int(np.searchsorted(times, FIRST))
    until = _held_until(times)[first:] - first
    earned = recent(times, totals)[first:].tolist()
    top = max(lines.values(), default=0.0)
    span = top - min([*lines.values(), *earned[:1]], default=0.0)
    if not lines or not earned or span <= 0:
        return
    passed, at_top, ever = set[str](), False, False
    below = {name: value + NEAR / 2 * span for name, value in lines.items() if value < top}
    texts = {name: f"lately earns more than “{name}”" for name in below}
    if not below:
        below, texts = {"half": top - span / 2}, {"half": "has closed half of the gap to the optimum"}
    least = {name: lines.get(name, value - NEAR / 2 * span) for name, value in below.items()}
    for place, (t, average) in enumerate(zip(times[first:].tolist(), earned, strict=True)):
        lowest = min(earned[place : until[place] + 1]) if until[place] < len(earned) else -math.inf
        for name in [name for name in below if name not in passed and average > below[name] and lowest > least[name]]:
            passed.add(name)
            yield Moment(t, texts[name])
        if not at_top and average > top - NEAR * span and lowest >= top - FAR * span:
            yield Moment(t, "lately earns nearly the optimum" + " again" * ever)
            at_top = ever = True
        elif at_top and average < top - FAR * span:
            yield Moment(t, "lately earns much less than the optimum")
            at_top = False


def _held_until(times: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the column until which something must hold that begins in each; beyond the last, nobody knows yet."""
    return np.asarray(np.searchsorted(times, np.ceil(times * HELD), side="left"), dtype=np.int64)


def _preferring(run: WatchedRun, times: NDArray[np.int64], policies: Table) -> Iterator[Moment]:
    """Yield when an agent came to prefer what it prefers now in a state, if it has held to it."""
    task, best = run.task, policies.argmax(axis=2)
    until = _held_until(times)
    for s in run.decisions:
        settled, since = None, 0
        for column in range(int(np.searchsorted(times, FIRST)), times.size):
            action = int(best[column, s])
            held = until[column] < times.size and (best[column : until[column] + 1, s] == action).all()
            if held and action != settled and policies[column, s, action] > 0.5:
                settled, since = action, int(times[column])
        if settled is not None and settled == best[-1, s]:
            yield Moment(since, f"prefers {words(task.actions[settled])} ({task.portrait.name(task.states[s])})")
