"""Act by a model or by model-free values, whichever earns more: ``planner`` and ``growing-horizon`` in one agent.

Both learn from every step: Q-learning can learn from actions that another policy chose.  One of them chooses the
actions.  A model learns from fewer steps, but it misleads if the aleatoric state hides something.  The values learn
from what followed, whatever is hidden, but more slowly.  A user cannot know which case it is, so the agent finds out.

**Does the state hide something?**  Let e be by how much r + gamma h(s') exceeds what the model predicted.  If the state
hides nothing, e is on average 0, whatever came before.  So the agent keeps the mean of e for each pair of a state and
an action, and its mean for each pair after each previous pair.  It sums the product of e and the difference of the two
means.  If the sum is more than ``evidence`` standard deviations above 0, the past tells more than the state does; if
the sum falls below 0, it does not.  In an environment that changes, both means follow the change, the second one more
slowly, so that a change alone makes the sum smaller.

**Which one earns more?**  If the state hides something, the two act in turns, and the one that earned more acts more
often (:mod:`everlearn.agents.phases`).

All rewards of a phase are credited to the one whose turn it is, whoever chose the actions.  If another policy acts, as
in shadow mode or with ``executed=``, both still learn, and so does the test, but the phases then say nothing about the
two.  A reward that comes late is credited to the one whose turn it is when it comes.

If the state hides nothing, the planner acts alone: trying the other would cost more than it could gain.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from numpy.typing import NDArray

from everlearn.agents import growing_horizon, phases, planner
from everlearn.agents.checks import check_at_least, check_fraction
from everlearn.agents.design import Design
from everlearn.agents.growing_horizon import OffsetValues, ScheduleConstants
from everlearn.agents.schedule import Schedule
from everlearn.agents.sparse_model import Planner, Settings
from everlearn.agents.tabular import records, value_table
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


class Versatile(NamedTuple):
    """What the planner knows, what the values know, and the choice between the two."""

    links: NDArray[Any]
    """The fields up to ``settings`` are those of :class:`everlearn.agents.sparse_model.Planner`."""
    cells: NDArray[Any]
    run: NDArray[Any]
    settings: Settings
    free: NDArray[Any]
    """``cells`` and ``constants`` of :class:`everlearn.agents.growing_horizon.OffsetValues`, the model-free values."""
    constants: ScheduleConstants
    errors: NDArray[Any]
    """One record per pair, then one per pair and previous pair, or group of previous pairs if they are many: ``mean``,
    the mean of e, and ``visits``."""
    choice: NDArray[Any]
    """One record.  ``planning`` is 1 if the planner acts, and 0 if the values do.  ``ends`` and ``began`` are those of
    the phase, in which the rewards sum to ``earned`` and their squares to ``squared``.  Of the phases of the values and
    of the planner, it has the sums of the steps, of their squares per phase, of the rewards, of the squares of the
    means, and of the variances.  ``turns`` grows until the one that earned less has a turn.  ``before`` is the previous
    pair, ``agreed`` the sum of the products, ``varied`` its variance; ``hidden`` is 1 if the state hides something."""
    evidence: float
    phase: float
    shortest: float
    least: float


def values_of(knowledge: Versatile) -> OffsetValues:
    """Return the values as ``growing-horizon`` has them."""
    return OffsetValues(knowledge.free, knowledge.constants)


def model_of(knowledge: Versatile) -> Planner:
    """Return the model as ``planner`` has it."""
    return Planner(knowledge.links, knowledge.cells, knowledge.run, knowledge.settings)


def act(knowledge: Versatile, aleatoric_state: int, now: ScheduleValues, stream: Any) -> int:
    """Let the planner or the values choose; the planner, if the values choose what is forbidden."""
    if knowledge.choice["planning"][0, 0] == 0.0:
        action = growing_horizon.act(values_of(knowledge), aleatoric_state, now, stream)
        if knowledge.cells["value"][aleatoric_state, action] > -math.inf:
            return action
    return planner.act(model_of(knowledge), aleatoric_state, now, stream)


def learn(knowledge: Versatile, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Let both learn, test whether the state hides something, and at the end of a phase choose who acts next."""
    s = experience.aleatoric_state
    a = experience.action
    choice = knowledge.choice
    forbid(knowledge, s)
    forbid(knowledge, experience.next_aleatoric_state)
    error = planner.study(model_of(knowledge), experience, now.t)
    values = values_of(knowledge)
    n = growing_horizon.update(values, experience, now)
    if choice["planning"][0, 0] > 0.0:
        planner.hold(model_of(knowledge), s, a)
    else:
        growing_horizon.hold(values, s, a, n)
    suspect(knowledge, s * knowledge.cells["value"].shape[1] + a, error)
    phases.credit(choice, experience.reward)
    if now.t >= choice["ends"][0, 0]:
        end_phase(knowledge, now.t)


def forbid(knowledge: Versatile, s: int) -> None:
    """Forbid the values, in a state that is new, what the planner must not do."""
    if knowledge.cells["visits"][s, 0] < 0.0:
        for a in range(knowledge.cells["value"].shape[1]):
            if knowledge.cells["value"][s, a] == -math.inf:
                knowledge.free["value"][s, a] = -math.inf


def suspect(knowledge: Versatile, pair: int, error: float) -> None:
    """Test whether the error of a prediction could be predicted from the previous pair."""
    choice = knowledge.choice
    means = knowledge.errors["mean"]
    pairs = knowledge.cells["value"].shape[0] * knowledge.cells["value"].shape[1]
    context = place_after(int(choice["before"][0, 0]), pair, pairs, means.shape[0] // pairs - 1)
    choice["before"][0, 0] = pair
    product = error * (means[context, 0] - means[pair, 0])
    agreed = choice["agreed"][0, 0] + product
    varied = choice["varied"][0, 0] + product * product
    choice["agreed"][0, 0] = agreed
    choice["varied"][0, 0] = varied
    if agreed > knowledge.evidence * math.sqrt(varied):
        choice["hidden"][0, 0] = 1.0
    if agreed < 0.0:
        choice["hidden"][0, 0] = 0.0
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
    """Begin another phase; the planner acts in it if the state hides nothing, else the one whose turn it is."""
    choice = knowledge.choice
    phases.end_phase(choice, int(choice["planning"][0, 0]), t, knowledge.shortest, knowledge.phase)
    hidden = choice["hidden"][0, 0] > 0.0
    choice["planning"][0, 0] = phases.next_to_act(choice, knowledge.least) if hidden else 1.0


def policy(knowledge: Versatile) -> Table:
    """Return the policy of the one that acts."""
    if knowledge.choice["planning"][0, 0] > 0.0:
        return planner.policy(model_of(knowledge))
    allowed = knowledge._replace(free=knowledge.free.copy())
    allowed.free["value"][knowledge.cells["value"] == -math.inf] = -math.inf
    return growing_horizon.policy(values_of(allowed))


def inspect(knowledge: Versatile, now: ScheduleValues) -> dict[str, Table]:
    """Return Q, N and sigma of the values, and R and V of the planner."""
    model = planner.inspect(model_of(knowledge), now)
    return {**growing_horizon.inspect(values_of(knowledge), now), "R": model["R"], "V": model["V"]}


def explain(knowledge: Versatile, task: Task) -> str:  # noqa: ARG001
    """Say in words which of the two acts, and why."""
    choice = knowledge.choice
    acts = "the model" if choice["planning"][0, 0] > 0 else "the model-free values"
    hidden = "hides" if choice["hidden"][0, 0] > 0 else "is not seen to hide"
    text = f"It acts by {acts}. The aleatoric state {hidden} something that matters."
    if (choice["steps"] > 0).all():
        free, model = (choice["rewards"] / choice["steps"])[0]
        text += f" Recent rewards per step, scaled to [0, 1]: {model:.4f} by the model, {free:.4f} by the values."
    return text


def versatile(
    *,
    schedule: Schedule,
    evidence: float = 5.0,
    phase: float = 0.05,
    shortest: float = 50.0,
    least: float = 0.01,
) -> Design:
    """Act by a model or by model-free values, whichever earns more.

    Parameters
    ----------
    schedule:
        the schedule of the values, as of ``growing-horizon``; the model is that of ``planner`` with its defaults
    evidence:
        the state is taken to hide something if the evidence for it is so many standard deviations above 0
    phase:
        the length of a phase, as a share of the steps so far
    shortest:
        the least number of steps of a phase
    least:
        the least share of phases in which the one that earned less acts

    Examples
    --------
    >>> from everlearn.agents.agent import Agent
    >>> agent = Agent("riverswim", "versatile", seed=1)
    >>> for _ in range(24):
    ...     reward = agent.observe(0, executed="left")
    >>> agent.explain()
    'It acts by the model. The aleatoric state is not seen to hide something that matters.'

    """
    check_at_least(0, evidence=evidence)
    check_at_least(1, shortest=shortest)
    check_fraction(phase=phase)
    check_fraction(0.5, least=least)
    model = planner.planner()

    def build(indexed: IndexedTask) -> Versatile:
        pairs = indexed.states * indexed.actions
        contexts = min(pairs, max(LEAST_CONTEXTS, CONTEXTS // pairs))
        errors = records(pairs + pairs * contexts, mean=1, visits=1)
        sums = dict.fromkeys(phases.EACH, 2)
        tested = dict.fromkeys(("before", "agreed", "varied", "hidden"), 1)
        choice = records(1, planning=1, began=1, ends=1, earned=1, squared=1, turns=1, **sums, **tested)
        choice["planning"], choice["ends"] = 1.0, shortest
        free = growing_horizon.begin(schedule, indexed.states, indexed.actions)
        own = errors, choice, evidence, phase, shortest, least
        return Versatile._make((*model.build(indexed), *free, *own))

    return Design(
        build,
        act,
        learn,
        policy,
        schedule,
        inspect,
        infinite=True,
        unit=True,
        values=value_table,
        masks=True,
        explain=explain,
        name="versatile",
    )
