"""The empirical model of IMED-RL and MED-RL, and how far an action is from being the best.

Fabien Pesquerel and Odalric-Ambrym Maillard, "IMED-RL: Regret optimal learning of ergodic Markov decision processes",
NeurIPS 35, 2022.  Definitions, with N(s, a) the visits of a pair:

- The *skeleton* has the actions of s with N(s, a) >= log(max_b N(s, b))^2.  phi is the optimal bias of the empirical
  model restricted to the skeleton, with least value 0.
- The *potential* of a pair is the mean of R + phi(S') in the empirical model, and mu(s) is the greatest in s.
- K(s, a) is the least Kullback-Leibler divergence from the empirical distribution of R + phi(S') to a distribution
  bounded by M = 1 + max phi with a mean of at least mu(s).  Its dual (Honda and Takemura, 2010) is the maximum of
  E[log(1 - x (R + phi(S') - mu))] over x from 0 to 1 / (M - mu), a concave problem in one variable.

What the source leaves open, and what differs:

- Before the first step each pair counts one observation, of weight ``prior``, with a uniform next state and a reward of
  1/2.  The authors' package does the same; the published definition has none, and says nothing about unvisited pairs.
- The distribution of rewards is kept on a grid of ``levels`` values from 0 to 1, so that memory is bounded.  A reward
  between two values is divided between them, which preserves the mean and can only make K smaller: the agent then
  explores slightly more, never less.  The reward and the next state are taken as independent, as in the source.
- phi is found by value iteration from the last phi, to a given precision, after every step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.checks import check_model_size, check_positive, check_sweeps
from everlearn.agents.counts import EARNED, REWARD, VISITS, count_step, show_plan
from everlearn.agents.design import Design
from everlearn.agents.planning import extremes, relative_value_iteration
from everlearn.errors import require
from everlearn.protocol import Act, Experience, ScheduleValues, Table
from everlearn.tasks.indexed import IndexedTask

NUMBERS = 4
"""The numbers at the end of a row."""

VALUE, CHANGE = 0, 1
MEAN, DIVERGENCE = 0, 1

LEAST_STEP, MOST_STEPS = 1e-9, 60
"""Newton's method stops at a step of this, relative to the range, or after so many steps."""

WIDE = 1e6
"""In a range of this length or more the step is relative to the number found."""


class Empirical(NamedTuple):
    """The counts, the empirical model and its bias."""

    pairs: Table
    """Rows as in :mod:`everlearn.agents.counts`.  After the counts come the probabilities of the next states and of the
    levels of the reward; the reward is minus infinity outside the skeleton."""
    values: Table
    """The bias phi of each aleatoric state, and its last change."""
    judged: Table
    """Work space for one aleatoric state: the potential, and the index or weight, of each action."""
    chosen: NDArray[np.int64]
    """The best action of the skeleton, for each aleatoric state."""
    package: bool
    """Whether log M is added to the divergence of an action that does not have the greatest potential."""
    prior: float
    levels: int
    precision: float
    sweeps: int


def learn(knowledge: Empirical, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Count the step, and update the model, the skeleton and the bias."""
    pairs = knowledge.pairs
    states = pairs.shape[0]
    s = experience.aleatoric_state
    clear_work(knowledge.judged)
    count_step(pairs, experience)
    update_row(knowledge, experience)
    most = 1.0
    for a in range(pairs.shape[1]):
        most = max(most, pairs[s, a, VISITS])
    for a in range(pairs.shape[1]):
        n = pairs[s, a, VISITS]
        mean = (pairs[s, a, EARNED] + 0.5 * knowledge.prior) / (n + knowledge.prior)
        pairs[s, a, REWARD] = mean if n >= math.log(most) ** 2 else -math.inf
    relative_value_iteration(
        pairs[:, :, states : 2 * states],
        pairs[:, :, REWARD],
        knowledge.values[VALUE],
        knowledge.values[CHANGE],
        knowledge.chosen,
        knowledge.precision,
        knowledge.sweeps,
    )


def clear_work(judged: Table) -> None:
    """Forget what was computed for the last action, so that knowledge depends on what happened and not on questions."""
    for a in range(judged.shape[1]):
        judged[MEAN, a] = 0.0
        judged[DIVERGENCE, a] = 0.0


def update_row(knowledge: Empirical, experience: Experience) -> None:
    """Move the probabilities of the pair towards what was observed."""
    pairs = knowledge.pairs
    states = pairs.shape[0]
    s = experience.aleatoric_state
    a = experience.action
    weight = 1.0 / (pairs[s, a, VISITS] + knowledge.prior)
    for place in range(states, 2 * states + knowledge.levels):
        pairs[s, a, place] *= 1.0 - weight
    pairs[s, a, states + experience.next_aleatoric_state] += weight
    scaled = experience.reward * (knowledge.levels - 1)
    level = min(knowledge.levels - 2, int(scaled))
    pairs[s, a, 2 * states + level] += weight * (level + 1.0 - scaled)
    pairs[s, a, 2 * states + level + 1] += weight * (scaled - level)


def judge(knowledge: Empirical, s: int) -> None:
    """Find the potential and the divergence K of each action."""
    pairs = knowledge.pairs
    judged = knowledge.judged
    phi = knowledge.values[VALUE]
    states = pairs.shape[0]
    mu = -math.inf
    for a in range(pairs.shape[1]):
        potential = (pairs[s, a, EARNED] + 0.5 * knowledge.prior) / (pairs[s, a, VISITS] + knowledge.prior)
        for following in range(states):
            potential += pairs[s, a, states + following] * phi[following]
        judged[MEAN, a] = potential
        mu = max(mu, potential)
    _, most = extremes(phi)
    for a in range(pairs.shape[1]):
        judged[DIVERGENCE, a] = 0.0
        if judged[MEAN, a] < mu:
            row = pairs[s, a, states : 2 * states + knowledge.levels]
            judged[DIVERGENCE, a] = divergence(row, phi, knowledge.levels, mu, 1.0 + most)
            if knowledge.package:
                judged[DIVERGENCE, a] += math.log(1.0 + most)


def divergence(row: Table, phi: Table, levels: int, mu: float, bound: float) -> float:
    """Return the maximum of E[log(1 - x (R + phi(S') - mu))], by Newton's method within a bracket.

    ``row`` has the probabilities of the next states, then those of the levels of R.  The slope decreases from a
    positive number at 0; where it never reaches 0, the maximum is at the end of the range.
    """
    if bound <= mu:
        return math.inf
    least = 0.0
    most = 1.0 / (bound - mu)
    end = most
    x = 0.0
    for _ in range(MOST_STEPS):
        slope, bend = slopes(row, phi, levels, mu, x)
        if slope > 0.0:
            least = x
        else:
            most = x
        following = x + slope / bend
        if not least < following < most:
            following = 0.5 * (least + most)
        scale = end if end < WIDE else max(x, following)
        if abs(following - x) <= LEAST_STEP * scale:
            break
        x = following
    expected = 0.0
    for to in range(len(phi)):
        for level in range(levels):
            p = row[to] * row[len(phi) + level]
            if p > 0.0:
                expected += p * math.log(1.0 - x * (phi[to] + level / (levels - 1.0) - mu))
    return max(0.0, expected)


def slopes(row: Table, phi: Table, levels: int, mu: float, x: float) -> tuple[float, float]:
    """Return the first derivative at x, and minus the second."""
    slope = 0.0
    bend = 0.0
    for to in range(len(phi)):
        for level in range(levels):
            p = row[to] * row[len(phi) + level]
            if p > 0.0:
                distance = phi[to] + level / (levels - 1.0) - mu
                share = distance / (1.0 - x * distance)
                slope -= p * share
                bend += p * share * share
    return slope, bend


def judge_or_mark(knowledge: Empirical, s: int) -> bool:
    """Judge the actions, and return True; if some were never tried, mark these alone with 1, and return False."""
    judged = knowledge.judged
    tried = True
    for a in range(judged.shape[1]):
        fresh = knowledge.pairs[s, a, VISITS] == 0.0
        judged[DIVERGENCE, a] = 1.0 if fresh else 0.0
        tried = tried and not fresh
    if tried:
        judge(knowledge, s)
    return tried


def judged_rows(knowledge: Empirical, fill: Callable[[Empirical, int], object]) -> Table:
    """Return what ``fill`` writes for each aleatoric state in place of the divergences."""
    judged = knowledge.judged.copy()
    rows = np.zeros(knowledge.pairs.shape[:2])
    for s in range(len(rows)):
        fill(knowledge._replace(judged=judged), s)
        rows[s] = judged[DIVERGENCE]
    return rows


def inspect(knowledge: Empirical, now: ScheduleValues) -> dict[str, Table]:  # noqa: ARG001
    """Return N, the bias V (the least is 0) and the gain of the model."""
    value, change = knowledge.values
    shown = show_plan(knowledge.pairs, value, change, 0.0)
    return {name: shown[name] for name in ("N", "V", "gain")}


def divergence_design(
    name: str,
    act: Act,
    policy: Callable[[Empirical], Table],
    index: str,
    prior: float,
    levels: int,
    precision: float,
    sweeps: int,
) -> Design:
    """Check the parameters and return the design."""
    require(index in ("source", "package"), "agent.index", index, "give source or package")
    check_positive(prior=prior, precision=precision)
    require(2 <= levels <= 1000, "agent.levels", levels, "give a whole number from 2 to 1000")
    check_sweeps(sweeps)

    def build(indexed: IndexedTask) -> Empirical:
        check_model_size(indexed, name)
        states, actions = indexed.states, indexed.actions
        pairs = np.zeros((states, actions, 2 * states + levels + NUMBERS))
        pairs[:, :, states : 2 * states] = 1.0 / states
        middle = 0.5 * (levels - 1)
        pairs[:, :, 2 * states + math.floor(middle)] += 0.5
        pairs[:, :, 2 * states + math.ceil(middle)] += 0.5
        pairs[:, :, REWARD] = 0.5
        return Empirical(
            pairs,
            np.zeros((2, states)),
            np.zeros((2, actions)),
            np.zeros(states, dtype=np.int64),
            index == "package",
            prior,
            levels,
            precision,
            sweeps,
        )

    return Design(build, act, learn, policy, inspect=inspect, infinite=True, unit=True, plans=True, name=name)
