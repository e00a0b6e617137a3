"""Algorithm 2, ``growing_horizon_q_learning``: optimistic Q-learning over a horizon that grows with time.

The algorithm as written adds foo3(t) to every value and multiplies every count by foo4(t) at each step, which costs
|S| |A|.  Here both are kept in forms in which that costs nothing, whatever the schedule:

- u = Q - c, with c = 1 + foo3(1) + ... + foo3(t).  Since (1 - gamma) tau = 1, the update of Line 14 becomes
  u += alpha (r - c / tau + gamma max u' - u + beta / sqrt(N)), and the clip of Line 15 u = min(u, tau - c).
- N = visits * scale * 2 ** (exponent - stamp), where scale * 2 ** exponent is the product of foo4 so far (in ``now``),
  visits is the count at the pair's last visit divided by the scale at that time, and the stamp the exponent then.

A schedule may ask for optimism that follows what varies.  Then the mean and the variance of the targets of a pair are
kept too, as running averages with the step size of Line 11, and the bonus of Line 14 is foo2 ((doubt + sigma) / sqrt(N)
+ rarity tau / N).  It may also ask that an action be kept for some visits of a state once it is chosen; then the action
and the visits left are kept for each state.  With the schedules of the paper nothing of this is there, and the agent is
the paper's.

It is also the numerically right form: two clipped values are exactly equal, as on paper, where rounding in the literal
form would break ties and change what the agent does.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from everlearn.agents.design import Design
from everlearn.agents.greedy import greedy_action, greedy_policy, known_actions, largest, unrolled
from everlearn.agents.schedule import Schedule
from everlearn.protocol import Experience, Now, Table
from everlearn.tasks.interface import Interface

VANISHED = -2000
"""A power of two so small that any count times it is zero.  A zero of foo4 lowers the exponent by 2 ** 26; only scales
that after it multiply to more than 2 ** (2 ** 26) could bring back what it forgot."""


class Values(NamedTuple):
    """P_t in offset form."""

    cells: Table
    """A row for each aleatoric state: for each action its u, then for each its visits, then for each its stamp, if any,
    then for each the mean and for each the variance of its targets, if these are kept; last, if actions are held, the
    action that is held and for how many visits more."""
    scaled: tuple[int, ...]
    """Empty where foo4 is always 1: counts are then never scaled, and there are no stamps."""
    varied: tuple[int, ...]
    """Empty where optimism follows counts alone: no means and variances are kept."""
    held: tuple[int, ...]
    """Empty where every visit chooses anew."""
    raw: tuple[int, ...]
    """Empty where rewards are learned from as they come; else they are brought into [0, 1] here."""
    low: float
    width: float
    """The least reward and the width of their range."""
    step_weight: float
    doubt: float
    rarity: float
    persistence: float
    persistence_most: float
    actions: int
    each: tuple[int, ...]
    """As long as there are actions; see :func:`everlearn.agents.greedy.unrolled`."""


def growing_horizon(*, schedule: Schedule) -> Design:
    """Optimistic Q-learning over a growing horizon, the agent of the paper (Algorithm 2).

    Parameters
    ----------
    schedule:
        foo1 to foo4

    """

    def build(interface: Interface) -> Values:
        return nothing_known(interface, schedule)

    return Design(
        build, act, learn, policy, schedule, inspect, by_state=True, unit=schedule.unit, name="growing-horizon"
    )


def nothing_known(interface: Interface, schedule: Schedule) -> Values:
    """Begin with Q = 1 (u = 0, c = 1) and N = 0 everywhere."""
    reward, actions = interface.task.reward, interface.actions
    kept = 2 + schedule.scales_counts + 2 * (schedule.doubt is not None)
    return Values(
        np.zeros((interface.states, kept * actions + 2 * (schedule.persistence > 0))),
        (0,) if schedule.scales_counts else (),
        () if schedule.doubt is None else (0,),
        (0,) if schedule.persistence > 0 else (),
        (0,) if schedule.unit and reward.raw else (),
        float(reward.low),
        float(reward.high - reward.low),
        schedule.step_weight,
        schedule.doubt or 0.0,
        schedule.rarity,
        schedule.persistence,
        schedule.persistence_most,
        actions,
        unrolled(actions),
    )


def act(knowledge: Values, aleatoric_state: int, now: Now, stream: Any) -> int:  # noqa: ARG001
    """Line 8: sample from the greedy actions; the offset c is the same for all of them.  Or what is held."""
    cells = knowledge.cells
    if len(knowledge.held) > 0:
        left = cells.shape[1] - 1
        if cells[aleatoric_state, left] >= 1.0:
            return int(cells[aleatoric_state, left - 1])
    actions = known_actions(knowledge.each, knowledge.actions)
    return greedy_action(cells, actions, aleatoric_state, stream)


def learn(knowledge: Values, experience: Experience, now: Now, stream: Any) -> None:  # noqa: ARG001
    """Lines 10 to 15."""
    cells = knowledge.cells
    actions = known_actions(knowledge.each, knowledge.actions)
    s = experience.aleatoric_state
    value = experience.action
    visits = value + actions
    if len(knowledge.scaled) > 0:
        stamp = visits + actions
        n = scaled_count(cells[s, visits], cells[s, stamp], now.scale, now.exponent) + 1.0
        cells[s, visits] = n * now.unscale
        cells[s, stamp] = now.exponent
    else:
        n = cells[s, visits] + 1.0
        cells[s, visits] = n
    following = largest(cells, actions, experience.next_aleatoric_state)
    alpha = step_size(n, now.horizon, knowledge.step_weight)
    reward = experience.reward
    if len(knowledge.raw) > 0:
        reward = (reward - knowledge.low) / knowledge.width
    target = reward - now.drift + now.discount * following
    if len(knowledge.varied) > 0:
        mean = value + (3 if len(knowledge.scaled) > 0 else 2) * actions
        spread = varied(cells, s, mean, mean + actions, alpha, target)
        target += now.optimism * (
            (knowledge.doubt + math.sqrt(spread)) / math.sqrt(n) + knowledge.rarity * now.horizon / n
        )
    else:
        target += now.optimism / math.sqrt(n)
    u = (1.0 - alpha) * cells[s, value] + alpha * target  # exactly the target where alpha = 1
    cells[s, value] = min(u, now.ceiling)
    if len(knowledge.held) > 0:
        hold(cells, s, experience.action, min(knowledge.persistence * n, knowledge.persistence_most))


def hold(cells: Table, s: int, action: int, visits: float) -> None:
    """Count down while the held action is taken; one that is chosen anew, or comes from elsewhere, is held next."""
    left = cells.shape[1] - 1
    if cells[s, left] >= 1.0 and cells[s, left - 1] == action:
        cells[s, left] -= 1.0
    else:
        cells[s, left - 1] = action
        cells[s, left] = visits


def step_size(count: float, horizon: float, weight: float = 2.0) -> float:
    """Line 11: (1 + 2 tau) / (N + 2 tau), with the weight that a schedule gives in the place of 2."""
    return (1.0 + weight * horizon) / (count + weight * horizon)


def varied(cells: Table, s: int, mean: int, variance: int, alpha: float, target: float) -> float:
    """Move the mean and the variance of the targets of a pair, and return the variance."""
    error = target - cells[s, mean]
    cells[s, mean] += alpha * error
    cells[s, variance] = (1.0 - alpha) * (cells[s, variance] + alpha * error * error)
    return cells[s, variance]  # type: ignore[no-any-return]


def scaled_count(visits: float, stamp: float, scale: float, exponent: float) -> float:
    """Line 7, lazily: what the count has become since its stamp."""
    n = visits * scale
    if stamp == exponent:
        return n
    return shifted(n, exponent - stamp)


def shifted(n: float, power: float) -> float:
    """Return n 2^power, in two factors, since 2^power alone may overflow or vanish where the product does not."""
    if power < VANISHED or n == 0.0:
        return 0.0
    if power > -VANISHED:
        return math.inf
    half = int(power) // 2
    return float(n) * math.ldexp(1.0, half) * math.ldexp(1.0, int(power) - half)


def policy(knowledge: Values) -> Table:
    """Return the greedy policy, except where an action is held."""
    found = greedy_policy(knowledge.cells[:, : knowledge.actions])
    if knowledge.held:
        held = knowledge.cells[:, -1] >= 1.0
        found[held] = np.eye(knowledge.actions)[knowledge.cells[held, -2].astype(int)]
    return found


def inspect(knowledge: Values, now: Now) -> dict[str, Table]:
    """Return Q and N as the algorithm has them at the end of step ``now.t``, and sigma where that is kept."""
    pairs = knowledge.cells[:, : -2 if knowledge.held else None]
    parts = np.split(pairs, pairs.shape[1] // knowledge.actions, axis=1)
    offset, visits = parts[:2]
    if knowledge.scaled:
        counts = [
            scaled_count(float(visited), float(stamped), now.scale, now.exponent)
            for visited, stamped in zip(visits.flat, parts[2].flat, strict=True)
        ]
        visits = np.reshape(counts, offset.shape)
    found = {"Q": offset + (now.horizon - now.ceiling), "N": visits.copy()}
    return {**found, "sigma": np.sqrt(parts[-1])} if knowledge.varied else found
