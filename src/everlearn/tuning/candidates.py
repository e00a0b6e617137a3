"""The candidates of a search: the agent as given, and others with randomly drawn parameters, all different."""

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
from everlearn.experiments.variants import blame_entry
from everlearn.registry import plain
from everlearn.tuning.spec import TuningSpec

DRAWING, FINAL, RUNG = 0, 1, 2
"""The purposes of random numbers: to draw candidates, for the runs of the final, and for the runs of a rung."""

PATIENCE = 50
"""The number of draws in a row without a new candidate, per candidate, after which drawing ends."""


@dataclass(frozen=True)
class Candidate:
    """One combination of parameters; number 1 is the default, the agent as given.

    Examples
    --------
    >>> Candidate(1, {"schedule.horizon_scale": 1.5}).label
    'default'

    """

    number: int
    settings: Mapping[str, Any]

    @property
    def label(self) -> str:
        """The name in tables."""
        return "default" if self.number == 1 else f"candidate {self.number}"

    def entry(self, agent: AgentEntry) -> AgentEntry:
        """Return the candidate as an agent of an experiment."""
        if self.number == 1:  # as given, without the defaults in ``settings``
            return replace(agent, label=self.label)
        drawn = split(self.settings)
        return replace(
            agent,
            label=self.label,
            parameters={**agent.parameters, **_single_values(drawn["agent"])},
            schedule_parameters={**agent.schedule_parameters, **_single_values(drawn["schedule"])},
            key=self.label,
        )


def _single_values(parameters: Mapping[str, Any]) -> dict[str, list[Any]]:
    return {name: [value] for name, value in parameters.items()}


def draw_candidates(spec: TuningSpec) -> list[Candidate]:
    """Return the default and the drawn candidates, fewer than requested if there are no more.

    If more candidates are requested, the first ones stay the same.
    """
    random = np.random.default_rng(np.random.SeedSequence(spec.experiment.seed, spawn_key=(DRAWING,)))
    candidates = [Candidate(1, _default_settings(spec))]
    seen = {_key(candidates[0].settings)}
    repeats = 0
    while len(candidates) <= spec.candidates and repeats < PATIENCE * len(candidates):
        settings = {name: values.draw(random) for name, values in spec.search.items()}
        if _key(settings) in seen:
            repeats += 1
        else:
            repeats = 0
            seen.add(_key(settings))
            candidates.append(Candidate(len(candidates) + 1, settings))
    for candidate in candidates:
        _check(candidate, spec)
    return candidates


def derive_seed(seed: int, *purpose: int) -> int:
    """Return the seed for a purpose; different seeds and different purposes give independent random numbers."""
    return int(np.random.SeedSequence(seed, spawn_key=purpose).generate_state(1)[0])


def _default_settings(spec: TuningSpec) -> dict[str, Any]:
    """Return the value that each searched parameter has in the agent as given."""
    with blame_entry(spec.agent.key):
        design = _design(spec.agent, spec.experiment.steps)
    values = {f"agent.{name}": value for name, value in design.parameters.items()}
    if design.schedule is not None:
        values |= {f"schedule.{name}": value for name, value in design.schedule.parameters.items()}
    for name in spec.search:
        if name not in values:
            raise UnknownName("key", f"search.{name}", [f"search.{known}" for known in values])
    return {name: plain(values[name]) for name in spec.search}


def _check(candidate: Candidate, spec: TuningSpec) -> None:
    """Raise if a candidate cannot be run."""
    entry, steps = candidate.entry(spec.agent), spec.experiment.steps
    with blame_entry(entry.key):
        schedule = _design(entry, steps).schedule
        if schedule is not None:
            try:
                for t in {1, steps}:
                    sample(schedule, range(t, t + 1))
            except InputError as error:
                remedy = f"{error.remedy}; narrow the search"
                raise InputError(error.argument, error.value, remedy) from None


def _design(entry: AgentEntry, steps: int) -> Design:
    """Return the design of an entry that has one value per parameter."""
    grids = (entry.parameters, entry.schedule_parameters)
    values = [{name: values[0] for name, values in grid.items()} for grid in grids]
    return AgentSpec(entry.given, entry.schedules[0], *values).make(steps)


def _key(settings: Mapping[str, Any]) -> str:
    """Return a text that is equal for equal settings; 3 and 3.0 are equal."""
    numbers = {name: float(value) if type(value) is int else value for name, value in settings.items()}
    return repr(sorted(plain(numbers).items()))
