"""Warnings reach other processes with their data."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

import everlearn as el
from everlearn.adapters.rewards import Rewards
from everlearn.adapters.task import ModelWarning
from everlearn.adapters.trials import TrialWarning
from everlearn.agents.baseline import MeaningWarning
from everlearn.cluster.workforce import WorkerWarning
from everlearn.engine.runner import ReferenceWarning
from everlearn.errors import CompilationError, Damaged
from everlearn.experiments.manifest import PlatformWarning
from everlearn.experiments.references import OptimumWarning
from everlearn.results.store import DamageWarning

TRIAL = SimpleNamespace(maker=SimpleNamespace(name="Cart-v1"), steps=100)

WARNINGS = [
    MeaningWarning("static", "riverswim", ["slow", "fast"]),
    ModelWarning("Cart-v1", "has no table"),
    TrialWarning(TRIAL, Rewards((0.0, 1.0)), terminated=True),  # type: ignore[arg-type]  # what it reads of a trial
    WorkerWarning("tcp://a:1", "another version"),
    ReferenceWarning(CompilationError("it cannot be compiled", "mine")),
    PlatformWarning(Path("out"), ["processor: a, not b"]),
    OptimumWarning("queue", 1.0, 0.5),
    DamageWarning(Damaged("is damaged", "out/cell"), "it is left out"),
]


@pytest.mark.parametrize("warning", WARNINGS, ids=lambda warning: type(warning).__name__)
def test_a_warning_travels_between_processes(warning):
    again = pickle.loads(pickle.dumps(warning))
    assert type(again) is type(warning)
    assert str(again) == str(warning)
    assert {name: str(value) for name, value in vars(again).items()} == {
        name: str(value) for name, value in vars(warning).items()
    }


def test_every_warning_with_data_is_one_of_these():
    sources = Path(el.__file__).parent.rglob("*.py")
    declared = [
        name
        for path in sources
        for name in re.findall(
            r"^class (\w+)\([\w.]*(?:Notice|Warning)\):\n(?:.+\n|\n+(?= ))*?    def __init__",
            path.read_text("utf-8"),
            re.M,
        )
    ]
    assert sorted(declared) == sorted(type(warning).__name__ for warning in WARNINGS)
