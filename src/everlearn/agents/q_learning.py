"""Q-learning with a fixed discount, epsilon-greedy: the best-known algorithm to compare with.

Christopher J. C. H. Watkins, "Learning from Delayed Rewards", PhD thesis, University of Cambridge, 1989; Watkins and
Peter Dayan, "Q-learning", Machine Learning 8, 279-292, 1992.  If n is the number of times that a was taken in s,

    Q(s, a) += alpha_n (r + gamma max_a' Q(s', a') - Q(s, a)).

With ``centring``, an average that is learned from the same errors is subtracted from every reward, so that values stay
small over long horizons (Abhishek Naik, Yi Wan, Manan Tomar and Richard S. Sutton, "Reward Centering", RLC 2024):

    delta = r - average + gamma max_a' Q(s', a') - Q(s, a);   average += centring alpha_n delta.

With ``restart``, the values and counts of a state are forgotten when it is first entered in a new period of so many
steps: what a practitioner does by hand if a system changes.  It has no effect on the average of rewards.

The source does not say how to choose actions; here the agent is epsilon-greedy.  The convergence theorem requires
decreasing step sizes; by default the step size is constant.  :mod:`everlearn.agents` says what else differs.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.checks import check_at_least, check_finite, check_fraction, check_probability
from everlearn.agents.design import Design
from everlearn.agents.tabular import (
    Flag,
    Given,
    carry_fields,
    epsilon_greedy_action,
    epsilon_greedy_policy,
    flag,
    given,
    largest,
    latest_rows,
    records,
    show_fields,
    value_table,
)
from everlearn.protocol import Experience, ScheduleValues, Table
from everlearn.tasks.indexed import IndexedTask


class Watkins(NamedTuple):
    """Q and N, and how the step size and epsilon decay."""

    cells: NDArray[Any]
    """One record per aleatoric state: Q and N of each action, when the state was last entered, and the average of
    rewards then, if they are centred."""
    discount: float
    step_size: float
    step_power: float
    epsilon: float
    epsilon_power: float
    epsilon_floor: float
    centring: float
    counted: Flag
    """Whether the step size depends on the count."""
    decaying: Flag
    """Whether epsilon changes with time."""
    restart: Given
    """The number of steps after which it forgets everything."""
    initial_value: float
    states: int


def act(knowledge: Watkins, aleatoric_state: int, now: ScheduleValues, stream: Any) -> int:
    """Act epsilon-greedily, with the epsilon of this step."""
    return epsilon_greedy_action(knowledge.cells["value"], aleatoric_state, exploration(knowledge, now.t), stream)


def exploration(knowledge: Watkins, t: float) -> float:
    """Return the probability of a random action at step t."""
    if len(knowledge.decaying) == 0:
        return knowledge.epsilon
    return max(knowledge.epsilon * math.pow(t, -knowledge.epsilon_power), knowledge.epsilon_floor)


def learn(knowledge: Watkins, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Move the value towards the reward plus the discounted best value of the next state."""
    start_again(knowledge, experience.next_aleatoric_state, now.t, knowledge.restart)
    q = knowledge.cells["value"]
    count = knowledge.cells["count"]
    s = experience.aleatoric_state
    a = experience.action
    count[s, a] += 1.0
    alpha = knowledge.step_size
    if len(knowledge.counted) > 0:
        alpha *= math.pow(count[s, a], -knowledge.step_power)
    target = experience.reward + knowledge.discount * largest(q, experience.next_aleatoric_state)
    average = knowledge.cells["average"]
    if average.shape[1] > 0:
        target -= average[s, 0]
        moved = average[s, 0] + knowledge.centring * alpha * (target - q[s, a])
        average[experience.next_aleatoric_state, 0] = moved
    q[s, a] += alpha * (target - q[s, a])
    knowledge.cells["entered"][experience.next_aleatoric_state, 0] = now.t


def start_again(knowledge: Watkins, s: int, t: float, restart: Given) -> None:
    """Forget the values of a state that was last entered in an earlier period; forbidden actions stay forbidden."""
    if len(restart) > 0 and math.floor(knowledge.cells["entered"][s, 0] / restart[0]) < math.floor(t / restart[0]):
        q = knowledge.cells["value"]
        for a in range(q.shape[1]):
            knowledge.cells["count"][s, a] = 0.0
            if q[s, a] > -math.inf:
                q[s, a] = knowledge.initial_value


def policy(knowledge: Watkins) -> Table:
    """Return the epsilon-greedy policy of the next step."""
    entered = knowledge.cells["entered"][:, 0]
    t = entered[latest_rows(entered, knowledge.states)] + 1.0
    epsilon = np.repeat([exploration(knowledge, float(step)) for step in t], knowledge.states)
    return epsilon_greedy_policy(knowledge.cells["value"], epsilon[:, None])


def q_learning(
    *,
    horizon: float = 10.0,
    step_size: float = 0.1,
    step_power: float = 0.0,
    epsilon: float = 0.1,
    epsilon_power: float = 0.0,
    epsilon_floor: float = 0.0,
    initial_value: float = 0.0,
    centring: float = 0.0,
    restart: float = 0.0,
) -> Design:
    """Q-learning with a fixed discount, epsilon-greedy (Watkins, 1989).

    Parameters
    ----------
    horizon:
        tau; the discount is 1 - 1 / tau
    step_size:
        the step size at the n-th visit of a state-action pair is ``step_size`` n^(-``step_power``)
    step_power:
        the power with which the step size falls; 0 keeps it constant
    epsilon:
        the probability of a random action at step t is ``epsilon`` t^(-``epsilon_power``), but at least
        ``epsilon_floor``
    epsilon_power:
        the power with which that probability falls; 0 keeps it constant
    epsilon_floor:
        the least probability of a random action
    initial_value:
        the initial value of every state-action pair; tau or more is optimistic
    centring:
        the step size of the average that is subtracted from rewards, relative to that of the values; 0 for none
    restart:
        the number of steps after which it forgets everything; 0: never

    """
    check_at_least(1, horizon=horizon)
    check_fraction(step_size=step_size)
    check_probability(epsilon=epsilon, epsilon_floor=epsilon_floor)
    check_at_least(0, step_power=step_power, epsilon_power=epsilon_power, centring=centring, restart=restart)
    check_finite(initial_value=initial_value)
    constants = 1.0 - 1.0 / horizon, step_size, step_power, epsilon, epsilon_power, epsilon_floor, centring

    def build(indexed: IndexedTask) -> Watkins:
        averages = 1 if centring > 0 else 0
        cells = records(indexed.states, value=indexed.actions, count=indexed.actions, entered=1, average=averages)
        cells["value"] = initial_value
        decays = flag(step_power > 0), flag(epsilon_power > 0 or epsilon_floor > epsilon)
        return Watkins(cells, *constants, *decays, given(restart), initial_value, indexed.states)

    inspect = show_fields(Q="value", N="count")
    return Design(
        build,
        act,
        learn,
        policy,
        inspect=inspect,
        by_state=True,
        values=value_table,
        masks=True,
        carry=carry_fields("average") if centring > 0 else None,
        name="q-learning",
    )
