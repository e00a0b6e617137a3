"""Optimistic Q-learning for the average reward, over one long discounted horizon.

Chen-Yu Wei, Mehdi Jafarnia-Jahromi, Haipeng Luo, Hiteshi Sharma and Rahul Jain, "Model-free Reinforcement Learning in
Infinite-horizon Average-reward Markov Decision Processes", ICML, PMLR 119, 2020; arXiv 1910.07072.  Algorithm 1, with
gamma = 1 - 1 / H, where n is how often a was taken in s and sp bounds the span of the optimal bias:

    alpha_n = (H + 1) / (H + n),   b_n = 4 sp sqrt(H log(2 T / delta) / n),   Q = Qhat = H at first,
    Q(s, a) = (1 - alpha_n) Q(s, a) + alpha_n (r + gamma V(s') + b_n),
    Qhat(s, a) = min(Qhat(s, a), Q(s, a)),   V(s) = max_a Qhat(s, a).

It acts greedily in Qhat.  Its regret is of order T^(2/3), up to logarithms, with

    H = min(sqrt(sp T / (S A)), (T / (S A log(4 T / delta)))^(1/3)).

Deviations from the source, in addition to those in :mod:`everlearn.agents`:

- H is at least 2, which the source requires, even if that formula gives less.
- A scale multiplies the bonus, 1 by default, since the bonus of the source keeps values at H for very long.
- After its duration the agent continues unchanged.
- The span is that of rewards scaled to [0, 1].
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from numpy.typing import NDArray

from everlearn.agents.checks import MOST_COUNTED, check_at_least, check_confidence, check_duration, check_positive
from everlearn.agents.design import Design
from everlearn.agents.tabular import greedy_action, greedy_policy, largest, records, show_fields
from everlearn.agents.ucb_h import step_size
from everlearn.protocol import Experience, ScheduleValues, Table
from everlearn.tasks.indexed import IndexedTask

SHORTEST = 2.0
"""The least H of the source."""


class Optimistic(NamedTuple):
    """Qhat, Q and N."""

    cells: NDArray[Any]
    """One record per aleatoric state: Qhat (``bound``), Q and N of each action."""
    horizon: float
    discount: float
    optimism: float


def act(knowledge: Optimistic, aleatoric_state: int, now: ScheduleValues, stream: Any) -> int:  # noqa: ARG001
    """Act greedily in Qhat."""
    return greedy_action(knowledge.cells["bound"], aleatoric_state, stream)


def learn(knowledge: Optimistic, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Update N, Q and Qhat; V is computed where it is needed."""
    bound = knowledge.cells["bound"]
    q = knowledge.cells["value"]
    count = knowledge.cells["count"]
    s = experience.aleatoric_state
    a = experience.action
    count[s, a] += 1.0
    n = count[s, a]
    following = largest(bound, experience.next_aleatoric_state)
    alpha = step_size(n, knowledge.horizon)
    target = experience.reward + knowledge.discount * following + knowledge.optimism / math.sqrt(n)
    q[s, a] = (1.0 - alpha) * q[s, a] + alpha * target
    bound[s, a] = min(bound[s, a], q[s, a])


def bounds(knowledge: Optimistic) -> Table:
    """Return Qhat."""
    return knowledge.cells["bound"]


def policy(knowledge: Optimistic) -> Table:
    """Return the greedy policy."""
    return greedy_policy(bounds(knowledge))


def optimistic_q(
    *,
    span: float = 1.0,
    horizon: float | None = None,
    duration: int | None = None,
    confidence: float = 0.05,
    scale: float = 1.0,
) -> Design:
    """Optimistic Q-learning for the average reward (Wei, Jafarnia-Jahromi, Luo, Sharma and Jain, 2020).

    Parameters
    ----------
    span:
        a bound on the span of the optimal bias, in rewards scaled to [0, 1]
    horizon:
        H; default: the best for the regret bound, computed from the duration
    duration:
        T, the duration that the agent plans for; default: the number of steps of the run
    confidence:
        delta, the probability with which the bound of the source may fail
    scale:
        multiplies the bonus; 1 is the source

    """
    check_positive(span=span)
    steps = check_duration(duration, MOST_COUNTED)
    check_confidence(confidence)
    check_at_least(0, scale=scale)
    if horizon is not None:
        check_at_least(SHORTEST, horizon=horizon)

    def build(indexed: IndexedTask) -> Optimistic:
        actions = indexed.actions
        chosen = best_horizon(indexed.states * actions, steps, span, confidence) if horizon is None else horizon
        cells = records(indexed.states, bound=actions, value=actions, count=actions)
        cells["bound"] = cells["value"] = chosen
        optimism = scale * 4.0 * span * math.sqrt(chosen * math.log(2.0 * steps / confidence))
        return Optimistic(cells, chosen, 1.0 - 1.0 / chosen, optimism)

    return Design(
        build,
        act,
        learn,
        policy,
        inspect=show_fields(Qhat="bound", Q="value", N="count"),
        by_state=True,
        values=bounds,
        masks=True,
        name="optimistic-q",
        duration=duration,
    )


def best_horizon(pairs: int, duration: int, span: float, confidence: float) -> float:
    """Return the H of the source, at least 2."""
    share = duration / pairs
    by_bonus = math.pow(share / math.log(4.0 * duration / confidence), 1.0 / 3.0)
    return max(SHORTEST, min(math.sqrt(span * share), by_bonus))
