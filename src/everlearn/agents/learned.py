"""An agent that learns what to remember: it grows a tree of questions about the past below every aleatoric state.

A leaf of the tree is a row of the growing-horizon agent, which so composes with every schedule, optimism and held
actions.  An inner node asks a question about a feature of the past (:mod:`everlearn.agents.past`), and the answers lead
to the leaf in which the agent is now.  Everything is learned from one pass over the stream, in bounded memory:

1. *Notice.*  For each leaf and action, and each value of each feature, the agent counts how often the feature had that
   value and sums the temporal-difference errors.  If a leaf has all the past that matters, these errors do not depend
   on the features.
2. *Split.*  After a number of steps the best question is tested: do the mean errors for yes and no differ by more than
   chance and by more than a least effect?  If so, the leaf becomes an inner node.  Its children start from its values
   plus their mean errors, and with less confidence, so that they explore.  Otherwise counting starts again, for twice
   as long: errors from the time when values had not settled are forgotten.
3. *Merge.*  If the tree is full, a better split replaces the least useful one: two leaves whose values differ little,
   or which are seldom visited, become one again.

Sources: R. Andrew McCallum, "Reinforcement Learning with Selective Perception and Hidden State" (PhD thesis, Rochester,
1996): utile distinctions and U-tree, a tree over the history whose fringe is tested by statistics of returns.  Phuong
Nguyen, Peter Sunehag and Marcus Hutter, "Feature Reinforcement Learning in Practice" (EWRL 2011) and "Context Tree
Maximizing Reinforcement Learning" (AAAI 2012).  Deviations from these:

- Both keep the history and compute over it again; here each step is used once and dropped, since the stream is endless.
- U-tree asks about the last observations and actions in order; here also about changes, clocks and leads, so that the
  depth of the tree does not grow with the time for which something must be remembered.
- U-tree's test compares distributions (Kolmogorov and Smirnov) over expanded fringe nodes of several levels; here means
  are compared, one question at a time.  Two questions that matter only together are not found.
- The threshold grows with the logarithm of the time, since an endless stream is tested again and again.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents import growing_horizon
from everlearn.agents.checks import MOST_ENTRIES, check_at_least
from everlearn.agents.design import Design
from everlearn.agents.growing_horizon import OffsetValues, scaled_count
from everlearn.agents.past import Sizes, sizes_of, update
from everlearn.agents.schedule import Schedule
from everlearn.agents.tabular import largest
from everlearn.errors import require
from everlearn.protocol import Experience, ScheduleValues, Table
from everlearn.tasks.indexed import IndexedTask
from everlearn.tasks.task import Task

FEATURE, VALUE, YES, NO, BORN, VISITS = range(6)
"""The columns of ``nodes``: the feature that a node asks about, the value that it asks for, the nodes for the answers,
the step in which the node was made, and how often the agent was in it since then."""

LEAF, FREE = -1, -2
"""In place of a feature: a node that asks nothing, and a row that is not used."""

FIRST, WIDTH = 0, 1
"""The columns of ``slots``: the first slot of a feature, and how many it has."""

NUMBER, ERRORS, WHICH = 0, 1, 2
"""The last axis of ``noticed``: how often, the sum of errors, and the value of the feature that a slot is for."""

SQUARES, SPAN, SINCE = 2, 3, 4
"""The last axis of ``totals``, after the number and the sum of errors: the sum of their squares, the number of errors
after which the leaf is reviewed, and the step after which they are counted."""

WIDEST = 24
"""The most values of a feature that are told apart in a leaf at a time; of more, those that come first."""

FEWEST = 20.0
"""The fewest errors on either side of a question."""

BURN = 10.0
"""The number of visits to a leaf and action before its errors are noticed."""

CONFIDENCE = 100.0
"""The largest count with which a new leaf starts; it has less, so that it explores."""

YOUTH = 10_000
"""For how many steps a split is not undone."""

LEAST_GAIN = 2.0
"""By which factor a split must be more useful than the one that it replaces."""


class Tree(NamedTuple):
    """The tree, the rows of its leaves, the past, and the statistics of errors."""

    cells: NDArray[Any]
    """One record per node, as in :class:`everlearn.agents.growing_horizon.OffsetValues`; those of leaves are used."""
    nodes: NDArray[np.int64]
    """The first nodes are the roots, one per aleatoric state."""
    past: NDArray[np.int64]
    before: NDArray[np.int64]
    """The features before the step that is being learned from."""
    slots: NDArray[np.int64]
    noticed: Table
    """By node, action and slot."""
    totals: Table
    """By node and action."""
    states: int
    sizes: Sizes
    threshold: float
    effect: float
    window: float
    step_weight: float
    doubt: float
    rarity: float
    persistence: float
    persistence_most: float


def act(knowledge: Tree, aleatoric_state: int, now: ScheduleValues, stream: Any) -> int:
    """Act as the growing-horizon agent does, in the leaf."""
    return growing_horizon.act(rows_of(knowledge), leaf(knowledge, aleatoric_state), now, stream)


def rows_of(knowledge: Tree) -> OffsetValues:
    """Return the rows of all nodes as knowledge of the growing-horizon agent."""
    return OffsetValues(
        knowledge.cells,
        knowledge.step_weight,
        knowledge.doubt,
        knowledge.rarity,
        knowledge.persistence,
        knowledge.persistence_most,
    )


def leaf(knowledge: Tree, aleatoric_state: int) -> int:
    """Return the leaf to which the present past leads."""
    nodes = knowledge.nodes
    node = aleatoric_state
    while nodes[node, FEATURE] >= 0:
        node = nodes[node, YES] if answer(knowledge, node) else nodes[node, NO]
    return node


def answer(knowledge: Tree, node: int) -> bool:
    """Return the present answer to the question of a node."""
    feature = knowledge.nodes[node, FEATURE]
    value = knowledge.past[feature]
    wanted = knowledge.nodes[node, VALUE]
    return bool(value >= wanted) if feature >= ordered(knowledge.sizes) else bool(value == wanted)


def ordered(sizes: Sizes) -> int:
    """Return the first feature whose questions are "at least" (:class:`everlearn.agents.past.Sizes`)."""
    return 2 * sizes.lags + 1 + sizes.changes


def remember(knowledge: Tree, experience: Experience) -> None:
    """Move the past one step on, without learning."""
    update(knowledge.past, knowledge.sizes, experience.action, experience.observation)


def learn(knowledge: Tree, experience: Experience, now: ScheduleValues, stream: Any) -> None:
    """Learn as the growing-horizon agent does, from one leaf to another; notice the error, and review the leaf."""
    s = leaf(knowledge, experience.aleatoric_state)
    a = experience.action
    u = knowledge.cells["value"]
    settled = visits(knowledge, s, a, now) >= BURN
    expected = u[s, a]
    for f in range(len(knowledge.before)):
        knowledge.before[f] = knowledge.past[f]
    remember(knowledge, experience)
    following = leaf(knowledge, experience.next_aleatoric_state)
    target = experience.reward - now.drift + now.discount * largest(u, following)
    error = min(target, now.ceiling) - expected
    step = Experience(s, a, experience.observation, experience.reward, following)
    growing_horizon.learn(rows_of(knowledge), step, now, stream)
    knowledge.nodes[s, VISITS] += 1
    if settled:
        notice(knowledge, s, a, error)
        if knowledge.totals[s, a, NUMBER] >= knowledge.totals[s, a, SPAN]:
            review(knowledge, s, a, now)


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


def notice(knowledge: Tree, s: int, a: int, error: float) -> None:
    """Add an error to the statistics of a leaf and an action, under the value of each feature before the step."""
    totals = knowledge.totals
    totals[s, a, NUMBER] += 1.0
    totals[s, a, ERRORS] += error
    totals[s, a, SQUARES] += error * error
    noticed = knowledge.noticed
    for f in range(len(knowledge.before)):
        slot = slot_of(knowledge, s, a, f, knowledge.before[f])
        if slot >= 0:
            noticed[s, a, slot, NUMBER] += 1.0
            noticed[s, a, slot, ERRORS] += error


def slot_of(knowledge: Tree, s: int, a: int, f: int, value: int) -> int:
    """Return the slot for a value of a feature; -1 if there is none left."""
    first = knowledge.slots[f, FIRST]
    width = knowledge.slots[f, WIDTH]
    if width < WIDEST:
        knowledge.noticed[s, a, first + value, WHICH] = value
        return first + value  # type: ignore[no-any-return]
    for slot in range(first, first + width):
        if knowledge.noticed[s, a, slot, NUMBER] == 0.0:
            knowledge.noticed[s, a, slot, WHICH] = value
        if knowledge.noticed[s, a, slot, WHICH] == value:
            return slot
    return -1


def review(knowledge: Tree, s: int, a: int, now: ScheduleValues) -> None:
    """Split a leaf by the question that says most about the errors of an action, if it says enough."""
    feature, value, gain = best_question(knowledge, s, a, now)
    if feature >= 0 and make_room(knowledge, s, gain, now):
        split(knowledge, s, feature, value, now)
    else:
        forget(knowledge, s, a, 2.0 * knowledge.totals[s, a, SPAN], now)


def best_question(knowledge: Tree, s: int, a: int, now: ScheduleValues) -> tuple[int, int, float]:
    """Return the feature and the value of the most significant question, or -1, and how useful the question is.

    The mean errors for yes and no differ by d, which has the variance v (1 / n1 + 1 / n0).  The question passes if d^2
    is more than threshold + 2 log t times that, and d more than the least effect.
    """
    noticed = knowledge.noticed
    n = knowledge.totals[s, a, NUMBER]
    total = knowledge.totals[s, a, ERRORS]
    variance = max(knowledge.totals[s, a, SQUARES] / n - (total / n) * (total / n), 1e-12)
    best = knowledge.threshold + 2.0 * math.log(float(now.t))
    feature, value, gain = -1, 0, 0.0
    for f in range(len(knowledge.before)):
        kept = 1.0 if f >= ordered(knowledge.sizes) else 0.0  # "at least" includes the greater values
        n1 = 0.0
        errors = 0.0
        first = knowledge.slots[f, FIRST]
        for slot in range(first + knowledge.slots[f, WIDTH] - 1, first - 1, -1):
            n1 = kept * n1 + noticed[s, a, slot, NUMBER]
            errors = kept * errors + noticed[s, a, slot, ERRORS]
            n0 = n - n1
            if n1 >= FEWEST and n0 >= FEWEST and noticed[s, a, slot, NUMBER] > 0.0:
                d = errors / n1 - (total - errors) / n0
                z = d * d / (variance * (1.0 / n1 + 1.0 / n0))
                if z > best and abs(d) > knowledge.effect:
                    best = z
                    feature = f
                    value = int(noticed[s, a, slot, WHICH])
                    gain = abs(d) * min(n1, n0) / (now.t - knowledge.totals[s, a, SINCE] + 1.0)
    return feature, value, gain


def forget(knowledge: Tree, s: int, a: int, span: float, now: ScheduleValues) -> None:
    """Begin to notice errors from zero, for a number of them."""
    for slot in range(knowledge.noticed.shape[2]):
        knowledge.noticed[s, a, slot, NUMBER] = 0.0
        knowledge.noticed[s, a, slot, ERRORS] = 0.0
    knowledge.totals[s, a, NUMBER] = 0.0
    knowledge.totals[s, a, ERRORS] = 0.0
    knowledge.totals[s, a, SQUARES] = 0.0
    knowledge.totals[s, a, SPAN] = span
    knowledge.totals[s, a, SINCE] = now.t


def split(knowledge: Tree, s: int, feature: int, value: int, now: ScheduleValues) -> None:
    """Turn a leaf into a question with two leaves."""
    yes = new_leaf(knowledge, now)
    no = new_leaf(knowledge, now)
    knowledge.nodes[s, FEATURE] = feature
    knowledge.nodes[s, VALUE] = value
    knowledge.nodes[s, YES] = yes
    knowledge.nodes[s, NO] = no
    first = knowledge.slots[feature, FIRST]
    for a in range(knowledge.totals.shape[1]):
        n1 = 0.0
        errors = 0.0
        for slot in range(first, first + knowledge.slots[feature, WIDTH]):
            which = knowledge.noticed[s, a, slot, WHICH]
            if which == value or (which > value and feature >= ordered(knowledge.sizes)):
                n1 += knowledge.noticed[s, a, slot, NUMBER]
                errors += knowledge.noticed[s, a, slot, ERRORS]
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


def leaves(knowledge: Tree) -> NDArray[np.int64]:
    """Return the leaf of every aleatoric state that belongs to the present past."""
    rows = np.arange(knowledge.states)
    for s in np.flatnonzero(knowledge.nodes[: knowledge.states, FEATURE] >= 0):
        rows[s] = leaf(knowledge, int(s))
    return rows


def present(knowledge: Tree) -> OffsetValues:
    """Return copies of the rows of these leaves, as knowledge of the growing-horizon agent."""
    return rows_of(knowledge)._replace(cells=knowledge.cells[leaves(knowledge)])


def policy(knowledge: Tree) -> Table:
    """Return what the agent would do in each aleatoric state with its present past."""
    return growing_horizon.policy(present(knowledge))


def inspect(knowledge: Tree, now: ScheduleValues) -> dict[str, Table]:
    """Return Q and N in each aleatoric state with the present past, and the number of leaves of the whole tree."""
    number = float((knowledge.nodes[:, FEATURE] == LEAF).sum())
    return {**growing_horizon.inspect(present(knowledge), now), "leaves": np.array([number])}


def values(knowledge: Tree) -> Table:
    """Return the values in each aleatoric state with the present past; until the first split they can be written to."""
    rows, table = leaves(knowledge), knowledge.cells["value"]
    return table[: len(rows)] if (rows == np.arange(len(rows))).all() else table[rows]


def explain(knowledge: Tree, task: Task) -> str:
    """Return the tree in words."""
    from everlearn.agents.explained import explain as explain_tree  # it imports this module

    return explain_tree(knowledge, task)


def learned(
    *,
    schedule: Schedule,
    nodes: int = 256,
    lags: int = 3,
    changes: int = 3,
    threshold: float = 20.0,
    effect: float = 0.02,
    window: float = 40.0,
) -> Design:
    """Learn what to remember of the past with decision trees; each leaf is a state of growing-horizon.

    Parameters
    ----------
    schedule:
        foo1 to foo4, as for the growing-horizon agent
    nodes:
        the most nodes of the tree, besides one root per aleatoric state; a split takes two
    lags:
        how many of the last observations and actions can be asked about
    changes:
        how many of the last different observations can be asked about
    threshold:
        how significant a question must be: the square of the difference of mean errors, in units of its variance, must
        exceed this plus 2 log t
    effect:
        the least difference of mean errors, in units of rewards from 0 to 1
    window:
        after how many errors a leaf is reviewed first; later reviews take twice as many each

    Examples
    --------
    A maze with a long corridor: the cue at its beginning says which way to turn at its end.  The aleatoric state is the
    last observation alone, and the agent finds out that it must remember the cue.

    >>> import everlearn as el
    >>> maze, agents = {"task.length": 20, "task.window": 1}, ["growing-horizon", "learned"]
    >>> earned = [el.run("t-maze", agent, parameters=maze, steps=100_000, seed=1).final["mean"] for agent in agents]
    >>> [round(mean * 22, 1) for mean in earned]  # of the optimum
    [0.5, 1.0]

    """
    for name, number in (("nodes", nodes), ("lags", lags), ("changes", changes)):
        require(number >= 1, f"agent.{name}", number, "give a whole number of at least 1")
    check_at_least(0, threshold=threshold, effect=effect)
    check_at_least(2 * FEWEST, window=window)

    def build(indexed: IndexedTask) -> Tree:
        sizes = sizes_of(indexed, lags, changes)
        widths = np.minimum(sizes.values, WIDEST)
        rows, actions = indexed.states + nodes, indexed.actions
        _check_size(rows * actions * int(widths.sum()), indexed)
        past = sizes.begin()
        tree = np.zeros((rows, 6), dtype=np.int64)
        tree[:, FEATURE] = np.where(np.arange(rows) < indexed.states, LEAF, FREE)
        totals = np.zeros((rows, actions, 5))
        totals[:, :, SPAN] = window
        cells, *numbers = growing_horizon.begin(schedule, rows, actions)
        return Tree(
            cells,
            tree,
            past,
            past[: len(widths)].copy(),
            np.stack([np.cumsum(widths) - widths, widths], axis=1).astype(np.int64),
            np.zeros((rows, actions, int(widths.sum()), 3)),
            totals,
            indexed.states,
            sizes,
            float(threshold),
            float(effect),
            float(window),
            *numbers,
        )

    return Design(
        build,
        act,
        learn,
        policy,
        schedule,
        inspect,
        unit=schedule.unit,
        values=values,
        masks=True,
        remember=remember,
        memory="past",
        explain=explain,
        name="learned",
    )


def _check_size(entries: int, indexed: IndexedTask) -> None:
    remedy = (
        f"it counts errors in {entries:,} slots, at most {MOST_ENTRIES:,}; {indexed.task.name!r} has "
        f"{indexed.states:,} aleatoric states and {indexed.actions:,} actions; set fewer nodes, lags or changes, or "
        "choose an agent that is given its state, such as growing-horizon"
    )
    require(entries <= MOST_ENTRIES, "agent", "learned", remedy)
