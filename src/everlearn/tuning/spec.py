"""The spec of a search: one agent, the tasks, the search space, and how many candidates to try.

A spec is a TOML file, or the same mappings passed to :func:`everlearn.tune`.  It has all keys of the spec of an
experiment, and a few more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from everlearn.errors import InputError, require
from everlearn.experiments.spec import KEYS, AgentEntry, Spec, check_keys, read_spec, read_toml
from everlearn.registry import whole
from everlearn.tuning.search import Searched, read_search

OBJECTIVES = ("mean", "worst")
MOST_CANDIDATES = 100_000
"""The largest number of candidates; a larger number is more likely a mistake."""

CANDIDATES, FACTOR, RUNS, FINAL_RUNS = 30, 3, 4, 50
"""The defaults."""

_OWN = ("search", "candidates", "factor", "final_runs", "objective")


@dataclass(frozen=True)
class TuningSpec:
    """The description of a search.

    Examples
    --------
    >>> spec = read_tuning({"steps": 1e4, "task": "riverswim", "agent": "growing-horizon",
    ...                     "search": {"schedule": {"horizon_scale": [1.5, 3, 6]}}})
    >>> spec.experiment.steps, spec.agent.given, spec.candidates, spec.factor
    (10000, 'growing-horizon', 30, 3)

    """

    experiment: Spec
    """The agent as given, on every task, with the number of runs of the first rung."""
    search: Mapping[str, Searched]
    candidates: int
    factor: int
    final_runs: int
    objective: str

    @property
    def agent(self) -> AgentEntry:
        """The agent as given."""
        return self.experiment.agents[0]


def load_tuning(path: str | Path) -> TuningSpec:
    """Read the spec of a search from a TOML file."""
    return read_tuning(*read_toml(path))


def read_tuning(document: Mapping[str, Any], folder: str | None = None) -> TuningSpec:
    """Check the spec of a search given as mappings and return it; tasks and the agent are looked up when it runs."""
    check_keys(document, (*KEYS, *_OWN), "")
    if "search" not in document:
        raise InputError("search", None, "is missing; say what to search, as in [search.schedule]")
    shared = {key: value for key, value in document.items() if key not in _OWN}
    experiment = read_spec({"runs": RUNS, "name": "search", **shared}, folder)
    objective = document.get("objective", "mean")
    require(objective in OBJECTIVES, "objective", objective, f"give one of {', '.join(OBJECTIVES)}")
    return TuningSpec(
        replace(experiment, agents=(_one_agent(experiment.agents),)),
        read_search(document["search"]),
        whole(document.get("candidates", CANDIDATES), "candidates", least=1, most=MOST_CANDIDATES),
        whole(document.get("factor", FACTOR), "factor", least=2),
        whole(document.get("final_runs", FINAL_RUNS), "final_runs", least=2),
        objective,
    )


def _one_agent(agents: tuple[AgentEntry, ...]) -> AgentEntry:
    """Return the agent to tune; raise if there are several, or if a parameter has several values."""
    require(len(agents) == 1, "agent", len(agents), "tune one agent at a time")
    agent = agents[0]
    require(len(agent.schedules) == 1, "agent.schedule", agent.schedules, "tune with one schedule at a time")
    for kind, given in (("parameters", agent.parameters), ("schedule_parameters", agent.schedule_parameters)):
        for name, values in given.items():
            remedy = "is a list; give one value, and put what is to be searched under search"
            require(len(values) == 1, f"agent.{kind}.{name}", values, remedy)
    return replace(agent, key="agent")
