"""How far a baseline is driven until it has decided, and what it then does with a customer."""

from __future__ import annotations

from typing import Any

import everlearn as el
from tests.worlds import environment_stream

PHASES = {"static": 1, "gradient": 2, "curvature": 3}
"""After how many phases each has decided whether to leave slow."""

FAST = 0
"""The column of fast in a policy of the station; row 1 is for a customer present."""


def after_its_phases(name: str, phase: int, seed: int, phases: int | None = None, **parameters: Any) -> el.Agent:
    """The agent after so many phases; ``task_window=3`` stands for the parameter ``task.window``."""
    given = {key.replace("_", ".", 1): value for key, value in parameters.items()}
    agent = el.Agent("service-station", name, parameters={"agent.phase": phase, **given}, seed=seed)
    environment = agent.task.start(environment_stream(seed))
    for _ in range((phases or PHASES[name]) * phase):
        agent.observe(environment.step(agent.act()))
    return agent


def check_it_stays_slow(name: str, phase: int, seed: int) -> None:
    assert after_its_phases(name, phase, seed).policy[1].tolist() == [0, 1]


def check_every_run_stays_slow(name: str, runs: int, seed: int) -> None:
    """With the default phase, in the compiled engine, which is the reference engine bit for bit."""
    result = el.run("service-station", name, steps=PHASES[name] * 200_000, runs=runs, seed=seed)
    assert result.parameters["agent.phase"] == 200_000
    assert result.policies[:, -1, 1].tolist() == [[0, 1]] * runs
