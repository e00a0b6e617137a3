"""Agents by name, with parameters such that they get somewhere within a test."""

from __future__ import annotations

from typing import Any

import everlearn as el
from everlearn.registry import locate, parameters

BRIEF = {"phase": 25, "duration": 200}
"""Agents that work in phases, or must be told a duration, get such that they decide within a test."""


def brief_parameters(agent: str) -> dict[str, Any]:
    known = parameters(locate(agent, el.AGENTS, "agent"))
    shares = [name for name, each in known.items() if isinstance(each.default, float)]  # of the time, not steps
    return {f"agent.{name}": value for name, value in BRIEF.items() if name in known and name not in shares}


def make_agent(task: object, agent: str, seed: int = 0, run: int = 0) -> el.Agent:
    return el.Agent(task, agent, parameters=brief_parameters(agent), seed=seed, run=run)
