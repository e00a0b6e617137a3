"""Experiments small enough for tests, and what tests look at."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import everlearn as el
from everlearn.experiments import work
from everlearn.experiments.cells import Cell, Tables, make_cells
from everlearn.experiments.execute import Watcher, execute
from everlearn.experiments.spec import Spec, read_spec
from everlearn.experiments.variants import make_variants

STATION = {"name": "service-station", "parameters": {"window": 2}}
"""The paper's task, with few pairs."""

SMOOTH, RANDOM = (
    {"name": "growing-horizon", "schedule": "smooth", "label": "smooth"},
    {"name": "always", "label": "random"},
)
TABLES = ("runs.parquet", "summary.parquet")


def world(*, instance: int = 0, states: int = 3, bonus: float = 0.0) -> el.Task:
    """A random Markov decision process with two actions."""
    random = np.random.default_rng([instance, states])
    P = random.dirichlet(np.ones(states), size=(2, states))
    R = random.random((states, 2))
    return el.mdp(P, R + bonus, reward_range=(0, 1 + bonus), name="world")


def described(**changes: Any) -> Spec:
    document = {"steps": 300, "runs": 4, "seed": 1, "task": [STATION], "agent": [SMOOTH, RANDOM]}
    return read_spec({**document, **changes})


def cells_of(spec: Spec) -> list[Cell]:
    return make_cells(make_variants(spec), Tables(spec.max_pairs))


def tables(path: Path) -> dict[str, bytes]:
    return {name: (path / name).read_bytes() for name in TABLES}


def made(spec: Spec, path: Path, **options: Any) -> dict[str, bytes]:
    """Do an experiment, and return its tables."""
    return tables(execute(spec, path, **options).path)


class Counting(Watcher):
    """Counts what it is told; asks to stop once so many steps were done."""

    def __init__(self, patience: int | None = None) -> None:
        self.stop, self.lock, self.patience = threading.Event(), threading.Lock(), patience
        self.cells = self.done_before = self.steps_in_all = self.steps_before = self.taken = self.finished = 0

    def begin(self, cells: int, done: int, steps: int, steps_done: int) -> None:
        self.cells, self.done_before, self.steps_in_all, self.steps_before = cells, done, steps, steps_done

    def steps(self, number: int) -> None:
        with self.lock:
            self.taken += number
        if self.patience is not None and self.taken >= self.patience:
            self.stop.set()

    def cell(self) -> None:
        with self.lock:
            self.finished += 1


def watched(spec: Spec, path: Path, **options: Any) -> Counting:
    watcher = Counting()
    execute(spec, path, watcher=watcher, **options)
    return watcher


@contextmanager
def committing_always() -> Iterator[None]:
    """Commit at every chance."""
    with pytest.MonkeyPatch.context() as patch:
        eager = work.Pacer
        patch.setattr(work, "Pacer", lambda: eager(share=float("inf"), least=0.0))
        yield


def interrupted(spec: Spec, path: Path, patience: int, **options: Any) -> Counting:
    """Do an experiment until so many steps were done, and a little more."""
    watcher = Counting(patience)
    with committing_always():
        execute(spec, path, watcher=watcher, stop=watcher.stop, **options)
    return watcher
