"""R-learning: the average reward is learned where the action taken is greedy.

Anton Schwartz, "A Reinforcement Learning Method for Maximizing Undiscounted Rewards", Proceedings of the Tenth
International Conference on Machine Learning, 1993, in the version of Richard S. Sutton and Andrew G. Barto,
"Reinforcement Learning: An Introduction", first edition, MIT Press, 1998, Figure 6.16:

    Q(s, a) += alpha (r - rho + max_a' Q(s', a') - Q(s, a));
    if then Q(s, a) = max_a Q(s, a):   rho += beta (r - rho + max_a' Q(s', a') - max_a Q(s, a)).

What differs from the source:

- Rewards are scaled to [0, 1] by the declared range.  From initial values of zero all that is learned scales
  with them, so the actions stay the same.
- The aleatoric state is treated as if it were a Markov state.
- Behaviour, which the source leaves open, is epsilon-greedy as in its example, ties broken uniformly.
"""

from __future__ import annotations

from typing import Any

from everlearn.agents.design import Design
from everlearn.agents.greedy import largest
from everlearn.agents.relative import Rates, Relative, check_step_size, relative_design
from everlearn.protocol import Experience, ScheduleValues


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
        alpha, of the values
    average_step_size:
        beta, of the average reward
    epsilon:
        the probability of an action at random
    initial_value, initial_average:
        what every value and the average reward are at first

    """
    check_step_size(step_size, "agent.step_size")
    check_step_size(average_step_size, "agent.average_step_size")
    rates = Rates(step_size, average_step_size, epsilon, initial_value, initial_average)
    return relative_design(learn, rates, "r-learning")


def learn(knowledge: Relative, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Move the value; then the average, by the error that is left, if the value is now the greatest."""
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
