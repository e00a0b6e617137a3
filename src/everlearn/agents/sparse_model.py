"""The model of the agent ``planner``: for each pair the next states that were seen, their chances, and the reward.

:mod:`everlearn.agents.planner` says how it is learned, and when the model of recent visits is used.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from numpy.typing import NDArray

from everlearn.agents.tabular import records
from everlearn.protocol import Experience, Table

EVIDENCE = 5.0
"""The agent follows changes once the gain of the recent model is so many standard deviations above 0."""


class Settings(NamedTuple):
    """The parameters of the agent; ``patience`` is the share of ``commitment`` of each pair."""

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
