"""Stream Q(lambda): a small network that learns from each step once, without a replay buffer or a framework.

Mohamed Elsayed, Gautham Vasan and A. Rupam Mahmood, "Streaming Deep Reinforcement Learning Finally Works", 2024, from
the paper's description: Watkins's Q(lambda) over all weights of a network with one hidden layer, whose inputs to
the activation are normalised, and the bounded step of :mod:`everlearn.agents.traces`.  With x the inputs of a state,

    n = (W x + b - mean) / deviation,   h = max(n, 0.01 n),   q(s, a) = V_a h + c_a,
    z = gamma lambda z + grad q(S, A);   w += alpha delta z.

The aleatoric state is the point as the task shows it (S_t), the weights are what is known of the environment (P_t), and
the trace, the pending action and the stream are the rest (Z_t).

Deviations from the source: one hidden layer; the weights of the hidden layer are dense and the same in all runs, those
of the output are zero at first; rewards (unless the task is raw) and observations are scaled by their declared
ranges, and not by running statistics; epsilon is constant; rewards are centred (Naik et al., 2024).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.checks import MOST_ENTRIES, check_at_least, check_fraction, check_probability
from everlearn.agents.design import Design
from everlearn.agents.perception import feature, inputs, is_grid, require_table, rows_of
from everlearn.agents.tabular import epsilon_greedy_action, epsilon_greedy_policy, largest
from everlearn.aleatoric.features import AUTO
from everlearn.errors import require
from everlearn.protocol import Experience, ScheduleValues, Table
from everlearn.tasks.indexed import IndexedTask

LEAK = 0.01
"""The slope of the activation below zero."""

LEAST_VARIANCE = 1e-5


class Network(NamedTuple):
    """All weights in one array: those of the hidden layer by input, its biases, those of the outputs, their biases."""

    weights: Table
    traces: Table
    """As long as the weights."""
    average: Table
    parts: NDArray[np.int64]
    digits: NDArray[np.int64]
    segment: int
    amounts: Table
    size: int
    hidden: int
    actions: int
    discount: float
    decay: float
    step_size: float
    centring: float
    bound: float
    epsilon: float


def act(knowledge: Network, aleatoric_state: int, now: ScheduleValues, stream: Any) -> int:  # noqa: ARG001
    """Act epsilon-greedily."""
    return epsilon_greedy_action(values_of(knowledge, aleatoric_state), 0, knowledge.epsilon, stream)


def amount(amounts: Table, rows: NDArray[np.int64], j: int) -> float:
    """Return the j-th input."""
    return amounts[rows[j]] if len(amounts) > 0 else 1.0


def by_block(knowledge: Network, numbers: Table) -> Table:
    """Return weights or traces with one row per block, which is an input, the biases or an action.

    The loops over a block then have no index that could be negative, and compiled code does several units at once.
    """
    width = knowledge.hidden
    return numbers[: len(numbers) - knowledge.actions].reshape(knowledge.size + 1 + knowledge.actions, width)


def ends(knowledge: Network, numbers: Table) -> Table:
    """Return the weights or traces of the biases of the outputs."""
    return numbers[len(numbers) - knowledge.actions :]


def hidden_layer(knowledge: Network, rows: NDArray[np.int64]) -> Table:
    """Return the normalised inputs to the activation, and after them the deviation by which they were divided."""
    parts = knowledge.parts
    amounts = knowledge.amounts
    segment = knowledge.segment
    width = knowledge.hidden
    weights = by_block(knowledge, knowledge.weights)
    layer = np.empty(width + 1)
    for h in range(width):
        layer[h] = weights[knowledge.size, h]
    for j in range(parts.shape[1]):
        i = feature(parts, segment, rows, j)
        x = amount(amounts, rows, j)
        for h in range(width):
            layer[h] += weights[i, h] * x
    mean = 0.0
    for h in range(width):
        mean += layer[h]
    mean /= width
    variance = 0.0
    for h in range(width):
        layer[h] -= mean
        variance += layer[h] * layer[h]
    deviation = math.sqrt(variance / width + LEAST_VARIANCE)
    for h in range(width):
        layer[h] /= deviation
    layer[width] = deviation
    return layer


def outputs(knowledge: Network, layer: Table) -> Table:
    """Return the values of all actions, as a table of one row."""
    width = knowledge.hidden
    weights = by_block(knowledge, knowledge.weights)
    biases = ends(knowledge, knowledge.weights)
    active = np.empty(width)
    for h in range(width):
        active[h] = max(layer[h], LEAK * layer[h])
    values = np.empty((1, knowledge.actions))
    for a in range(knowledge.actions):
        value = biases[a]
        for h in range(width):
            value += weights[knowledge.size + 1 + a, h] * active[h]
        values[0, a] = value
    return values


def values_of(knowledge: Network, s: int) -> Table:
    """Return the values of all actions in a state, as a table of one row."""
    return outputs(knowledge, hidden_layer(knowledge, rows_of(knowledge, s)))


def enter(knowledge: Network, live: NDArray[np.int64], rows: NDArray[np.int64], layer: Table, a: int) -> None:
    """Add the gradient of the value of an action to the traces, and mark the blocks that it enters as live."""
    width = knowledge.hidden
    traces = by_block(knowledge, knowledge.traces)
    weights = by_block(knowledge, knowledge.weights)
    parts = knowledge.parts
    amounts = knowledge.amounts
    segment = knowledge.segment
    output = knowledge.size + 1 + a
    slopes = np.empty(width)
    mean = 0.0
    along = 0.0
    for h in range(width):
        n = layer[h]
        traces[output, h] += max(n, LEAK * n)
        slopes[h] = weights[output, h] * (1.0 if n > 0.0 else LEAK)
        mean += slopes[h]
        along += slopes[h] * n
    ends(knowledge, knowledge.traces)[a] += 1.0
    live[output] = 1
    live[knowledge.size] = 1
    deviation = layer[width]
    for h in range(width):  # back through the normalisation
        slopes[h] = (slopes[h] - mean / width - layer[h] * along / width) / deviation
        traces[knowledge.size, h] += slopes[h]
    for j in range(parts.shape[1]):
        i = feature(parts, segment, rows, j)
        x = amount(amounts, rows, j)
        live[i] = 1
        for h in range(width):
            traces[i, h] += slopes[h] * x


def fade(traces: Table, decay: float) -> NDArray[np.int64]:
    """Let the traces decay, and return for each block how many of them are not zero."""
    live = np.empty(len(traces), dtype=np.int64)
    for b in range(len(live)):
        count = 0
        for h in range(traces.shape[1]):
            faded = traces[b, h] * decay
            traces[b, h] = faded
            count += faded != 0.0
        live[b] = count
    return live


def length(traces: Table, live: NDArray[np.int64]) -> float:
    """Return the sum of the sizes of the traces, in their order; adding zeros would change nothing."""
    total = 0.0
    for b in range(len(live)):
        if live[b] > 0:
            for h in range(traces.shape[1]):
                total += abs(traces[b, h])
    return total


def move(weights: Table, traces: Table, live: NDArray[np.int64], change: float) -> None:
    """Move the weights along the traces that are not zero."""
    for b in range(len(live)):
        if live[b] > 0:
            for h in range(traces.shape[1]):
                weights[b, h] += change * traces[b, h]


def learn(knowledge: Network, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Move all weights along their traces, by a step that does not overshoot."""
    a = experience.action
    rows = rows_of(knowledge, experience.aleatoric_state)
    layer = hidden_layer(knowledge, rows)
    values = outputs(knowledge, layer)
    decay = knowledge.decay if values[0, a] >= largest(values, 0) else 0.0  # Watkins cuts traces after exploring
    best = largest(values_of(knowledge, experience.next_aleatoric_state), 0)
    delta = experience.reward - knowledge.average[0] + knowledge.discount * best - values[0, a]
    traces = by_block(knowledge, knowledge.traces)
    last = ends(knowledge, knowledge.traces)
    live = fade(traces, decay)
    for i in range(len(last)):
        last[i] *= decay
    enter(knowledge, live, rows, layer, a)
    total = length(traces, live)
    for i in range(len(last)):
        total += abs(last[i])
    alpha = knowledge.step_size
    alpha /= max(1.0, alpha * knowledge.bound * max(abs(delta), 1.0) * total)
    change = alpha * delta
    move(by_block(knowledge, knowledge.weights), traces, live, change)
    biases = ends(knowledge, knowledge.weights)
    for i in range(len(last)):
        biases[i] += change * last[i]
    knowledge.average[0] += knowledge.centring * delta


def remember(knowledge: Network, experience: Experience) -> None:  # noqa: ARG001
    """Cut the traces at a step that is not learned from."""
    knowledge.traces[:] = 0.0


def table(knowledge: Network) -> Table:
    """Return the values of all actions in all states, each summed in the order of :func:`values_of`."""
    require_table(knowledge)
    width = knowledge.hidden
    weights = by_block(knowledge, knowledge.weights)[:, :, np.newaxis]
    layer = np.repeat(
        weights[knowledge.size], len(knowledge.parts), axis=1
    )  # one row per unit: ``sum`` adds them in turn
    for column in knowledge.parts.T:
        layer += weights[column, :, 0].T
    layer -= sum(layer) / width
    layer /= np.sqrt(sum(layer * layer) / width + LEAST_VARIANCE)
    active = np.maximum(layer, LEAK * layer)
    biases = ends(knowledge, knowledge.weights)
    outputs = weights[knowledge.size + 1 :]
    return np.stack([sum(output * active, bias) for output, bias in zip(outputs, biases, strict=True)], axis=1)


def policy(knowledge: Network) -> Table:
    """Return the epsilon-greedy policy."""
    return epsilon_greedy_policy(table(knowledge), knowledge.epsilon)


def policy_at(knowledge: Network, aleatoric_state: int) -> Table:
    """Return the row of the policy for one state."""
    row: Table = epsilon_greedy_policy(values_of(knowledge, aleatoric_state), knowledge.epsilon)[0]
    return row


def inspect(knowledge: Network, now: ScheduleValues) -> dict[str, Table]:  # noqa: ARG001
    """Return Q, unless there are too many states for a table, and what is subtracted from rewards."""
    tables = {} if is_grid(knowledge) else {"Q": table(knowledge)}
    return {**tables, "average": knowledge.average.copy()}


def network(
    *,
    features: str = AUTO,
    hidden: int = 64,
    horizon: float = 100.0,
    trace: float = 0.8,
    step_size: float = 1.0,
    centring: float = 0.001,
    bound: float = 2.0,
    epsilon: float = 0.05,
) -> Design:
    """Stream Q(lambda) with a small network and a bounded step, epsilon-greedy (Elsayed, Vasan and Mahmood, 2024).

    Parameters
    ----------
    features:
        the inputs: for a box its coordinates; otherwise as for ``linear``
    hidden:
        the number of hidden units
    horizon:
        tau; the discount is 1 - 1 / tau
    trace:
        lambda, how much of an error the steps before share
    step_size:
        alpha of the bounded step
    bound:
        kappa of the bounded step
    centring:
        the step size of the average that is subtracted from rewards; 0 for none
    epsilon:
        the probability of a random action

    """
    check_probability(epsilon=epsilon, trace=trace, centring=centring)
    check_fraction(step_size=step_size)
    check_at_least(1, horizon=horizon, hidden=hidden)
    check_at_least(0, bound=bound)
    discount = 1.0 - 1.0 / horizon
    constants = discount, discount * trace, step_size, centring, bound, epsilon

    def build(indexed: IndexedTask) -> Network:
        seen, amounts = inputs(features, indexed)
        entries = (seen.size + 1 + indexed.actions) * hidden
        remedy = f"makes {entries:,} weights of {seen.size:,} inputs, at most {MOST_ENTRIES:,}; give fewer"
        require(entries <= MOST_ENTRIES, "agent.hidden", hidden, remedy)
        weights = np.zeros((seen.size + 1 + indexed.actions) * hidden + indexed.actions)
        first = seen.size * hidden
        spread = 1.0 / math.sqrt(seen.parts.shape[1])
        weights[:first] = np.random.Generator(np.random.SFC64(0)).uniform(-spread, spread, first)
        traces, sizes = np.zeros_like(weights), (seen.size, hidden, indexed.actions)
        return Network(weights, traces, np.zeros(1), *seen[:3], amounts, *sizes, *constants)

    return Design(
        build,
        act,
        learn,
        policy,
        inspect=inspect,
        remember=remember,
        memory="traces",
        features=True,
        policy_at=policy_at,
        name="network",
    )
