"""Act by a model or by a search among policies, whichever earns more: ``planner`` and ``actor-critic`` in one agent.

A model learns from fewer steps, but it misleads if the aleatoric state hides something.  The actor-critic searches
among policies by what they earn, which does not mislead, whatever is hidden, but it needs more steps.  A user cannot
know which case it is, so the agent finds out.  Time is divided into phases.  In each phase one of the two acts, and it
alone learns.  There are two reasons: if something is hidden, the model is misled by what it learns from another policy,
and the actor needs the gradient of the policy that is followed.  A phase of the actor begins with empty traces, so that
it is not credited with what the planner caused.

The actor is the challenger (:func:`everlearn.agents.phases.challenged`).  Its share while nothing is known rises with
the suspicion that the state hides something (:mod:`everlearn.agents.suspicion`), from 0.1 to 0.5, and the power of its
trials from 0.5 to 0.7.  While the planner follows a change, the suspicion and that share are 0.  The actor has trials
even without suspicion, since some environments hide something that no error of the model shows: the planner settles on
a cycle on which everything is as predicted.

The rewards that count in a phase are credited to the one whose turn it is, whoever chose the actions.  If another
policy acts, as in shadow mode or with ``executed=``, the phases say nothing about the two.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents import actor_critic as searching
from everlearn.agents import phases, suspicion
from everlearn.agents import planner as planning
from everlearn.agents.actor_critic import ActorCritic
from everlearn.agents.checks import check_at_least, check_fraction
from everlearn.agents.design import Design
from everlearn.agents.phases import Rule
from everlearn.agents.sparse_model import Planner, Settings
from everlearn.agents.suspicion import DOUBTED
from everlearn.agents.tabular import records, value_table
from everlearn.errors import require
from everlearn.protocol import Experience, ScheduleValues, Table
from everlearn.tasks.indexed import IndexedTask
from everlearn.tasks.task import Task

TRUSTING, SUSPICIOUS = 0.1, 0.5
"""The share of the actor while nothing is known, without suspicion and with all of it."""

FEW, MANY = 0.5, 0.7
"""The power of the trials of the actor, without suspicion and with all of it."""

COMMITMENT = 400.0
"""The planner holds an action for at least this many visits, divided by the power 1.5 of the number of pairs.  At the
station, with 4 pairs, these are 50: with 25 some runs in fifty never find out that slow service pays."""


class Versatile(NamedTuple):
    """What the planner knows, what the actor and the critic know, and the choice between the two."""

    links: NDArray[Any]
    """The fields up to ``settings`` are those of :class:`everlearn.agents.sparse_model.Planner`."""
    cells: NDArray[Any]
    run: NDArray[Any]
    settings: Settings
    search: NDArray[Any]
    """``cells`` of :class:`everlearn.agents.actor_critic.ActorCritic`; the fields up to ``actor`` are the others."""
    past: NDArray[Any]
    average: Table
    parts: NDArray[np.int64]
    digits: NDArray[np.int64]
    segment: int
    actor: searching.Settings
    errors: NDArray[Any]
    """The means of the errors of the model by the previous pair (:mod:`everlearn.agents.suspicion`)."""
    choice: NDArray[Any]
    """One record with the fields of :mod:`everlearn.agents.phases`, in which the actor is the first and the planner the
    second, and those of :mod:`everlearn.agents.suspicion`; ``second`` is 1 if the planner acts, ``acted`` are the steps
    in which the actor did, and ``before`` is the previous pair."""
    evidence: float
    rule: Rule


def actor_of(knowledge: Versatile) -> ActorCritic:
    """Return the actor and the critic as ``actor-critic`` has them."""
    seen = knowledge.parts, knowledge.digits, knowledge.segment
    return ActorCritic(knowledge.search, knowledge.past, knowledge.average, seen[0], seen[1], seen[2], knowledge.actor)


def model_of(knowledge: Versatile) -> Planner:
    """Return the model as ``planner`` has it."""
    return Planner(knowledge.links, knowledge.cells, knowledge.run, knowledge.settings)


def plans(knowledge: Versatile) -> bool:
    """Return whether the planner acts."""
    return bool(knowledge.choice["second"][0, 0] > 0.0)


def act(knowledge: Versatile, aleatoric_state: int, now: ScheduleValues, stream: Any) -> int:
    """Let the one whose turn it is choose; the planner, if the actor chooses what is forbidden."""
    if not plans(knowledge):
        action = searching.act(actor_of(knowledge), aleatoric_state, now, stream)
        if knowledge.cells["value"][aleatoric_state, action] > -math.inf:
            return action
    return planning.act(model_of(knowledge), aleatoric_state, now, stream)


def learn(knowledge: Versatile, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Let the one whose turn it is learn, and at the end of its phase choose who acts next."""
    learn_at(knowledge, experience, float(now.t))


def learn_at(knowledge: Versatile, experience: Experience, t: float) -> None:
    """Learn from the ``t``-th step in which one of the two acts."""
    choice = knowledge.choice
    s = experience.aleatoric_state
    states, actions = knowledge.cells["value"].shape
    pair = s * actions + experience.action
    planned = plans(knowledge)
    if planned:
        error = planning.study(model_of(knowledge), experience, t)
        planning.hold(model_of(knowledge), s, experience.action)
        suspicion.suspect(knowledge.errors, choice, int(choice["before"][0, 0]), pair, states * actions, error)
    else:
        forbid(knowledge.cells, knowledge.search["gradient"], s, s)
        choice["acted"][0, 0] += 1.0
        searching.improve(actor_of(knowledge), experience, choice["acted"][0, 0])
    choice["before"][0, 0] = pair
    phases.credit(choice, experience.reward, t)
    if t >= choice["ends"][0, 0]:
        phases.end_phase(choice, 1 if planned else 0, t)
        begin_phase(knowledge, t)


def forbid(cells: Any, table: Any, s: int, row: int) -> None:
    """Forbid another one what the planner must not do in a state."""
    for a in range(table.shape[1]):
        if cells["value"][s, a] == -math.inf:
            table[row, a] = -math.inf


def begin_phase(knowledge: Versatile, t: float) -> None:
    """Choose whether the actor acts next."""
    suspected = suspicion_of(knowledge, knowledge.choice)
    prior = TRUSTING + (SUSPICIOUS - TRUSTING) * suspected
    if knowledge.run["follows"][0, 0] > 0.0:
        prior = 0.0
    power = FEW + (MANY - FEW) * suspected
    planned = plans(knowledge)
    searches = phases.challenged(knowledge.choice, t, knowledge.rule, prior, power)
    knowledge.choice["second"][0, 0] = 0.0 if searches else 1.0
    if searches and planned:
        forget(knowledge)


def suspicion_of(knowledge: Versatile, record: Any) -> float:
    """Return how much speaks for it that the state hides something, from 0 to 1."""
    if knowledge.run["follows"][0, 0] > 0.0:
        return 0.0
    return suspicion.suspicion(record, knowledge.evidence)


def forget(knowledge: Versatile) -> None:
    """Empty the traces and the means of the actor and the critic."""
    past = knowledge.past
    live = past["live"]
    trace = past["trace"]
    credit = past["credit"]
    for k in range(len(live)):
        i = int(live[k, 0]) - 1
        if i < 0:
            break
        for a in range(trace.shape[1]):
            trace[i, a] = 0.0
        for part in range(2):
            credit[i, part] = 0.0
        past["mean"][i, 0] = 0.0
        past["age"][i, 0] = 0.0
        live[k, 0] = 0.0


def remember(knowledge: Versatile, experience: Experience) -> None:
    """Tell the actor and the critic of a step that is not learned from, if it is their turn; else empty the past.

    If rewards come late, the past is put back after each of them, and would outlast :func:`begin_phase`; besides, a
    durable agent keeps the past before each step whose reward is to come, unless it is empty.
    """
    if plans(knowledge):
        forget(knowledge)
    else:
        searching.remember(actor_of(knowledge), experience)


def policy(knowledge: Versatile) -> Table:
    """Return the policy of the one that acts."""
    if plans(knowledge):
        return planning.policy(model_of(knowledge))
    allowed = knowledge._replace(search=knowledge.search.copy())
    allowed.search["gradient"][knowledge.cells["value"] == -math.inf] = -math.inf
    return searching.policy(actor_of(allowed))


def inspect(knowledge: Versatile, now: ScheduleValues) -> dict[str, Table]:
    """Return N, R, Q and V of the planner, and the policy of the one that acts."""
    return {**planning.inspect(model_of(knowledge), now), "policy": policy(knowledge)}


def explain(knowledge: Versatile, task: Task) -> str:  # noqa: ARG001
    """Say in words which of the two acts, and why."""
    acts = "the model" if plans(knowledge) else "the actor, which searches among policies"
    suspected = suspicion_of(knowledge, knowledge.choice)
    hidden = "hides" if suspected >= 1.0 else "may hide" if suspected > 0.0 else "is not seen to hide"
    earned = phases.earnings(knowledge.choice, "the actor", "the model")
    return f"It acts by {acts}. The aleatoric state {hidden} something that matters.{earned}"


def versatile(
    *,
    evidence: float = 5.0,
    phase: float = 0.1,
    shortest: float = 100.0,
    least: float = 0.01,
) -> Design:
    """Act by a model or by a search among policies, whichever earns more.

    Parameters
    ----------
    evidence:
        the suspicion that the state hides something is complete if the evidence for it is so many standard deviations
        above 0; more than 1.5
    phase:
        the length of a phase, as a share of the steps so far
    shortest:
        the least number of steps of a phase
    least:
        the least share of phases in which the planner acts

    Examples
    --------
    >>> from everlearn.agents.agent import Agent
    >>> agent = Agent("riverswim", "versatile", seed=1)
    >>> for _ in range(24):
    ...     reward = agent.observe(0, executed="left")
    >>> agent.explain()
    'It acts by the model. The aleatoric state is not seen to hide something that matters.'

    """
    require(DOUBTED < evidence < math.inf, "agent.evidence", evidence, f"give a number greater than {DOUBTED}")
    check_at_least(1, shortest=shortest)
    check_fraction(phase=phase)
    check_fraction(0.5, least=least)
    actor = searching.actor_critic()

    def build(indexed: IndexedTask) -> Versatile:
        pairs = indexed.states * indexed.actions
        model = planning.planner(commitment=COMMITMENT / math.sqrt(pairs))
        of_phase = dict.fromkeys(("second", *phases.ONCE, "acted"), 1)
        of_test = dict.fromkeys(("before", *suspicion.ONCE), 1)
        choice = records(1, **of_phase, **dict.fromkeys(phases.EACH, 2), **of_test)
        choice["second"], choice["ends"] = 1.0, shortest
        rule = Rule(float(phase), float(shortest), float(least))
        own = suspicion.begin(pairs, pairs), choice, float(evidence), rule
        return Versatile._make((*model.build(indexed), *actor.build(indexed), *own))

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
        explain=explain,
        remember=remember,
        memory="past",
        name="versatile",
    )
