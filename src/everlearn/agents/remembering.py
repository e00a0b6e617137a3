"""``versatile`` with a memory: a second planner, which sees the recent past, acts where that earns more.

Neither the planner nor the actor of ``versatile`` remembers what it saw, so both fail where the aleatoric state hides
where one is.  The second planner, called memory here, plans on a model whose states are what is remembered
(:mod:`everlearn.agents.recent`).  A user cannot know whether that matters, so the agent finds out.  Memory is the
challenger of ``versatile`` (:func:`everlearn.agents.phases.challenged`).

**Suspicion.**  The agent tests whether what comes after a state and an action depends on what is remembered, whoever
acts (:func:`everlearn.agents.suspicion.foresee`).  The share of memory while nothing is known rises with this suspicion
from 0 to 0.25, and the power of its trials from 0 to 0.6.  While there is suspicion, memory learns from every step, as
a model of what comes next may.  Without it, as while the planner follows a change, memory has no trials and learns
from its own turns alone.  It has these only if it earned more before; if it never acted, the agent is ``versatile``.

The phases of ``versatile`` are counted in the steps in which memory did not act, and it learns from these alone.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from everlearn.agents import actor_critic as searching
from everlearn.agents import phases, recent, suspicion
from everlearn.agents import planner as planning
from everlearn.agents import versatile as others
from everlearn.agents.design import Design
from everlearn.agents.phases import Rule
from everlearn.agents.sparse_model import Planner, Settings
from everlearn.agents.tabular import value_table
from everlearn.agents.versatile import Versatile, forbid
from everlearn.protocol import Experience, ScheduleValues, Table
from everlearn.tasks.indexed import IndexedTask
from everlearn.tasks.task import Task

UNKNOWN, TRIED = 0.25, 0.6
"""The share of memory while nothing is known, and the power of its trials, with all suspicion; without it, 0."""

GOLDEN = 0.6180339887498949
"""Its multiples, modulo 1, are spread evenly: they stand for states."""


class Remembering(NamedTuple):
    """What ``versatile`` knows, what memory knows, and the choice between them."""

    links: NDArray[Any]
    """The fields up to ``rule`` are those of :class:`everlearn.agents.versatile.Versatile`."""
    cells: NDArray[Any]
    run: NDArray[Any]
    settings: Settings
    search: NDArray[Any]
    past: NDArray[Any]
    average: Table
    parts: NDArray[np.int64]
    digits: NDArray[np.int64]
    segment: int
    actor: searching.Settings
    errors: NDArray[Any]
    choice: NDArray[Any]
    evidence: float
    rule: Rule
    recent_links: NDArray[Any]
    """The fields up to ``recent_settings`` are those of :class:`everlearn.agents.sparse_model.Planner`."""
    recent_cells: NDArray[Any]
    recent_run: NDArray[Any]
    recent_settings: Settings
    seen: NDArray[np.int64]
    """What is remembered (:mod:`everlearn.agents.recent`)."""
    codes: NDArray[np.int64]
    """By row of the second model: a number for what is in it."""
    recent_errors: NDArray[Any]
    """The means of what came after a pair, by what is remembered (:mod:`everlearn.agents.suspicion`)."""
    recall: NDArray[Any]
    """One record, as ``choice``, in which memory is the first and ``versatile`` the second."""


def versatile_of(knowledge: Remembering) -> Versatile:
    """Return what ``versatile`` knows."""
    return Versatile(
        knowledge.links,
        knowledge.cells,
        knowledge.run,
        knowledge.settings,
        knowledge.search,
        knowledge.past,
        knowledge.average,
        knowledge.parts,
        knowledge.digits,
        knowledge.segment,
        knowledge.actor,
        knowledge.errors,
        knowledge.choice,
        knowledge.evidence,
        knowledge.rule,
    )


def memory_of(knowledge: Remembering) -> Planner:
    """Return the second model."""
    return Planner(knowledge.recent_links, knowledge.recent_cells, knowledge.recent_run, knowledge.recent_settings)


def remembers(knowledge: Remembering) -> bool:
    """Return whether memory acts."""
    return bool(knowledge.recall["second"][0, 0] == 0.0)


def suspected(knowledge: Remembering) -> float:
    """Return how much speaks for it that what is remembered matters, from 0 to 1."""
    return others.suspicion_of(versatile_of(knowledge), knowledge.recall)


def act(knowledge: Remembering, aleatoric_state: int, now: ScheduleValues, stream: Any) -> int:
    """Let the one whose turn it is choose; ``versatile``, if memory chooses what is forbidden."""
    if remembers(knowledge):
        row = recent.row_of(knowledge.codes, recent.code_of(knowledge.seen, aleatoric_state))
        action = planning.act(memory_of(knowledge), row, now, stream)
        if knowledge.cells["value"][aleatoric_state, action] > -math.inf:
            return action
    return others.act(versatile_of(knowledge), aleatoric_state, now, stream)


def learn(knowledge: Remembering, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Let memory learn, and the one whose turn it is; at the end of a phase choose who acts next."""
    recall = knowledge.recall
    t = float(now.t)
    remembered = remembers(knowledge)
    code = recent.code_of(knowledge.seen, experience.aleatoric_state)
    foresee(knowledge, experience, code)
    if remembered:
        recall["acted"][0, 0] += 1.0
    else:
        others.learn_at(versatile_of(knowledge), experience, t - recall["acted"][0, 0])
    recent.move(knowledge.seen, experience.aleatoric_state, experience.action, experience.next_aleatoric_state)
    if remembered or suspected(knowledge) > 0.0:
        study(knowledge, experience, code, t, remembered)
    phases.credit(recall, experience.reward, t)
    if t >= recall["ends"][0, 0]:
        phases.end_phase(recall, 0 if remembered else 1, t)
        begin_phase(knowledge, t)


def foresee(knowledge: Remembering, experience: Experience, code: int) -> None:
    """Test whether what came could be predicted from what is remembered."""
    states, actions = knowledge.cells["value"].shape
    pair = experience.aleatoric_state * actions + experience.action
    came = experience.reward + (experience.next_aleatoric_state + 1.0) * GOLDEN % 1.0
    suspicion.foresee(knowledge.recent_errors, knowledge.recall, code, pair, states * actions, came)


def study(knowledge: Remembering, experience: Experience, code: int, t: float, acting: bool) -> None:
    """Let memory learn from a step; only if it acted, it holds actions."""
    row = recent.take_row(knowledge.codes, code)
    forbid(knowledge.cells, knowledge.recent_cells["value"], experience.aleatoric_state, row)
    following = recent.code_of(knowledge.seen, experience.next_aleatoric_state)
    to = recent.take_row(knowledge.codes, following)
    step = Experience(row, experience.action, experience.observation, experience.reward, to)
    planning.study(memory_of(knowledge), step, t)
    if acting:
        planning.hold(memory_of(knowledge), row, experience.action)


def begin_phase(knowledge: Remembering, t: float) -> None:
    """Choose whether memory acts next."""
    share = suspected(knowledge)
    remembered = phases.challenged(knowledge.recall, t, knowledge.rule, UNKNOWN * share, TRIED * share)
    knowledge.recall["second"][0, 0] = 0.0 if remembered else 1.0
    if remembered:
        others.forget(versatile_of(knowledge))


def remember(knowledge: Remembering, experience: Experience) -> None:
    """Remember a step that is not learned from; if it is the turn of the actor, so does the critic."""
    recent.move(knowledge.seen, experience.aleatoric_state, experience.action, experience.next_aleatoric_state)
    if remembers(knowledge):
        others.forget(versatile_of(knowledge))
    else:
        others.remember(versatile_of(knowledge), experience)


def policy(knowledge: Remembering) -> Table:
    """Return the policy of the one that acts; that of memory is for what it remembers now."""
    otherwise = others.policy(versatile_of(knowledge))
    if not remembers(knowledge):
        return otherwise
    allowed = knowledge.cells["value"] > -math.inf
    rows = recent.rows_of(knowledge.seen, knowledge.codes, len(allowed))
    chosen = planning.policy(memory_of(knowledge)._replace(cells=knowledge.recent_cells[rows]))
    forbidden = np.where(allowed, 0.0, chosen).sum(axis=1, keepdims=True)
    return np.asarray(np.where(allowed, chosen, 0.0) + forbidden * otherwise)


def present(knowledge: Remembering) -> Planner:
    """Return the second model with the rows of all aleatoric states, for what memory remembers now."""
    allowed = knowledge.cells["value"] > -math.inf
    rows = recent.rows_of(knowledge.seen, knowledge.codes, len(allowed))
    return recent.allowed_in(memory_of(knowledge), rows, allowed)


def values(knowledge: Remembering) -> Table:
    """Return the values of the planner, which can be written to; while memory acts, those of what it remembers now."""
    return value_table(present(knowledge) if remembers(knowledge) else knowledge)


def inspect(knowledge: Remembering, now: ScheduleValues) -> dict[str, Table]:
    """Return N, R, Q and V of the planner that does not remember, and the policy of the one that acts."""
    return {**others.inspect(versatile_of(knowledge), now), "policy": policy(knowledge)}


def explain(knowledge: Remembering, task: Task) -> str:
    """Say in words who acts, why, and what is remembered."""
    said = others.explain(versatile_of(knowledge), task)
    if suspected(knowledge) == 0.0 and not remembers(knowledge):
        return said + " What came before is not seen to matter."
    state, action, change, earlier = knowledge.seen.tolist()
    if remembers(knowledge):
        said = "It acts by what it remembers." + said.partition(".")[2]
    predicts = "predicts" if suspected(knowledge) > 0.0 else "is not seen to predict"
    return (
        f"{said} What it remembers {predicts} what comes next. That is the last state and action, now "
        f"{task.states[state]!r} and {task.actions[action]!r}, and the last two changes of state, now from "
        f"{task.states[change]!r} and before that from {task.states[earlier]!r}."
        f"{phases.earnings(knowledge.recall, 'memory', 'the others')}"
    )


def remembering(
    *,
    evidence: float = 5.0,
    phase: float = 0.1,
    shortest: float = 100.0,
    least: float = 0.01,
) -> Design:
    """``versatile`` with a memory: a second planner, which sees the recent past, acts where that earns more.

    Parameters
    ----------
    evidence:
        the suspicion that something is hidden is complete if the evidence for it is so many standard deviations above
        0; more than 1.5
    phase:
        the length of a phase, as a share of the steps so far
    shortest:
        the least number of steps of a phase
    least:
        the least share of phases in which the planner acts, and in which memory does not act

    Examples
    --------
    A maze in which a cue must be remembered on the way through a corridor:

    >>> import everlearn as el
    >>> maze = {"task.length": 3, "task.window": 1}
    >>> earned = {}
    >>> for agent in ("versatile", "remembering"):
    ...     result = el.run("t-maze", agent, parameters=maze, steps=6000, seed=1, engine="reference")
    ...     earned[agent] = round(result.final["mean"] / 0.2, 1)  # of the optimum
    >>> earned
    {'versatile': 0.5, 'remembering': 0.8}

    """
    inner = others.versatile(evidence=evidence, phase=phase, shortest=shortest, least=least)

    def build(indexed: IndexedTask) -> Remembering:
        known = inner.build(indexed)
        size = recent.size_of(indexed.states, indexed.actions)
        memory = planning.planner(successors=recent.SUCCESSORS).build(cast("IndexedTask", size))
        errors = suspicion.begin(indexed.states * indexed.actions, suspicion.CONTEXTS)
        return Remembering._make((*known, *memory, *recent.begin(size), errors, known.choice.copy()))

    return Design(
        build,
        act,
        learn,
        policy,
        inspect=inspect,
        infinite=True,
        unit=True,
        values=values,
        masks=True,
        explain=explain,
        remember=remember,
        memory=("seen", "past"),  # so that nothing but zeros comes last while the actor has no turn
        name="remembering",
    )
