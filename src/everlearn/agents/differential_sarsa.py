"""Differential Sarsa(lambda): values relative to the average reward, of the policy that is followed.

Richard S. Sutton and Andrew G. Barto, "Reinforcement Learning: An Introduction", second edition, 2018, Section 10.3,
with the eligibility traces of Section 12.7:

    delta = R - average + q(S', A') - q(S, A);   w += alpha delta z;   average += eta alpha delta.

A' is known one step later, so the error of a step is applied when the agent learns from the next step.  The book
chooses A' before it updates too, so its values and actions are the same.

Deviations from the source: the step may be bounded (:mod:`everlearn.agents.traces`), and traces are cut where they are
faint.  The book's step size of the average is ``eta`` times ``step_size`` here.
"""

from __future__ import annotations

from typing import Any

from everlearn.agents.design import Design
from everlearn.agents.perception import action_values, rows_of
from everlearn.agents.traces import FILLED, REWARD, VALUE, Traced, correct, enter, traced_design
from everlearn.aleatoric.features import AUTO
from everlearn.protocol import Experience, ScheduleValues


def learn(knowledge: Traced, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Correct the values of the steps before, of which the next action is known now; enter this step."""
    past = knowledge.past
    rows = rows_of(knowledge, experience.aleatoric_state)
    if past[FILLED] > 0.0:
        value = action_values(knowledge, knowledge.weights, rows)[0, experience.action]
        correct(knowledge, past[REWARD] - knowledge.average[0] + knowledge.discount * value - past[VALUE])
    past[REWARD] = experience.reward
    past[VALUE] = action_values(knowledge, knowledge.weights, rows)[0, experience.action]
    enter(knowledge, rows, experience.action)


def differential_sarsa(
    *,
    features: str = AUTO,
    trace: float = 0.8,
    step_size: float = 0.02,
    eta: float = 0.1,
    bound: float = 2.0,
    epsilon: float = 0.02,
    initial_average: float = 0.0,
) -> Design:
    """Differential Sarsa(lambda) with linear values, epsilon-greedy (Sutton and Barto, 2018).

    Parameters
    ----------
    features:
        ``auto``, ``onehot``, ``factors``, ``pairs``, ``hashed:N`` or an ``el.Features``; see
        :mod:`everlearn.aleatoric.features`
    trace:
        lambda, how much of an error the steps before share
    step_size:
        the step size, which is divided by the number of active features
    eta:
        the step size of the average, relative to ``step_size``
    bound:
        kappa, how far below its error a step stays; 0 for no bound
    epsilon:
        the probability of a random action
    initial_average:
        the average before the first step; at 1, the greatest reward, what was never tried looks better than what was

    """
    return traced_design(
        "differential-sarsa",
        learn,
        features,
        discount=1.0,
        trace=trace,
        step_size=step_size,
        eta=eta,
        bound=bound,
        epsilon=epsilon,
        initial_average=initial_average,
        defers=True,
    )
