"""Act by a model, by a search among policies, or by what is remembered, whichever earns more.

``planner``, ``actor-critic`` and a second planner, which sees the recent past, are in one agent.  A model learns from
fewer steps, but it misleads if the aleatoric state hides something.  The actor-critic searches among policies by what
they earn, which does not mislead, whatever is hidden, but it needs more steps.  The second planner, called memory here,
earns more if what is hidden shows in what was seen before.  A user cannot know which case it is, so the agent finds
out.  Time is divided into phases, in each of which one of them acts (:mod:`everlearn.agents.phases`).

**Model and actor** learn in their own phases alone.  There are two reasons: if something is hidden, the model is misled
by what it learns from another policy, and the actor needs the gradient of the policy that is followed.  A phase of the
actor begins with empty traces, so that it is not credited with what another one caused.  Of the two, the actor is the
challenger.  Its share while nothing is known rises with the suspicion that the state hides something
(:mod:`everlearn.agents.suspicion`), from 0.1 to 0.5, and the power of its trials from 0.5 to 0.7.  While the planner
follows a change, the suspicion and that share are 0.

**Memory** (:mod:`everlearn.agents.recent`) is the challenger of the two others together.  There is a second suspicion:
that what comes after a state and an action depends on what is remembered, whoever acts.  The share of memory while
nothing is known rises with it from 0 to 0.25, and the power of its trials from 0 to 0.6.  While there is this
suspicion, memory learns from every step; without it, memory costs nothing and never acts.  The phases of model and
actor are counted in the steps in which memory did not act.

The rewards that count in a phase are credited to the one whose turn it is, whoever chose the actions.  If another
policy acts, as in shadow mode or with ``executed=``, the phases say nothing about them.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from everlearn.agents import actor_critic as searching
from everlearn.agents import phases, recent, suspicion
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

UNKNOWN, TRIED = 0.25, 0.6
"""The share of memory while nothing is known, and the power of its trials, with all suspicion; without it, 0."""

GOLDEN = 0.6180339887498949
"""Its multiples, modulo 1, are spread evenly: they stand for states."""

COMMITMENT = 400.0
"""The planner holds an action for at least this many visits, divided by the power 1.5 of the number of pairs.  At the
station, with 4 pairs, these are 50: with 25 some runs in fifty never find out that slow service pays."""


class Versatile(NamedTuple):
    """What the planner knows, what the actor and the critic know, what is remembered, and who acts."""

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
    recent_links: NDArray[Any]
    """The fields up to ``recent_settings`` are those of the second model."""
    recent_cells: NDArray[Any]
    recent_run: NDArray[Any]
    recent_settings: Settings
    seen: NDArray[np.int64]
    """What is remembered (:mod:`everlearn.agents.recent`)."""
    codes: NDArray[np.int64]
    """By row of the second model: a number for what is in it."""
    errors: NDArray[Any]
    """The means of the errors of the first model by the previous pair (:mod:`everlearn.agents.suspicion`)."""
    recent_errors: NDArray[Any]
    """The means of what came after a pair, by what is remembered."""
    choice: NDArray[Any]
    """One record with the fields of :mod:`everlearn.agents.phases`, in which the actor is the first and the planner the
    second, and those of :mod:`everlearn.agents.suspicion`; ``second`` is 1 if the planner acts, ``acted`` are the steps
    in which the actor did, and ``before`` is the previous pair."""
    recall: NDArray[Any]
    """The same for memory, which is the first, and the two others together, which are the second."""
    evidence: float
    rule: Rule


def actor_of(knowledge: Versatile) -> ActorCritic:
    """Return the actor and the critic as ``actor-critic`` has them."""
    seen = knowledge.parts, knowledge.digits, knowledge.segment
    return ActorCritic(knowledge.search, knowledge.past, knowledge.average, seen[0], seen[1], seen[2], knowledge.actor)


def model_of(knowledge: Versatile) -> Planner:
    """Return the model as ``planner`` has it."""
    return Planner(knowledge.links, knowledge.cells, knowledge.run, knowledge.settings)


def memory_of(knowledge: Versatile) -> Planner:
    """Return the second model."""
    return Planner(knowledge.recent_links, knowledge.recent_cells, knowledge.recent_run, knowledge.recent_settings)


def remembers(knowledge: Versatile) -> bool:
    """Return whether memory acts."""
    return bool(knowledge.recall["second"][0, 0] == 0.0)


def plans(knowledge: Versatile) -> bool:
    """Return whether the planner acts when memory does not."""
    return bool(knowledge.choice["second"][0, 0] > 0.0)


def act(knowledge: Versatile, aleatoric_state: int, now: ScheduleValues, stream: Any) -> int:
    """Let the one whose turn it is choose; the planner, if another one chooses what is forbidden."""
    action = -1
    if remembers(knowledge):
        row = recent.row_of(knowledge.codes, recent.code_of(knowledge.seen, aleatoric_state))
        action = planning.act(memory_of(knowledge), row, now, stream)
    elif not plans(knowledge):
        action = searching.act(actor_of(knowledge), aleatoric_state, now, stream)
    if action >= 0 and knowledge.cells["value"][aleatoric_state, action] > -math.inf:
        return action
    return planning.act(model_of(knowledge), aleatoric_state, now, stream)


def learn(knowledge: Versatile, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Let memory learn, and the one whose turn it is; at the end of a phase choose who acts next."""
    recall = knowledge.recall
    t = float(now.t)
    remembered = remembers(knowledge)
    code = recent.code_of(knowledge.seen, experience.aleatoric_state)
    states, actions = knowledge.cells["value"].shape
    pair = experience.aleatoric_state * actions + experience.action
    came = experience.reward + (experience.next_aleatoric_state + 1.0) * GOLDEN % 1.0
    suspicion.foresee(knowledge.recent_errors, recall, code, pair, states * actions, came)
    if remembered:
        recall["acted"][0, 0] += 1.0
    else:
        learn_without(knowledge, experience, t - recall["acted"][0, 0])
    recent.move(knowledge.seen, experience.aleatoric_state, experience.action, experience.next_aleatoric_state)
    if remembered or suspicion_of(knowledge, recall) > 0.0:
        learn_recent(knowledge, experience, code, t, remembered)
    begun = t <= recall["ends"][0, 0] + 1.0  # not begun: an earlier version, without memory, saved what is known
    if begun:
        phases.credit(recall, experience.reward, t)
    if t >= recall["ends"][0, 0]:
        if begun:
            phases.end_phase(recall, 0 if remembered else 1, t)
        begin_recall(knowledge, t)


def learn_recent(knowledge: Versatile, experience: Experience, code: int, t: float, acting: bool) -> None:
    """Let memory learn from a step; only if it acted, it holds actions."""
    row = recent.take_row(knowledge.codes, code)
    forbid(knowledge.cells, knowledge.recent_cells["value"], experience.aleatoric_state, row)
    following = recent.code_of(knowledge.seen, experience.next_aleatoric_state)
    to = recent.take_row(knowledge.codes, following)
    step = Experience(row, experience.action, experience.observation, experience.reward, to)
    planning.study(memory_of(knowledge), step, t)
    if acting:
        planning.hold(memory_of(knowledge), row, experience.action)


def begin_recall(knowledge: Versatile, t: float) -> None:
    """Choose whether memory acts next."""
    suspected = suspicion_of(knowledge, knowledge.recall)
    remembered = phases.challenged(knowledge.recall, t, knowledge.rule, UNKNOWN * suspected, TRIED * suspected)
    knowledge.recall["second"][0, 0] = 0.0 if remembered else 1.0
    if remembered:
        forget(knowledge)


def learn_without(knowledge: Versatile, experience: Experience, t: float) -> None:
    """Let the model or the actor learn from the ``t``-th step in which one of them acts."""
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
    """Remember a step that is not learned from; the actor sees it if it is its turn, else empty its past.

    If rewards come late, the past is put back after each of them, and would outlast :func:`begin_phase`; besides, a
    durable agent keeps the past before each step whose reward is to come.
    """
    recent.move(knowledge.seen, experience.aleatoric_state, experience.action, experience.next_aleatoric_state)
    if not remembers(knowledge) and not plans(knowledge):
        searching.remember(actor_of(knowledge), experience)
    else:
        forget(knowledge)


def policy(knowledge: Versatile) -> Table:
    """Return the policy of the one that acts, with the present past if it is memory."""
    forbidden = knowledge.cells["value"] == -math.inf
    if remembers(knowledge):
        rows = recent.rows_of(knowledge.seen, knowledge.codes, len(forbidden))
        return planning.policy(recent.allowed_in(memory_of(knowledge), rows, ~forbidden))
    if plans(knowledge):
        return planning.policy(model_of(knowledge))
    allowed = knowledge._replace(search=knowledge.search.copy())
    allowed.search["gradient"][forbidden] = -math.inf
    return searching.policy(actor_of(allowed))


def inspect(knowledge: Versatile, now: ScheduleValues) -> dict[str, Table]:
    """Return N, R, Q and V of the planner, and the policy of the one that acts."""
    return {**planning.inspect(model_of(knowledge), now), "policy": policy(knowledge)}


def explain(knowledge: Versatile, task: Task) -> str:
    """Say in words who acts, why, and what is remembered."""
    second = "the model" if plans(knowledge) else "the actor, which searches among policies"
    suspected = suspicion_of(knowledge, knowledge.choice)
    hidden = "hides" if suspected >= 1.0 else "may hide" if suspected > 0.0 else "is not seen to hide"
    text = f"It acts by {'what it remembers' if remembers(knowledge) else second}. "
    text += f"The aleatoric state {hidden} something that matters."
    text += _earnings(knowledge.choice, "the actor", "the model")
    if suspicion_of(knowledge, knowledge.recall) == 0.0 and not remembers(knowledge):
        return text
    state, action, change, earlier = knowledge.seen.tolist()
    text += " What it remembers predicts what comes next: the last state, now "
    text += (
        f"{task.states[state]!r}, the last action, now {task.actions[action]!r}, and the last two other states, now "
    )
    text += f"{task.states[change]!r} and before it {task.states[earlier]!r}."
    return text + _earnings(knowledge.recall, "memory", "the others")


def _earnings(choice: NDArray[Any], first: str, second: str) -> str:
    """Say what the two who take turns earn; nothing if one of them has not acted."""
    if not (choice["steps"] > 0).all():
        return ""
    of_first, of_second = (choice["rewards"] / choice["steps"])[0]
    return f" Recent rewards per step, scaled to [0, 1]: {of_second:.4f} by {second}, {of_first:.4f} by {first}."


def versatile(
    *,
    evidence: float = 5.0,
    phase: float = 0.1,
    shortest: float = 100.0,
    least: float = 0.01,
) -> Design:
    """Act by a model, by a search among policies, or by what is remembered, whichever earns more.

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
        size = recent.size_of(indexed.states, indexed.actions)
        memory = planning.planner(successors=recent.SUCCESSORS)
        of_phase = dict.fromkeys(("second", *phases.ONCE, "acted"), 1)
        of_test = dict.fromkeys(("before", *suspicion.ONCE), 1)
        choice = records(1, **of_phase, **dict.fromkeys(phases.EACH, 2), **of_test)
        choice["second"], choice["ends"] = 1.0, shortest
        models = *model.build(indexed), *actor.build(indexed), *memory.build(cast("IndexedTask", size))
        errors = suspicion.begin(pairs, pairs), suspicion.begin(pairs, suspicion.CONTEXTS)
        rule = Rule(float(phase), float(shortest), float(least))
        own = *recent.begin(size), *errors, choice, choice.copy(), float(evidence), rule
        return Versatile._make((*models, *own))

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
        memory=("past", "seen"),
        added=("recent_links", "recent_cells", "recent_run", "seen", "codes", "recent_errors", "recall"),
        name="versatile",
    )
