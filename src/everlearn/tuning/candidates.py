"""The candidates of a search: the agent as it is given, and as many more as are drawn, all different."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from everlearn.agents.clock import sample
from everlearn.agents.design import Design
from everlearn.agents.spec import AgentSpec, split
from everlearn.errors import InputError, UnknownName
from everlearn.experiments.spec import AgentEntry
from everlearn.experiments.variants import named
from everlearn.registry import plain
from everlearn.tuning.spec import TuningSpec

DRAWING, FINAL, RUNG = 0, 1, 2
"""What random numbers are for: drawing candidates, the runs of the final, the runs of a rung."""

PATIENCE = 50
"""How many draws in a row may bring nothing new before there is taken to be nothing new."""


@dataclass(frozen=True)
class Candidate:
    """One combination of values of what is searched; number 1 is the agent as it is given.

    Examples
    --------
    >>> Candidate(1, {"schedule.horizon_scale": 1.5}).label
    'default'

    """

    number: int
    settings: Mapping[str, Any]

    @property
    def label(self) -> str:
        """What it is called."""
        return "default" if self.number == 1 else f"candidate {self.number}"

    def entry(self, agent: AgentEntry) -> AgentEntry:
        """Return it as an agent of an experiment."""
        if self.number == 1:  # as it is given, so that what it leaves out stays left out
            return replace(agent, label=self.label)
        chosen = {kind: {name: [value] for name, value in of.items()} for kind, of in split(self.settings).items()}
        return replace(
            agent,
            label=self.label,
            parameters={**agent.parameters, **chosen["agent"]},
            schedule_parameters={**agent.schedule_parameters, **chosen["schedule"]},
            key=self.label,
        )


def candidates(spec: TuningSpec) -> list[Candidate]:
    """Return the default and the candidates drawn; fewer than asked for where there are no more.

    With a larger number the first ones stay the same.

    Examples
    --------
    >>> from everlearn.tuning.spec import read_tuning
    >>> spec = read_tuning({"steps": 10, "task": "riverswim", "agent": "growing-horizon",
    ...                     "search": {"schedule.horizon_scale": [12, 24, 48]}})
    >>> sorted(one.settings["schedule.horizon_scale"] for one in candidates(spec))
    [12.0, 24, 48]

    """
    random = np.random.default_rng(np.random.SeedSequence(spec.experiment.seed, spawn_key=(DRAWING,)))
    found = [Candidate(1, _default(spec))]
    met = {_key(found[0].settings)}
    fruitless = 0
    while len(found) <= spec.candidates and fruitless < PATIENCE * len(found):
        drawn = {name: searched.draw(random) for name, searched in spec.search.items()}
        fruitless = fruitless + 1 if _key(drawn) in met else 0
        if not fruitless:
            met.add(_key(drawn))
            found.append(Candidate(len(found) + 1, drawn))
    for one in found:
        _check(one, spec)
    return found


def seed_of(seed: int, *purpose: int) -> int:
    """Return a seed for a purpose: whoever searches with the next seed has other numbers throughout.

    Examples
    --------
    >>> seed_of(1, RUNG, 1) == seed_of(1, RUNG, 2)
    False

    """
    return int(np.random.SeedSequence(seed, spawn_key=purpose).generate_state(1)[0])


def _default(spec: TuningSpec) -> dict[str, Any]:
    """Return what the agent has, as it is given, for each parameter that is searched."""
    with named(spec.agent.key):
        design = _design(spec.agent, spec.experiment.steps)
    known = {f"agent.{name}": value for name, value in design.parameters.items()}
    if design.schedule is not None:
        known |= {f"schedule.{name}": value for name, value in design.schedule.parameters.items()}
    for name in spec.search:
        if name not in known:
            raise UnknownName("key", f"search.{name}", [f"search.{one}" for one in known])
    return {name: plain(known[name]) for name in spec.search}


def _check(candidate: Candidate, spec: TuningSpec) -> None:
    """Refuse a candidate that could not be run, before anything is."""
    entry, steps = candidate.entry(spec.agent), spec.experiment.steps
    with named(entry.key):
        schedule = _design(entry, steps).schedule
        if schedule is not None:
            try:
                for t in {1, steps}:
                    sample(schedule, range(t, t + 1))
            except InputError as error:
                remedy = f"{error.remedy}; narrow what is searched"
                raise InputError(error.argument, error.value, remedy) from None


def _design(entry: AgentEntry, steps: int) -> Design:
    """Return the design of an entry that has one value per parameter."""
    parameters, timing = (
        {name: values[0] for name, values in grid.items()} for grid in (entry.parameters, entry.schedule_parameters)
    )
    return AgentSpec(entry.given, entry.schedules[0], parameters, timing).make(steps)


def _key(settings: Mapping[str, Any]) -> str:
    """Return what tells settings apart: 3 and 3.0 are the same."""
    plainly = {name: float(value) if type(value) is int else value for name, value in settings.items()}
    return repr(sorted(plain(plainly).items()))
