"""Linear values with eligibility traces: what ``differential-sarsa`` and ``q-lambda`` share.

The value of an action is the sum of the weights of the active features (:mod:`everlearn.agents.perception`).  A trace
z remembers which weights contributed to the latest values, and one error delta moves all of them:

    z = decay z + (1 for each active feature, with the action that was taken);   w += alpha delta z;
    average += eta alpha delta,   where decay = gamma lambda.

The trace is stored as the indices of the latest steps, from which z follows; steps whose weight in z is below
``FAINTEST`` are dropped.  ``average`` is subtracted from every reward (Naik, Wan, Tomar and Sutton, "Reward Centering",
RLC 2024); with gamma = 1 it is the estimate of the average reward of the differential agents.

*The bounded step* (Elsayed, Vasan and Mahmood, "Streaming Deep Reinforcement Learning Finally Works", 2024, Algorithm
"ObGD", after the paper's description): alpha is divided by max(1, alpha kappa max(|delta|, 1) |z|), where |z| is the
sum of z.  A step then changes the value that it corrects by at most its error, whatever the features and rewards are.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.checks import check_at_least, check_fraction, check_probability
from everlearn.agents.design import Design
from everlearn.agents.perception import action_values, all_values, feature, is_grid, rows_of, sight
from everlearn.agents.tabular import epsilon_greedy_action, epsilon_greedy_policy
from everlearn.errors import require
from everlearn.protocol import Experience, Learn, ScheduleValues, Table
from everlearn.tasks.indexed import IndexedTask

FAINTEST = 1e-3
"""The smallest weight of a step in a trace."""

LONGEST = 1000
"""The most steps in a trace."""

HEAD, FILLED, TOTAL, REWARD, VALUE, FIRST = range(6)
"""The places of ``past``: the next slot of the ring, how many slots are filled, the sum of z, the last reward and the
value of the last action, which Sarsa learns from when it knows the next action; then the slots."""


class Traced(NamedTuple):
    """The weights, the average, the trace and the constants of learning."""

    weights: Table
    """By feature and action."""
    average: Table
    """One number: what is subtracted from every reward; it begins at ``initial_average``."""
    past: Table
    parts: NDArray[np.int64]
    digits: NDArray[np.int64]
    segment: int
    discount: float
    decay: float
    step_size: float
    eta: float
    bound: float
    epsilon: float


def act(knowledge: Traced, aleatoric_state: int, now: ScheduleValues, stream: Any) -> int:  # noqa: ARG001
    """Act epsilon-greedily."""
    values = action_values(knowledge, knowledge.weights, rows_of(knowledge, aleatoric_state))
    return epsilon_greedy_action(values, 0, knowledge.epsilon, stream)


def enter(knowledge: Traced, rows: NDArray[np.int64], a: int) -> None:
    """Let the trace decay, and add the active features of a state with an action."""
    past = knowledge.past
    parts = knowledge.parts
    segment = knowledge.segment
    number = parts.shape[1]
    actions = knowledge.weights.shape[1]
    slots = (len(past) - FIRST) // number
    head = int(past[HEAD])
    for j in range(number):
        past[FIRST + head * number + j] = feature(parts, segment, rows, j) * actions + a
    past[HEAD] = (head + 1) % slots
    past[FILLED] = min(past[FILLED] + 1.0, slots)
    past[TOTAL] = knowledge.decay * past[TOTAL] + number
    if slots == LONGEST:  # steps are dropped that are not faint
        decay = knowledge.decay
        past[TOTAL] = min(
            past[TOTAL], number * ((1.0 - math.pow(decay, slots)) / (1.0 - decay) if decay < 1.0 else slots)
        )


def correct(knowledge: Traced, delta: float) -> None:
    """Move all weights in the trace, and the average, by an error."""
    past = knowledge.past
    number = knowledge.parts.shape[1]
    slots = (len(past) - FIRST) // number
    alpha = knowledge.step_size / number
    if knowledge.bound > 0.0:
        alpha /= max(1.0, alpha * knowledge.bound * max(abs(delta), 1.0) * past[TOTAL])
    weights = knowledge.weights.reshape(-1)
    amount = alpha * delta
    slot = int(past[HEAD])
    for _ in range(int(past[FILLED])):
        slot = (slots if slot == 0 else slot) - 1
        for j in range(number):
            weights[int(past[FIRST + slot * number + j])] += amount
        amount *= knowledge.decay
    knowledge.average[0] += knowledge.eta * alpha * number * delta


def forget(knowledge: Traced) -> None:
    """Cut the trace: no earlier step is corrected any more."""
    knowledge.past[FILLED] = 0.0
    knowledge.past[TOTAL] = 0.0


def remember(knowledge: Traced, experience: Experience) -> None:  # noqa: ARG001
    """Cut the trace at a step that is not learned from."""
    forget(knowledge)


def policy(knowledge: Traced) -> Table:
    """Return the epsilon-greedy policy."""
    return epsilon_greedy_policy(all_values(knowledge, knowledge.weights), knowledge.epsilon)


def policy_at(knowledge: Traced, aleatoric_state: int) -> Table:
    """Return the row of the policy for one state."""
    values = action_values(knowledge, knowledge.weights, rows_of(knowledge, aleatoric_state))
    row: Table = epsilon_greedy_policy(values, knowledge.epsilon)[0]
    return row


def inspect(knowledge: Traced, now: ScheduleValues) -> dict[str, Table]:  # noqa: ARG001
    """Return Q, unless there are too many states for a table, and what is subtracted from rewards."""
    tables = {} if is_grid(knowledge) else {"Q": all_values(knowledge, knowledge.weights)}
    return {**tables, "average": knowledge.average.copy()}


def traced_design(
    name: str,
    learn: Learn,
    features: object,
    *,
    discount: float,
    trace: float,
    step_size: float,
    eta: float,
    bound: float,
    epsilon: float,
    initial_average: float,
    defers: bool = False,
) -> Design:
    """Return a design that keeps traces and learns with ``learn``."""
    check_probability(epsilon=epsilon)
    check_fraction(step_size=step_size)
    check_probability(trace=trace)
    check_at_least(0, eta=eta, bound=bound)
    finite = math.isfinite(initial_average)
    require(finite, "agent.initial_average", initial_average, "give a finite number")
    decay = discount * trace
    slots = LONGEST if decay >= 1 else 1 if decay == 0 else math.ceil(math.log(FAINTEST) / math.log(decay))

    def build(indexed: IndexedTask) -> Traced:
        seen = sight(features, indexed)
        past = np.zeros(FIRST + min(slots, LONGEST) * seen.parts.shape[1])
        weights = np.zeros((seen.size, indexed.actions))
        return Traced(
            weights, np.full(1, initial_average), past, *seen[:3], discount, decay, step_size, eta, bound, epsilon
        )

    return Design(
        build,
        act,
        learn,
        policy,
        inspect=inspect,
        remember=remember,
        memory="past",
        features=True,
        defers=defers,
        policy_at=policy_at,
        name=name,
    )
