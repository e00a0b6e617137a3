"""An actor that searches among policies, and a critic that remembers what the aleatoric state hides.

Learning the values of actions fails where the state hides which policy was followed before: what an action is worth
under one policy misleads about another.  The gradient of the average reward in the parameters of a policy does not
mislead, whatever is hidden (Jonathan Baxter and Peter Bartlett, "Infinite-horizon policy-gradient estimation", JAIR 15,
319-350, 2001).  The actor follows it with traces, and the critic reduces its noise, as in the actor-critic with
eligibility traces of Richard S. Sutton and Andrew G. Barto, "Reinforcement Learning: An Introduction", second edition,
2018, Section 13.6.  With f the active features of S, pi the probability of each action there, and [b = A] one for the
action that was taken, a step is

    delta = R - average + v' - v;   z = (1 - 1/tau) z, and z_ib += [b = A] - pi_b for each active feature i;
    G += weight delta z,   and   U += (weight delta z)^2,   each entry by itself.

**The horizon** tau = ``horizon_scale`` t^``horizon_power`` grows with time, as in the paper: with a short one, the
gradient is biased but has little noise, so that a rough policy is found early; with a long one it is nearly exact.

**The preference** for an action is the sum of G / sqrt(U) over the active features, times ``evidence``.  U estimates
the variance of G, so it is the number of standard errors by which G differs from 0: the policy becomes as definite as
the evidence is.  There is no step size, and what is noise does not accumulate.  A preference grows by its evidence as
AdaGrad's steps do (John Duchi, Elad Hazan and Yoram Singer, JMLR 12, 2011).  The weight is sqrt(t), so that late
estimates, of better policies with longer horizons, count more.  The policy is the softmax of the preferences, mixed
with ``epsilon`` of the uniform one.

**The critic** estimates how much more is to come than on average: v is linear in f and in m, a mean of the features of
the past that fades over ``memory`` steps.  What is hidden often shows in what came before.  The policy does not see m,
so it is one over aleatoric states.  An error of the critic that the state and m explain makes the gradient biased, by
less the longer tau is.  The critic learns by TD(lambda) with a trace of ``trace`` steps, and its step for each weight
falls with the weight's count.  A step is bounded as in :mod:`everlearn.agents.traces`: it changes v by at most half of
its error, whatever the features are.

Only features that were active lately are touched by a step.  The points of a box are seen in bins: by default there is
one feature for each aleatoric state.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.checks import check_at_least, check_fraction, check_positive, check_probability
from everlearn.agents.design import Design
from everlearn.agents.perception import feature, rows_of, sight
from everlearn.agents.sampling import normalise
from everlearn.agents.tabular import records
from everlearn.protocol import Experience, ScheduleValues, Table
from everlearn.randomness import uniform
from everlearn.tasks.indexed import IndexedTask

FAINT = 8.0
"""A feature is left out of traces and means when it was not active for so many times the longest of their horizons: the
rest of it is e^-8 of what it was."""

FALL = 0.6
"""The power with which the step of a weight of the critic falls with its count."""

BOUND = 0.5
"""A step of the critic changes v by at most this part of its error."""


class Settings(NamedTuple):
    """The parameters of the agent, except ``features``."""

    evidence: float
    epsilon: float
    horizon_scale: float
    horizon_power: float
    memory: float
    trace: float
    step_size: float


class ActorCritic(NamedTuple):
    """What the actor and the critic know, their record of the past, and the constants."""

    cells: NDArray[Any]
    """One record per feature: ``gradient`` and ``variance``, G and U of each action; ``weight``, the weights of the
    critic for the feature and for its mean, ``count``, the sums of the squares of both, and ``pace``, what
    max(count, 1)^-0.6 was when the feature was last active."""
    past: NDArray[Any]
    """One record per feature: ``trace``, z of each action; ``credit``, the traces of the two weights of the critic;
    ``mean``, m; ``age``, for how many steps it was not active; and ``live``, not of the feature: the number of a
    feature that was active lately, plus 1, and 0 at the end of this list."""
    average: Table
    parts: NDArray[np.int64]
    digits: NDArray[np.int64]
    segment: int
    settings: Settings


def horizon(knowledge: ActorCritic, t: float) -> float:
    """Return tau at step t."""
    return max(knowledge.settings.horizon_scale * math.pow(t, knowledge.settings.horizon_power), 1.0)


def probabilities(knowledge: ActorCritic, s: int) -> Table:
    """Return the probability of each action in a state."""
    cells = knowledge.cells
    gradient = cells["gradient"]
    variance = cells["variance"]
    parts = knowledge.parts
    rows = rows_of(knowledge, s)
    row = np.zeros(gradient.shape[1])
    for j in range(parts.shape[1]):
        i = feature(parts, knowledge.segment, rows, j)
        for a in range(len(row)):
            if gradient[i, a] == -math.inf:
                row[a] = -math.inf
            elif variance[i, a] > 0.0:
                row[a] += knowledge.settings.evidence * gradient[i, a] / math.sqrt(variance[i, a])
    allowed = 0
    for a in range(len(row)):
        allowed += row[a] > -math.inf
    normalise(row)
    for a in range(len(row)):
        row[a] *= 1.0 - knowledge.settings.epsilon
        if gradient[i, a] > -math.inf:
            row[a] += knowledge.settings.epsilon / allowed
    return row


def act(knowledge: ActorCritic, aleatoric_state: int, now: ScheduleValues, stream: Any) -> int:  # noqa: ARG001
    """Draw an action from the policy."""
    row = probabilities(knowledge, aleatoric_state)
    left = uniform(stream)
    for a in range(len(row) - 1):
        left -= row[a]
        if left < 0.0:
            return a
    return len(row) - 1


def learn(knowledge: ActorCritic, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Estimate by how much more the step brought than expected, and credit it to what was done lately."""
    improve(knowledge, experience, now.t)


def improve(knowledge: ActorCritic, experience: Experience, t: float) -> None:
    """Learn from the step that is the ``t``-th from which it learns."""
    average = knowledge.average
    rows = rows_of(knowledge, experience.aleatoric_state)
    expected, following, total = fade(knowledge, horizon(knowledge, t))
    expected += state_part(knowledge, rows)
    following += notice(knowledge, rows)
    following += state_part(knowledge, rows_of(knowledge, experience.next_aleatoric_state))
    total += enter(knowledge, rows, experience.aleatoric_state, experience.action)
    delta = experience.reward - average[0] + following - expected
    average[0] += (experience.reward - average[0]) / t
    size = knowledge.settings.step_size / (2.0 * knowledge.parts.shape[1])
    correct(knowledge, math.sqrt(t) * delta, min(size, BOUND / total) * delta)


def state_part(knowledge: ActorCritic, rows: NDArray[np.int64]) -> float:
    """Return the part of v that the features of a state tell."""
    weight = knowledge.cells["weight"]
    value = 0.0
    for j in range(knowledge.parts.shape[1]):
        value += weight[feature(knowledge.parts, knowledge.segment, rows, j), 0]
    return value


def fade(knowledge: ActorCritic, tau: float) -> tuple[float, float, float]:
    """Let traces and means fade, after the means have entered the traces of the critic; drop features that are faint.

    Return the part of v that the past told, what it tells now, and the sum of the traces of the critic, each times the
    pace of its weight.
    """
    weight = knowledge.cells["weight"]
    pace = knowledge.cells["pace"]
    past = knowledge.past
    live = past["live"]
    trace = past["trace"]
    credit = past["credit"]
    mean = past["mean"]
    age = past["age"]
    longest = FAINT * max(tau, knowledge.settings.memory, knowledge.settings.trace)
    decay = 1.0 - 1.0 / tau
    critic_decay = 1.0 - 1.0 / knowledge.settings.trace
    before = 0.0
    after = 0.0
    total = 0.0
    kept = 0
    for k in range(len(live)):
        i = int(live[k, 0]) - 1
        if i < 0:
            break
        remains = 1.0 if age[i, 0] < longest else 0.0
        age[i, 0] = remains * (age[i, 0] + 1.0)
        for a in range(trace.shape[1]):
            trace[i, a] *= remains * decay
        before += weight[i, 1] * mean[i, 0]
        credit[i, 0] *= remains * critic_decay
        credit[i, 1] = remains * (critic_decay * credit[i, 1] + mean[i, 0])
        mean[i, 0] *= remains * (1.0 - 1.0 / knowledge.settings.memory)
        after += weight[i, 1] * mean[i, 0]
        total += pace[i, 0] * credit[i, 0] + pace[i, 1] * credit[i, 1]
        live[k, 0] = 0.0
        live[kept, 0] = remains * (i + 1.0)
        kept += int(remains)
    return before, after, total


def notice(knowledge: ActorCritic, rows: NDArray[np.int64]) -> float:
    """Add the features of a state to the means; return what this adds to v."""
    weight = knowledge.cells["weight"]
    live = knowledge.past["live"]
    mean = knowledge.past["mean"]
    age = knowledge.past["age"]
    end = 0
    while end < len(live) and live[end, 0] > 0.0:
        end += 1
    added = 0.0
    for j in range(knowledge.parts.shape[1]):
        i = feature(knowledge.parts, knowledge.segment, rows, j)
        mean[i, 0] += 1.0 / knowledge.settings.memory
        added += weight[i, 1] / knowledge.settings.memory
        if age[i, 0] == 0.0:
            live[end, 0] = i + 1.0
            end += 1
        age[i, 0] = 1.0
    return added


def enter(knowledge: ActorCritic, rows: NDArray[np.int64], s: int, action: int) -> float:
    """Add a state and an action to the traces; return what this adds to the sum of the traces of the critic."""
    count = knowledge.cells["count"]
    pace = knowledge.cells["pace"]
    trace = knowledge.past["trace"]
    credit = knowledge.past["credit"]
    row = probabilities(knowledge, s)
    added = 0.0
    for j in range(knowledge.parts.shape[1]):
        i = feature(knowledge.parts, knowledge.segment, rows, j)
        for a in range(len(row)):
            trace[i, a] -= row[a]
        trace[i, action] += 1.0
        added -= pace[i, 0] * credit[i, 0] + pace[i, 1] * credit[i, 1]
        credit[i, 0] += 1.0
        count[i, 0] += 1.0
        for part in range(2):
            pace[i, part] = math.pow(max(count[i, part], 1.0), -FALL)
        added += pace[i, 0] * credit[i, 0] + pace[i, 1] * credit[i, 1]
    return added


def correct(knowledge: ActorCritic, error: float, step: float) -> None:
    """Add an error, credited to the latest actions, to the gradient, and move the weights of the critic."""
    gradient = knowledge.cells["gradient"]
    variance = knowledge.cells["variance"]
    weight = knowledge.cells["weight"]
    count = knowledge.cells["count"]
    pace = knowledge.cells["pace"]
    live = knowledge.past["live"]
    trace = knowledge.past["trace"]
    credit = knowledge.past["credit"]
    mean = knowledge.past["mean"]
    for k in range(len(live)):
        i = int(live[k, 0]) - 1
        if i < 0:
            break
        for a in range(trace.shape[1]):
            change = error * trace[i, a]
            gradient[i, a] += change
            variance[i, a] += change * change
        for part in range(2):
            weight[i, part] += step * pace[i, part] * credit[i, part]
        count[i, 1] += mean[i, 0] * mean[i, 0]


def remember(knowledge: ActorCritic, experience: Experience) -> None:
    """Add a step that is not learned from to the means, and cut the traces."""
    fade(knowledge, 1.0)  # nothing is left of the actor's traces
    notice(knowledge, rows_of(knowledge, experience.aleatoric_state))
    knowledge.past["credit"][:] = 0.0


def policy(knowledge: ActorCritic) -> Table:
    """Return the policy."""
    return np.array([probabilities(knowledge, s) for s in range(len(knowledge.parts))])


def inspect(knowledge: ActorCritic, now: ScheduleValues) -> dict[str, Table]:
    """Return the policy, what the critic says of each state, the average reward and the horizon."""
    values = [[state_part(knowledge, rows_of(knowledge, s))] for s in range(len(knowledge.parts))]
    numbers = {"average": knowledge.average.copy(), "horizon": np.array([horizon(knowledge, now.t)])}
    return {"policy": policy(knowledge), "V": np.array(values), **numbers}


def actor_critic(
    *,
    features: str = "onehot",
    evidence: float = 1.0,
    epsilon: float = 0.005,
    horizon_scale: float = 1.0,
    horizon_power: float = 0.3,
    memory: float = 16.0,
    trace: float = 5.0,
    step_size: float = 0.5,
) -> Design:
    """Actor-critic over a growing horizon, whose critic remembers the past; softmax (Baxter and Bartlett, 2001).

    Parameters
    ----------
    features:
        ``onehot``, ``auto``, ``factors``, ``pairs``, ``hashed:N`` or an ``el.Features``; see
        :mod:`everlearn.aleatoric.features`
    evidence:
        how definite the policy becomes by one standard error of the gradient
    epsilon:
        the probability of a random action
    horizon_scale:
        the horizon is ``horizon_scale`` t^``horizon_power``, but at least 1
    horizon_power:
        the power of that horizon
    memory:
        over how many steps the mean of past features, which the critic sees, fades
    trace:
        over how many steps the traces of the critic fade
    step_size:
        the step size of the critic at first

    Examples
    --------
    >>> import everlearn as el
    >>> agent = el.Agent("queueing-network", "actor-critic")
    >>> agent.policy[0].round(6).tolist()
    [0.25, 0.25, 0.25, 0.25]

    """
    check_positive(evidence=evidence, horizon_scale=horizon_scale)
    check_probability(epsilon=epsilon, horizon_power=horizon_power)
    check_at_least(1, memory=memory, trace=trace)
    check_fraction(step_size=step_size)
    constants = evidence, epsilon, horizon_scale, horizon_power, memory, trace, step_size

    def build(indexed: IndexedTask) -> ActorCritic:
        seen = sight(features, indexed)
        cells = records(seen.size, gradient=indexed.actions, variance=indexed.actions, weight=2, count=2, pace=2)
        past = records(seen.size, trace=indexed.actions, credit=2, mean=1, age=1, live=1)
        return ActorCritic(cells, past, np.zeros(1), *seen[:3], Settings._make(map(float, constants)))

    return Design(
        build,
        act,
        learn,
        policy,
        inspect=inspect,
        remember=remember,
        memory="past",
        name="actor-critic",
    )
