"""A group: runs that one thread of the compiled engine advances side by side, step by step.

The knowledge of all runs is stacked along the first axis of each array.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.design import Design
from everlearn.agents.guard import Guard, build_knowledge
from everlearn.agents.knowledge import arrays, stored_arrays
from everlearn.engine.curves import Curves
from everlearn.engine.driver import Lanes
from everlearn.engine.plan import Plan
from everlearn.errors import InputError
from everlearn.protocol import Knowledge, Table
from everlearn.randomness import AGENT, ENVIRONMENT, stream, words
from everlearn.tables import AnyTable
from everlearn.tasks.indexed import IndexedTask


@dataclass(frozen=True)
class Group:
    """Runs side by side: their numbers, their stacked knowledge, their positions, and what was recorded of them."""

    runs: tuple[int, ...]
    knowledge: Knowledge
    lanes: Lanes
    curves: Curves

    def known_by(self, lane: int) -> Knowledge:
        """Return the knowledge of one run, as views of the stacked arrays."""
        parts = unstack(arrays(self.knowledge), len(self.runs))
        knowledge: Knowledge = self.knowledge._replace(**{name: part[lane] for name, part in parts.items()})
        return knowledge

    def stored(self) -> dict[str, NDArray[Any]]:
        """Return the knowledge as a checkpoint stores it: views with one row per run."""
        return unstack(stored_arrays(self.knowledge), len(self.runs))

    def policies(self, design: Design, indexed: IndexedTask) -> Table | None:
        """Return the current policy of every run, or None if the design has no policy function."""
        if design.policy is None:
            return None
        if design.own:
            guard = Guard(design, indexed)
            return np.stack([guard.policy(self.known_by(lane)) for lane in range(len(self.runs))])
        table = design.policy(self.knowledge)
        return table.reshape(len(self.runs), -1, *table.shape[1:])

    def snapshot(self) -> list[NDArray[Any]]:
        """Return copies of all arrays that change from step to step."""
        return [array.copy() for array in self._changing()]

    def restore(self, snapshot: list[NDArray[Any]]) -> None:
        """Go back to a snapshot."""
        for array, copy in zip(self._changing(), snapshot, strict=True):
            array[...] = copy

    def _changing(self) -> list[NDArray[Any]]:
        lanes = self.lanes
        return [*arrays(self.knowledge).values(), lanes.pair, lanes.state, lanes.total, lanes.environment, lanes.agent]


def start_group(plan: Plan, table: AnyTable, runs: Sequence[int]) -> Group:
    """Return a group of runs at the beginning."""
    design, indexed, number = plan.design, table.indexed, len(runs)
    shared_rows = design.by_state and not design.own
    lanes = Lanes(
        pair=np.full(number, table.start, dtype=np.uint32),
        state=np.full(number, indexed.start, dtype=np.uint32),
        base=np.arange(number, dtype=np.uint32) * np.uint32(indexed.states if shared_rows else 0),
        total=np.zeros(number),
        environment=np.array([words(stream(plan.seed, run, ENVIRONMENT)) for run in runs]),
        agent=np.array([words(stream(plan.seed, run, AGENT)) for run in runs]),
        place=np.zeros(2, dtype=np.int64),
    )
    return Group(tuple(runs), stack(design, indexed, number), lanes, plan.blank_curves(number))


def can_stack(design: Design, indexed: IndexedTask) -> bool:
    """Return whether runs of a design can be stacked.

    A built-in design must work by state, since its runs share each array.  A user's design needs arrays that have at
    least one axis, since each run is shown its own part.
    """
    if not design.own:
        return design.by_state
    return all(array.ndim > 0 for array in arrays(build_knowledge(design, indexed)).values())


def stack(design: Design, indexed: IndexedTask, number: int) -> Knowledge:
    """Return the initial knowledge of a number of runs, stacked along the first axis."""
    knowledge = build_knowledge(design, indexed)
    stacked = {}
    for name, array in arrays(knowledge).items():
        if design.by_state and not design.own and (array.ndim == 0 or array.shape[0] != indexed.states):
            remedy = f"a design by state needs arrays whose first axis is the aleatoric state, {indexed.states} long"
            raise InputError(f"array {name!r} of the design {design.name!r}", array.shape, remedy)
        stacked[name] = np.array(np.concatenate([array] * number) if number > 1 else array, order="C")
    return knowledge._replace(**stacked)


def unstack(stacked: Mapping[str, NDArray[Any]], runs: int) -> dict[str, NDArray[Any]]:
    """Return views of stacked arrays with an extra first axis for the runs."""
    return {
        name: array.reshape(runs, *((array.shape[0] // runs, *array.shape[1:]) if array.ndim else ()))
        for name, array in stacked.items()
    }
