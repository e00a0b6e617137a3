"""The names of the agents and schedules, and the factory of each; this module imports nothing heavy."""

from __future__ import annotations

AGENTS: dict[str, str] = {
    "growing-horizon": "everlearn.agents.growing_horizon:growing_horizon",
    "discounted": "everlearn.agents.discounted:discounted",
    "discounted-subroutine": "everlearn.agents.discounted_subroutine:discounted_subroutine",
    "growing-horizon-v": "everlearn.agents.growing_horizon_v:growing_horizon_v",
    "optimistic-q": "everlearn.agents.optimistic_q:optimistic_q",
    "ucb-h": "everlearn.agents.ucb_h:ucb_h",
    "differential-q": "everlearn.agents.differential_q:differential_q",
    "r-learning": "everlearn.agents.r_learning:r_learning",
    "q-learning": "everlearn.agents.q_learning:q_learning",
    "ucrl2": "everlearn.agents.ucrl2:ucrl2",
    "ucrl2b": "everlearn.agents.ucrl2b:ucrl2b",
    "ucrl3": "everlearn.agents.ucrl3:ucrl3",
    "kl-ucrl": "everlearn.agents.kl_ucrl:kl_ucrl",
    "focus": "everlearn.agents.focus:focus",
    "tsde": "everlearn.agents.tsde:tsde",
    "psrl": "everlearn.agents.psrl:psrl",
    "imed-rl": "everlearn.agents.imed_rl:imed_rl",
    "med-rl": "everlearn.agents.med_rl:med_rl",
    "planner": "everlearn.agents.planner:planner",
    "versatile": "everlearn.agents.versatile:versatile",
    "remembering": "everlearn.agents.remembering:remembering",
    "lattice": "everlearn.agents.lattice:lattice",
    "static": "everlearn.agents.static:static",
    "gradient": "everlearn.agents.gradient:gradient",
    "curvature": "everlearn.agents.curvature:curvature",
    "learned": "everlearn.agents.learned:learned",
    "linear": "everlearn.agents.linear:linear",
    "differential-sarsa": "everlearn.agents.differential_sarsa:differential_sarsa",
    "q-lambda": "everlearn.agents.q_lambda:q_lambda",
    "network": "everlearn.agents.network:network",
    "actor-critic": "everlearn.agents.actor_critic:actor_critic",
    "restarting": "everlearn.agents.restarting:restarting_agent",
    "always": "everlearn.agents.always:always",
}
"""The registered agents: name to ``module:factory``.  Pass a name to :func:`everlearn.run`; ``everlearn agents`` lists
them."""

SCHEDULES: dict[str, str] = {
    "smooth": "everlearn.agents.schedule:smooth",
    "change-points": "everlearn.agents.schedule:change_points",
    "fixed": "everlearn.agents.schedule:fixed",
    "practical": "everlearn.agents.schedule:practical",
}
"""The registered schedules: name to ``module:factory``.  Pass a name to :func:`everlearn.run` as ``schedule``;
``everlearn schedules`` lists them."""

DEFAULT_AGENT, DEFAULT_SCHEDULE = "versatile", "practical"
SCHEDULED_AGENT = "growing-horizon"
"""The agent that runs if a schedule is named and no agent: schedules are those of the paper's agent."""


def default_agent(schedule: object = None, schedule_parameters: object = None) -> str:
    """Return the name of the agent that runs if none is named."""
    return SCHEDULED_AGENT if schedule is not None or schedule_parameters else DEFAULT_AGENT
