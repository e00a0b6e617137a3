"""The tree of the agent ``learned``: its nodes, the rows of its leaves, and the leaf to which the past leads."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.growing_horizon import OffsetValues, ScheduleConstants, scaled_count
from everlearn.agents.past import Sizes, value_of
from everlearn.protocol import ScheduleValues, Table

FEATURE, VALUE, YES, NO, BORN, VISITS = range(6)
"""The columns of ``nodes``: the feature that a node asks about, the value that it asks for, the nodes for the answers,
the step in which the node was made, and how often the agent was in it since then."""

LEAF, FREE = -1, -2
"""In place of a feature: a node that asks nothing, and a row that is not used."""

FIRST, WIDTH = 0, 1
"""The columns of ``slots``: the first slot of a feature, and how many it has."""

NUMBER, ERRORS, SQUARES, CODES, CODE_SQUARES, WHICH = range(6)
"""The last axis of ``noticed``: how often, the sums of errors, of codes and of their squares, and the value of the
feature that a slot is for."""

SPAN, SINCE = 5, 6
"""The last axis of ``totals``, after the number and the sums: the number of errors after which the leaf is reviewed,
and the step after which they are counted."""


class Tree(NamedTuple):
    """The tree, the rows of its leaves, the past, and the statistics of errors; the tally, which may act instead."""

    cells: NDArray[Any]
    """One record per node, as in :class:`everlearn.agents.growing_horizon.OffsetValues`; those of leaves are used."""
    nodes: NDArray[np.int64]
    """The first nodes are the roots, one per aleatoric state."""
    past: NDArray[np.int64]
    """The features, then the tally (:mod:`everlearn.agents.tally`): the last event, the leaders, and their leads."""
    before: NDArray[np.int64]
    """The past before the step that is being learned from."""
    strayed: NDArray[np.int64]
    """One number: more than 0 if the agent took an action that was not greedy in the last steps, up to ``lags`` ago."""
    slots: NDArray[np.int64]
    noticed: Table
    """By node, action and slot."""
    totals: Table
    """By node and action."""
    rows: NDArray[Any]
    """One record per row of the tally, as in ``cells``."""
    codes: NDArray[np.int64]
    """By row of the tally: a number for what is in it."""
    tallied: NDArray[np.int64]
    """By row of the tally: how often the agent was in it."""
    chances: Table
    """By row of the tally, action, and whether its lead is n or more, n, or more than n: the number of visits, at most
    ``MEMORY``, and how often the action brought its leader."""
    agreed: Table
    """By action and leader: how often these chances were compared, the sum of the products, and that of squares."""
    told: NDArray[np.int64]
    """By action and leader: n, the least lead that is not told apart from greater ones."""
    paid: Table
    """By observation: how often it was made, and the sum of the rewards."""
    usual: NDArray[np.int64]
    """One number: the most frequent observation."""
    choice: NDArray[Any]
    """One record with the fields of :mod:`everlearn.agents.phases`, in which the tree is the first of the two.
    ``tally`` is 1 if the tally acts, and ``hidden`` is 1 once a question was found that predicts what is observed."""
    states: int
    sizes: Sizes
    threshold: float
    effect: float
    window: float
    curiosity: float
    share: float
    phase: float
    shortest: float
    least: float
    price: float
    constants: ScheduleConstants


def rows_of(knowledge: Tree) -> OffsetValues:
    """Return the rows of all nodes as knowledge of the growing-horizon agent."""
    return OffsetValues(knowledge.cells, knowledge.constants)


def leaf(knowledge: Tree, aleatoric_state: int) -> int:
    """Return the leaf to which the present past leads."""
    nodes = knowledge.nodes
    node = aleatoric_state
    for _ in range(len(nodes)):  # a tree with a cycle, which only a state that was tampered with has, ends too
        if nodes[node, FEATURE] < 0:
            break
        node = nodes[node, YES] if answer(knowledge, node) else nodes[node, NO]
    return node


def answer(knowledge: Tree, node: int) -> bool:
    """Return the present answer to the question of a node."""
    feature = knowledge.nodes[node, FEATURE]
    value = value_of(knowledge.past, knowledge.sizes, feature)
    wanted = knowledge.nodes[node, VALUE]
    return bool(value >= wanted) if feature >= ordered(knowledge.sizes) else bool(value == wanted)


def ordered(sizes: Sizes) -> int:
    """Return the first feature whose questions are "at least" (:class:`everlearn.agents.past.Sizes`)."""
    return 2 * sizes.lags + 1 + sizes.changes


def visits(knowledge: Tree, node: int, a: int, now: ScheduleValues) -> float:
    """Return N of a node and an action."""
    count = knowledge.cells["count"]
    stamp = knowledge.cells["stamp"]
    if stamp.shape[1] == 0:
        return count[node, a]  # type: ignore[no-any-return]
    return scaled_count(count[node, a], stamp[node, a], now.scale, now.exponent)


def set_visits(knowledge: Tree, node: int, a: int, n: float, now: ScheduleValues) -> None:
    """Set N of a node and an action."""
    count = knowledge.cells["count"]
    stamp = knowledge.cells["stamp"]
    if stamp.shape[1] == 0:
        count[node, a] = n
    else:
        count[node, a] = n * now.unscale
        stamp[node, a] = now.exponent
