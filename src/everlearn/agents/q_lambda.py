"""Q(lambda) with linear values: Watkins's traces, the bounded step and reward centring.

Watkins (1989); the traces are cut after an action that was not greedy.  The bounded step is that of Elsayed, Vasan and
Mahmood (2024), reward centring that of Naik, Wan, Tomar and Sutton (2024); see :mod:`everlearn.agents.traces`:

    delta = R - average + gamma max_a q(S', a) - q(S, A).

With an infinite horizon (gamma = 1) it is differential Q(lambda), which needs ``centring`` above 0.

*Optimism*: values begin at 0, and the average at 1, the greatest reward after scaling.  Then no centred reward is
positive at first, so that an action that was tried looks worse than one that was not.  This fades as the average falls
to what is earned.

Deviations from stream Q(lambda) of Elsayed et al.: values are linear, the step size is not 1, rewards are scaled to
[0, 1] by their declared range (unless the task is raw) and not by running statistics, and epsilon is constant.
"""

from __future__ import annotations

from typing import Any

from everlearn.agents.checks import check_at_least
from everlearn.agents.design import Design
from everlearn.agents.perception import action_values, rows_of
from everlearn.agents.tabular import largest
from everlearn.agents.traces import Traced, correct, enter, forget, traced_design
from everlearn.aleatoric.features import AUTO
from everlearn.errors import require
from everlearn.protocol import Experience, ScheduleValues


def learn(knowledge: Traced, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Correct the values of this step and of those before it, as far as greedy actions led here."""
    rows = rows_of(knowledge, experience.aleatoric_state)
    values = action_values(knowledge, knowledge.weights, rows)
    value = values[0, experience.action]
    if value < largest(values, 0):
        forget(knowledge)
    enter(knowledge, rows, experience.action)
    following = rows_of(knowledge, experience.next_aleatoric_state)
    best = largest(action_values(knowledge, knowledge.weights, following), 0)
    correct(knowledge, experience.reward - knowledge.average[0] + knowledge.discount * best - value)


def q_lambda(
    *,
    features: str = AUTO,
    horizon: float = 50.0,
    trace: float = 0.8,
    step_size: float = 0.1,
    centring: float = 0.01,
    bound: float = 2.0,
    epsilon: float = 0.02,
    initial_average: float = 1.0,
) -> Design:
    """Q(lambda) with linear values, a bounded step and reward centring, epsilon-greedy (Watkins, 1989).

    Parameters
    ----------
    features:
        ``auto``, ``onehot``, ``factors``, ``pairs``, ``hashed:N`` or an ``el.Features``; see
        :mod:`everlearn.aleatoric.features`
    horizon:
        tau; the discount is 1 - 1 / tau
    trace:
        lambda, how much of an error the steps before share
    step_size:
        the step size, which is divided by the number of active features
    centring:
        the step size of the average that is subtracted from rewards, relative to ``step_size``; 0 for none
    bound:
        kappa, how far below its error a step stays; 0 for no bound
    epsilon:
        the probability of a random action
    initial_average:
        the average before the first step; at 1, the greatest reward, what was never tried looks better than what was,
        so that the agent explores; 0 for no optimism

    """
    check_at_least(1, horizon=min(horizon, 1e300))
    require(horizon < float("inf") or centring > 0, "agent.centring", centring, "give a positive one if horizon is inf")
    return traced_design(
        "q-lambda",
        learn,
        features,
        discount=1.0 - 1.0 / horizon,
        trace=trace,
        step_size=step_size,
        eta=centring,
        bound=bound,
        epsilon=epsilon,
        initial_average=initial_average,
    )
