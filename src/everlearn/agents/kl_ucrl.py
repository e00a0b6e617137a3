"""KL-UCRL: UCRL2 with a Kullback-Leibler neighbourhood of the observed transitions.

Sarah Filippi, Olivier Cappé and Aurélien Garivier, "Optimism in Reinforcement Learning and Kullback-Leibler
Divergence", Allerton 2010; arXiv 1004.5229.  With p the frequencies of a pair after n visits, a row q is plausible if
KL(p, q) <= C_P / n, and the reward is at most C_R / sqrt(n) above its mean, where

    B = log(2 e S^2 A log(t) / delta),  C_P = S (B + log(B + 1 / log t) (1 + 1 / (B + 1 / log t))),
    C_R = sqrt(log(4 S A log(t) / delta) / 1.99).

The best plausible row is found in closed form, up to one number x (:func:`best_mean`).  Unlike a distance, the
divergence never rules out what was observed, and rules out an unobserved next state only if it was missed often.

Deviations from the source, in addition to those in :mod:`everlearn.agents` and in :mod:`everlearn.agents.ucrl2` (scaled
rewards, ties, sweeps), as in the package statisticalrl_learners 2.2507:

- t is the time of the episode, at least 2, where the source has the duration T, which is not known here.
- Planning starts from the values of the last episode, and stops at 1 / t.

``rows="package"`` is what that package plans with.  Its search for x looks at the wrong half, and ends at 10^7
whatever the divergence, so that it plans with the observed frequencies, unless the best state was never observed.  The
full text of the paper was not available when this was written: the definitions are read beside the package's code.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.checks import check_confidence, check_model_size, check_positive, check_sweeps
from everlearn.agents.counts import BEFORE, EARNED, REWARD, VISITS, count_step
from everlearn.agents.design import Design
from everlearn.agents.episodes import (
    CHANGE,
    EPISODE,
    VALUE,
    act,
    choose,
    first_values,
    has_settled,
    inspect,
    is_over,
    policy,
)
from everlearn.agents.planning import extremes
from everlearn.errors import require
from everlearn.protocol import Experience, ScheduleValues, Table
from everlearn.tasks.indexed import IndexedTask

RADIUS, NUMBERS = -5, 5
"""The place in a row of the greatest plausible divergence; the numbers at the end of a row."""

LEAST_STEP, MOST_STEPS = 1e-12, 60
"""Newton's method stops at a step of this, relative to the spread of values, or after so many steps."""

MOST_RADIUS = 50.0
"""With more, the best row differs from certainty by less than rounding."""


class Neighbourhood(NamedTuple):
    """The counts, and the policy of the episode."""

    pairs: Table
    """Rows as in :mod:`everlearn.agents.counts`, with the radius."""
    values: Table
    """The value of each aleatoric state, and its change."""
    plan: NDArray[np.int64]
    """The action of the policy for each aleatoric state; last k, the number of the episode."""
    confidence: float
    package: bool
    """Whether a pair is believed to do what it did, unless the best state was never observed."""
    precision: float
    sweeps: int


def learn(knowledge: Neighbourhood, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Count the step, and begin an episode if the next pair of the policy was visited often enough in this one."""
    count_step(knowledge.pairs, experience)
    if is_over(knowledge, experience.next_aleatoric_state):
        knowledge.plan[EPISODE] += 1
        update_bounds(knowledge.pairs, float(now.t + 1), knowledge.confidence)
        plan_episode(knowledge, float(now.t + 1))


def update_bounds(pairs: Table, t: float, confidence: float) -> None:
    """Compute the greatest plausible reward and divergence of each pair."""
    states, actions = pairs.shape[0], pairs.shape[1]
    log = math.log(max(2.0, t))
    b = math.log(2.0 * math.e * states * states * actions * log / confidence)
    c = b + 1.0 / log
    of_transitions = states * (b + math.log(c) * (1.0 + 1.0 / c))
    of_rewards = math.sqrt(math.log(4.0 * states * actions * log / confidence) / 1.99)
    for s in range(states):
        for a in range(actions):
            n = max(1.0, pairs[s, a, VISITS])
            pairs[s, a, BEFORE] = pairs[s, a, VISITS]
            pairs[s, a, REWARD] = pairs[s, a, EARNED] / n + of_rewards / math.sqrt(n)
            pairs[s, a, RADIUS] = of_transitions / n


def plan_episode(knowledge: Neighbourhood, t: float) -> None:
    """Find a policy for the best plausible model, whose gain is certain to within ``precision`` / t."""
    for _ in range(knowledge.sweeps):
        sweep_neighbourhood(knowledge)
        if has_settled(knowledge.values, knowledge.precision / t):
            break


def sweep_neighbourhood(knowledge: Neighbourhood) -> None:
    """Do a sweep of value iteration with the best plausible row of each pair."""
    pairs = knowledge.pairs
    v = knowledge.values[VALUE]
    for s in range(len(v)):
        best = -math.inf
        for a in range(pairs.shape[1]):
            hoped = pairs[s, a, REWARD] + best_mean(pairs[s, a], v, knowledge.package)
            best = choose(pairs, knowledge.plan, s, a, hoped, best)
        knowledge.values[CHANGE, s] = best - v[s]


def best_mean(row: Table, v: Table, package: bool) -> float:
    """Return the greatest mean of v under a plausible row (Section 4 of the source).

    Let top be the best value that was observed, and f(x) the divergence of the row with q proportional to
    p / (x + top - v).  If a better state was never observed, and the row with x = its value - top is plausible, that
    state gets what is left of the radius.  Otherwise the best row has f(x) equal to the radius.
    """
    n = row[VISITS]
    _, most = extremes(v)
    if n == 0.0:
        return most
    top = -math.inf
    bottom = math.inf
    mean = 0.0
    unobserved = False
    for to in range(len(v)):
        if row[to] > 0.0:
            top = max(top, v[to])
            bottom = min(bottom, v[to])
            mean += row[to] / n * v[to]
        elif v[to] == most:
            unobserved = True
    if most > top:
        divergence, _, inside = tilt(row, v, top, most - top)
        if divergence < row[RADIUS]:
            share = math.exp(divergence - row[RADIUS])
            return most + share * (inside - most)
    if package:
        return most if unobserved and most == top and most > 0.0 else mean
    if top == bottom or row[RADIUS] > MOST_RADIUS:
        return top
    return tilted_mean(row, v, top, top - bottom)


def tilted_mean(row: Table, v: Table, top: float, spread: float) -> float:
    """Return the mean of v under the row with f(x) equal to the radius, by Newton's method within a bracket.

    f is convex and decreases, and is at most log(1 + spread / x), so that the root is at most spread / (e^radius - 1).
    """
    least = 0.0
    most = spread / math.expm1(row[RADIUS])
    x = most
    mean = top
    for _ in range(MOST_STEPS):
        divergence, slope, mean = tilt(row, v, top, x)
        if divergence > row[RADIUS]:
            least = x
        else:
            most = x
        following = x + (row[RADIUS] - divergence) / slope if slope < 0.0 else least
        if not least < following < most:
            following = 0.5 * (least + most)
        if abs(following - x) <= LEAST_STEP * spread:
            break
        x = following
    return mean


def tilt(row: Table, v: Table, top: float, x: float) -> tuple[float, float, float]:
    """Return f(x), its derivative, and the mean of v under that row."""
    n = row[VISITS]
    logs = 0.0
    first = 0.0
    second = 0.0
    lost = 0.0
    for to in range(len(v)):
        if row[to] > 0.0:
            p = row[to] / n
            distance = x + (top - v[to])
            logs += p * math.log(distance)
            first += p / distance
            second += p / (distance * distance)
            lost += p / distance * (top - v[to])
    return logs + math.log(first), first - second / first, top - lost / first


def kl_ucrl(*, confidence: float = 0.05, rows: str = "source", precision: float = 1.0, sweeps: int = 1000) -> Design:
    """Plan optimistically within a Kullback-Leibler neighbourhood, until a count has doubled (KL-UCRL).

    Parameters
    ----------
    confidence:
        delta, the probability with which the bounds may fail
    rows:
        the rows to plan with: "source", the best plausible ones, or "package", those of the package
        statisticalrl_learners, which are optimistic only about states that were never observed
    precision:
        planning stops when the gain is certain to within this over t_k
    sweeps:
        planning stops after so many sweeps of value iteration in any case

    """
    check_confidence(confidence)
    require(rows in ("source", "package"), "agent.rows", rows, "give source or package")
    check_positive(precision=precision)
    check_sweeps(sweeps)

    def build(indexed: IndexedTask) -> Neighbourhood:
        check_model_size(indexed, "kl-ucrl")
        states, actions = indexed.states, indexed.actions
        return Neighbourhood(
            np.zeros((states, actions, states + NUMBERS)),
            first_values(states),
            np.array([0] * states + [1]),
            confidence,
            rows == "package",
            precision,
            sweeps,
        )

    return Design(build, act, learn, policy, inspect=inspect, unit=True, plans=True, name="kl-ucrl")
