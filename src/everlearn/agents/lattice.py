"""The lattice planner: what is learned of moves in one place is used in all places like it.

The parts of an aleatoric state that is a tuple of whole numbers, such as the lengths of queues, are the coordinates of
a *place*.  A step is a *move*: the difference of two places.  Places are *alike* if they are equally near to the ends
of the lattice: they have the same coordinates where one is less than ``near`` away from an end, and the others count as
far.  For each kind of place and each action the agent counts the moves, and sums the rewards and the places after the
step.  So the chances of moves are learned from all visits to places of a kind.  The reward of a step is estimated as
the mean of its kind, plus w times the difference of the next place from its mean, where w are the weights of a linear
regression of all rewards on next places: costs are linear in the lengths of queues, and the kinds have the rest.

It plans on this model by relative value iteration in place (Gauss-Seidel), without discount.  A backup is

    A(s, a) = r(s, a) - g + sum of p(move) (h(s + move) - h(s)),    h(s) += max_a A(s, a) / (1 - p(stay)),

but in the place that was visited most, h stays, and g += max_a A(s, a) / T instead, where T is the mean time between
visits to it, and g stays within the range of rewards.  (With more than 1 / T, g overshoots: if g is too small by d, the
values of what follows are too large by up to d T.)  An action that was only seen to stay moves h by A(s, a).  Each step
does a fixed number of backups: of the two states of the step, and of others in turn; g changes only when it is the turn
of that place.

If some aleatoric states are no places, such as ``outside`` in a network of queues, the lattice has no upper end: it is
a part of a larger one.  Then a move across its upper boundary is planned as if it stayed there, and steps to or from
other states are not learned from.  An action that was not learned from yet keeps the value 0.

Where an action was taken less than ``trials`` log(1 + t) times in a kind of place, it is taken; otherwise the agent is
greedy.  If the aleatoric states are no lattice, every state is a kind of its own, and nothing is shared.

That moves depend on places in this way is knowledge about the task, which the agent assumes and does not test.  That
transitions are a few parameters to be estimated while one plans as if they were known is the certainty equivalence of
adaptive control; learning inside a set of queue lengths and following a stabilising rule outside is due to RL-QN (Liu,
Xie and Modiano, 2019), whose model has no shared moves.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.checks import MOST_COUNTED, MOST_ENTRIES, check_at_least
from everlearn.agents.design import Design
from everlearn.agents.tabular import greedy_action, greedy_policy, records, value_table
from everlearn.aleatoric.features import fixed
from everlearn.aleatoric.places import Places, find_places
from everlearn.errors import require
from everlearn.protocol import Experience, ScheduleValues, Table
from everlearn.tasks.indexed import IndexedTask

MOVES, ENTRIES = 64, 100_000
"""The most different moves that are learned in a kind of place, or more if there are not more entries of ``counts``;
steps by others are not learned from."""

LEAST_PACE = 0.01
"""The least probability of leaving a state that a backup divides by."""

WIDE = 100.0
"""The variance of the weights before the first step."""


class Lattice(NamedTuple):
    """The lattice (the fields of :class:`Places` come first), the model of moves and rewards, and the values."""

    places: NDArray[np.int64]
    occupants: NDArray[np.int64]
    sizes: NDArray[np.int64]
    strides: NDArray[np.int64]
    kinds: NDArray[np.int64]
    moves: NDArray[np.int64]
    """The moves that were seen in each kind of place, in the order in which they were first seen."""
    known: NDArray[np.int64]
    """The number of moves that were seen in each kind of place."""
    counts: Table
    """How often each move was seen, by kind and action."""
    totals: NDArray[Any]
    """One record per kind.  For each action it has ``trials``, the number of steps, and ``visits``, the number of those
    that were learned from; of these it has the sums of rewards, ``reward``, and of next places, ``place``, where the
    coordinates for the first action come first."""
    weights: Table
    """The weights w, after that of a constant."""
    spread: Table
    """The inverse of the sum of products of regressors, by which the regression is recursive."""
    cells: NDArray[Any]
    """One record per aleatoric state: ``value`` for each action; ``best``, which is h; and ``visits``."""
    run: NDArray[Any]
    """One record: ``turn``, which state is backed up next; ``gain``, g;
    ``least``, how often each action is tried in a kind of place; ``usual``, the state that was visited most;
    and ``staying``, how often each action stayed in the place that is being backed up."""
    trials: float
    backups: int


def act(knowledge: Lattice, aleatoric_state: int, now: ScheduleValues, stream: Any) -> int:  # noqa: ARG001
    """Take an action that was taken too seldom in such places, or else one of greatest value."""
    kind = knowledge.kinds[aleatoric_state]
    if kind >= 0:
        seldom = rarest(knowledge, aleatoric_state, kind)
        if seldom >= 0:
            return seldom
    return greedy_action(knowledge.cells["value"], aleatoric_state, stream)


def rarest(knowledge: Lattice, s: int, kind: int) -> int:
    """Return the action that was taken least in a kind of place; -1 if that is often enough."""
    value = knowledge.cells["value"]
    trials = knowledge.totals["trials"]
    fewest = knowledge.run["least"][0, 0]
    action = -1
    for a in range(value.shape[1]):
        if trials[kind, a] < fewest and value[s, a] > -math.inf:
            fewest = trials[kind, a]
            action = a
    return action


def learn(knowledge: Lattice, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Count the move, fit the reward, and do the backups of this step."""
    s = experience.aleatoric_state
    following = experience.next_aleatoric_state
    kind = knowledge.kinds[s]
    if kind >= 0:
        knowledge.totals["trials"][kind, experience.action] += 1.0
        move = move_between(knowledge, s, following)
        if move >= 0:
            count(knowledge, experience, move)
            fit(knowledge, following, experience.reward)
    knowledge.run["least"][0, 0] = knowledge.trials * math.log(now.t + 1.0)
    visit(knowledge, following)
    back_up(knowledge, s, 0.0)
    back_up(knowledge, following, 0.0)
    share = knowledge.cells["visits"][int(knowledge.run["usual"][0, 0]), 0] / now.t
    for _ in range(knowledge.backups):
        turn = int(knowledge.run["turn"][0, 0])
        back_up(knowledge, turn, share)
        knowledge.run["turn"][0, 0] = (turn + 1) % len(knowledge.kinds)


def visit(knowledge: Lattice, s: int) -> None:
    """Count a visit to a place, and note which place was visited most."""
    if knowledge.kinds[s] < 0:
        return
    visits = knowledge.cells["visits"]
    visits[s, 0] += 1.0
    if visits[s, 0] > visits[int(knowledge.run["usual"][0, 0]), 0]:
        knowledge.run["usual"][0, 0] = s


def move_between(knowledge: Lattice, s: int, following: int) -> int:
    """Return the number of the move from a place; -1 if it is new and there is no space for it, or goes to no place."""
    if knowledge.kinds[following] < 0:
        return -1
    places = knowledge.places
    moves = knowledge.moves
    kind = knowledge.kinds[s]
    known = int(knowledge.known[kind])
    dimensions = places.shape[1]
    for move in range(known):
        same = True
        for c in range(dimensions):
            same = same and moves[kind, move, c] == places[following, c] - places[s, c]
        if same:
            return move
    if known == moves.shape[1]:
        return -1
    for c in range(dimensions):
        moves[kind, known, c] = places[following, c] - places[s, c]
    knowledge.known[kind] += 1
    return known


def count(knowledge: Lattice, experience: Experience, move: int) -> None:
    """Count a move, and add the reward and the next place to the sums of the kind of place."""
    kind = knowledge.kinds[experience.aleatoric_state]
    a = experience.action
    knowledge.counts[kind, a, move] += 1.0
    knowledge.totals["visits"][kind, a] += 1.0
    knowledge.totals["reward"][kind, a] += experience.reward
    places = knowledge.places
    dimensions = places.shape[1]
    for c in range(dimensions):
        knowledge.totals["place"][kind, a * dimensions + c] += places[experience.next_aleatoric_state, c]


def fit(knowledge: Lattice, following: int, reward: float) -> None:
    """Move the weights to those of the least squares of all rewards on next places, recursively."""
    weights = knowledge.weights
    spread = knowledge.spread
    number = len(weights)
    x = np.ones(number)
    for c in range(number - 1):
        x[c + 1] = knowledge.places[following, c]
    product = np.zeros(number)
    scale = 1.0
    error = reward
    for i in range(number):
        for j in range(number):
            product[i] += spread[i, j] * x[j]
        scale += x[i] * product[i]
        error -= weights[i] * x[i]
    for i in range(number):
        weights[i] += product[i] / scale * error
        for j in range(number):
            spread[i, j] -= product[i] * product[j] / scale


def back_up(knowledge: Lattice, s: int, share: float) -> None:
    """Compute the values of a place from the model and the values of the places after each move.

    Where h stays, move g by ``share`` of the error instead.
    """
    kind = knowledge.kinds[s]
    if kind < 0:
        return
    best = knowledge.cells["best"]
    value = knowledge.cells["value"]
    run = knowledge.run
    add_up(knowledge, s, kind)
    most = -math.inf
    pace = 1.0
    for a in range(value.shape[1]):
        visits = knowledge.totals["visits"][kind, a]
        if visits > 0.0 and value[s, a] > -math.inf:
            gained = value[s, a] / visits - run["gain"][0, 0]
            value[s, a] = best[s, 0] + gained
            if gained > most:
                most = gained
                leaving = 1.0 - run["staying"][0, a] / visits
                pace = max(leaving, LEAST_PACE) if leaving > 0.0 else 1.0
    if most == -math.inf:
        return
    if s == run["usual"][0, 0]:
        run["gain"][0, 0] = min(max(run["gain"][0, 0] + share * most, 0.0), 1.0)
    else:
        best[s, 0] += most / pace


def add_up(knowledge: Lattice, s: int, kind: int) -> None:
    """Put into the values of a place, for each action, the sum of what its kind has seen; and how often it stayed.

    Compiled code counts references whenever it takes an array out of a tuple, so each is taken once.
    """
    places = knowledge.places
    occupants = knowledge.occupants
    sizes = knowledge.sizes
    strides = knowledge.strides
    moves = knowledge.moves
    counts = knowledge.counts
    visits = knowledge.totals["visits"]
    reward = knowledge.totals["reward"]
    place = knowledge.totals["place"]
    weights = knowledge.weights
    best = knowledge.cells["best"]
    value = knowledge.cells["value"]
    staying = knowledge.run["staying"]
    for a in range(value.shape[1]):
        staying[0, a] = 0.0
        if visits[kind, a] > 0.0 and value[s, a] > -math.inf:
            value[s, a] = reward[kind, a]
            for c in range(len(sizes)):  # less what the weights explain
                value[s, a] -= weights[c + 1] * place[kind, a * len(sizes) + c]
    for move in range(knowledge.known[kind]):
        following = place_after(places, occupants, sizes, strides, moves, kind, s, move)
        explained = 0.0
        for c in range(len(sizes)):
            explained += weights[c + 1] * places[following, c]
        ahead = best[following, 0] - best[s, 0] + explained
        for a in range(value.shape[1]):
            value[s, a] += counts[kind, a, move] * ahead  # none if the action was never taken
            staying[0, a] += counts[kind, a, move] if following == s else 0.0


def place_after(
    places: NDArray[np.int64],
    occupants: NDArray[np.int64],
    sizes: NDArray[np.int64],
    strides: NDArray[np.int64],
    moves: NDArray[np.int64],
    kind: int,
    s: int,
    move: int,
) -> int:
    """Return the state after a move; a coordinate does not leave the lattice, and where no state is, it stays."""
    place = 0
    for c in range(len(sizes)):
        x = places[s, c] + moves[kind, move, c]
        place += min(max(x, 0), sizes[c] - 1) * strides[c]
    following: int = occupants[place]
    return following if following >= 0 else s


def policy(knowledge: Lattice) -> Table:
    """Return the greedy policy; where an action was taken too seldom, that action."""
    values, kinds = knowledge.cells["value"], knowledge.kinds
    probabilities = greedy_policy(values)
    trials = np.where(values > -math.inf, knowledge.totals["trials"][kinds], math.inf)
    forced = (kinds >= 0) & (trials.min(axis=1) < knowledge.run["least"][0, 0])
    probabilities[forced] = np.eye(values.shape[1])[trials[forced].argmin(axis=1)]
    return probabilities


def inspect(knowledge: Lattice, now: ScheduleValues) -> dict[str, Table]:  # noqa: ARG001
    """Return the values Q and V relative to the first state, the weights w, and how often each move was seen."""
    cells, times = knowledge.cells, knowledge.counts.sum(axis=1)
    moves, number = np.unique(knowledge.moves[times > 0.0], axis=0, return_inverse=True)
    seen = np.bincount(number.ravel(), times[times > 0.0], len(moves))
    shown = {"Q": cells["value"].copy(), "V": cells["best"][:, 0].copy(), "w": knowledge.weights[1:].copy()}
    return {**shown, "moves": moves, "seen": seen}


def lattice(*, near: int = 2, trials: float = 8.0, backups: int = 10) -> Design:
    """Plan on a lattice, such as queue lengths: learn moves and costs once for all places that are alike.

    Parameters
    ----------
    near:
        places are alike if they are equally near to the ends of the lattice; from this distance on, they are far
    trials:
        an action is taken at least ``trials`` log(1 + t) times in each kind of place
    backups:
        the number of states that are backed up per step, in addition to the two states of the step

    Examples
    --------
    The agent learns in one place that an action moves one to the right, and knows it in all others:

    >>> from everlearn.agents.agent import Agent
    >>> agent = Agent("riverswim", lattice(near=1), seed=1)
    >>> for observation in (1, 2, 3):
    ...     reward = agent.observe(observation, executed="right")
    >>> agent.inspect()["moves"].tolist(), agent.inspect()["seen"].tolist()
    ([[1]], [3.0])

    """
    require(1 <= near <= MOST_COUNTED, "agent.near", near, "give a whole number of at least 1")
    check_at_least(0, trials=trials)
    require(0 <= backups <= MOST_COUNTED, "agent.backups", backups, "give a whole number of at least 0")

    def build(indexed: IndexedTask) -> Lattice:
        grid = Places(*(fixed(array) for array in find_places(indexed.task.states, near)))
        kinds, dimensions, actions = int(grid.kinds.max()) + 1, grid.places.shape[1], indexed.actions
        most = min(max(MOVES, ENTRIES // (kinds * actions)), math.prod(2 * int(x) - 1 for x in grid.sizes))
        entries = kinds * most * (actions + dimensions)
        remedy = f"it would count moves in {entries:,} entries, at most {MOST_ENTRIES:,}; use planner, or fewer states"
        require(entries <= MOST_ENTRIES, "agent", "lattice", remedy)
        return Lattice(
            *grid,
            np.zeros((kinds, most, dimensions), dtype=np.int64),
            np.zeros(kinds, dtype=np.int64),
            np.zeros((kinds, actions, most)),
            records(kinds, trials=actions, visits=actions, reward=actions, place=actions * dimensions),
            np.zeros(dimensions + 1),
            WIDE * np.eye(dimensions + 1),
            records(indexed.states, value=actions, best=1, visits=1),
            records(1, turn=1, gain=1, least=1, usual=1, staying=actions),
            trials,
            backups,
        )

    return Design(build, act, learn, policy, inspect=inspect, unit=True, values=value_table, masks=True, name="lattice")
