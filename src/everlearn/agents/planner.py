"""The planner: a sparse model of what was seen, planned through with a growing horizon in amortised bounded time.

For each pair of an aleatoric state and an action the agent keeps the next states that were seen, with their chances,
and the mean and the variance of the reward.  A visit moves these by a step size of (1 + w) / (N + w), where N counts
the visits: with w = 0 every visit weighs the same, with w = 3 the last half of the visits weighs 15 times as much as
the first.  If the aleatoric state hides something, what follows a pair depends on how the agent behaved before, and a
model of all its past misleads it.

Each step backs up the two states of the step, and others in turn: ``backups`` of them, or only one while there is
nothing to plan.  That is so if no backup of the last whole turn through the states, or since, changed h of its state by
more than ``TOLERANCE``, and the agent has not begun or ceased to follow a change since.  A backup is

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

TOLERANCE = 3e-3
"""There is nothing to plan while no backup changes the value of a state by more than this; rewards are in [0, 1]."""

REACHABLE = 0.5
"""A state counts as reachable at step t if the model knew a way to it after step t / 2."""


class Settings(NamedTuple):
    """The parameters of :func:`planner`; ``patience`` is the share of ``commitment`` of each pair."""

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
    successors: int


class Planner(NamedTuple):
    """The model, the values, and how far the backups in turn have come."""

    links: NDArray[Any]
    """One record per place for a next state, ``successors`` of them for each pair, in the order in which the states
    were first seen: ``to``, the state, or -1 where there are no more; ``chance``, its probability; and ``recent``, that
    by recent visits, which has no entries if ``fading`` is 0."""
    cells: NDArray[Any]
    """One record per aleatoric state.  For each action it has ``visits`` (-1 before the state is met), ``reward`` and
    ``variance``, the same by recent visits, and ``value``, which is Q relative to m.  For the state it has ``best``,
    which is h; ``held``, the action held there, and ``left``, for how many visits; ``reached``, the last step after
    which the model knew a way to it; and ``met``, the state that was met in this place of the order."""
    run: NDArray[Any]
    """One record: ``total``, the sum of h over the states met; ``top`` and ``low``, the greatest and the least h of the
    last turn, and ``top_ahead`` and ``low_ahead``, those of this one; ``known``, the number of states met; ``place``,
    whose turn it is; ``gain``, by how much the recent model predicts better, and ``noise``, the variance of that;
    ``moved``, the greatest change of h by a backup of the last turn, and ``moved_ahead``, that of this one;
    ``follows``, 1 if the recent model is used."""
    settings: Settings


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
    study(knowledge, experience, now.t)
    hold(knowledge, experience.aleatoric_state, experience.action)


def study(knowledge: Planner, experience: Experience, t: float) -> float:
    """Learn without holding the action; return by how much what was seen is more than what was predicted."""
    s = experience.aleatoric_state
    following = experience.next_aleatoric_state
    meet(knowledge, s, t)
    meet(knowledge, following, t)
    gamma = 1.0 - 1.0 / (knowledge.settings.horizon_scale * math.pow(t, knowledge.settings.horizon_power))
    link = link_of(knowledge, experience)
    error = compare(knowledge, experience, gamma, t)
    if knowledge.settings.fading > 0.0:
        count_recent(knowledge, experience, link)
    count(knowledge, experience, link)
    log = math.log(t + 1.0)
    back_up(knowledge, s, gamma, t, log)
    back_up(knowledge, following, gamma, t, log)
    for _ in range(min(knowledge.settings.backups, 1) if settled(knowledge.run) else knowledge.settings.backups):
        back_up_in_turn(knowledge, gamma, t, log)
    return error


def settled(run: Any) -> bool:
    """Return whether no backup changed a value by much in the last turn and in this one."""
    return bool(run["moved"][0, 0] <= TOLERANCE and run["moved_ahead"][0, 0] <= TOLERANCE)


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


def compare(knowledge: Planner, experience: Experience, gamma: float, t: float) -> float:
    """Compare the two models, and decide which one to use; return how much was seen beyond what it predicted."""
    s = experience.aleatoric_state
    a = experience.action
    cells = knowledge.cells
    if cells["visits"][s, a] < 1.0:
        return 0.0
    to = knowledge.links["to"]
    chance = knowledge.links["chance"]
    best = cells["best"]
    first = cells["reward"][s, a]
    begin = (s * cells["visits"].shape[1] + a) * knowledge.settings.successors
    end = begin
    while end < begin + knowledge.settings.successors and to[end, 0] >= 0.0:
        first += gamma * chance[end, 0] * best[int(to[end, 0]), 0]
        end += 1
    seen = experience.reward + gamma * best[experience.next_aleatoric_state, 0]
    if knowledge.settings.fading > 0.0 and cells["recent_visits"][s, a] >= 1.0:
        recent = cells["recent_reward"][s, a]
        for link in range(begin, end):
            recent += gamma * knowledge.links["recent"][link, 0] * best[int(to[link, 0]), 0]
        weigh(knowledge, (seen - first) * (seen - first) - (seen - recent) * (seen - recent), t)
        if knowledge.run["follows"][0, 0] > 0.0:
            return float(seen - recent)
    return float(seen - first)


def weigh(knowledge: Planner, gained: float, t: float) -> None:
    """Add to the gain of the recent model; use it if there is evidence for it, until there is none."""
    run = knowledge.run
    kept = 1.0 - 2.0 / (2.0 + t)
    gain = kept * run["gain"][0, 0] + gained
    noise = kept * run["noise"][0, 0] + gained * gained
    run["gain"][0, 0] = gain
    run["noise"][0, 0] = noise
    follows = run["follows"][0, 0]
    if gain > EVIDENCE * math.sqrt(noise):
        follows = 1.0
    if gain < 0.0:
        follows = 0.0
    if follows != run["follows"][0, 0]:
        run["follows"][0, 0] = follows
        run["moved_ahead"][0, 0] = math.inf  # all values are those of the other model


def count_recent(knowledge: Planner, experience: Experience, link: int) -> None:
    """Let the counts of the state fade, count a visit, and move the recent model of the pair."""
    s = experience.aleatoric_state
    cells = knowledge.cells
    visits = cells["recent_visits"]
    for other in range(visits.shape[1]):
        visits[s, other] *= 1.0 - knowledge.settings.fading
    visits[s, experience.action] += 1.0
    alpha = min(1.0, (1.0 + knowledge.settings.recency) / (visits[s, experience.action] + knowledge.settings.recency))
    reward = cells["recent_reward"]
    move(knowledge, reward, cells["recent_variance"], knowledge.links["recent"], experience, link, alpha)


def count(knowledge: Planner, experience: Experience, link: int) -> None:
    """Count a visit, and move the model of the pair towards what was seen."""
    cells = knowledge.cells
    visits = cells["visits"][experience.aleatoric_state, experience.action] + 1.0
    cells["visits"][experience.aleatoric_state, experience.action] = visits
    alpha = (1.0 + knowledge.settings.recency) / (visits + knowledge.settings.recency)
    move(knowledge, cells["reward"], cells["variance"], knowledge.links["chance"], experience, link, alpha)


def move(
    knowledge: Planner,
    reward: Table,
    variance: Table,
    chance: Table,
    experience: Experience,
    link: int,
    alpha: float,
) -> None:
    """Move the reward, its variance and the chances of a pair towards what was seen."""
    s = experience.aleatoric_state
    a = experience.action
    error = experience.reward - reward[s, a]
    reward[s, a] += alpha * error
    variance[s, a] = (1.0 - alpha) * (variance[s, a] + alpha * error * error)
    to = knowledge.links["to"]
    begin = (s * reward.shape[1] + a) * knowledge.settings.successors
    for place in range(begin, begin + knowledge.settings.successors):
        if to[place, 0] < 0.0:
            break
        chance[place, 0] *= 1.0 - alpha
    chance[link, 0] += alpha


def link_of(knowledge: Planner, experience: Experience) -> int:
    """Return the place of the next state; if there is none left, that of the rarest, whose chance it inherits."""
    to = knowledge.links["to"]
    chance = knowledge.links["chance"]
    pair = experience.aleatoric_state * knowledge.cells["visits"].shape[1] + experience.action
    rarest: int = pair * knowledge.settings.successors
    for link in range(rarest, rarest + knowledge.settings.successors):
        if to[link, 0] < 0.0:
            to[link, 0] = experience.next_aleatoric_state
        if to[link, 0] == experience.next_aleatoric_state:
            return link
        if chance[link, 0] < chance[rarest, 0]:
            rarest = link
    to[rarest, 0] = experience.next_aleatoric_state
    return rarest


def back_up(knowledge: Planner, s: int, gamma: float, t: float, log: float) -> None:
    """Compute the values of a state from the model and the values of the next states; ``log`` is log(1 + t)."""
    run = knowledge.run
    cells = knowledge.cells
    values = cells["value"]
    mean = run["total"][0, 0] / run["known"][0, 0]
    ceiling = 1.0 + gamma * run["top"][0, 0]
    best = -math.inf
    for a in range(values.shape[1]):
        if values[s, a] > -math.inf:
            value = min(hoped_value(knowledge, s, a, gamma, log), ceiling) - mean
            values[s, a] = value
            best = max(best, value)
    if best > -math.inf:
        change = best - cells["best"][s, 0]
        run["total"][0, 0] += change
        run["moved_ahead"][0, 0] = max(run["moved_ahead"][0, 0], abs(change))
        cells["best"][s, 0] = best
        if cells["reached"][s, 0] >= REACHABLE * t:
            widen(run, best)


def widen(run: Any, best: float) -> None:
    """Let the extremes of the last turn and of this one include a value."""
    if best > run["top"][0, 0]:
        run["top"][0, 0] = best
    if best < run["low"][0, 0]:
        run["low"][0, 0] = best
    if best > run["top_ahead"][0, 0]:
        run["top_ahead"][0, 0] = best
    if best < run["low_ahead"][0, 0]:
        run["low_ahead"][0, 0] = best


def hoped_value(knowledge: Planner, s: int, a: int, gamma: float, log: float) -> float:
    """Return the mean of the reward and what follows, with the bonus; infinity if the action was never taken.

    Pass on to the next states the last step after which there was a way to them.
    """
    cells = knowledge.cells
    links = knowledge.links
    run = knowledge.run
    visits = cells["visits"][s, a]
    if visits <= 0.0:
        return math.inf
    to = links["to"]
    chance = links["chance"]
    reward = cells["reward"][s, a]
    variance = cells["variance"][s, a]
    if run["follows"][0, 0] > 0.0:
        visits = max(cells["recent_visits"][s, a], LEAST_COUNT)
        chance = links["recent"]
        reward = cells["recent_reward"][s, a]
        variance = cells["recent_variance"][s, a]
    best = cells["best"]
    reached = cells["reached"]
    here = reached[s, 0]
    successors = knowledge.settings.successors
    link = (s * cells["visits"].shape[1] + a) * successors
    end = link + successors
    following = int(to[link, 0])
    level = best[following, 0]  # values are compared with this one, so that little is lost to rounding
    mean = 0.0
    square = 0.0
    while following >= 0:
        above = best[following, 0] - level
        share = chance[link, 0] * above
        mean += share
        square += share * above
        if reached[following, 0] < here:
            reached[following, 0] = here
        link += 1
        following = int(to[link, 0]) if link < end else -1
    variance += max(square - mean * mean, 0.0)
    each = log / visits
    scope = 1.0 + run["top"][0, 0] - run["low"][0, 0]
    bonus = knowledge.settings.spread * math.sqrt(variance * each) + knowledge.settings.rarity * scope * each
    return reward + gamma * (level + mean) + bonus  # type: ignore[no-any-return]


def back_up_in_turn(knowledge: Planner, gamma: float, t: float, log: float) -> None:
    """Back up the state whose turn it is; after the last, begin another turn, and sum again, without rounding."""
    run = knowledge.run
    met = knowledge.cells["met"]
    back_up(knowledge, int(met[int(run["place"][0, 0]), 0]), gamma, t, log)
    run["place"][0, 0] += 1.0
    if run["place"][0, 0] >= run["known"][0, 0]:
        run["place"][0, 0] = 0.0
        run["top"][0, 0] = run["top_ahead"][0, 0]
        run["low"][0, 0] = run["low_ahead"][0, 0]
        run["top_ahead"][0, 0] = -math.inf
        run["low_ahead"][0, 0] = math.inf
        run["moved"][0, 0] = run["moved_ahead"][0, 0]
        run["moved_ahead"][0, 0] = 0.0
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
        lasting = max(knowledge.settings.patience, knowledge.settings.persistence * knowledge.cells["visits"][s, a])
        left[s, 0] = min(lasting, knowledge.settings.longest)


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


def tables(states: int, actions: int, successors: int, recently: bool) -> tuple[Any, Any, Any]:
    """Return the empty model, the records of the states, and the record of the run."""
    links = records(states * actions * successors, to=1, chance=1, recent=1 if recently else 0)
    links["to"] = -1.0
    of_pairs = dict.fromkeys(("visits", "reward", "variance", "value"), actions)
    of_pairs |= dict.fromkeys(("recent_visits", "recent_reward", "recent_variance"), actions if recently else 0)
    cells = records(states, **of_pairs, best=1, held=1, left=1, reached=1, met=1)
    cells["visits"] = -1.0  # not met
    turn = dict.fromkeys(("total", "top", "low", "top_ahead", "low_ahead", "moved", "moved_ahead"), 1)
    run = records(1, **turn, known=1, place=1, gain=1, noise=1, follows=1)
    run["top_ahead"], run["low_ahead"], run["moved"] = -math.inf, math.inf, math.inf
    return links, cells, run


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
        the number of states that are backed up in turn at each step, in addition to the two states of the step; only
        one is, while backups hardly change the values
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

    constants = recency, fading, horizon_scale, horizon_power, spread, rarity
    held = persistence, longest

    def build(indexed: IndexedTask) -> Planner:
        states, actions = indexed.states, indexed.actions
        kept = max(1, min(states, successors, MOST_ENTRIES // (states * actions)))
        patience = commitment / (states * actions)
        settings = Settings(*constants, patience, *held, backups, kept)
        return Planner(*tables(states, actions, kept, fading > 0), settings)

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
