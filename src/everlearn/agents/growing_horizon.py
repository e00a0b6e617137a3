"""Algorithm 2, ``growing_horizon_q_learning``: optimistic Q-learning over a horizon that grows with time.

The algorithm as written adds foo3(t) to every value and multiplies every count by foo4(t) at each step, which costs
|S| |A|.  Here both are kept in forms in which that costs nothing, whatever the schedule:

- u = Q - c, with c = 1 + foo3(1) + ... + foo3(t).  Since (1 - gamma) tau = 1, the update of Line 14 becomes
  u += alpha (r - c / tau + gamma max u' - u + beta / sqrt(N)), and the clip of Line 15 u = min(u, tau - c).
- N = visits * scale * 2 ** (exponent - stamp), where scale 2 ** exponent is the product of foo4 so far (in ``now``) and
  the stamp is the exponent at the pair's last visit.

It is also the numerically right form: two clipped values are exactly equal, as on paper, where rounding in the literal
form would break ties and change what the agent does.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.design import Design
from everlearn.agents.greedy import greedy_action, greedy_policy, largest
from everlearn.agents.schedule import Schedule
from everlearn.protocol import Experience, Now, Table
from everlearn.tasks.interface import Interface

VANISHED = -2000
"""A power of two so small that any count times it is zero."""


class Values(NamedTuple):
    """P_t in offset form: a row for each aleatoric state, a column for each action."""

    offset: Table
    """u = Q - c."""
    visits: Table
    """The count N at the last visit, divided by ``scale`` at that time."""
    stamp: NDArray[np.int64]
    """``exponent`` at the last visit."""


def growing_horizon(*, schedule: Schedule) -> Design:
    """Optimistic Q-learning over a growing horizon, the agent of the paper (Algorithm 2).

    Parameters
    ----------
    schedule:
        foo1 to foo4

    """
    return Design(build, act, learn, policy, schedule, inspect, name="growing-horizon")


def build(interface: Interface) -> Values:
    """Begin with Q = 1 (u = 0, c = 1) and N = 0 everywhere."""
    shape = (interface.states, interface.actions)
    return Values(np.zeros(shape), np.zeros(shape), np.zeros(shape, dtype=np.int64))


def act(knowledge: Values, aleatoric_state: int, now: Now, stream: Any) -> int:  # noqa: ARG001
    """Line 8: sample from the greedy actions; the offset c is the same for all of them."""
    return greedy_action(knowledge.offset, aleatoric_state, stream)


def learn(knowledge: Values, experience: Experience, now: Now, stream: Any) -> None:  # noqa: ARG001
    """Lines 10 to 15."""
    s = experience.aleatoric_state
    a = experience.action
    n = scaled_count(knowledge.visits[s, a], knowledge.stamp[s, a], now.scale, now.exponent) + 1.0
    knowledge.visits[s, a] = n * now.unscale
    knowledge.stamp[s, a] = now.exponent
    alpha = step_size(n, now.horizon)
    u = knowledge.offset[s, a]
    following = largest(knowledge.offset, experience.next_aleatoric_state)
    target = experience.reward - now.drift + now.discount * following + now.optimism / math.sqrt(n)
    u += alpha * (target - u)
    knowledge.offset[s, a] = min(u, now.ceiling)


def step_size(count: float, horizon: float) -> float:
    """Line 11: (1 + 2 tau) / (N + 2 tau)."""
    return (1.0 + 2.0 * horizon) / (count + 2.0 * horizon)


def scaled_count(count: float, stamp: int, scale: float, exponent: int) -> float:
    """Line 7, lazily: what the count has become since its stamp."""
    n = count * scale
    power = exponent - stamp
    if power == 0:
        return n
    if power < VANISHED or n == 0.0:
        return 0.0
    if power > -VANISHED:
        return math.inf
    half = power // 2  # in two steps, since 2 ** power alone may overflow or vanish where the product does not
    return float(n) * math.ldexp(1.0, half) * math.ldexp(1.0, power - half)


def policy(knowledge: Values) -> Table:
    """Return the greedy policy."""
    return greedy_policy(knowledge.offset)


def inspect(knowledge: Values, now: Now) -> dict[str, Table]:
    """Return Q and N as the algorithm has them at the end of step ``now.t``."""
    level = now.horizon - now.ceiling
    counts = [
        scaled_count(float(count), int(stamp), now.scale, now.exponent)
        for count, stamp in zip(knowledge.visits.flat, knowledge.stamp.flat, strict=True)
    ]
    return {"Q": knowledge.offset + level, "N": np.reshape(counts, knowledge.visits.shape)}
