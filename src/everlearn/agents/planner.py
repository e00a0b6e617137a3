"""The planner: a sparse model of what was seen, planned through with a growing horizon in a bounded time per step.

For each pair of an aleatoric state and an action the agent keeps the next states that were seen, with their chances,
and the mean and the variance of the reward.  A visit moves these by a step size of (1 + w) / (N + w), where N counts
the visits: with w = 0 every visit weighs the same, with w = 3 the last half of the visits weighs 15 times as much as
the first.  If the aleatoric state hides something, what follows a pair depends on how the agent behaved before, and a
model of all its past misleads it.  ``forgetting`` is the least step size, for an environment that changes; the bonus
below does not follow it, so that to forget is not to explore everything again.

Each step does a fixed number of backups: of the two states of the step, and of others in turn.  A backup is

    Q(s, a) = r + gamma sum p(s') h(s') + bonus - m,    h(s) = max_a Q(s, a),

where m is the mean of h over the states that were met, which keeps values from growing and changes no choice.  With L
= log(1 + t), the bonus is ``spread`` sqrt(L variance / N) + ``rarity`` L (1 + max h - min h) / N: Bernstein's bound,
with small constants.  No value exceeds that of a reward of 1 followed by the best state, which is the value of an
action that was never taken.  Unlike the ceiling of Algorithm 2, which grows with the horizon, this one falls with what
is learned.

Exploration is directed, but short, and an effect that comes late is not seen in a short trial.  Therefore an action
that is chosen in a state is held for ``persistence`` N visits, and at least for a share of ``commitment`` visits, which
are divided among all pairs: the fewer aleatoric states there are, the more each is likely to hide.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.checks import MOST_COUNTED, MOST_ENTRIES, check_at_least, check_probability
from everlearn.agents.design import Design
from everlearn.agents.tabular import greedy_action, greedy_policy
from everlearn.errors import require
from everlearn.protocol import Experience, ScheduleValues, Table
from everlearn.tasks.indexed import IndexedTask

VISITS, REWARD, VARIANCE = 0, 1, 2
"""Places in a row of ``pairs``."""

VALUE, HELD, LEFT, MET = 0, 1, 2, 3
"""Places in a row of ``states``."""

TOTAL, TOP, LOW, TOP_AHEAD, LOW_AHEAD, KNOWN, PLACE = 0, 1, 2, 3, 4, 5, 6
"""Places in ``numbers``."""


class Planner(NamedTuple):
    """The model, the values, and how far the backups in turn have come."""

    following: NDArray[np.int64]
    """The next states of each pair, in the order in which they were first seen; -1 where there are no more."""
    chances: Table
    """Their probabilities."""
    pairs: Table
    """The visits of each pair, and the mean and the variance of its reward."""
    values: Table
    """Q of each pair, relative to m."""
    states: Table
    """h of each aleatoric state, the action held there and for how many visits, and the state that was met in this
    place of the order."""
    numbers: Table
    """The sum of h over the states met; the greatest and the least h of the last turn and of this one; the number
    of states met, and whose turn it is."""
    recency: float
    forgetting: float
    horizon_scale: float
    horizon_power: float
    spread: float
    rarity: float
    patience: float
    persistence: float
    longest: float
    backups: int


def act(knowledge: Planner, aleatoric_state: int, now: ScheduleValues, stream: Any) -> int:  # noqa: ARG001
    """Take the action that is held, or one of greatest value; draw only if there are several."""
    row = knowledge.states[aleatoric_state]
    if row[LEFT] >= 1.0 and knowledge.values[aleatoric_state, int(row[HELD])] > -math.inf:
        return int(row[HELD])
    return greedy_action(knowledge.values, aleatoric_state, stream)


def learn(knowledge: Planner, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Update the model of the pair, and do the backups of this step."""
    s = experience.aleatoric_state
    following = experience.next_aleatoric_state
    meet(knowledge, s)
    meet(knowledge, following)
    count(knowledge, experience)
    gamma = 1.0 - 1.0 / (knowledge.horizon_scale * math.pow(now.t, knowledge.horizon_power))
    level = math.log(now.t + 1.0)
    back_up(knowledge, s, gamma, level)
    back_up(knowledge, following, gamma, level)
    for _ in range(knowledge.backups):
        back_up_in_turn(knowledge, gamma, level)
    hold(knowledge, s, experience.action)


def meet(knowledge: Planner, s: int) -> None:
    """Note a state that is met for the first time, with the greatest value; a value of 0 is that of no state met."""
    numbers = knowledge.numbers
    if knowledge.pairs[s, 0, VISITS] < 0.0:
        for a in range(knowledge.pairs.shape[1]):
            knowledge.pairs[s, a, VISITS] = 0.0
        knowledge.states[int(numbers[KNOWN]), MET] = s
        knowledge.states[s, VALUE] = numbers[TOP]
        numbers[KNOWN] += 1.0
        numbers[TOTAL] += numbers[TOP]


def count(knowledge: Planner, experience: Experience) -> None:
    """Count a visit, and move the model of the pair towards what was seen."""
    row = knowledge.pairs[experience.aleatoric_state, experience.action]
    row[VISITS] += 1.0
    alpha = max((1.0 + knowledge.recency) / (row[VISITS] + knowledge.recency), knowledge.forgetting)
    error = experience.reward - row[REWARD]
    row[REWARD] += alpha * error
    row[VARIANCE] = (1.0 - alpha) * (row[VARIANCE] + alpha * error * error)
    chances = knowledge.chances[experience.aleatoric_state, experience.action]
    for slot in range(len(chances)):
        chances[slot] *= 1.0 - alpha
    chances[slot_of(knowledge, experience)] += alpha


def slot_of(knowledge: Planner, experience: Experience) -> int:
    """Return the place of the next state; if there is none left, that of the rarest, whose chance it inherits."""
    following = knowledge.following[experience.aleatoric_state, experience.action]
    chances = knowledge.chances[experience.aleatoric_state, experience.action]
    rarest = 0
    for slot in range(len(following)):
        if following[slot] < 0:
            following[slot] = experience.next_aleatoric_state
        if following[slot] == experience.next_aleatoric_state:
            return slot
        if chances[slot] < chances[rarest]:
            rarest = slot
    following[rarest] = experience.next_aleatoric_state
    return rarest


def back_up(knowledge: Planner, s: int, gamma: float, level: float) -> None:
    """Compute the values of a state from the model and the values of the next states."""
    numbers = knowledge.numbers
    values = knowledge.values
    mean = numbers[TOTAL] / numbers[KNOWN]
    best = -math.inf
    for a in range(values.shape[1]):
        if values[s, a] > -math.inf:
            values[s, a] = min(hoped_value(knowledge, s, a, gamma, level), 1.0 + gamma * numbers[TOP]) - mean
            best = max(best, values[s, a])
    if best > -math.inf:
        numbers[TOTAL] += best - knowledge.states[s, VALUE]
        knowledge.states[s, VALUE] = best
        numbers[TOP] = max(numbers[TOP], best)
        numbers[LOW] = min(numbers[LOW], best)
        numbers[TOP_AHEAD] = max(numbers[TOP_AHEAD], best)
        numbers[LOW_AHEAD] = min(numbers[LOW_AHEAD], best)


def hoped_value(knowledge: Planner, s: int, a: int, gamma: float, level: float) -> float:
    """Return the mean of the reward and what follows, with the bonus; infinity if the action was never taken."""
    row = knowledge.pairs[s, a]
    if row[VISITS] <= 0.0:
        return math.inf
    following = knowledge.following[s, a]
    chances = knowledge.chances[s, a]
    mean = 0.0
    slots = 0
    while slots < len(following) and following[slots] >= 0:
        mean += chances[slots] * knowledge.states[following[slots], VALUE]
        slots += 1
    variance = row[VARIANCE]
    for slot in range(slots):
        error = knowledge.states[following[slot], VALUE] - mean
        variance += chances[slot] * error * error
    each = level / row[VISITS]
    scope = 1.0 + knowledge.numbers[TOP] - knowledge.numbers[LOW]
    bonus = knowledge.spread * math.sqrt(variance * each) + knowledge.rarity * scope * each
    return row[REWARD] + gamma * mean + bonus  # type: ignore[no-any-return]


def back_up_in_turn(knowledge: Planner, gamma: float, level: float) -> None:
    """Back up the state whose turn it is; after the last, take over the extremes, and sum again, without rounding."""
    numbers = knowledge.numbers
    back_up(knowledge, int(knowledge.states[int(numbers[PLACE]), MET]), gamma, level)
    numbers[PLACE] = numbers[PLACE] + 1.0
    if numbers[PLACE] >= numbers[KNOWN]:
        numbers[PLACE] = 0.0
        numbers[TOP] = numbers[TOP_AHEAD]
        numbers[LOW] = numbers[LOW_AHEAD]
        numbers[TOP_AHEAD] = -math.inf
        numbers[LOW_AHEAD] = math.inf
        numbers[TOTAL] = 0.0
        for place in range(int(numbers[KNOWN])):
            numbers[TOTAL] += knowledge.states[int(knowledge.states[place, MET]), VALUE]


def hold(knowledge: Planner, s: int, a: int) -> None:
    """Count down while the held action is taken; hold another action from now on."""
    row = knowledge.states[s]
    if row[LEFT] >= 1.0 and row[HELD] == a:
        row[LEFT] -= 1.0
    else:
        row[HELD] = a
        row[LEFT] = min(
            max(knowledge.patience, knowledge.persistence * knowledge.pairs[s, a, VISITS]), knowledge.longest
        )


def policy(knowledge: Planner) -> Table:
    """Return the greedy policy, and where an action is held, that action."""
    probabilities = greedy_policy(knowledge.values)
    held = np.flatnonzero(knowledge.states[:, LEFT] >= 1.0)
    actions = knowledge.states[held, HELD].astype(int)
    allowed = knowledge.values[held, actions] > -math.inf
    probabilities[held[allowed]] = np.eye(probabilities.shape[1])[actions[allowed]]
    return probabilities


def inspect(knowledge: Planner, now: ScheduleValues) -> dict[str, Table]:  # noqa: ARG001
    """Return N, the mean reward R of each pair, and the values Q and V relative to their mean."""
    visits = np.maximum(knowledge.pairs[:, :, VISITS], 0.0)
    shown = {"N": visits, "R": knowledge.pairs[:, :, REWARD].copy()}
    return {**shown, "Q": knowledge.values.copy(), "V": knowledge.states[:, VALUE].copy()}


def value_table(knowledge: Planner) -> Table:
    """Return Q, as a view."""
    return knowledge.values


def planner(
    *,
    horizon_scale: float = 12.0,
    horizon_power: float = 0.2,
    spread: float = 0.3,
    rarity: float = 0.02,
    recency: float = 1.0,
    forgetting: float = 0.0,
    commitment: float = 100.0,
    persistence: float = 0.2,
    longest: float = 50.0,
    backups: int = 10,
    successors: int = 32,
) -> Design:
    """Plan through a sparse model of what was seen, with a growing horizon, in a bounded time per step.

    Parameters
    ----------
    horizon_scale, horizon_power:
        the horizon at step t is ``horizon_scale`` t^``horizon_power`` steps
    spread, rarity:
        the size of the bonus for actions whose outcomes vary, and for actions that were seldom taken
    recency:
        w in the step size (1 + w) / (N + w); with 0 all visits weigh the same
    forgetting:
        the least step size; 0.01 remembers about 100 visits of each pair, 0 all of them.  Use it if the environment
        changes
    commitment, persistence, longest:
        an action that is chosen in a state is held for the next ``persistence`` N visits to it, at least ``commitment``
        / (|S| |A|) and at most ``longest``
    backups:
        the number of states that are backed up per step, in addition to the two states of the step
    successors:
        the most next states per pair; of more, the rarest are forgotten

    Examples
    --------
    >>> from everlearn.agents.agent import Agent
    >>> agent = Agent("riverswim", planner(), seed=1)
    >>> for _ in range(24):
    ...     reward = agent.observe(0, executed="left")
    >>> agent.inspect()["N"][0].tolist(), agent.inspect()["R"][0].round(6).tolist()
    ([24.0, 0.0], [0.005, 0.0])

    """
    check_at_least(1, horizon_scale=horizon_scale)
    check_at_least(0, horizon_power=horizon_power, spread=spread, rarity=rarity, recency=recency)
    check_at_least(0, commitment=commitment, persistence=persistence, longest=longest)
    check_probability(forgetting=forgetting)
    require(0 <= backups <= MOST_COUNTED, "agent.backups", backups, "give a whole number of at least 0")
    require(1 <= successors <= MOST_COUNTED, "agent.successors", successors, "give a whole number of at least 1")

    def build(indexed: IndexedTask) -> Planner:
        states, actions = indexed.states, indexed.actions
        kept = max(1, min(states, successors, MOST_ENTRIES // (states * actions)))
        pairs = np.zeros((states, actions, 3))
        pairs[:, :, VISITS] = -1.0  # not met
        numbers = np.array([0.0, 0.0, 0.0, -math.inf, math.inf, 0.0, 0.0])
        constants = recency, forgetting, horizon_scale, horizon_power, spread, rarity
        return Planner(
            np.full((states, actions, kept), -1),
            np.zeros((states, actions, kept)),
            pairs,
            np.zeros((states, actions)),
            np.zeros((states, 4)),
            numbers,
            *constants,
            commitment / (states * actions),
            persistence,
            longest,
            backups,
        )

    return Design(
        build,
        act,
        learn,
        policy,
        inspect=inspect,
        infinite=True,
        unit=True,
        values=value_table,
        masks=True,
        name="planner",
    )
