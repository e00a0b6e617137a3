"""The update of one step, written out with its numbers: which term came from where.

For the agent of the paper it is Line 14 of Algorithm 2 with the clip of Line 15, on the values as the paper has them:

    Q(s, a) <- min(tau, (1 - alpha) Q(s, a) + alpha (r + gamma max Q(s', .) + bonus))

Nothing here is assumed of what the agent keeps.  Values and counts are those that it tells, before and after; the rest
follows from the schedule, and is compared with what the agent really did.  Where the two differ, or for another agent,
what changed is told and no more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from everlearn.agents import growing_horizon
from everlearn.agents.growing_horizon import step_size
from everlearn.agents.schedule import Schedule
from everlearn.labels import show
from everlearn.play.interpreted import Watched
from everlearn.play.stream import Taken, inspected
from everlearn.protocol import ScheduleValues, Table

AGREE = 1e-9
"""How far, relative to what is computed, the update written out may be from what the agent did."""


class Change(NamedTuple):
    """Something that the agent tells of the pair that was visited, before and after the step."""

    name: str
    before: float
    after: float


@dataclass(frozen=True)
class Update:
    """Lines 11, 14 and 15 of Algorithm 2, with their numbers."""

    reward: float
    """r as learned from."""
    discount: float
    following: float
    """max Q(s', .)"""
    bonus: float
    bonus_from: str
    """How the bonus came about, with its numbers."""
    step_size: float
    count: float
    """N(s, a), this visit counted."""
    horizon: float
    optimism: float
    shift: float
    """foo3(t), which was added to every value before."""
    weight: float
    """w in the step size (1 + w tau) / (N + w tau)."""
    value: float
    """Q(s, a) with foo3(t) added, before the update."""
    after: float
    """Q(s, a) after the update."""

    @property
    def target(self) -> float:
        """What the value is moved towards."""
        return self.reward + self.discount * self.following + self.bonus

    @property
    def unclipped(self) -> float:
        """The value before the clip."""
        return (1.0 - self.step_size) * self.value + self.step_size * self.target

    @property
    def clipped(self) -> bool:
        """Whether the clip at tau was what decided."""
        return self.unclipped > self.horizon


@dataclass(frozen=True)
class Explanation:
    """What happened in a step, by its labels, and what the agent made of it."""

    t: int
    aleatoric_state: str
    action: str
    observation: str
    reward: float
    """In the task's own units."""
    following: str
    update: Update | None
    """None for an agent whose update is not the paper's."""
    changes: tuple[Change, ...]


def explain(stream: Watched) -> Explanation | None:
    """Return what happened in the step last taken, or None before any.

    Examples
    --------
    >>> from everlearn.agents.registry import make_design
    >>> from everlearn.play.interpreted import Interpreted
    >>> from everlearn.tasks.registry import make_task
    >>> stream = Interpreted(make_task("service-station"), make_design("growing-horizon", schedule="smooth"), 1)
    >>> stream.advance(1)
    >>> found = explain(stream)
    >>> found.observation, found.update.step_size, found.update.reward, round(found.update.bonus, 4)
    ('arrival', 1.0, 1.0, 0.3663)

    """
    taken, task = stream.taken, stream.task
    if taken is None:
        return None
    seen = taken.experience
    before, after = (
        inspected(stream.design, stream.indexed, knowledge, taken.now) for knowledge in (taken.before, taken.after)
    )
    row = taken.rows.index(seen.aleatoric_state)
    changes = tuple(
        Change(name, float(table[row, seen.action]), float(after[name][row, seen.action]))
        for name, table in before.items()
        if table.shape == (len(taken.rows), len(task.actions))
    )
    return Explanation(
        taken.now.t,
        show(task.states[seen.aleatoric_state]),
        show(task.actions[seen.action]),
        show(task.observations[seen.observation]),
        taken.reward,
        show(task.states[seen.next_aleatoric_state]),
        _update(stream, taken, before, after),
        changes,
    )


def _update(stream: Watched, taken: Taken, before: dict[str, Table], after: dict[str, Table]) -> Update | None:
    """Write the update out; None where it is not the paper's, or the agent did something else."""
    schedule = stream.design.schedule
    if schedule is None or stream.design.learn is not growing_horizon.learn:
        return None
    seen, now = taken.experience, taken.now
    row, next_row = (taken.rows.index(s) for s in (seen.aleatoric_state, seen.next_aleatoric_state))
    count, value = float(after["N"][row, seen.action]), float(before["Q"][row, seen.action])
    alpha = step_size(count, now.horizon, schedule.step_weight)
    learned, following = seen.reward, float(before["Q"][next_row].max())
    became = float(after["Q"][row, seen.action])
    left = (became - (1.0 - alpha) * value) / alpha - learned - now.discount * following
    spread = float(after["sigma"][row, seen.action]) if "sigma" in after else None
    bonus, source = _bonus(schedule, now, count, spread)
    if schedule.doubt is not None and became < now.horizon and abs(left - bonus) > AGREE * max(1.0, abs(left)) / alpha:
        bonus, source = left, "what is left of the move when all else is known"
    found = Update(
        reward=learned,
        discount=now.discount,
        following=following,
        bonus=bonus,
        bonus_from=source,
        step_size=alpha,
        count=count,
        horizon=now.horizon,
        optimism=now.optimism,
        shift=schedule.value_shift(now.t),
        weight=schedule.step_weight,
        value=value,
        after=became,
    )
    return found if _agrees(found) else None


def _bonus(schedule: Schedule, now: ScheduleValues, count: float, spread: float | None) -> tuple[float, str]:
    if schedule.doubt is None or spread is None:
        return now.optimism / math.sqrt(count), f"β / √N = {now.optimism:.4g} / √{count:.6g}"
    doubt, rarity = schedule.doubt, schedule.rarity
    bonus = now.optimism * ((doubt + spread) / math.sqrt(count) + rarity * now.horizon / count)
    inside = f"({doubt:.4g} + {spread:.4g}) / √{count:.6g} + {rarity:.4g} · {now.horizon:.4g} / {count:.6g}"
    return bonus, f"β ((doubt + σ) / √N + rarity τ / N) = {now.optimism:.4g} ({inside})"


def _agrees(found: Update) -> bool:
    """Tell whether the update written out is what the agent did."""
    expected = min(found.unclipped, found.horizon)
    return abs(found.after - expected) <= AGREE * max(1.0, abs(found.unclipped), found.horizon)
