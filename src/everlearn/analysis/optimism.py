"""How optimistic an agent is while it learns: the quantities of the lemmas of Appendix C, for any run.

At a step t let x be the pair, s its aleatoric state, A the action, tau the horizon, Q_t the agent's values, and
V_t(s) = min(max_a Q_t(s, a), tau).  Q_* and V_* are the optimal values at that horizon, and Delta is the distortion.
All are in the units of the learner, which sees scaled rewards unless the task is raw.

- *shortfall*: the most by which any value is below the optimal one, max over x and a of Q_*(x, a) - Q_t(s, a), or 0;
- *allowed*: Delta tau, the shortfall that Lemma 11 allows with high probability;
- chi = V_t(s) - V_*(x) + Delta tau, which is not negative where Lemma 11 holds (Equation 57);
- xi = Q_t(s, A) - Q_*(x, A), in the mean over the actions that the agent may take (Equation 58).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from everlearn.agents.agent import Agent
from everlearn.agents.design import Design
from everlearn.protocol import Table
from everlearn.theory.report import Theory

LONGEST = 1e9
"""The longest horizon; beyond it, rounding matters more than the difference from an infinite one."""


class Belief(NamedTuple):
    """What an agent believes before a step: its values, the probabilities of its actions in its state, its scale."""

    Q: Table
    taken: Table
    scale: float
    shift: float  # it learns from scale * reward + shift


class Optimism(NamedTuple):
    """The quantities at one step, or a table of each."""

    shortfall: Any
    allowed: Any
    chi: Any
    xi: Any


def horizon_of(design: Design, knowledge: Any, t: int) -> float:
    """Return the horizon of an agent at step t; infinite if it has none, or one beyond ``LONGEST``.

    It is that of the schedule; otherwise the parameter ``horizon``; otherwise the horizon or the discount with which
    the agent was built, as for the default of ``optimistic-q``, or the one that grows in ``planner``.

    Examples
    --------
    >>> agent = Agent("riverswim", "q-learning", parameters={"agent.horizon": 5})
    >>> horizon_of(agent.design, agent.knowledge, 1)
    5.0

    """
    given = design.parameters.get("horizon")
    if design.schedule is not None:
        horizon = design.schedule.horizon(t)
    elif isinstance(given, int | float):
        horizon = given
    elif hasattr(knowledge, "horizon"):
        horizon = knowledge.horizon
    elif hasattr(knowledge, "settings"):
        horizon = knowledge.settings.horizon_scale * t**knowledge.settings.horizon_power
    else:
        discount = getattr(knowledge, "discount", 1.0)
        horizon = 1 / (1 - discount) if discount < 1 else np.inf
    return float(horizon) if 1 <= horizon <= LONGEST else np.inf


def belief_of(agent: Agent) -> Belief | None:
    """Return what one of the paper's agents believes before its next step, if it has a value per state and action.

    For other agents it returns None: the values of an agent without optimism are not meant to be above the optimal
    ones, and centred values or those of stages are not comparable with them.

    Examples
    --------
    >>> belief_of(Agent("riverswim", schedule="smooth")).Q[0].tolist()
    [2.5, 2.5]

    """
    design, shape = agent.design, (len(agent.task.states), len(agent.task.actions))
    papers = design.schedule is not None or design.name == "discounted-subroutine"
    if design.inspect is None or not papers or np.isinf(horizon_of(design, agent.knowledge, agent.t + 1)):
        return None
    Q, shift = design.inspect(agent.knowledge, agent.upcoming).get("Q", np.empty(0)), agent.learned(0.0)
    taken = agent.policy[agent.situation] if Q.shape == shape else None
    return None if taken is None else Belief(Q, taken, agent.learned(1.0) - shift, shift)


def optimism_of(theory: Theory, belief: Belief, tau: float, best: Table, pair: int) -> Optimism:
    """Return the quantities; ``best`` has the optimal values in the task's units, one row per action."""
    scaled = belief.scale * best.T + belief.shift * tau
    own = belief.Q[theory.pairs.states]
    allowed = belief.scale * theory.distortion(tau).value * tau
    chi = min(own[pair].max(), tau) - scaled[pair].max() + allowed
    xi = belief.taken @ (own[pair] - scaled[pair])
    return Optimism(max(0.0, float((scaled - own).max())), allowed, float(chi), float(xi))
