"""An agent and its literal transcription on the same stream, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np

import everlearn as el
from tests.worlds import agent_stream, environment_stream

TOLERANCE = 1e-9


def compare(agent: el.Agent, literal: Any, seed: int, steps: int) -> np.ndarray:
    """Assert equal actions, and equal tables at every step; return how often each pair was visited.

    The stream of the agent is drawn from here too, so that a tie which only one of the two sees is noticed.
    """
    environment = agent.task.start(environment_stream(seed))
    draw = agent_stream(seed).random
    visited = np.zeros(agent.policy.shape, dtype=int)
    for t in range(1, steps + 1):
        before = literal.s
        action = agent.task.actions.index(agent.act())
        assert literal.act(draw) == action, f"another action at t = {t}: {literal.Q}, {agent.inspect()}"
        reward = agent.observe(environment.step(agent.task.actions[action]))
        literal.learn(action, agent.task.reward.learned(reward), agent.task.states.index(agent.aleatoric_state))
        visited[before, action] += 1
        for name, table in agent.inspect().items():
            other = _floats(getattr(literal, name))
            close = np.abs(table - other) <= TOLERANCE * np.maximum(1.0, np.abs(other))
            assert close.all(), f"another {name} at t = {t}: {table}, {other}"
    assert draw() == agent.stream.random(), "another number of draws"
    return visited


def _floats(table: list[Any]) -> np.ndarray:
    return np.array([[float(value) for value in row] if isinstance(row, list) else float(row) for row in table])
