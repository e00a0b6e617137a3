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
from typing import Any

import numpy as np

from everlearn.agents.backups import back_up, back_up_in_turn, settled
from everlearn.agents.checks import MOST_COUNTED, MOST_ENTRIES, check_at_least, check_probability
from everlearn.agents.design import Design
from everlearn.agents.sparse_model import Planner, Settings, compare, count, count_recent, link_of, meet, tables
from everlearn.agents.tabular import greedy_action, greedy_policy, value_table
from everlearn.errors import require
from everlearn.protocol import Experience, ScheduleValues, Table
from everlearn.tasks.indexed import IndexedTask


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
