"""Freeze what an agent has learned to remember: an aleatoric state with a policy, which theory evaluates exactly.

The questions of a tree need only some of the features (:mod:`everlearn.agents.past`).  These features, with what is
needed to update them, are the learned state: the observation three steps ago needs the two after it, and a clock need
not count beyond the greatest age that a question asks about.

The policy is not the greedy policy of the moment, for two reasons.  The agent explores by optimism and repeats an
action for some visits, so the greatest value of a leaf may belong to an action that it is only trying.  And where the
learned state says too little, the agent gets unstuck because an action that does not help loses value; a frozen greedy
policy repeats it forever.  So :func:`settled_policy` uses the actions that the agent has taken most often.

Many questions hardly matter to this policy: the most frequent action is the same after both answers.  Without them the
learned state is much smaller, so :func:`simplified` can remove them.

If the tally (:mod:`everlearn.agents.tally`) has earned more than the tree, the learned state is the tally instead.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from everlearn.agents import tally
from everlearn.agents.agent import Agent
from everlearn.agents.growing_horizon import VANISHED
from everlearn.agents.knowledge import copied
from everlearn.agents.past import AGES, Sizes, update
from everlearn.agents.tabular import greedy_policy
from everlearn.agents.tree import FEATURE, FREE, LEAF, NO, VALUE, VISITS, YES, Tree, leaf
from everlearn.aleatoric.state import AleatoricState
from everlearn.errors import InputError, require
from everlearn.protocol import Label, Table
from everlearn.tasks.task import Task
from everlearn.tasks.views import seen_through

NEAR = 0.05
"""An action is a candidate for the best of a leaf if its value is within this of the greatest (rewards in [0, 1])."""

REST = 0.02
"""The probability with which the frozen policy draws an action by its past frequency instead of the best action."""


class Frozen(NamedTuple):
    """A task seen through the state that an agent has learned, and the agent's policy over it.

    An aleatoric state of ``task`` has two parts: that of the agent's task, and the numbers that the agent remembers.
    ``policy`` has one row per aleatoric state, as :meth:`everlearn.Theory.average_reward` takes it.
    """

    task: Task
    policy: Table


def freeze(agent: Agent, *, rare: float | None = None) -> Frozen:
    """Return the agent's task with the learned state as its aleatoric state, and a fixed policy over these states.

    The policy mostly takes the actions that the agent has taken most often.  (This is unrelated to ``Live.freeze``.)

    Parameters
    ----------
    agent:
        an agent with the design ``learned``; it is not changed
    rare:
        if given, leave out questions that matter little to the policy: those with the same most frequent action after
        both answers, and those with an answer that has less than this share of all visits.  (Visits to a leaf are
        counted from when it was made.)  The state is then smaller; often, theory can evaluate the policy only over
        this smaller state.  If ``rare`` is 0, every past keeps its most frequent action.  But where a question is
        left out, probabilities of actions are averaged, so the average reward may change a little (1.1134 to 1.1287 in
        one run of ``cheese-maze``).  By default all questions are kept.  It has no effect if the learned state is the
        tally

    Examples
    --------
    In a maze the agent must remember a cue.  At first it remembers nothing, and every policy loses half of the reward:

    >>> import everlearn as el
    >>> agent = el.Agent("t-maze", "learned", parameters={"task.window": 1}, seed=1)
    >>> round(el.Theory(el.freeze(agent).task).distortion(10).value, 6)
    1.0

    After it has learned, the distortion of its state is 0, and the best policy over the state is optimal:

    >>> environment = agent.task.start(np.random.default_rng(1))
    >>> for _ in range(8000):
    ...     reward = agent.observe(environment.step(agent.act()))
    >>> theory = el.Theory(el.freeze(agent).task)
    >>> round(abs(theory.distortion(10).value), 6), round(theory.best_aleatoric.average_reward * 6, 6)
    (0.0, 1.0)

    Its policy needs fewer questions than it has asked:

    >>> len(theory.task.states) > len(el.freeze(agent, rare=0).task.states)
    True

    """
    remedy = "give an agent; pass finished= to el.run to get the agent of a run"
    require(isinstance(agent, Agent), "agent", type(agent).__name__, remedy)
    knowledge = agent.knowledge
    if not isinstance(knowledge, Tree):
        raise InputError("agent", agent.design.name, "its state is given, not learned; give an agent 'learned'")
    fine = rare is None or (isinstance(cast("object", rare), int | float | np.number) and 0 <= rare < 1)
    require(fine, "rare", rare, "give a share of all visits, from 0 to less than 1, or None")
    kept, rows = remembered(knowledge, rare)
    indexed = agent.indexed

    def follow(memory: Any, action: Label, observation: Label) -> Label:
        return kept.follow(memory, indexed.action(action), indexed.observation(observation))

    task = seen_through(agent.task, AleatoricState(kept.memory(knowledge.sizes.begin()), follow))
    pairs = cast("tuple[tuple[Label, Any], ...]", task.states)
    return Frozen(task, rows[[kept.row(memory, indexed.state(natural)) for natural, memory in pairs]])


def remembered(knowledge: Tree, rare: float | None) -> tuple[Kept | Tallied, Table]:
    """Return what an agent remembers, of the tree or of the tally, and what it has settled on in each row of that."""
    if tally.earned_more(knowledge):
        return Tallied(knowledge), settled_policy(knowledge.rows)
    rows = settled_policy(knowledge.cells)
    if rare is not None:
        knowledge, rows = simplified(knowledge, rows, rare)
    return Kept(knowledge), rows


def simplified(knowledge: Tree, rows: Table, rare: float) -> tuple[Tree, Table]:
    """Return a tree without the questions that matter little to a policy, and this policy; both have a row per node.

    From the bottom up, a question between two leaves is left out if both have the same most frequent action: the
    probabilities are then averaged by visits.  It is also left out if one leaf has less than the share ``rare`` of all
    visits, counted in each leaf since it was made: the other leaf then stands for both.
    """
    nodes, policy = knowledge.nodes.copy(), rows.copy()
    order = [*range(knowledge.states)]  # each node comes before those below it
    for node in order:
        if nodes[node, FEATURE] >= 0:
            order += nodes[node, [YES, NO]].tolist()
    least = rare * sum(int(nodes[node, VISITS]) for node in order if nodes[node, FEATURE] == LEAF)
    for node in reversed(order):
        if nodes[node, FEATURE] >= 0:
            few, many = sorted(nodes[node, [YES, NO]].tolist(), key=lambda child: int(nodes[child, VISITS]))
            visits = nodes[[few, many], VISITS]
            nodes[node, VISITS] = visits.sum()
            same = policy[few].argmax() == policy[many].argmax()
            if (nodes[[few, many], FEATURE] == LEAF).all() and (same or visits[0] < least):
                mixed = same and visits[0] > 0
                policy[node] = np.average(policy[[few, many]], axis=0, weights=visits) if mixed else policy[many]
                nodes[node, FEATURE] = LEAF
                nodes[[few, many], FEATURE] = FREE
    return knowledge._replace(nodes=nodes), policy


def settled_policy(cells: NDArray[Any]) -> Table:
    """Return what an agent has settled on in each of some leaves, given as records.

    With probability 1 - ``REST``, that is the action taken most often among those whose value is within ``NEAR`` of the
    greatest; otherwise it is drawn with the frequencies with which the actions were taken.

    Examples
    --------
    The first action is better by a little at this moment; the second was taken a hundred times as often:

    >>> from everlearn.agents.tabular import records
    >>> leaves = records(1, value=3, count=3, stamp=0)
    >>> leaves["value"], leaves["count"] = [0.51, 0.5, 0.1], [9, 900, 91]
    >>> settled_policy(leaves).round(5).tolist()
    [[0.00018, 0.998, 0.00182]]

    """
    values: Table = cells["value"]
    counts = _counts(cells)
    total = counts.sum(axis=1, keepdims=True)
    best = greedy_policy(np.where(values >= values.max(axis=1, keepdims=True) - NEAR, counts, -1.0))
    taken = np.divide(counts, total, out=greedy_policy(values), where=total > 0)
    return np.asarray(np.where(total > 0, (1.0 - REST) * best + REST * taken, taken))


def _counts(cells: NDArray[Any]) -> Table:
    """Return the counts of each leaf, relative to each other: without the factor that all of its actions share."""
    stamps = cells["stamp"]
    if stamps.shape[1] == 0:
        return cells["count"].copy()
    powers = np.maximum(stamps.min(axis=1, keepdims=True) - stamps, VANISHED)
    return np.asarray(np.ldexp(cells["count"], powers.astype(np.int64)))


class Kept:
    """The numbers of the past that the questions of a tree need."""

    def __init__(self, knowledge: Tree) -> None:
        self.tree: Tree = copied(knowledge)
        self.sizes = knowledge.sizes
        self.limits: dict[int, int] = {}
        places: set[int] = set()
        for feature, value in knowledge.nodes[:, [FEATURE, VALUE]].tolist():
            if feature >= 0:
                places |= set(needed(self.sizes, feature))
                self.limits[feature] = max(self.limits.get(feature, 0), value)
        self.places = sorted(places)

    def memory(self, past: NDArray[np.int64]) -> tuple[int, ...]:
        """Return these numbers; a clock counts to the greatest age that is asked about."""
        for clock in range(self.sizes.ordered, self.sizes.ordered + self.sizes.timed):
            if limit := self.limits.get(clock, 0):
                past[clock] = min(past[clock], AGES[limit - 1])
        return tuple(past[self.places].tolist())

    def past(self, memory: Any) -> NDArray[np.int64]:
        """Return a past with these numbers; the others are as at the beginning."""
        past = self.sizes.begin()
        past[self.places] = memory
        return past

    def follow(self, memory: Any, action: int, observation: int) -> tuple[int, ...]:
        """Return what is remembered a step later."""
        past = self.past(memory)
        update(past, self.sizes, action, observation)
        return self.memory(past)

    def row(self, memory: Any, aleatoric_state: int) -> int:
        """Return the leaf in which the agent is with a memory."""
        self.tree.past[:] = self.past(memory)
        return leaf(self.tree, aleatoric_state)


class Tallied:
    """The tally, as an agent remembers it: events, and which leads are told apart, no longer change."""

    def __init__(self, knowledge: Tree) -> None:
        self.tree: Tree = copied(knowledge)
        self.first = knowledge.sizes.features

    def memory(self, past: NDArray[np.int64]) -> tuple[int, ...]:
        """Return the last event, the leaders, and their leads; an action without a lead has no leader."""
        event, *rest = past[self.first :].tolist()
        actions = len(rest) // 2
        leads = rest[actions:]
        leaders = [leader if lead > 0 else 0 for leader, lead in zip(rest[:actions], leads, strict=True)]
        return (event, *leaders, *leads)

    def past(self, memory: Any) -> NDArray[np.int64]:
        """Return a past with these numbers; the others are as at the beginning."""
        past = self.tree.sizes.begin()
        past[self.first :] = memory
        return past

    def follow(self, memory: Any, action: int, observation: int) -> tuple[int, ...]:
        """Return what is remembered a step later."""
        self.tree.past[:] = self.past(memory)
        tally.move(self.tree, action, observation)
        return self.memory(self.tree.past)

    def row(self, memory: Any, aleatoric_state: int) -> int:
        """Return the row in which the agent is with a memory."""
        self.tree.past[:] = self.past(memory)
        return tally.row_of(self.tree, tally.code_of(self.tree, aleatoric_state))


def needed(sizes: Sizes, feature: int) -> list[int]:
    """Return the places in the past from which a feature follows, step by step."""
    kind, number = sizes.kinds[feature]
    if kind == "observation":
        return list(range(number + 1))
    if kind == "action":
        return list(range(sizes.lags + 1, sizes.lags + 1 + number))
    if kind == "change":
        return [0, *range(2 * sizes.lags + 1, 2 * sizes.lags + 1 + number)]
    if kind in ("clock", "order"):
        return [feature]
    reset, observation = divmod(number, sizes.observations)
    counts = range(feature - observation, feature - observation + sizes.observations)
    return [*counts, sizes.lags + 1] if reset == 0 else [*counts]
