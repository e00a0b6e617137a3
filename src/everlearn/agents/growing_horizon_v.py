"""Algorithm 2 with V clipped in place of Q, for which the regret bounds are proved (docs/repairs.md).

The paper's Algorithms 1 and 2 clip Q after every update, but its proofs are about Algorithm 3, in which the target has
V(s') = min(max_a' Q(s', a'), tau) and Q is not clipped.  Clipping Q discards optimism that is needed later, and the
lemma on optimism fails (E2 in docs/paper.md).  Here Algorithm 2 is changed in that one place.  Values are kept in the
offset form of :mod:`everlearn.agents.growing_horizon`: u = Q - c, so that the clip is at tau - c.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from everlearn.agents import growing_horizon as printed
from everlearn.agents.design import Design
from everlearn.agents.growing_horizon import OffsetValues, bonus, count_visit, hold, step_size
from everlearn.agents.schedule import Schedule
from everlearn.agents.tabular import largest
from everlearn.protocol import Experience, ScheduleValues


def learn(knowledge: OffsetValues, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Lines 10 to 14, with the clip of Line 15 on the value of the next state instead of on the updated one."""
    u = knowledge.cells["value"]
    s = experience.aleatoric_state
    a = experience.action
    n = count_visit(knowledge, s, a, now)
    alpha = step_size(n, now.horizon, knowledge.constants.step_weight)
    following = min(largest(u, experience.next_aleatoric_state), now.ceiling)  # V(s') - c
    target = experience.reward - now.drift + now.discount * following
    target += bonus(knowledge, s, a, n, alpha, target, now)
    u[s, a] = (1.0 - alpha) * u[s, a] + alpha * target
    hold(knowledge, s, a, n)


def growing_horizon_v(*, schedule: Schedule) -> Design:
    """Algorithm 2, but clipping state values instead of action values; the regret bounds are proved for this version.

    Parameters
    ----------
    schedule:
        how these change with time: the horizon (foo1 in the paper), the optimism (foo2), what is added to every action
        value (foo3) and what multiplies every count (foo4); the bounds are for ``change-points``, see
        :class:`everlearn.Schedule`

    """
    return replace(printed.growing_horizon(schedule=schedule), learn=learn, name="growing-horizon-v")
