"""An agent that learns what to remember: it grows a tree of questions about the past below every aleatoric state.

A second state learns from the same stream, the tally (:mod:`everlearn.agents.tally`), once a question was found that
predicts what is observed.  From then on the two act in turns (:mod:`everlearn.agents.phases`), and the one that earned
more acts more often.  Q-learning can learn from actions that another policy chose, so both learn from every step.

A leaf of the tree is a row of the growing-horizon agent, which so composes with every schedule, optimism and held
actions.  An inner node asks a question about a feature of the past (:mod:`everlearn.agents.past`), and the answers lead
to the leaf in which the agent is now.  Everything is learned from one pass over the stream, in bounded memory:

1. *Notice.*  For each leaf and action, and each value of each feature, the agent counts how often the feature had that
   value and sums two signals: the temporal-difference errors, and a code of the observation that followed, a number
   that stands for it.  If a leaf has all the past that matters, neither depends on the features.
2. *Split.*  After a number of steps all questions are tested: do the mean codes for yes and no differ by more than
   chance, and does the question explain a least share of their variance?  If none does, do the mean errors differ, by
   more than a least effect too?  If so, the leaf becomes an inner node.  Its children start from its values plus their
   mean errors, and with less confidence, so that they explore.  Otherwise counting starts again, for twice as long:
   errors from the time when values had not settled are forgotten.
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
- U-tree tests returns alone.  But what pays depends on what the agent does later, and an agent that does not yet use a
  distinction does not see that it would pay.  What is observed next depends on the past whatever the agent does later,
  and does not change while values settle.  Feature RL, too, asks how well a state predicts.
- The threshold grows with the number of reviews, since an endless stream is tested again and again.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everlearn.agents import growing_horizon, phases, tally
from everlearn.agents.checks import MOST_ENTRIES, check_at_least
from everlearn.agents.design import Design
from everlearn.agents.evidence import FEWEST, WIDEST, best_question, forget, gain_of, is_outdated, notice, reviews
from everlearn.agents.growing_horizon import OffsetValues
from everlearn.agents.past import sizes_of, update
from everlearn.agents.schedule import Schedule
from everlearn.agents.splits import CONFIDENCE, make_room, split
from everlearn.agents.tabular import largest, records
from everlearn.agents.tree import (
    CODES,
    ERRORS,
    FEATURE,
    FREE,
    LEAF,
    NUMBER,
    SPAN,
    VISITS,
    Tree,
    leaf,
    rows_of,
    set_visits,
    visits,
)
from everlearn.errors import require
from everlearn.protocol import Experience, ScheduleValues, Table
from everlearn.randomness import choose, uniform
from everlearn.tasks.indexed import IndexedTask
from everlearn.tasks.task import Task

OFTEN = 640.0
"""All errors of a greedy action are noticed for reviews of up to this many, and a share of them for longer ones."""

RAREST = 0.05
"""The least share of errors that are noticed."""

BURN = 10.0
"""The number of visits to a leaf and action before its errors are noticed."""

MOST_CURIOUS = 0.1
"""The greatest probability of a try."""

PHASE, SHORTEST = 0.02, 50.0
"""The length of a phase in which the tree or the tally acts, as a share of the steps so far, and the least length."""

LEAST, PRICE = 0.02, 0.0005
"""The one that earns less acts in at least this share of the phases, or in so few that it costs this per step."""

GOLDEN = 0.6180339887498949
"""Its multiples, modulo 1, are spread evenly: they choose which errors to notice, without a rhythm."""


def act(knowledge: Tree, aleatoric_state: int, now: ScheduleValues, stream: Any) -> int:
    """Act as the growing-horizon agent does, in the leaf or by the tally; now and then try a random action, once."""
    node = leaf(knowledge, aleatoric_state)
    if tally.acts(knowledge) and all_allowed(knowledge, node):
        row = tally.row_of(knowledge, tally.code_of(knowledge, aleatoric_state))
        if knowledge.curiosity > 0.0 and uniform(stream) < curious(knowledge, knowledge.tallied[row]):
            return choose(stream, knowledge.totals.shape[1])
        return growing_horizon.act(tally.values_of(knowledge), row, now, stream)
    if knowledge.curiosity > 0.0 and uniform(stream) < curious(knowledge, knowledge.nodes[node, VISITS]):
        action = choose(stream, knowledge.totals.shape[1])
        if knowledge.cells["value"][node, action] > -math.inf:
            return action
    return growing_horizon.act(rows_of(knowledge), node, now, stream)


def curious(knowledge: Tree, visited: int) -> float:
    """Return the probability of a try: it falls with the square root of the visits to a leaf or a row."""
    return min(knowledge.curiosity / math.sqrt(float(visited + 1)), MOST_CURIOUS)


def all_allowed(knowledge: Tree, node: int) -> bool:
    """Return whether no action is forbidden in a leaf.  Where one is, the tree acts, and the tally learns nothing."""
    u = knowledge.cells["value"]
    least: float = u[node, 0]
    for a in range(1, u.shape[1]):
        least = min(least, u[node, a])
    return least > -math.inf


def remember(knowledge: Tree, experience: Experience) -> None:
    """Move the past one step on, without learning."""
    update(knowledge.past, knowledge.sizes, experience.action, experience.observation)
    if tally.is_used(knowledge):
        tally.move(knowledge, experience.action, experience.observation)


def learn(knowledge: Tree, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Learn as the growing-horizon agent does, from one leaf to another; notice the error, and review the leaf.

    If the tally is used, learn the same in its rows too, whichever of the two acts.  Errors are noticed only while the
    tree acts: those after actions of the tally would depend on a past that the tree does not lead to.
    """
    s = leaf(knowledge, experience.aleatoric_state)
    a = experience.action
    u = knowledge.cells["value"]
    expected = u[s, a]
    hoped = largest(u, s)
    tallying = tally.is_used(knowledge)
    acting = tally.acts(knowledge)
    row = 0
    if tallying:
        row = tally.take_row(knowledge, experience.aleatoric_state)
        tally.compare(knowledge, row, a, experience.observation)
        tally.count(knowledge, experience.observation, experience.reward)
    noticing = not acting and visits(knowledge, s, a, now) >= BURN and due(knowledge, s, a, now)
    if noticing:
        for place in range(len(knowledge.past)):
            knowledge.before[place] = knowledge.past[place]
    remember(knowledge, experience)
    following = leaf(knowledge, experience.next_aleatoric_state)
    target = experience.reward - now.drift + now.discount * largest(u, following)
    error = min(target, now.ceiling) - expected
    step = Experience(s, a, experience.observation, experience.reward, following)
    if acting:
        growing_horizon.update(rows_of(knowledge), step, now)
    else:
        tally.learn_in_row(rows_of(knowledge), step, now)
    knowledge.nodes[s, VISITS] += 1
    if tallying:
        if all_allowed(knowledge, s) and all_allowed(knowledge, following):
            learn_tally(knowledge, row, experience, now)
        tally.take_turns(knowledge, experience.reward, float(now.t))
    strayed = expected < hoped and not acting
    knowledge.strayed[0] = knowledge.sizes.lags if strayed else max(knowledge.strayed[0] - 1, 0)
    if noticing:
        notice(knowledge, s, a, error, code(knowledge, s, a, experience.observation))
        if knowledge.totals[s, a, NUMBER] >= knowledge.totals[s, a, SPAN]:
            review(knowledge, s, a, now)


def learn_tally(knowledge: Tree, row: int, experience: Experience, now: ScheduleValues) -> None:
    """Learn in the rows of the tally, from the one before the step to the present one."""
    following = tally.row_of(knowledge, tally.code_of(knowledge, experience.next_aleatoric_state))
    step = Experience(row, experience.action, experience.observation, experience.reward, following)
    knowledge.tallied[row] += 1
    if tally.acts(knowledge):
        tally.learn_in_row(tally.values_of(knowledge), step, now)
    else:
        growing_horizon.update(tally.values_of(knowledge), step, now)


def code(knowledge: Tree, s: int, a: int, observation: int) -> float:
    """Return a number from 0 to 1 that stands for an observation; in each review, observations have other numbers."""
    return ((observation + 1) * GOLDEN * reviews(knowledge, s, a)) % 1.0


def due(knowledge: Tree, s: int, a: int, now: ScheduleValues) -> bool:
    """Return whether to notice an error: always soon after an action that was not greedy, else less often in time."""
    u = knowledge.cells["value"]
    share = max(OFTEN / knowledge.totals[s, a, SPAN], RAREST)
    return bool(share >= 1.0 or (now.t * GOLDEN) % 1.0 < share or knowledge.strayed[0] > 0 or u[s, a] < largest(u, s))


def review(knowledge: Tree, s: int, a: int, now: ScheduleValues) -> None:
    """Split a leaf by the question that says most about what is observed after an action, if it says enough.

    If there is none, or if the tree is full and the question is less useful than those that are asked, split it by the
    question that says most about the errors.  Otherwise, if the errors say that the value itself is out of date, let it
    follow new errors faster.
    """
    for signal in (CODES, ERRORS):
        feature, value = best_question(knowledge, s, a, signal)
        if feature >= 0 and make_room(knowledge, s, gain_of(knowledge, s, a, feature, value, now), now):
            split(knowledge, s, feature, value, now)
            if signal == CODES:
                tally.begin(knowledge, float(now.t))
            return
    if is_outdated(knowledge, s, a):
        set_visits(knowledge, s, a, min(visits(knowledge, s, a, now), CONFIDENCE), now)
    forget(knowledge, s, a, 2.0 * knowledge.totals[s, a, SPAN], now)


def leaves(knowledge: Tree) -> NDArray[np.int64]:
    """Return the leaf of every aleatoric state that belongs to the present past."""
    rows = np.arange(knowledge.states)
    for s in np.flatnonzero(knowledge.nodes[: knowledge.states, FEATURE] >= 0):
        rows[s] = leaf(knowledge, int(s))
    return rows


def present(knowledge: Tree) -> tuple[OffsetValues, NDArray[np.int64]]:
    """Return what the agent knows of every aleatoric state with the present past, and how often it was there.

    That is the row of the leaf, or that of the tally if it acts.
    """
    chosen = leaves(knowledge)
    cells, visited = knowledge.cells[chosen], knowledge.nodes[chosen, VISITS]
    if tally.acts(knowledge):
        for s in np.flatnonzero((cells["value"] > -math.inf).all(axis=1)):
            row = tally.row_of(knowledge, tally.code_of(knowledge, int(s)))
            cells[s], visited[s] = knowledge.rows[row], knowledge.tallied[row]
    return OffsetValues(cells, knowledge.constants), visited


def policy(knowledge: Tree) -> Table:
    """Return with which probability the agent takes each action in each aleatoric state, with its present past."""
    rows, visited = present(knowledge)
    greedy = growing_horizon.policy(rows)
    if knowledge.curiosity == 0.0:
        return greedy
    allowed = rows.cells["value"] > -math.inf
    tries = np.array([[curious(knowledge, int(number))] for number in visited]) / allowed.shape[1]
    return np.asarray(greedy + tries * (allowed - allowed.sum(axis=1, keepdims=True) * greedy))


def inspect(knowledge: Tree, now: ScheduleValues) -> dict[str, Table]:
    """Return Q and N in each aleatoric state with the present past, and the number of leaves of the whole tree."""
    number = float((knowledge.nodes[:, FEATURE] == LEAF).sum())
    return {**growing_horizon.inspect(present(knowledge)[0], now), "leaves": np.array([number])}


def values(knowledge: Tree) -> Table:
    """Return the values in each aleatoric state with the present past; until the first split they can be written to."""
    if tally.acts(knowledge):
        acting: Table = present(knowledge)[0].cells["value"]
        return acting
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
    threshold: float = 18.0,
    effect: float = 0.02,
    window: float = 40.0,
    curiosity: float = 0.4,
    share: float = 0.005,
) -> Design:
    """Learn what to remember of the past, with decision trees or a tally; each leaf is a state of growing-horizon.

    Parameters
    ----------
    schedule:
        how these change with time, as for growing-horizon: the horizon (foo1 in the paper), the optimism (foo2), what
        is added to every action value (foo3) and what multiplies every count (foo4); see :class:`everlearn.Schedule`
    nodes:
        the most nodes of the tree, besides one root per aleatoric state; a split takes two
    lags:
        how many of the last observations and actions can be asked about
    changes:
        how many of the last different observations can be asked about
    threshold:
        how significant a question must be: the square of the difference of means, in units of its variance, must exceed
        this plus 4 log k in the k-th review of a leaf and an action
    effect:
        the least difference of mean errors, in units of rewards from 0 to 1
    share:
        the least share of the variance of errors, or of codes of observations, that a question must explain
    curiosity:
        how often a random action is tried once: with probability curiosity / sqrt(visits to the leaf), at most 0.1
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
    [0.5, 0.9]

    """
    for name, number in (("nodes", nodes), ("lags", lags), ("changes", changes)):
        require(number >= 1, f"agent.{name}", number, "give a whole number of at least 1")
    check_at_least(0, threshold=threshold, effect=effect, curiosity=curiosity, share=share)
    check_at_least(2 * FEWEST, window=window)

    def build(indexed: IndexedTask) -> Tree:
        most = max((indexed.states + nodes) * (lags + changes), 3 * indexed.observations)
        _check_size(most * indexed.actions, indexed)  # before any list is made
        sizes = sizes_of(indexed, lags, changes)
        widths = np.minimum(sizes.values, WIDEST)
        rows, actions = indexed.states + nodes, indexed.actions
        _check_size(rows * actions * int(widths.sum()), indexed)
        past = sizes.begin()
        choice = records(1, tally=1, hidden=1, **dict.fromkeys(phases.ONCE, 1), **dict.fromkeys(phases.EACH, 2))
        tree = np.zeros((rows, 6), dtype=np.int64)
        tree[:, FEATURE] = np.where(np.arange(rows) < indexed.states, LEAF, FREE)
        totals = np.zeros((rows, actions, 7))
        totals[:, :, SPAN] = window
        values = growing_horizon.begin(schedule, rows, actions)
        return Tree(
            values.cells,
            tree,
            past,
            past.copy(),
            np.zeros(1, dtype=np.int64),
            np.stack([np.cumsum(widths) - widths, widths], axis=1).astype(np.int64),
            np.zeros((rows, actions, int(widths.sum()), 6)),
            totals,
            growing_horizon.begin(schedule, tally.ROWS, actions).cells,
            np.full(tally.ROWS, tally.FREE),
            np.zeros(tally.ROWS, dtype=np.int64),
            np.zeros((tally.ROWS, actions, 3, 2)),
            np.zeros((actions, indexed.observations, 3)),
            np.ones((actions, indexed.observations), dtype=np.int64),
            np.zeros((indexed.observations, 2)),
            np.zeros(1, dtype=np.int64),
            choice,
            indexed.states,
            sizes,
            float(threshold),
            float(effect),
            float(window),
            float(curiosity),
            float(share),
            PHASE,
            SHORTEST,
            LEAST,
            PRICE,
            values.constants,
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
        f"it counts errors in {entries:,} slots or more, at most {MOST_ENTRIES:,}; {indexed.task.name!r} has "
        f"{indexed.states:,} aleatoric states and {indexed.actions:,} actions; set fewer nodes, lags or changes, or "
        "choose an agent that is given its state, such as growing-horizon"
    )
    require(entries <= MOST_ENTRIES, "agent", "learned", remedy)
