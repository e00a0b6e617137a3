"""Act by a model or by a search among policies, whichever earns more: ``planner`` and ``actor-critic`` in one agent.

A model learns from fewer steps, but it misleads if the aleatoric state hides something.  The actor-critic searches
among policies by what they earn, which does not mislead, whatever is hidden, but it needs more steps.  A user cannot
know which case it is, so the agent finds out.  Time is divided into phases.  In each phase one of the two acts, and it
alone learns.  There are two reasons: if something is hidden, the model is misled by what it learns from another policy,
and the actor needs the gradient of the policy that is followed.  A phase of the actor begins with empty traces, so that
it is not credited with what the planner caused.

**Which one earns more?**  The agent compares what both earned per step, weighing recent phases most.  Rewards of the
first half of a phase do not count, since they may come from what the other one did.  Let z be the lead of the planner,
divided by its standard error.  If z is positive, the actor acts in a share w exp(-z^2 / 2) of the phases.  Otherwise
its share is 1 - (1 - w) exp(-z^2 / 2), but at most 1 - ``least``.  So w is its share while nothing is known, and the
one that earns less soon acts seldom.  The standard error grows as the earnings of that one become old, so that it is
tried again.  A phase lasts a share ``phase`` of the time so far, and at least ``shortest`` steps: an effect that comes
late must fall into the phase of the one who caused it.

**Does the state hide something?**  Let e be by how much r + gamma h(s') exceeds what the model predicted.  If the state
hides nothing, e is on average 0, whatever came before.  So the agent keeps the mean of e for each pair of a state and
an action, and its mean for each pair after each previous pair.  It sums the product of e and the difference of the two
means.  The suspicion rises from 0 to 1 as this sum rises from 1.5 to ``evidence`` standard deviations above 0.  In an
environment that changes, both means follow the change, the second one more slowly, so that a change alone makes the
sum smaller.  While the planner follows a change, the suspicion and w are 0.  Otherwise w rises with the suspicion, from
0.1 to 0.5.

**Trials.**  Some environments hide something that no error of the model shows: the planner settles on a cycle on which
everything is as predicted.  And a search that has hardly begun earns little.  So the actor also has a trial whenever it
had fewer than t^p steps, where p rises with the suspicion, from 0.5 to 0.7.  The share of these trials goes to 0.

The rewards that count in a phase are credited to the one whose turn it is, whoever chose the actions.  If another
policy acts, as in shadow mode or with ``executed=``, the phases say nothing about the two.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents import actor_critic as searching
from everlearn.agents import planner as planning
from everlearn.agents.actor_critic import ActorCritic
from everlearn.agents.checks import check_at_least, check_fraction
from everlearn.agents.design import Design
from everlearn.agents.sparse_model import Planner, Settings
from everlearn.agents.tabular import records, value_table
from everlearn.errors import require
from everlearn.protocol import Experience, ScheduleValues, Table
from everlearn.tasks.indexed import IndexedTask
from everlearn.tasks.task import Task

MEMORY = 100.0
"""The mean of the errors of a pair is over about so many visits."""

LEAST_CONTEXTS, CONTEXTS = 8, 1024
"""There is a mean of errors for each previous pair and pair; if these are more than 1024, fewer previous pairs are told
apart, but at least 8."""

ODD = 2654435761
"""An odd number of 32 bits, near 2^32 divided by the golden ratio: its multiples are spread evenly over 32 bits."""

CORRELATION = 4.0
"""The variance of a mean of rewards is taken to be so many times that of independent rewards, or more if phases differ
by more."""

FLOOR = 0.01
"""The least variance of a reward, times the correlation: rewards that are the same so far may differ later."""

DOUBTED = 1.5
"""Evidence of fewer standard deviations is no reason for suspicion."""

TRUSTING, SUSPICIOUS = 0.1, 0.5
"""The share w of the actor while nothing is known, without suspicion and with all of it."""

FEW, MANY = 0.5, 0.7
"""The actor has a trial whenever it had fewer than t^p steps: p without suspicion and with all of it."""

TRIAL = 0.25
"""A trial lasts this share of t^p, but at least as long as the shortest phase, and at most as long as a phase."""

COUNTED = 0.5
"""The share of a phase at its end in which rewards count."""

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
    """One record per pair, then one per pair and previous pair, or group of previous pairs if they are many: ``mean``,
    the mean of e, and ``visits``."""
    choice: NDArray[Any]
    """One record.  ``planning`` is 1 if the planner acts, and 0 if the actor does.  The phase ends at ``ends``; after
    ``skipped`` its rewards count, which sum to ``earned`` and their squares to ``squared``.  Of the phases of the actor
    and of the planner, it has the sums of the steps, of their squares per phase, of the rewards, of the squares of the
    means, and of the variances.  ``turns`` grows until the actor has a turn, and ``searched`` are the steps that the
    actor had.  ``before`` is the previous pair, ``agreed`` the sum of the products, ``varied`` its variance."""
    evidence: float
    phase: float
    shortest: float
    least: float


def actor_of(knowledge: Versatile) -> ActorCritic:
    """Return the actor and the critic as ``actor-critic`` has them."""
    seen = knowledge.parts, knowledge.digits, knowledge.segment
    return ActorCritic(knowledge.search, knowledge.past, knowledge.average, seen[0], seen[1], seen[2], knowledge.actor)


def model_of(knowledge: Versatile) -> Planner:
    """Return the model as ``planner`` has it."""
    return Planner(knowledge.links, knowledge.cells, knowledge.run, knowledge.settings)


def act(knowledge: Versatile, aleatoric_state: int, now: ScheduleValues, stream: Any) -> int:
    """Let the one whose turn it is choose; the planner, if the actor chooses what is forbidden."""
    if knowledge.choice["planning"][0, 0] == 0.0:
        action = searching.act(actor_of(knowledge), aleatoric_state, now, stream)
        if knowledge.cells["value"][aleatoric_state, action] > -math.inf:
            return action
    return planning.act(model_of(knowledge), aleatoric_state, now, stream)


def learn(knowledge: Versatile, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Let the one whose turn it is learn, and at the end of its phase choose who acts next."""
    choice = knowledge.choice
    s = experience.aleatoric_state
    pair = s * knowledge.cells["value"].shape[1] + experience.action
    if choice["planning"][0, 0] > 0.0:
        error = planning.study(model_of(knowledge), experience, now.t)
        planning.hold(model_of(knowledge), s, experience.action)
        suspect(knowledge, pair, error)
    else:
        forbid(knowledge, s)
        choice["searched"][0, 0] += 1.0
        searching.improve(actor_of(knowledge), experience, choice["searched"][0, 0])
    choice["before"][0, 0] = pair
    if now.t > choice["skipped"][0, 0]:
        choice["earned"][0, 0] += experience.reward
        choice["squared"][0, 0] += experience.reward * experience.reward
    if now.t >= choice["ends"][0, 0]:
        end_phase(knowledge, now.t)
        begin_phase(knowledge, now.t)


def forbid(knowledge: Versatile, s: int) -> None:
    """Forbid the actor what the planner must not do."""
    for a in range(knowledge.cells["value"].shape[1]):
        if knowledge.cells["value"][s, a] == -math.inf:
            knowledge.search["gradient"][s, a] = -math.inf


def suspect(knowledge: Versatile, pair: int, error: float) -> None:
    """Test whether the error of a prediction could be predicted from the previous pair."""
    choice = knowledge.choice
    means = knowledge.errors["mean"]
    pairs = knowledge.cells["value"].shape[0] * knowledge.cells["value"].shape[1]
    context = place_after(int(choice["before"][0, 0]), pair, pairs, means.shape[0] // pairs - 1)
    product = error * (means[context, 0] - means[pair, 0])
    choice["agreed"][0, 0] += product
    choice["varied"][0, 0] += product * product
    average(knowledge.errors, pair, error)
    average(knowledge.errors, context, error)


def place_after(before: int, pair: int, pairs: int, contexts: int) -> int:
    """Return the place of a pair after a previous one; if these are too many, a hash of the two chooses a group."""
    if contexts < pairs:
        before = (((before * pairs + pair) & 0x7FFFFFFF) * ODD & 0xFFFFFFFF) >> 16
    return pairs * (1 + before % contexts) + pair


def average(errors: Any, place: int, error: float) -> None:
    """Move the mean of the errors in one place."""
    visits = min(errors["visits"][place, 0] + 1.0, MEMORY)
    errors["visits"][place, 0] = visits
    errors["mean"][place, 0] += (error - errors["mean"][place, 0]) / visits


def end_phase(knowledge: Versatile, t: float) -> None:
    """Add what was earned in a phase to the sums of the one that acted."""
    choice = knowledge.choice
    acted = int(choice["planning"][0, 0])
    length = t - choice["skipped"][0, 0]
    mean = choice["earned"][0, 0] / length
    kept = (1.0 - length / t) * (1.0 - length / t)
    for one in range(2):
        choice["steps"][0, one] *= kept
        choice["steps_squared"][0, one] *= kept * kept
        choice["rewards"][0, one] *= kept
        choice["means_squared"][0, one] *= kept
        choice["variances"][0, one] *= kept
    choice["steps"][0, acted] += length
    choice["steps_squared"][0, acted] += length * length
    choice["rewards"][0, acted] += length * mean
    choice["means_squared"][0, acted] += length * mean * mean
    choice["variances"][0, acted] += choice["squared"][0, 0] - length * mean * mean
    choice["earned"][0, 0] = 0.0
    choice["squared"][0, 0] = 0.0


def begin_phase(knowledge: Versatile, t: float) -> None:
    """Choose who acts next, and for how long."""
    choice = knowledge.choice
    searched = choice["searched"][0, 0]
    length = max(knowledge.shortest, knowledge.phase * t)
    steps = math.pow(t, FEW + (MANY - FEW) * suspicion(knowledge))
    trial = min(max(TRIAL * steps, knowledge.shortest), length)
    planning = 1.0
    if searched > 0.0:
        choice["turns"][0, 0] += share(knowledge)
    if choice["turns"][0, 0] >= 1.0:
        choice["turns"][0, 0] -= 1.0
        planning = 0.0
    elif searched + trial <= steps:
        planning = 0.0
        length = trial
    length = math.ceil(length)
    if planning < choice["planning"][0, 0]:
        forget(knowledge)
    choice["planning"][0, 0] = planning
    choice["skipped"][0, 0] = t + math.floor((1.0 - COUNTED) * length)
    choice["ends"][0, 0] = t + length


def suspicion(knowledge: Versatile) -> float:
    """Return how much speaks for it that the state hides something, from 0 to 1."""
    agreed = knowledge.choice["agreed"][0, 0]
    if knowledge.run["follows"][0, 0] > 0.0 or agreed <= 0.0:
        return 0.0
    found = agreed / math.sqrt(knowledge.choice["varied"][0, 0])
    return min(max((found - DOUBTED) / (knowledge.evidence - DOUBTED), 0.0), 1.0)  # type: ignore[no-any-return]


def share(knowledge: Versatile) -> float:
    """Return the share of the phases in which the actor acts."""
    z = lead(knowledge.choice)
    likely = math.exp(-0.5 * z * z)
    w = TRUSTING + (SUSPICIOUS - TRUSTING) * suspicion(knowledge)
    if knowledge.run["follows"][0, 0] > 0.0:
        w = 0.0
    return w * likely if z >= 0.0 else min(1.0 - (1.0 - w) * likely, 1.0 - knowledge.least)


def lead(choice: Any) -> float:
    """Return by how many standard errors the planner earned more per step than the actor."""
    difference = 0.0
    variance = 1e-12
    for one in range(2):
        steps = choice["steps"][0, one]
        mean = choice["rewards"][0, one] / steps
        within = CORRELATION * max(choice["variances"][0, one], 0.0) / (steps * steps)
        between = max(choice["means_squared"][0, one] / steps - mean * mean, 0.0)
        variance += max(within, between * choice["steps_squared"][0, one] / (steps * steps)) + FLOOR / steps
        difference = mean - difference
    return float(difference / math.sqrt(variance))


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
    if knowledge.choice["planning"][0, 0] == 0.0:
        searching.remember(actor_of(knowledge), experience)
    else:
        forget(knowledge)


def policy(knowledge: Versatile) -> Table:
    """Return the policy of the one that acts."""
    if knowledge.choice["planning"][0, 0] > 0.0:
        return planning.policy(model_of(knowledge))
    allowed = knowledge._replace(search=knowledge.search.copy())
    allowed.search["gradient"][knowledge.cells["value"] == -math.inf] = -math.inf
    return searching.policy(actor_of(allowed))


def inspect(knowledge: Versatile, now: ScheduleValues) -> dict[str, Table]:
    """Return N, R, Q and V of the planner, and the policy of the one that acts."""
    return {**planning.inspect(model_of(knowledge), now), "policy": policy(knowledge)}


def explain(knowledge: Versatile, task: Task) -> str:  # noqa: ARG001
    """Say in words which of the two acts, and why."""
    choice = knowledge.choice
    acts = "the model" if choice["planning"][0, 0] > 0 else "the actor, which searches among policies"
    suspected = suspicion(knowledge)
    hidden = "hides" if suspected >= 1.0 else "may hide" if suspected > 0.0 else "is not seen to hide"
    text = f"It acts by {acts}. The aleatoric state {hidden} something that matters."
    if (choice["steps"] > 0).all():
        actor, model = (choice["rewards"] / choice["steps"])[0]
        text += f" Recent rewards per step, scaled to [0, 1]: {model:.4f} by the model, {actor:.4f} by the actor."
    return text


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
        contexts = min(pairs, max(LEAST_CONTEXTS, CONTEXTS // pairs))
        errors = records(pairs + pairs * contexts, mean=1, visits=1)
        sums = dict.fromkeys(("steps", "steps_squared", "rewards", "means_squared", "variances"), 2)
        of_phase = dict.fromkeys(("planning", "skipped", "ends", "earned", "squared", "turns", "searched"), 1)
        choice = records(1, **of_phase, **sums, before=1, agreed=1, varied=1)
        choice["planning"], choice["ends"] = 1.0, shortest
        own = errors, choice, *map(float, (evidence, phase, shortest, least))
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
