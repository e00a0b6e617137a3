"""Split the leaves of the agent ``learned``, and merge them again when no node is free."""

from __future__ import annotations

import math

from everlearn.agents.evidence import answered_yes, forget
from everlearn.agents.tree import (
    BORN,
    ERRORS,
    FEATURE,
    FREE,
    LEAF,
    NO,
    NUMBER,
    VALUE,
    VISITS,
    YES,
    Tree,
    set_visits,
    visits,
)
from everlearn.protocol import ScheduleValues

CONFIDENCE = 100.0
"""The largest count with which a new leaf starts: less than that of its parent, so that it explores."""

YOUTH = 10_000
"""For how many steps a split is not undone."""

LEAST_GAIN = 2.0
"""By which factor a split must be more useful than the one that it replaces."""


def split(knowledge: Tree, s: int, feature: int, value: int, now: ScheduleValues) -> None:
    """Turn a leaf into a question with two leaves."""
    yes = new_leaf(knowledge, now)
    no = new_leaf(knowledge, now)
    knowledge.nodes[s, FEATURE] = feature
    knowledge.nodes[s, VALUE] = value
    knowledge.nodes[s, YES] = yes
    knowledge.nodes[s, NO] = no
    for a in range(knowledge.totals.shape[1]):
        n1, errors = answered_yes(knowledge, s, a, feature, value)
        n0 = knowledge.totals[s, a, NUMBER] - n1
        share = (n1 + 1.0) / (n1 + n0 + 2.0)
        inherit(knowledge, s, yes, a, share, n1, errors, now)
        inherit(knowledge, s, no, a, 1.0 - share, n0, knowledge.totals[s, a, ERRORS] - errors, now)


def new_leaf(knowledge: Tree, now: ScheduleValues) -> int:
    """Return a free node, made a leaf."""
    nodes = knowledge.nodes
    node = knowledge.states
    while nodes[node, FEATURE] != FREE:
        node += 1
    nodes[node, FEATURE] = LEAF
    clear(knowledge, node, now)
    return node


def clear(knowledge: Tree, node: int, now: ScheduleValues) -> None:
    """Let a leaf be as if it had never been visited, except for its values and counts."""
    knowledge.nodes[node, BORN] = now.t
    knowledge.nodes[node, VISITS] = 0
    if knowledge.cells["left"].shape[1] > 0:
        knowledge.cells["left"][node, 0] = 0.0
    for a in range(knowledge.totals.shape[1]):
        forget(knowledge, node, a, knowledge.window, now)


def inherit(
    knowledge: Tree, parent: int, child: int, a: int, share: float, n: float, errors: float, now: ScheduleValues
) -> None:
    """Let a new leaf start from the values of its parent plus its own mean error, and with a share of the count."""
    cells = knowledge.cells
    shift = errors / n if n > 0.0 else 0.0
    value = cells["value"][parent, a]
    cells["value"][child, a] = min(value + shift, now.ceiling) if n > 0.0 else value
    set_visits(knowledge, child, a, min(visits(knowledge, parent, a, now) * share, CONFIDENCE), now)
    if cells["mean"].shape[1] > 0:
        cells["mean"][child, a] = cells["mean"][parent, a] + shift
        cells["variance"][child, a] = cells["variance"][parent, a]


def make_room(knowledge: Tree, s: int, gain: float, now: ScheduleValues) -> bool:
    """Return whether a leaf s can be split: two nodes are free, if necessary after undoing a much less useful split."""
    free = 0
    least = math.inf
    undone = -1
    for node in range(knowledge.nodes.shape[0]):
        if knowledge.nodes[node, FEATURE] == FREE:
            free += 1
            if free == 2:
                return True
        else:
            useful = usefulness(knowledge, node, now)
            if useful < least and knowledge.nodes[node, YES] != s and knowledge.nodes[node, NO] != s:
                least = useful
                undone = node
    if gain <= LEAST_GAIN * least:
        return False
    merge(knowledge, undone, now)
    return True


def usefulness(knowledge: Tree, node: int, now: ScheduleValues) -> float:
    """Return how useful a question is whose answers are both leaves; infinity for any other node.

    That is the greatest difference between their values, times how often the agent is in the rarer of the two: the same
    measure as that of a question that is not asked yet.
    """
    nodes = knowledge.nodes
    if nodes[node, FEATURE] < 0:
        return math.inf
    yes = nodes[node, YES]
    no = nodes[node, NO]
    age = now.t - nodes[yes, BORN]
    if nodes[yes, FEATURE] != LEAF or nodes[no, FEATURE] != LEAF or age < YOUTH:
        return math.inf
    value = knowledge.cells["value"]
    difference = 0.0
    for a in range(value.shape[1]):
        if value[yes, a] > -math.inf:  # no action is forbidden on one side only
            difference = max(difference, abs(value[yes, a] - value[no, a]))
    return difference * min(nodes[yes, VISITS], nodes[no, VISITS]) / age  # type: ignore[no-any-return]


def merge(knowledge: Tree, node: int, now: ScheduleValues) -> None:
    """Turn a question whose answers are leaves into a leaf, and free these; their values are averaged by counts."""
    cells = knowledge.cells
    yes = knowledge.nodes[node, YES]
    no = knowledge.nodes[node, NO]
    for a in range(knowledge.totals.shape[1]):
        n = visits(knowledge, yes, a, now) + visits(knowledge, no, a, now)
        share = visits(knowledge, yes, a, now) / n if n > 0.0 else 1.0
        cells["value"][node, a] = mixture(cells["value"][yes, a], cells["value"][no, a], share)
        set_visits(knowledge, node, a, n, now)
        if cells["mean"].shape[1] > 0:
            cells["mean"][node, a] = mixture(cells["mean"][yes, a], cells["mean"][no, a], share)
            cells["variance"][node, a] = mixture(cells["variance"][yes, a], cells["variance"][no, a], share)
    knowledge.nodes[yes, FEATURE] = FREE
    knowledge.nodes[no, FEATURE] = FREE
    knowledge.nodes[node, FEATURE] = LEAF
    clear(knowledge, node, now)


def mixture(one: float, other: float, share: float) -> float:
    """Return a weighted mean; of numbers that are equal, which may be infinite, the number."""
    return one if one == other else share * one + (1.0 - share) * other
