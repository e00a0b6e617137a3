"""R-learning: the average reward is learned when the action taken is greedy.

Anton Schwartz, "A Reinforcement Learning Method for Maximizing Undiscounted Rewards", ICML, 1993, in the version of
Richard S. Sutton and Andrew G. Barto, "Reinforcement Learning: An Introduction", first edition, 1998, Figure 6.16:

    Q(s, a) += alpha (r - rho + max_a' Q(s', a') - Q(s, a));
    if then Q(s, a) = max_a Q(s, a):   rho += beta (r - rho + max_a' Q(s', a') - max_a Q(s, a)).

:mod:`everlearn.agents.relative` says what differs from the source.
"""

from __future__ import annotations

from typing import Any

from everlearn.agents.checks import check_fraction
from everlearn.agents.design import Design
from everlearn.agents.relative import Relative, relative_design
from everlearn.agents.tabular import largest
from everlearn.protocol import Experience, ScheduleValues


def learn(knowledge: Relative, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Move the value; if it is now the greatest, move the average by the error that is left."""
    q = knowledge.cells["value"]
    average = knowledge.cells["average"]
    s = experience.aleatoric_state
    a = experience.action
    following = experience.next_aleatoric_state
    mean = average[s, 0]
    value = q[s, a]
    value += knowledge.step_size * (experience.reward - mean + largest(q, following) - value)
    q[s, a] = value
    best = largest(q, s)
    error = experience.reward - mean + largest(q, following) - best
    average[following, 0] = mean + knowledge.average_step_size * error if value == best else mean  # without a branch
    knowledge.cells["entered"][following, 0] = now.t


def r_learning(
    *,
    step_size: float = 0.01,
    average_step_size: float = 0.01,
    epsilon: float = 0.1,
    initial_value: float = 0.0,
    initial_average: float = 0.0,
) -> Design:
    """R-learning, epsilon-greedy (Schwartz, 1993, as in Sutton and Barto, 1998).

    The defaults are those of Sutton and Barto on the access-control queue.

    Parameters
    ----------
    step_size:
        alpha, the step size of the values
    average_step_size:
        beta, the step size of the average reward
    epsilon:
        the probability of a random action
    initial_value:
        the initial value of every state-action pair
    initial_average:
        the initial average reward

    """
    check_fraction(step_size=step_size, average_step_size=average_step_size)
    return relative_design(
        "r-learning",
        learn,
        step_size=step_size,
        average_step_size=average_step_size,
        epsilon=epsilon,
        initial_value=initial_value,
        initial_average=initial_average,
    )
