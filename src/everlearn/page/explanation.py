"""The explanation of a step: its update, written out with its numbers.

For the agent of the paper it is Line 14 of Algorithm 2 with the clip of Line 15, on the values as the paper has them:

    Q(s, a) <- min(tau, (1 - alpha) Q(s, a) + alpha (r + gamma max Q(s', .) + bonus))

Nothing is assumed about what the agent keeps.  Values and counts are those that it shows, before and after; the rest
follows from the schedule, and is compared with what the agent did.  If the two differ, and for any other agent, the
explanation says what changed and no more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from everlearn.agents import growing_horizon
from everlearn.agents.growing_horizon import step_size
from everlearn.agents.schedule import Schedule
from everlearn.page.run import WatchedRun, WatchedStep
from everlearn.protocol import ScheduleValues, Table
from everlearn.tasks.portrait import words

AGREE = 1e-9
"""How far the update written out may be from what the agent did, relative to its size."""


class Change(NamedTuple):
    """A number that the agent shows for the state and the action of the step, before and after."""

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
    """The formula of the bonus, with its numbers."""
    step_size: float
    weight: float
    """w in the step size (1 + w tau) / (N + w tau)."""
    count: float
    """N(s, a), including this visit."""
    horizon: float
    shift: float
    """foo3(t), which was added to every value before the update."""
    value: float
    """Q(s, a) before the update."""
    after: float
    """Q(s, a) after the update."""

    @property
    def unclipped(self) -> float:
        """The value before the clip."""
        target = self.reward + self.discount * self.following + self.bonus
        return (1.0 - self.step_size) * self.value + self.step_size * target

    @property
    def clipped(self) -> bool:
        """Whether the clip at tau changed the value."""
        return self.unclipped > self.horizon


@dataclass(frozen=True)
class Explanation:
    """What happened in a step, by labels, and what the agent learned from it."""

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


def explain(run: WatchedRun) -> Explanation | None:
    """Return the explanation of the latest step, or None before any."""
    step, task = run.latest, run.task
    if step is None:
        return None
    seen = step.experience
    before, after = (run.inspect(knowledge, step.now) for knowledge in (step.before, step.after))
    row = step.rows.index(seen.aleatoric_state)
    changes = tuple(
        Change(name, float(table[row, seen.action]), float(after[name][row, seen.action]))
        for name, table in before.items()
        if table.shape == (len(step.rows), len(task.actions))
    )
    return Explanation(
        step.now.t,
        task.portrait.name(task.states[seen.aleatoric_state]),
        words(task.actions[seen.action]),
        words(task.observations[seen.observation]),
        step.reward,
        task.portrait.name(task.states[seen.next_aleatoric_state]),
        _find_update(run.design.schedule, step, before, after) if run.design.learn is growing_horizon.learn else None,
        changes,
    )


def _find_update(
    schedule: Schedule | None, step: WatchedStep, before: dict[str, Table], after: dict[str, Table]
) -> Update | None:
    """Return the update of the paper's agent; None if the agent did something else."""
    if schedule is None:
        return None
    seen, now = step.experience, step.now
    row, next_row = (step.rows.index(s) for s in (seen.aleatoric_state, seen.next_aleatoric_state))
    count, value, new_value = (float(table[row, seen.action]) for table in (after["N"], before["Q"], after["Q"]))
    alpha, following = step_size(count, now.horizon, schedule.step_weight), float(before["Q"][next_row].max())
    rest = (new_value - (1.0 - alpha) * value) / alpha - seen.reward - now.discount * following
    spread = float(after["sigma"][row, seen.action]) if "sigma" in after else None
    bonus, formula = find_bonus(schedule, now, count, spread)
    differs = abs(rest - bonus) > AGREE * max(1.0, abs(rest)) / alpha
    if schedule.doubt is not None and new_value < now.horizon and differs:
        bonus, formula = rest, "what is left of the move when all else is known"
    update = Update(
        reward=seen.reward,
        discount=now.discount,
        following=following,
        bonus=bonus,
        bonus_from=formula,
        step_size=alpha,
        count=count,
        horizon=now.horizon,
        shift=schedule.value_shift(now.t),
        weight=schedule.step_weight,
        value=value,
        after=new_value,
    )
    error = abs(new_value - min(update.unclipped, now.horizon))
    return update if error <= AGREE * max(1.0, abs(update.unclipped), now.horizon) else None


def find_bonus(schedule: Schedule, now: ScheduleValues, count: float, spread: float | None) -> tuple[float, str]:
    """Return the bonus of Line 14 after a number of visits, and its formula with the numbers."""
    if schedule.doubt is None or spread is None:
        return now.optimism / math.sqrt(count), f"β / √N = {now.optimism:.4g} / √{count:.6g}"
    doubt, rarity = schedule.doubt, schedule.rarity
    bonus = now.optimism * ((doubt + spread) / math.sqrt(count) + rarity * now.horizon / count)
    inside = f"({doubt:.4g} + {spread:.4g}) / √{count:.6g} + {rarity:.4g} · {now.horizon:.4g} / {count:.6g}"
    return bonus, f"β ((doubt + σ) / √N + rarity τ / N) = {now.optimism:.4g} ({inside})"
