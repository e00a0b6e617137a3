"""The results that come with the package: what the agents of the board earned, and what can be earned.

``results.parquet`` has the sum of rewards of every run of every agent on every task, at a few times.  Its metadata have
the measured speeds, and all parameters of the agents and tasks: results are used only while these are the same.
``python -m docs.board DIR`` writes it from the directory of a board.  ``references.json`` has the exact optima, which
take minutes to compute; a test computes them again.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from everlearn.results.arm import Arm

RESULTS, REFERENCES = "results.parquet", "references.json"

KEY = b"everlearn.leaderboard"
"""Where the metadata of the file are."""


class Reference(NamedTuple):
    """The optimum of a task, and the best that is known of policies over aleatoric states."""

    optimum: float
    best_aleatoric: float
    hidden: bool
    """Whether the aleatoric state hides something: its best policy falls short of the optimum."""

    @property
    def lost(self) -> float:
        """The relative regret of the best policy over aleatoric states."""
        return (self.optimum - self.best_aleatoric) / abs(self.optimum)


class Shipped(NamedTuple):
    """Results of a board, and how they were made."""

    arms: list[Arm]
    speeds: dict[str, float]
    """Steps per second of processor time, by the label of the agent."""
    steps: int
    runs: int
    seed: int
    identities: dict[str, dict[str, Any]]
    """All parameters of each agent and each task of which there are results, by label."""

    @property
    def times(self) -> set[int]:
        """The times at which what was earned is known."""
        return {time for arm in self.arms for time in arm.times.tolist()}

    def fits(self, label: str, identity: Mapping[str, Any]) -> bool:
        """Return whether an agent or a task is the one of which there are results."""
        return self.identities.get(label, identity) == identity


NOTHING = Shipped([], {}, 0, 0, 0, {})


@cache
def references() -> dict[str, Reference]:
    """Return what can be earned on the tasks of the board, by label."""
    text = files("everlearn.leaderboard").joinpath(REFERENCES).read_text(encoding="utf-8")
    return {task: Reference(**values) for task, values in json.loads(text).items()}


@cache
def shipped() -> Shipped:
    """Return the results that come with the package."""
    file = files("everlearn.leaderboard").joinpath(RESULTS)
    return decoded(file.read_bytes()) if file.is_file() else NOTHING


def powers_of_ten(arm: Arm, steps: int) -> Arm:
    """Return an arm at the powers of ten from 1,000 on, and at the end, or at ``steps`` if that is earlier."""
    times = arm.times.tolist()
    end = min(times[-1], steps)
    kept = [place for place, time in enumerate(times) if time == end or (1000 <= time < end and _is_power(time))]
    return Arm(arm.task, arm.agent, {}, arm.times[kept], arm.total_reward[:, kept], arm.optimum, numbers=arm.numbered)


def _is_power(time: int) -> bool:
    return str(time).strip("0") == "1"


def decoded(contents: bytes) -> Shipped:
    """Return the results in the contents of the file."""
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(contents))
    notes = json.loads(table.schema.metadata[KEY])
    columns = table.to_pydict()
    earned: dict[tuple[str, str], dict[int, dict[int, float]]] = {}
    for task, agent, time, run, total in zip(*columns.values(), strict=True):
        earned.setdefault((task, agent), {}).setdefault(time, {})[run] = total
    arms = [_arm(task, agent, totals, references()[task]) for (task, agent), totals in earned.items()]
    return Shipped(arms, notes["speeds"], notes["steps"], notes["runs"], notes["seed"], notes.get("identities", {}))


def _arm(task: str, agent: str, totals: dict[int, dict[int, float]], reference: Reference) -> Arm:
    times, runs = sorted(totals), sorted(next(iter(totals.values())))
    total_reward = np.array([[totals[time][run] for time in times] for run in runs])
    optimum = np.full(len(runs), reference.optimum)
    return Arm(task, agent, {}, np.array(times), total_reward, optimum, numbers=np.array(runs))
