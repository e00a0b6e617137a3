"""The spec of a search: one agent, the tasks it is to do well on, what is searched, and how much is tried.

It is written in TOML, or given to :func:`everlearn.tune` as the same mappings.  Tasks, the agent and what an experiment
has besides are read as those of an experiment are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from everlearn.errors import InputError, require
from everlearn.experiments.spec import KEYS, AgentEntry, Spec, known_keys, read_spec, read_toml
from everlearn.registry import whole
from everlearn.tuning.search import Searched, read_search

OBJECTIVES = ("mean", "worst")
MOST_CANDIDATES = 100_000
"""How many candidates may be drawn; a number beyond is more likely a mistake."""

CANDIDATES, FACTOR, RUNS, FINAL_RUNS = 30, 3, 4, 50
"""What is taken where the spec does not say."""

_OWN = ("search", "candidates", "factor", "final_runs", "objective")


@dataclass(frozen=True)
class TuningSpec:
    """A search, described.

    Examples
    --------
    >>> spec = read_tuning({"steps": 1e4, "task": "riverswim", "agent": "growing-horizon",
    ...                     "search": {"schedule": {"horizon_scale": [1.5, 3, 6]}}})
    >>> spec.experiment.steps, spec.agent.given, spec.candidates, spec.factor
    (10000, 'growing-horizon', 30, 3)

    """

    experiment: Spec
    """The agent as it is given, on every task, with as many runs as the first rung has."""
    search: Mapping[str, Searched]
    candidates: int
    factor: int
    final_runs: int
    objective: str

    @property
    def agent(self) -> AgentEntry:
        """The agent as it is given."""
        return self.experiment.agents[0]


def load_tuning(path: str | Path) -> TuningSpec:
    """Read the spec of a search from a TOML file."""
    return read_tuning(*read_toml(path))


def read_tuning(document: Mapping[str, Any], folder: str | None = None) -> TuningSpec:
    """Check the spec of a search given as mappings, and return it; what it names is looked up later."""
    known_keys(document, (*KEYS, *_OWN), "")
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
    """Return the one agent that is tuned, which must have one value for each parameter."""
    require(len(agents) == 1, "agent", len(agents), "tune one agent at a time")
    agent = agents[0]
    require(len(agent.schedules) == 1, "agent.schedule", agent.schedules, "tune with one schedule at a time")
    for kind, given in (("parameters", agent.parameters), ("schedule_parameters", agent.schedule_parameters)):
        for name, values in given.items():
            remedy = "is a list, of which one value is wanted; what is to be searched stands under search"
            require(len(values) == 1, f"agent.{kind}.{name}", values, remedy)
    return replace(agent, key="agent")
