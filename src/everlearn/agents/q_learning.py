"""Q-learning with a fixed discount, epsilon-greedy: the rival that everyone knows.

Christopher J. C. H. Watkins, "Learning from Delayed Rewards", PhD thesis, University of Cambridge, 1989;
Christopher J. C. H. Watkins and Peter Dayan, "Q-learning", Machine Learning 8, 279-292, 1992:

    Q(s, a) += alpha_n (r + gamma max_a' Q(s', a') - Q(s, a)),

n being how often a was taken in s.  Here alpha_n = step_size n^(-step_power), and at step t epsilon is the
greater of epsilon t^(-epsilon_power) and epsilon_floor.  With powers of zero both are constant.

What differs from the source:

- Rewards are scaled to [0, 1] by the declared range.
- The aleatoric state is treated as if it were a Markov state.
- Behaviour, which the source leaves open, is epsilon-greedy, ties broken uniformly.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.baton import bearers
from everlearn.agents.design import Design
from everlearn.agents.epsilon_greedy import check_epsilon, epsilon_greedy_action, epsilon_greedy_policy
from everlearn.agents.greedy import kept_values, largest
from everlearn.agents.records import Flag, flag, records
from everlearn.agents.relative import check_step_size
from everlearn.errors import require
from everlearn.protocol import Experience, ScheduleValues, Table
from everlearn.tasks.indexed import IndexedTask


class Watkins(NamedTuple):
    """Q and N, and how step size and epsilon decay."""

    cells: NDArray[Any]
    """One record per aleatoric state: Q and N of each action, and when the state was last entered."""
    discount: float
    step_size: float
    step_power: float
    epsilon: float
    epsilon_power: float
    epsilon_floor: float
    counted: Flag
    """Whether the step size depends on the count."""
    decaying: Flag
    """Whether epsilon changes with time."""
    states: int


def q_learning(
    *,
    horizon: float = 10.0,
    step_size: float = 0.1,
    step_power: float = 0.0,
    epsilon: float = 0.1,
    epsilon_power: float = 0.0,
    epsilon_floor: float = 0.0,
    initial_value: float = 0.0,
) -> Design:
    """Q-learning with a fixed discount, epsilon-greedy (Watkins, 1989).

    Parameters
    ----------
    horizon:
        tau; the discount is 1 - 1 / tau
    step_size, step_power:
        at the n-th visit of a pair the step size is ``step_size`` n^(-``step_power``)
    epsilon, epsilon_power, epsilon_floor:
        at step t the probability of an action at random is ``epsilon`` t^(-``epsilon_power``), or
        ``epsilon_floor`` where that is more
    initial_value:
        what every value is at first; tau or more is optimistic

    """
    require(1 <= horizon < math.inf, "agent.horizon", horizon, "give a finite number of at least 1")
    check_step_size(step_size, "agent.step_size")
    check_epsilon(epsilon)
    check_epsilon(epsilon_floor, "agent.epsilon_floor")
    for argument, power in (("step_power", step_power), ("epsilon_power", epsilon_power)):
        require(0 <= power < math.inf, f"agent.{argument}", power, "give a finite number of at least 0")
    require(math.isfinite(initial_value), "agent.initial_value", initial_value, "give a finite number")
    constants = 1.0 - 1.0 / horizon, step_size, step_power, epsilon, epsilon_power, epsilon_floor

    def build(indexed: IndexedTask) -> Watkins:
        cells = records(indexed.states, value=indexed.actions, count=indexed.actions, entered=1)
        cells["value"] = initial_value
        decays = flag(step_power > 0), flag(epsilon_power > 0 or epsilon_floor > epsilon)
        return Watkins(cells, *constants, *decays, indexed.states)

    return Design(
        build, act, learn, policy, inspect=inspect, by_state=True, values=kept_values, masks=True, name="q-learning"
    )


def exploration(knowledge: Watkins, t: float) -> float:
    """Return the probability of an action at random at step t."""
    if len(knowledge.decaying) == 0:
        return knowledge.epsilon
    return max(knowledge.epsilon * math.pow(t, -knowledge.epsilon_power), knowledge.epsilon_floor)


def act(knowledge: Watkins, aleatoric_state: int, now: ScheduleValues, stream: Any) -> int:
    """Act epsilon-greedily, with the epsilon of the moment."""
    return epsilon_greedy_action(knowledge.cells["value"], aleatoric_state, exploration(knowledge, now.t), stream)


def learn(knowledge: Watkins, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Move the value towards the reward plus the discounted best value of the next state."""
    q = knowledge.cells["value"]
    count = knowledge.cells["count"]
    s = experience.aleatoric_state
    a = experience.action
    count[s, a] += 1.0
    alpha = knowledge.step_size
    if len(knowledge.counted) > 0:
        alpha *= math.pow(count[s, a], -knowledge.step_power)
    target = experience.reward + knowledge.discount * largest(q, experience.next_aleatoric_state)
    q[s, a] += alpha * (target - q[s, a])
    knowledge.cells["entered"][experience.next_aleatoric_state, 0] = now.t


def policy(knowledge: Watkins) -> Table:
    """Return the epsilon-greedy policy of the next step."""
    entered = knowledge.cells["entered"][:, 0]
    t = entered[bearers(entered, knowledge.states)] + 1.0
    epsilon = np.repeat([exploration(knowledge, float(step)) for step in t], knowledge.states)
    return epsilon_greedy_policy(knowledge.cells["value"], epsilon[:, None])


def inspect(knowledge: Watkins, now: ScheduleValues) -> dict[str, Table]:  # noqa: ARG001
    """Return Q and N."""
    return {"Q": knowledge.cells["value"].copy(), "N": knowledge.cells["count"].copy()}
