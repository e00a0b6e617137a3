"""The planner: a sparse model of what was seen, planned through with a growing horizon in amortised bounded time.

For each pair of an aleatoric state and an action the agent keeps the next states that were seen, with their chances,
and the mean and the variance of the reward.  A visit moves these by a step size of (1 + w) / (N + w), where N counts
the visits: with w = 0 every visit weighs the same, with w = 3 the last half of the visits weighs 15 times as much as
the first.  If the aleatoric state hides something, what follows a pair depends on how the agent behaved before, and a
model of all its past misleads it.

Each step does a fixed number of backups: of the two states of the step, and of others in turn.  A backup is

    Q(s, a) = r + gamma sum p(s') h(s') + bonus - m,    h(s) = max_a Q(s, a),

where m is the mean of h over the states that were met, which keeps values from growing and changes no choice.  With L
= log(1 + t), the bonus is ``spread`` sqrt(L variance / N) + ``rarity`` L (1 + max h - min h) / N: Bernstein's bound,
with small constants.  No value exceeds that of a reward of 1 followed by the best state, which is the value of an
action that was never taken.  Unlike the ceiling of Algorithm 2, which grows with the horizon, this one falls with what
is learned.

The greatest and the least h are those of states that can be reached again.  A stream may begin in a state that never
returns; an action that was not tried there would promise the greatest value forever, and inflate the bonus everywhere.
So the agent stores for each state the last step after which the model knew a way to it: the step of a visit, or, if
that is later, the step that is stored for a state that it once followed; backups pass this number on.  A state counts
if that step lies in the last half of the time.

Exploration is directed, but short, and an effect that comes late is not seen in a short trial.  Therefore an action
that is chosen in a state is held for ``persistence`` N visits, and at least for a share of ``commitment`` visits, which
are divided among all pairs: the fewer aleatoric states there are, the more each is likely to hide.

The environment may change.  So there is a second model of the same next states, of recent visits: whenever a state is
visited, the counts of all its actions fade by a factor of 1 - ``fading``.  An action that was not taken for long has a
small count again, and so a large bonus.  Before each update both models predict r + gamma h(s'), and the agent sums by
how much the squared error of the first exceeds that of the second; the last half of the time weighs most.  If this
gain is more than ``EVIDENCE`` standard deviations above 0, the agent plans with the recent model and holds no action;
if it falls below 0, it returns to the first.  Where nothing changes the first model predicts better, since it averages
over more visits, so that nothing is lost there.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.checks import MOST_COUNTED, MOST_ENTRIES, check_at_least, check_probability
from everlearn.agents.design import Design
from everlearn.agents.tabular import greedy_action, greedy_policy, records, value_table
from everlearn.errors import require
from everlearn.protocol import Experience, ScheduleValues, Table
from everlearn.tasks.indexed import IndexedTask

EVIDENCE = 5.0
"""The agent follows changes once the gain of the recent model is so many standard deviations above 0."""

LEAST_COUNT = 1e-6
"""The least count of recent visits that is used: one that has faded to 0 would make the bonus infinite."""

REACHABLE = 0.5
"""A state counts as reachable at step t if the model knew a way to it after step t / 2."""


class Planner(NamedTuple):
    """The model, the values, and how far the backups in turn have come."""

    following: NDArray[np.int64]
    """The next states of each pair, in the order in which they were first seen; -1 where there are no more."""
    chances: Table
    """Their probabilities."""
    recent: Table
    """Their probabilities by recent visits; no entries if ``fading`` is 0."""
    cells: NDArray[Any]
    """One record per aleatoric state.  For each action it has ``visits`` (-1 before the state is met), ``reward`` and
    ``variance``, the same by recent visits, and ``value``, which is Q relative to m.  For the state it has ``best``,
    which is h; ``held``, the action held there, and ``left``, for how many visits; ``reached``, the last step after
    which the model knew a way to it; and ``met``, the state that was met in this place of the order."""
    run: NDArray[Any]
    """One record: ``total``, the sum of h over the states met; ``top`` and ``low``, the greatest and the least h of the
    last turn, and ``top_ahead`` and ``low_ahead``, those of this one; ``known``, the number of states met; ``place``,
    whose turn it is; ``gain``, by how much the recent model predicts better, and ``noise``, the variance of that;
    ``follows``, 1 if the recent model is used."""
    recency: float
    fading: float
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
    values = knowledge.cells["value"]
    held = int(knowledge.cells["held"][aleatoric_state, 0])
    holds = knowledge.cells["left"][aleatoric_state, 0] >= 1.0 and knowledge.run["follows"][0, 0] == 0.0
    if holds and values[aleatoric_state, held] > -math.inf:
        return held
    return greedy_action(values, aleatoric_state, stream)


def learn(knowledge: Planner, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Update the model of the pair, and do the backups of this step."""
    s = experience.aleatoric_state
    following = experience.next_aleatoric_state
    meet(knowledge, s, now.t)
    meet(knowledge, following, now.t)
    gamma = 1.0 - 1.0 / (knowledge.horizon_scale * math.pow(now.t, knowledge.horizon_power))
    slot = slot_of(knowledge, experience)
    if knowledge.fading > 0.0:
        compare(knowledge, experience, gamma, now.t)
        count_recent(knowledge, experience, slot)
    count(knowledge, experience, slot)
    back_up(knowledge, s, gamma, now.t)
    back_up(knowledge, following, gamma, now.t)
    for _ in range(knowledge.backups):
        back_up_in_turn(knowledge, gamma, now.t)
    hold(knowledge, s, experience.action)


def meet(knowledge: Planner, s: int, t: float) -> None:
    """Note that a state is reached; give one that is new the greatest value, since 0 is that of no state met."""
    run = knowledge.run
    knowledge.cells["reached"][s, 0] = t
    visits = knowledge.cells["visits"]
    if visits[s, 0] < 0.0:
        for a in range(visits.shape[1]):
            visits[s, a] = 0.0
        knowledge.cells["met"][int(run["known"][0, 0]), 0] = s
        knowledge.cells["best"][s, 0] = run["top"][0, 0]
        run["known"][0, 0] += 1.0
        run["total"][0, 0] += run["top"][0, 0]


def compare(knowledge: Planner, experience: Experience, gamma: float, t: float) -> None:
    """Compare how well the two models predict what was seen, and decide which one to use."""
    s = experience.aleatoric_state
    a = experience.action
    if knowledge.cells["recent_visits"][s, a] < 1.0:
        return
    following = knowledge.following[s, a]
    best = knowledge.cells["best"]
    first = knowledge.cells["reward"][s, a]
    recent = knowledge.cells["recent_reward"][s, a]
    slot = 0
    while slot < len(following) and following[slot] >= 0:
        first += gamma * knowledge.chances[s, a, slot] * best[following[slot], 0]
        recent += gamma * knowledge.recent[s, a, slot] * best[following[slot], 0]
        slot += 1
    seen = experience.reward + gamma * best[experience.next_aleatoric_state, 0]
    gained = (seen - first) * (seen - first) - (seen - recent) * (seen - recent)
    run = knowledge.run
    kept = 1.0 - 2.0 / (2.0 + t)
    run["gain"][0, 0] = kept * run["gain"][0, 0] + gained
    run["noise"][0, 0] = kept * run["noise"][0, 0] + gained * gained
    if run["gain"][0, 0] > EVIDENCE * math.sqrt(run["noise"][0, 0]):
        run["follows"][0, 0] = 1.0
    if run["gain"][0, 0] < 0.0:
        run["follows"][0, 0] = 0.0


def count_recent(knowledge: Planner, experience: Experience, slot: int) -> None:
    """Let the counts of the state fade, count a visit, and move the recent model of the pair."""
    s = experience.aleatoric_state
    visits = knowledge.cells["recent_visits"]
    for other in range(visits.shape[1]):
        visits[s, other] *= 1.0 - knowledge.fading
    visits[s, experience.action] += 1.0
    alpha = min(1.0, (1.0 + knowledge.recency) / (visits[s, experience.action] + knowledge.recency))
    reward = knowledge.cells["recent_reward"]
    move(reward, knowledge.cells["recent_variance"], knowledge.recent, experience, slot, alpha)


def count(knowledge: Planner, experience: Experience, slot: int) -> None:
    """Count a visit, and move the model of the pair towards what was seen."""
    visits = knowledge.cells["visits"]
    visits[experience.aleatoric_state, experience.action] += 1.0
    alpha = (1.0 + knowledge.recency) / (visits[experience.aleatoric_state, experience.action] + knowledge.recency)
    reward = knowledge.cells["reward"]
    move(reward, knowledge.cells["variance"], knowledge.chances, experience, slot, alpha)


def move(reward: Table, variance: Table, model: Table, experience: Experience, slot: int, alpha: float) -> None:
    """Move the reward, its variance and the chances of a pair towards what was seen."""
    s = experience.aleatoric_state
    a = experience.action
    error = experience.reward - reward[s, a]
    reward[s, a] += alpha * error
    variance[s, a] = (1.0 - alpha) * (variance[s, a] + alpha * error * error)
    chances = model[s, a]
    for place in range(len(chances)):
        chances[place] *= 1.0 - alpha
    chances[slot] += alpha


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


def back_up(knowledge: Planner, s: int, gamma: float, t: float) -> None:
    """Compute the values of a state from the model and the values of the next states."""
    run = knowledge.run
    values = knowledge.cells["value"]
    mean = run["total"][0, 0] / run["known"][0, 0]
    ceiling = 1.0 + gamma * run["top"][0, 0]
    best = -math.inf
    for a in range(values.shape[1]):
        if values[s, a] > -math.inf:
            values[s, a] = min(hoped_value(knowledge, s, a, gamma, t), ceiling) - mean
            best = max(best, values[s, a])
    if best > -math.inf:
        run["total"][0, 0] += best - knowledge.cells["best"][s, 0]
        knowledge.cells["best"][s, 0] = best
        if knowledge.cells["reached"][s, 0] >= REACHABLE * t:
            run["top"][0, 0] = max(run["top"][0, 0], best)
            run["low"][0, 0] = min(run["low"][0, 0], best)
            run["top_ahead"][0, 0] = max(run["top_ahead"][0, 0], best)
            run["low_ahead"][0, 0] = min(run["low_ahead"][0, 0], best)


def hoped_value(knowledge: Planner, s: int, a: int, gamma: float, t: float) -> float:
    """Return the mean of the reward and what follows, with the bonus; infinity if the action was never taken.

    Pass on to the next states the last step after which there was a way to them.
    """
    visits = knowledge.cells["visits"][s, a]
    if visits <= 0.0:
        return math.inf
    following = knowledge.following[s, a]
    chances = knowledge.chances[s, a]
    reward = knowledge.cells["reward"][s, a]
    variance = knowledge.cells["variance"][s, a]
    if knowledge.run["follows"][0, 0] > 0.0:
        visits = max(knowledge.cells["recent_visits"][s, a], LEAST_COUNT)
        chances = knowledge.recent[s, a]
        reward = knowledge.cells["recent_reward"][s, a]
        variance = knowledge.cells["recent_variance"][s, a]
    best = knowledge.cells["best"]
    reached = knowledge.cells["reached"]
    mean = 0.0
    slots = 0
    while slots < len(following) and following[slots] >= 0:
        mean += chances[slots] * best[following[slots], 0]
        reached[following[slots], 0] = max(reached[following[slots], 0], reached[s, 0])
        slots += 1
    for slot in range(slots):
        error = best[following[slot], 0] - mean
        variance += chances[slot] * error * error
    each = math.log(t + 1.0) / visits
    scope = 1.0 + knowledge.run["top"][0, 0] - knowledge.run["low"][0, 0]
    bonus = knowledge.spread * math.sqrt(variance * each) + knowledge.rarity * scope * each
    return reward + gamma * mean + bonus  # type: ignore[no-any-return]


def back_up_in_turn(knowledge: Planner, gamma: float, t: float) -> None:
    """Back up the state whose turn it is; after the last, take over the extremes, and sum again, without rounding."""
    run = knowledge.run
    met = knowledge.cells["met"]
    back_up(knowledge, int(met[int(run["place"][0, 0]), 0]), gamma, t)
    run["place"][0, 0] += 1.0
    if run["place"][0, 0] >= run["known"][0, 0]:
        run["place"][0, 0] = 0.0
        run["top"][0, 0] = run["top_ahead"][0, 0]
        run["low"][0, 0] = run["low_ahead"][0, 0]
        run["top_ahead"][0, 0] = -math.inf
        run["low_ahead"][0, 0] = math.inf
        run["total"][0, 0] = 0.0
        for place in range(int(run["known"][0, 0])):
            run["total"][0, 0] += knowledge.cells["best"][int(met[place, 0]), 0]


def hold(knowledge: Planner, s: int, a: int) -> None:
    """Count down while the held action is taken; hold another action from now on."""
    held = knowledge.cells["held"]
    left = knowledge.cells["left"]
    if left[s, 0] >= 1.0 and held[s, 0] == a:
        left[s, 0] -= 1.0
    else:
        held[s, 0] = a
        lasting = max(knowledge.patience, knowledge.persistence * knowledge.cells["visits"][s, a])
        left[s, 0] = min(lasting, knowledge.longest)


def policy(knowledge: Planner) -> Table:
    """Return the greedy policy, and where an action is held, that action."""
    cells = knowledge.cells
    probabilities = greedy_policy(cells["value"])
    if knowledge.run["follows"][0, 0] > 0.0:
        return probabilities
    held = np.flatnonzero(cells["left"][:, 0] >= 1.0)
    actions = cells["held"][held, 0].astype(int)
    allowed = cells["value"][held, actions] > -math.inf
    probabilities[held[allowed]] = np.eye(probabilities.shape[1])[actions[allowed]]
    return probabilities


def inspect(knowledge: Planner, now: ScheduleValues) -> dict[str, Table]:  # noqa: ARG001
    """Return N, the mean reward R of each pair, and the values Q and V relative to their mean."""
    cells = knowledge.cells
    shown = {"N": np.maximum(cells["visits"], 0.0), "R": cells["reward"].copy()}
    return {**shown, "Q": cells["value"].copy(), "V": cells["best"][:, 0].copy()}


def planner(
    *,
    horizon_scale: float = 12.0,
    horizon_power: float = 0.2,
    spread: float = 0.3,
    rarity: float = 0.03,
    recency: float = 1.0,
    fading: float = 0.01,
    commitment: float = 100.0,
    persistence: float = 0.2,
    longest: float = 50.0,
    backups: int = 10,
    successors: int = 32,
) -> Design:
    """Plan through a sparse model of what was seen, with a growing horizon, in a bounded time per step on average.

    A step that ends a turn through all states that were met also sums their values.

    Parameters
    ----------
    horizon_scale:
        the horizon at step t is ``horizon_scale`` t^``horizon_power`` steps
    horizon_power:
        the power with which the horizon grows
    spread:
        the size of the bonus for actions whose outcomes vary
    rarity:
        the size of the bonus for actions that were seldom taken
    recency:
        w in the step size (1 + w) / (N + w); with 0 all visits weigh the same
    fading:
        the share of the counts of a state that fades at each visit to it, in the model of recent visits: 0.01 remembers
        about 100 visits; with 0 there is no such model, and the agent does not follow changes
    commitment:
        an action that is chosen in a state is held for at least ``commitment`` / (|S| |A|) of the next visits to it
    persistence:
        it is held for ``persistence`` N visits, where N is its count there, if that is more
    longest:
        it is held for at most this many visits
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
    require(0 <= horizon_power <= 10, "agent.horizon_power", horizon_power, "give a number from 0 to 10")
    check_at_least(0, spread=spread, rarity=rarity, recency=recency)
    check_at_least(0, commitment=commitment, persistence=persistence, longest=longest)
    check_probability(fading=fading)
    require(0 <= backups <= MOST_COUNTED, "agent.backups", backups, "give a whole number of at least 0")
    require(1 <= successors <= MOST_COUNTED, "agent.successors", successors, "give a whole number of at least 1")

    def build(indexed: IndexedTask) -> Planner:
        states, actions = indexed.states, indexed.actions
        kept = max(1, min(states, successors, MOST_ENTRIES // (states * actions)))
        of_pairs = dict.fromkeys(("visits", "reward", "variance", "value"), actions)
        recently = ("recent_visits", "recent_reward", "recent_variance")
        of_pairs |= dict.fromkeys(recently, actions if fading > 0 else 0)
        cells = records(states, **of_pairs, best=1, held=1, left=1, reached=1, met=1)
        cells["visits"] = -1.0  # not met
        run = records(1, total=1, top=1, low=1, top_ahead=1, low_ahead=1, known=1, place=1, gain=1, noise=1, follows=1)
        run["top_ahead"], run["low_ahead"] = -math.inf, math.inf
        constants = recency, fading, horizon_scale, horizon_power, spread, rarity
        patience = commitment / (states * actions)
        following = np.full((states, actions, kept), -1)
        recent = np.zeros((states, actions, kept if fading > 0 else 0))
        model = following, np.zeros((states, actions, kept)), recent, cells, run
        return Planner(*model, *constants, patience, persistence, longest, backups)

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
