"""Access control as a task: the aleatoric state is the last observation, which determines the memory."""

from __future__ import annotations

from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.state import AleatoricState, last_observation
from everlearn.environments.access_control import ACTIONS, AccessControl, occupies
from everlearn.tasks.portrait import Bars, Portrait
from everlearn.tasks.task import Task


def access_control(*, servers: int = 10, priorities: int = 4, free_probability: float = 0.06) -> Task:
    """Accept or reject customers who pay different prices: a busy server cannot take a higher-paying customer.

    With the numbers of the book the optimum is 2.747642 per step.  The book reports 2.31 after two million steps of
    differential semi-gradient Sarsa, which explored in one step of ten; its first edition, which has the same task as
    Example 6.7, reports 2.73 for R-learning.

    Parameters
    ----------
    servers:
        the number of servers
    priorities:
        the number of priorities; customers pay 1, 2, 4, ... by priority
    free_probability:
        the probability that a busy server becomes free at a step

    Examples
    --------
    >>> import everlearn as el
    >>> round(el.Theory(access_control()).optimal_average_reward, 6)
    2.747642

    """
    parameters = dict(locals())
    queue = AccessControl(servers, priorities, free_probability)
    model = queue.model()
    return Task(
        ACTIONS,
        model.observations,
        AleatoricState(model.memory, last_observation().update, model.observations),
        Reward(_payment, 0.0, float(max(queue.payments))),
        model,
        name="access-control",
        summary="accept customers or turn them away, with few servers",
        portrait=Portrait(
            "Take this customer, or keep the server free for one who pays more?",
            "{} free, the next pays {}",
            Bars(("free servers", "the next pays"), servers),
        ),
        source="Sutton and Barto (2018), Example 10.2",
        parameters=parameters,
    )


def _payment(head: tuple[int, int], action: str, _observation: tuple[int, int]) -> float:
    return float(head[1] if occupies(head, action) else 0)
