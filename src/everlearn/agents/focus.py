"""FOCUS: plan to the end on the observed frequencies, with an empirical Bernstein bonus and values of a limited span.

Guy Zamir, Matthew Zurek and Yudong Chen, "Optimal Variance-Dependent Regret Bounds for Infinite-Horizon MDPs", COLT
2026, PMLR 336; arXiv 2603.23926.  Algorithm 1.  With gamma = 1 - 1 / T for the average reward, U = log(9 S^2 A T /
delta), n the visits of a pair, at least 1, p its frequencies (uniform before the first visit), V(p, w) the variance of
w under p, and Clip(v)(s) = min(v(s), min v + H), it follows the actions that are greedy in the fixed point of

    Q(s, a) = r(s, a) + gamma p w + gamma max(4 sqrt(V(p, w) U / n), 32 H U / n),   w = Clip(max_a Q(., a)).

It plans whenever the visits of a pair become a power of 2.  With high probability its regret is, up to logarithms, at
most sqrt(A S X) + H S^2 A, where X is the sum of the variances of the optimal values of the next states, if H is at
least twice the span of the optimal bias (Theorem 5).  If nothing is known of the span, H = sqrt(T / (S^3 A)).

**How it plans.**  At step t the source applies the operator, from Q = 0, T log((1 + 32 H U) t) times.  This file finds
values with all that the proof uses, in few sweeps.  The operator is monotone, and adding c to all values adds gamma c
to the result (Lemma 25).  So, for any v, if one application changes max_a Q by c(s) in state s,

    Q(s, a) + gamma min(c) / (1 - gamma)

is at most the fixed point, at most gamma (max c - min c) / (1 - gamma) below it, and at most what the operator makes of
it.  The proof needs these three, the second with 1 / (t (1 - gamma)) at step t (Lemma 18).  So relative value iteration
may stop when max c - min c <= 1 / t, with any v; here it stops at ``precision`` times this.

Deviations from the source, in addition to those in :mod:`everlearn.agents`:

- The source knows the rewards.  Here r is the mean of the observed rewards plus 2 sqrt(V U / n) + 14 U / (3 n), where V
  is their variance, at most 1: the empirical Bernstein bound of the source (Lemma 25), for a range of 1.  So delta
  grows by a factor of at most 1 + 1 / (9 S).  With ``rewards="mean"`` there is no bound: r is the reward of the source,
  if it depends on the pair alone, from the first visit on.  Before that it is 1.
- Planning is as above, starts from the values of the last plan, and stops after so many sweeps in any case.
- A scale multiplies the bonus and the bound of rewards, 1 by default, since the bonus of the source exceeds the range
  of the values until a pair was visited 32 U times, and that of the rewards until 32 H U times.
- Among equally good actions it follows the one that was visited least, and among these the first.
- H is at least 1, which the source requires, even if that formula gives less.
- After its duration the agent continues unchanged.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.checks import (
    MOST_COUNTED,
    check_at_least,
    check_confidence,
    check_duration,
    check_model_size,
    check_positive,
    check_sweeps,
)
from everlearn.agents.counts import BEFORE, EARNED, REWARD, VISITS, count_step, show_plan
from everlearn.agents.design import Design
from everlearn.agents.episodes import CHANGE, EPISODE, VALUE, act, choose, first_values, policy
from everlearn.agents.planning import DAMPING, extremes, settle
from everlearn.errors import require
from everlearn.protocol import Experience, ScheduleValues, Table
from everlearn.tasks.indexed import IndexedTask

SQUARES, LEAST, SPREAD, NUMBERS = -5, -6, -7, 7
"""Places in a row: the sum of squared rewards, the least bonus, and the bonus per standard deviation of the next value;
and how many numbers there are at the end of a row.  ``BEFORE`` has the visits at which the pair last began a plan."""


class Clipped(NamedTuple):
    """The counts, the values of the last plan, and its policy."""

    pairs: Table
    """Rows as in :mod:`everlearn.agents.counts`, with the three numbers above."""
    values: Table
    """The value of each aleatoric state, and its change."""
    q: Table
    """The value of each pair, from the values above; it lacks gamma min(c) / (1 - gamma)."""
    plan: NDArray[np.int64]
    """The action of the policy for each aleatoric state; last k, the number of the episode."""
    horizon: float
    """1 / (1 - gamma)."""
    discount: float
    span: float
    """H, the most by which values of next states may differ."""
    log: float
    """U."""
    scale: float
    bounded: bool
    """Whether rewards are bounded from above; otherwise they are their means."""
    precision: float
    sweeps: int


def learn(knowledge: Clipped, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Count the step, and plan if the visits of the pair are a power of 2."""
    count_step(knowledge.pairs, experience)
    row = knowledge.pairs[experience.aleatoric_state, experience.action]
    row[SQUARES] += experience.reward * experience.reward
    if row[VISITS] >= max(1.0, 2.0 * row[BEFORE]):
        row[BEFORE] = row[VISITS]
        knowledge.plan[EPISODE] += 1
        update_bonuses(knowledge)
        plan_episode(knowledge, float(now.t))


def update_bonuses(knowledge: Clipped) -> None:
    """Compute the reward and the bonus of each pair."""
    for s in range(knowledge.pairs.shape[0]):
        for a in range(knowledge.pairs.shape[1]):
            set_bonus(knowledge.pairs[s, a], knowledge.span, knowledge.log, knowledge.scale, knowledge.bounded)


def set_bonus(row: Table, span: float, log: float, scale: float, bounded: bool) -> None:
    """Compute the reward of a pair, its least bonus, and the bonus per standard deviation of the next value."""
    n = max(1.0, row[VISITS])
    each = log / n
    row[LEAST] = scale * 32.0 * span * each
    row[SPREAD] = scale * 4.0 * math.sqrt(each)
    row[REWARD] = 1.0
    if row[VISITS] > 0.0:
        mean = row[EARNED] / n
        more = 0.0
        if bounded:
            variance = max(0.0, row[SQUARES] / n - mean * mean)
            more = scale * (2.0 * math.sqrt(variance * each) + 14.0 / 3.0 * each)
        row[REWARD] = min(1.0, mean + more)


def plan_episode(knowledge: Clipped, t: float) -> None:
    """Iterate until all values change by the same, to within ``precision`` / t."""
    v = knowledge.values[VALUE]
    change = knowledge.values[CHANGE]
    for _ in range(knowledge.sweeps):
        sweep_clipped(knowledge)
        least, most = extremes(change)
        if (most - least) * t <= knowledge.precision:
            break
        for s in range(len(v)):
            v[s] += DAMPING * (change[s] - least)
        settle(v)


def sweep_clipped(knowledge: Clipped) -> None:
    """Apply the operator once to the values; write what it makes of them to ``q``, and by how much they change."""
    pairs = knowledge.pairs
    v = knowledge.values[VALUE]
    unvisited = -1.0  # what follows a pair that was never visited is the same for all of them
    for s in range(len(v)):
        best = -math.inf
        for a in range(pairs.shape[1]):
            if pairs[s, a, VISITS] > 0.0 or unvisited < 0.0:
                following = hoped_value(pairs[s, a], v, knowledge.span)
                if pairs[s, a, VISITS] == 0.0:
                    unvisited = following
            else:
                following = unvisited
            knowledge.q[s, a] = pairs[s, a, REWARD] + knowledge.discount * following
            best = choose(pairs, knowledge.plan, s, a, knowledge.q[s, a], best)
        knowledge.values[CHANGE, s] = best - v[s]


def hoped_value(row: Table, v: Table, span: float) -> float:
    """Return the mean of the clipped values of the next states, plus the bonus; the least of the values v is 0."""
    n = row[VISITS]
    mean = 0.0
    square = 0.0
    if n > 0.0:
        for to in range(len(v)):
            w = min(v[to], span)
            mean += row[to] * w
            square += row[to] * w * w
    else:
        n = float(len(v))
        for to in range(len(v)):
            w = min(v[to], span)
            mean += w
            square += w * w
    mean /= n
    variance = max(0.0, square / n - mean * mean)
    return mean + max(row[SPREAD] * math.sqrt(variance), row[LEAST])  # type: ignore[no-any-return]


def inspect(knowledge: Clipped, now: ScheduleValues) -> dict[str, Table]:  # noqa: ARG001
    """Return Q, N, the optimistic values V (the least is 0) and gain, and the number of the episode."""
    value, change = knowledge.values
    level = knowledge.discount * knowledge.horizon * float(change.min())
    return {"Q": knowledge.q + level} | show_plan(knowledge.pairs, value, change, float(knowledge.plan[EPISODE]))


def focus(
    *,
    span: float | None = None,
    horizon: float | None = None,
    duration: int | None = None,
    confidence: float = 0.05,
    rewards: str = "bound",
    scale: float = 1.0,
    precision: float = 1.0,
    sweeps: int = 10_000,
) -> Design:
    """Plan on the observed frequencies, with an empirical Bernstein bonus and values of a limited span (FOCUS).

    Parameters
    ----------
    span:
        a bound on the span of the optimal bias, in rewards scaled to [0, 1]; H is twice this, or 1 if that is more;
        default: unknown, H = sqrt(T / (S^3 A)), or 1 if that is more
    horizon:
        1 / (1 - gamma), for discounted rewards; default: T, for the average reward
    duration:
        T, the duration that the agent plans for; default: the number of steps of the run
    confidence:
        delta, the probability with which the bounds may fail
    rewards:
        "bound" plans with an upper confidence bound of each reward; "mean" with the observed mean, which suffices where
        the reward depends on the state and the action alone, as in the source
    scale:
        multiplies the bonus and the bound of rewards, from 0 to 1; 1 is the source
    precision:
        planning stops when Q is certain to within this over t_k (1 - gamma); 1 is the source
    sweeps:
        planning stops after so many sweeps of value iteration in any case

    """
    steps = check_duration(duration, MOST_COUNTED)
    check_confidence(confidence)
    if span is not None:
        check_positive(span=span)
    if horizon is not None:
        check_at_least(1, horizon=horizon)
    require(rewards in ("bound", "mean"), "agent.rewards", rewards, "give bound or mean")
    require(0 <= scale <= 1, "agent.scale", scale, "give a number from 0 to 1; with more, values may never settle")
    check_positive(precision=precision)
    check_sweeps(sweeps)

    def build(indexed: IndexedTask) -> Clipped:
        check_model_size(indexed, "focus")
        states, actions = indexed.states, indexed.actions
        longest = float(steps) if horizon is None else horizon
        unknown = math.sqrt(steps / (states**3 * actions))
        return Clipped(
            np.zeros((states, actions, states + NUMBERS)),
            first_values(states),
            np.ones((states, actions)),
            np.array([0] * states + [1]),
            longest,
            1.0 - 1.0 / longest,
            max(1.0, unknown if span is None else 2.0 * span),
            math.log(9.0 * states * states * actions * steps / confidence),
            scale,
            rewards == "bound",
            precision,
            sweeps,
        )

    return Design(build, act, learn, policy, inspect=inspect, unit=True, plans=True, name="focus", duration=duration)
