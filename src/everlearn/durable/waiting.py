"""The steps of a durable agent whose rewards have not come yet: what happened, to be learned from when they come."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.prices import Measures
from everlearn.protocol import Experience


class Awaited(NamedTuple):
    """A step whose reward is to come."""

    experience: Experience
    measures: Measures
    memory: NDArray[Any] | None  # that of the design before the step; None stands for zeros


class Waiting(dict[int, Awaited]):
    """The steps whose rewards are to come, by number.

    Examples
    --------
    >>> waiting = Waiting({7: Awaited(Experience(0, 1, 0, math.nan, 1), {}, np.ones(2))})
    >>> waiting.document()
    {'waiting': [[7, 0, 1, 0, 1]], 'memories': {'7': [1.0, 1.0]}}
    >>> Waiting.read(waiting.document())[7].memory.tolist()
    [1.0, 1.0]

    """

    def document(self) -> dict[str, Any]:
        """Return them as the entries of a snapshot; nothing if there are none."""
        steps = [
            [step, *map(int, (*e[:3], e[4])), *([measures] if measures else [])]
            for step, (e, measures, _) in self.items()
        ]
        memories = {str(step): each.memory.tolist() for step, each in self.items() if each.memory is not None}
        return {name: entries for name, entries in (("waiting", steps), ("memories", memories)) if entries}

    @classmethod
    def read(cls, more: dict[str, Any]) -> Self:
        """Return those of a snapshot."""
        memories = {int(step): np.array(memory) for step, memory in more.get("memories", {}).items()}
        return cls(
            (
                step,
                Awaited(Experience(s, a, o, math.nan, following), measures[0] if measures else {}, memories.get(step)),
            )
            for step, s, a, o, following, *measures in more.get("waiting", [])
        )
