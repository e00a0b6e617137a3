"""Differential Q-learning: one error moves both the values and the average reward.

Yi Wan, Abhishek Naik and Richard S. Sutton, "Learning and Planning in Average-Reward Markov Decision Processes", ICML,
PMLR 139, 2021; arXiv 2006.16318.  The tabular control algorithm:

    delta = R - average + max_a Q(S', a) - Q(S, A);   Q(S, A) += alpha delta;   average += eta alpha delta.

Deviations from the source, in addition to those in :mod:`everlearn.agents.relative`: the step size is constant, as in
the experiments of the source; its theorem is about decreasing step sizes.
"""

from __future__ import annotations

from typing import Any

from everlearn.agents.checks import check_fraction, check_positive
from everlearn.agents.design import Design
from everlearn.agents.relative import Relative, relative_design
from everlearn.agents.tabular import largest
from everlearn.errors import require
from everlearn.protocol import Experience, ScheduleValues


def learn(knowledge: Relative, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Move the value and the average by the same error."""
    q = knowledge.cells["value"]
    average = knowledge.cells["average"]
    s = experience.aleatoric_state
    a = experience.action
    following = experience.next_aleatoric_state
    delta = experience.reward - average[s, 0] + largest(q, following) - q[s, a]
    q[s, a] += knowledge.step_size * delta
    average[following, 0] = average[s, 0] + knowledge.average_step_size * delta
    knowledge.cells["entered"][following, 0] = now.t


def differential_q(
    *,
    step_size: float = 0.025,
    eta: float = 0.5,
    epsilon: float = 0.1,
    initial_value: float = 0.0,
    initial_average: float = 0.0,
) -> Design:
    """Differential Q-learning, epsilon-greedy (Wan, Naik and Sutton, 2021).

    The defaults did best among the 25 pairs of step sizes that the authors tried on the access-control queue.

    Parameters
    ----------
    step_size:
        alpha, the step size of the values
    eta:
        the step size of the average reward is eta alpha, which must be at most 1
    epsilon:
        the probability of a random action
    initial_value:
        the initial value of every state-action pair
    initial_average:
        the initial average reward

    """
    check_fraction(step_size=step_size)
    check_positive(eta=eta)
    remedy = f"give at most {1 / step_size:g}, so that eta times step_size is at most 1"
    require(eta * step_size <= 1, "agent.eta", eta, remedy)
    return relative_design(
        "differential-q",
        learn,
        step_size=step_size,
        average_step_size=eta * step_size,
        epsilon=epsilon,
        initial_value=initial_value,
        initial_average=initial_average,
    )
