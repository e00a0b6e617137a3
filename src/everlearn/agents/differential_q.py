"""Differential Q-learning: the error of the values moves the average reward too.

Yi Wan, Abhishek Naik and Richard S. Sutton, "Learning and Planning in Average-Reward Markov Decision
Processes", Proceedings of the 38th International Conference on Machine Learning (ICML), PMLR 139, 2021; arXiv
2006.16318.  Its tabular control algorithm, Differential Q-learning:

    delta = R - average + max_a Q(S', a) - Q(S, A);   Q(S, A) += alpha delta;   average += eta alpha delta.

What differs from the source:

- Rewards are scaled to [0, 1] by the declared range.  From initial values of zero all that is learned scales
  with them, so the actions stay the same.
- The step size is a constant, as in the experiments of the source; its theorem is about decreasing ones.
- The aleatoric state is treated as if it were a Markov state.
- Behaviour, which the source leaves open, is epsilon-greedy as in its experiments, ties broken uniformly.
"""

from __future__ import annotations

import math
from typing import Any

from everlearn.agents.design import Design
from everlearn.agents.greedy import largest
from everlearn.agents.relative import Rates, Relative, check_step_size, relative_design
from everlearn.errors import require
from everlearn.protocol import Experience, ScheduleValues


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
        alpha, of the values
    eta:
        the average reward learns with step size eta alpha, which is at most 1
    epsilon:
        the probability of an action at random
    initial_value, initial_average:
        what every value and the average reward are at first

    """
    check_step_size(step_size, "agent.step_size")
    require(0 < eta < math.inf, "agent.eta", eta, "give a finite number above 0")
    remedy = f"give at most {1 / step_size:g}, so that eta times step_size is at most 1"
    require(eta * step_size <= 1, "agent.eta", eta, remedy)
    rates = Rates(step_size, eta * step_size, epsilon, initial_value, initial_average)
    return relative_design(learn, rates, "differential-q")


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
