"""Boards small enough for tests, of which every number can be known."""

from __future__ import annotations

from collections.abc import Sequence

from everlearn.experiments.spec import read_spec
from everlearn.leaderboard.lineup import Lineup, Reference, lineup
from everlearn.results.arm import Arm

PAPERS = "growing-horizon, the paper's"
"""The agent with the constants of the paper, for which nothing was searched."""

AGENTS, TASKS = ["r-learning", "q-learning"], ["riverswim", "drifting"]


def small(runs: int = 6, steps: int = 600) -> Lineup:
    """Return two agents on five tasks: riverswim, a longer one, and three whose state hides something."""
    return lineup(AGENTS, TASKS, runs=runs, steps=steps)


def made_up(arms: Sequence[Arm], training: Sequence[str] = (), best: dict[str, float] | None = None) -> Lineup:
    """Return the lineup of arms that are made up; ``best`` has what is hidden, by task."""
    tasks, agents = (list(dict.fromkeys(getattr(arm, key) for arm in arms)) for key in ("task", "agent"))
    spec = read_spec(
        {
            "steps": int(arms[0].times[-1]),
            "runs": arms[0].units,
            "task": [{"name": "riverswim", "label": task} for task in tasks],
            "agent": [{"name": "always", "label": agent} for agent in agents],
        }
    )
    made = Lineup(spec, frozenset(training))
    optima = {arm.task: float(arm.optimum[0]) for arm in arms if arm.optimum is not None}
    known = best or {}
    vars(made)["references"] = {
        task: Reference(value, known.get(task, value), hidden=task in known) for task, value in optima.items()
    }
    return made
