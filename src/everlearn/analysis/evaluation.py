"""``evaluate(DIR, policy)``: what another policy would have earned, from the journal of a durable agent.

Agents act almost deterministically, so importance weights say little: most of them are zero.  The estimate is that of
:mod:`everlearn.analysis.off_policy`.  It requires that each action of the policy was tried in the states that the
policy often visits; who chose it does not matter.  If one was not tried, there is no estimate, and the result says why.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from everlearn.agents.policies import policy_table, policy_text
from everlearn.aleatoric.reward import LARGEST, Reward
from everlearn.analysis.markov import halves_test, previous_state_test
from everlearn.analysis.off_policy import Estimate, estimate
from everlearn.analysis.past import rewards_of
from everlearn.analysis.weighted import Weighted, weighted
from everlearn.durable.declaration import reward_function
from everlearn.durable.entry import PROPENSITY
from everlearn.durable.reader import Reader, opened
from everlearn.durable.setup import Setup, simple
from everlearn.durable.transitions import Transitions, read_transitions, step_range
from everlearn.durable.views import policy_table as greedy_policy
from everlearn.environments.pure import as_number
from everlearn.errors import LabelError, LiveError, require
from everlearn.grids import Grid
from everlearn.labels import counted, few, show
from everlearn.protocol import Table
from everlearn.registry import locate
from everlearn.tasks.task import Task

ANY = (-LARGEST, LARGEST)
"""The limits of a reward that declares none."""

GREEDY = "greedy"
"""The policy of what the agent knows now."""

FEWEST_VISITS, MOST_THIN = 10, 0.02
"""At most this share of the steps may fall on states and actions with fewer visits."""

LEAST_FREEDOM = 5.0
"""The least degrees of freedom of an interval."""

NOTABLE = 0.01
"""What unseen outcomes may change, as a share of the range of rewards, without notice."""

UNLIKELY = 0.001
"""The p-value below which an assumption is rejected."""

LISTED = 3
"""How many pairs of a state and an action are named as reasons."""


@dataclass(frozen=True, repr=False)
class Evaluation:
    """An estimate of what a policy would earn per step, as :func:`evaluate` returns it.

    Examples
    --------
    >>> Evaluation(0.5, 0.45, 0.55, True, (), (), 0.4, 1000, 0.95, "fast")
    Evaluation(0.5, 0.45 to 0.55 at 0.95; earned 0.4 in 1,000 steps)

    """

    estimate: float | None  # None if the journal does not support one
    lower: float | None
    upper: float | None
    supported: bool
    reasons: tuple[str, ...]  # why it is not supported
    warnings: tuple[str, ...]  # which assumptions the journal contradicts, and which steps were left out
    earned: float  # the average reward that was really earned
    steps: int
    confidence: float
    policy: str
    weighted: dict[str, float] | None = None  # by logged propensities: estimate, lower, upper, history, effective_steps
    trained: int | None = None  # from how many earlier steps the policy was learned, if a setup is evaluated

    def __repr__(self) -> str:
        if self.supported:
            result = f"{self.estimate:.4g}, {self.lower:.4g} to {self.upper:.4g} at {self.confidence:g}"
        else:
            result = f"not supported: {self.reasons[0]}"
        warned = f"; {counted(len(self.warnings), 'warning')}" if self.warnings else ""
        return f"Evaluation({result}; earned {self.earned:.4g} in {counted(self.steps, 'step')}{warned})"

    def to_dict(self) -> dict[str, Any]:
        """Return the evaluation as a JSON document."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}


def evaluate(
    directory: str | os.PathLike[str],
    policy: object = None,
    *,
    setup: Mapping[str, Any] | None = None,
    agent: str | None = None,
    confidence: float = 0.95,
    first: int | None = None,
    last: int | None = None,
    reward: object = None,
) -> Evaluation:
    """Estimate what a policy would earn per step in the long run, from the journal of a durable agent.

    It assumes that the aleatoric state is a Markov state and that the environment does not change; both are tested.

    Parameters
    ----------
    directory:
        directory of durable agents; it may be in use
    policy:
        a text such as ``0=slow,1=fast:0.5``, a mapping or a table of probabilities; or ``greedy``, the greedy policy of
        the agent as it is now
    setup:
        changes to the recorded setup, such as ``{"schedule": "smooth"}``, instead of a policy.  An agent with this
        setup learns from the first half of the steps, as in ``everlearn.replay``, and its greedy policy is evaluated on
        the second half
    agent:
        the name of the agent, if there are several
    confidence:
        the probability with which the interval covers the true average
    first:
        the first step to use; by default the first in the journal
    last:
        the last step to use; by default the last in the journal
    reward:
        another reward: a function of (aleatoric state, action, observation), its name as ``module:function``, or a
        table as in ``everlearn.live``; by default the rewards in the journal

    Examples
    --------
    >>> import random, tempfile
    >>> from everlearn.durable.live import live
    >>> draw = random.Random(1).choice
    >>> log = [(draw(["idle", "busy"]), draw(["slow", "fast"])) for _ in range(1000)]
    >>> directory, setup = tempfile.mkdtemp(), {"actions": ["slow", "fast"], "observations": ["idle", "busy"]}
    >>> with live(directory, **setup, reward_range=(0, 1), reward=lambda s, a, o: float(o == "busy")) as agent:
    ...     _ = agent.warm_start(log)
    >>> evaluate(directory, "fast")
    Evaluation(0.5..., 0.4... to 0.5... at 0.95; earned 0.5... in 1,000 steps)
    >>> evaluate(directory, "fast", last=12).supported
    False

    """
    require((policy is None) != (setup is None), "policy", policy, "give either a policy or a setup")
    if setup is not None:
        from everlearn.analysis.what_if import evaluate_setups

        given: dict[str, Any] = {"agent": agent, "confidence": confidence, "first": first, "last": last}
        return evaluate_setups(directory, {setup_text(setup): setup}, **given, reward=reward)[0]
    level = confidence_level(confidence)
    steps = step_range(first, last)
    with opened(directory, agent) as (reader, name):
        record = reader.enrolled(name)
        stored = record.stored_setup()
        require_per_step(stored, record.name)
        task = stored.task
        table = _policy(reader, record.name, task, policy)
        data = read_transitions(reader, record.number, *steps)
    limits = (task.reward.low, task.reward.high)
    if reward is not None:
        data, limits = data._replace(rewards=other_rewards(data, task, reward)), ANY
    if not np.isfinite(data.rewards).any():
        raise LiveError(f"agent {record.name!r} has no observations among these steps", directory, agent=record.name)
    text = policy if isinstance(policy, str) else policy_text(task, table)
    return judge(data, task, table, level, limits, text)


def require_listed(task: Task, name: str) -> None:
    """Raise if the states of an agent are points of a box: an estimate is a sum over states that are listed."""
    remedy = "has states that are points of a box, and an estimate needs states that are listed"
    require(not isinstance(task.states, Grid), "agent", name, remedy)


def require_per_step(setup: Setup, name: str) -> None:
    """Raise if an agent has durations, or a box of states: what is estimated is reward per step, from a table."""
    require_listed(setup.task, name)
    remedy = "has durations, and what is estimated is reward per step; to ignore them: setup={'durations': None}"
    require(setup.measures[0] is None, "agent", name, remedy)


def setup_text(changes: Mapping[str, Any]) -> str:
    """Return what differs in a setup as one text."""
    return ",".join(f"{key}={simple(value)}" for key, value in changes.items()) or "present"


def judge(
    data: Transitions, task: Task, table: Table, level: float, limits: tuple[float, float], text: str
) -> Evaluation:
    """Return the evaluation of a policy, a table over the states of ``task``, from steps in these states.

    ``limits`` are the least and the greatest reward, and ``text`` names the policy.
    """
    complete = np.isfinite(data.rewards)
    data, (low, high) = data.where(complete), limits
    span = high - low if limits != ANY else float(np.ptp(data.rewards))
    model = estimate(data, table, level, span)
    reasons = tuple(reasons_against(model, task, float(np.ptp(data.rewards))))
    by_weights = None if reasons else weighted(data, table, model, level)
    return Evaluation(
        estimate=None if reasons else model.average,
        lower=None if reasons else max(low, model.average - model.half_width),
        upper=None if reasons else min(high, model.average + model.half_width),
        supported=not reasons,
        reasons=reasons,
        warnings=(*assumptions(data, model, int((~complete).sum())), *_unweighted(data, by_weights)),
        earned=float(data.rewards.mean()),
        steps=len(data.rewards),
        confidence=level,
        policy=text,
        weighted=None if by_weights is None else _weighted_document(by_weights, low, high),
    )


def _weighted_document(by_weights: Weighted, low: float, high: float) -> dict[str, float]:
    average, half = by_weights.average, by_weights.half_width
    rest = {"history": by_weights.history, "effective_steps": round(by_weights.effective)}
    return {"estimate": average, "lower": max(low, average - half), "upper": min(high, average + half), **rest}


def _unweighted(data: Transitions, by_weights: Weighted | None) -> list[str]:
    if by_weights is not None or PROPENSITY not in data.numbers:
        return []
    return ["propensities were logged, but too few histories agree with the policy for an estimate by weights"]


def confidence_level(confidence: object) -> float:
    """Return a confidence level, checked."""
    number = as_number(confidence)
    fine = number is not None and 0 < number < 1
    require(fine, "confidence", confidence, "give a number between 0 and 1, such as 0.95")
    return number or 0.0


def _policy(reader: Reader, name: str, task: Task, policy: object) -> Table:
    """Return a policy as a table; ``greedy`` is that of the agent, unless an action has this name."""
    if isinstance(policy, str) and policy == GREEDY and GREEDY not in task.actions:
        rows = greedy_policy(reader.look(name))["actions"]
        policy = np.eye(len(task.actions))[[task.actions.index(row["action"]) for row in rows]]
    try:
        return policy_table(task, policy)
    except LabelError:
        if not isinstance(policy, str) or "=" in policy or ":" in policy:
            raise
        remedy = f"known actions: {few(task.actions)}; or {GREEDY}, the greedy policy of the agent"
        raise LabelError("policy", policy, remedy) from None


def other_rewards(data: Transitions, task: Task, given: object) -> Table:
    """Return the rewards of the transitions by another function."""
    given = locate(given, {}, "reward") if isinstance(given, str) else given
    function = reward_function(given, task.states, (task.actions, task.observations), 0.0)
    return rewards_of(data, task, Reward(function, -LARGEST, LARGEST))


def reasons_against(model: Estimate, task: Task, span: float) -> list[str]:
    """Return why the data do not support an estimate, the most important pairs of a state and an action first.

    ``span`` is the width of the range of the rewards in the data.
    """
    thin = np.where(model.visits < FEWEST_VISITS, model.weights, 0.0)
    if thin.sum() > MOST_THIN:
        places = np.argsort(-thin, axis=None)
        rest = thin.sum() - np.concatenate([[0.0], np.cumsum(thin.flat[places])[:-1]])  # without those before
        return [_thin_reason(model, task, int(place)) for place in places[rest > MOST_THIN][:LISTED]]
    if model.freedom < LEAST_FREEDOM and model.half_width > model.least_width:
        place = int(np.argmax(model.variances))
        return [f"the uncertainty rests on {_visits(model, task, place)}, which are too few to tell it"]
    if model.unseen > max(model.half_width, NOTABLE * span):
        place = int(np.argmax(model.weights / np.maximum(model.visits, 1)))
        unseen = f"what {_visits(model, task, place)} did not show could change the average by"
        if model.unseen < span:
            return [f"{unseen} {model.unseen:.2g}, more than the interval of {model.half_width:.2g} says"]
        return [*_stays(model, task), f"{unseen} as much as rewards differ, {span:.2g}"]
    return []


def _stays(model: Estimate, task: Task) -> list[str]:
    """Return the sentence that the long run depends on the start, if it does."""
    if len(model.classes) < 2:
        return []
    named = [_several([show(task.states[state]) for state in each], "and") for each in model.classes]
    return [f"under this policy the system stays in {_several(named, 'or in')}, depending on where it starts"]


def _several(names: list[str], word: str) -> str:
    """Return names in a row, the first few if they are many."""
    if len(names) > LISTED:
        names = [*names[:LISTED], f"{len(names) - LISTED:,} more"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"


def _percent(share: float) -> str:
    """Return a share in percent, as a plain number.

    Examples
    --------
    >>> [_percent(share) for share in (1.0, 0.234, 0.0234, 1e-9)]
    ['100', '23', '2.3', 'less than 0.1']

    """
    number = 100 * share
    return "less than 0.1" if number < 0.1 else f"{number:.0f}" if number >= 10 else f"{number:.1f}"


def _visits(model: Estimate, task: Task, place: int) -> str:
    state, action = divmod(place, len(task.actions))
    visits = counted(int(model.visits[state, action]), "visit")
    return f"{visits} of {show(task.actions[action])} in state {show(task.states[state])}"


def _thin_reason(model: Estimate, task: Task, place: int) -> str:
    share = f"{_percent(float(model.weights.flat[place]))} percent of the steps of the policy"
    return f"the journal has {_visits(model, task, place)}, and that is {share}; {FEWEST_VISITS} visits are needed"


def assumptions(data: Transitions, model: Estimate, incomplete: int) -> list[str]:
    """Return which assumptions the data contradict, and what was left out."""
    p = f"(p < {UNLIKELY:g})"
    warnings = []
    if previous_state_test(data, model.residuals) < UNLIKELY:
        why = "the aleatoric state is not a Markov state, and the interval may miss the true average"
        warnings.append(f"what follows depends on the state before the present one {p}: {why}")
    if halves_test(data, model.residuals) < UNLIKELY:
        why = "the environment changes, or the aleatoric state is not a Markov state"
        warnings.append(f"the second half of the steps differs from the first {p}: {why}")
    if data.changed is not None:
        warnings.append(f"a change was accepted at step {data.changed}; to use what came after it, begin there")
    if incomplete:
        warnings.append(f"{counted(incomplete, 'step')} whose reward has not come: left out")
    return warnings
