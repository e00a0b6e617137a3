"""The spec of a search: what it takes from that of an experiment, what it adds, and what it refuses."""

from __future__ import annotations

import pytest

from everlearn.errors import InputError, UnknownName
from everlearn.tuning.search import Range
from everlearn.tuning.spec import load_tuning, read_tuning
from tests.refusal import refusal

SEARCH = {"schedule.horizon_scale": [1.5, 3]}
LEAST = {"steps": 100, "task": "riverswim", "agent": "growing-horizon", "search": SEARCH}


def test_a_file_is_read(tmp_path):
    path = tmp_path / "shop.toml"
    path.write_text("""
steps = 1e4
objective = "worst"
factor = 4
[agent]
name = "growing-horizon"
schedule_parameters.horizon_power = 0.25
[search.schedule]
horizon_scale = { low = 1, high = 9, scale = "log" }
[[task]]
name = "riverswim"
[[task]]
name = "random_worlds:random_world"
family.instance = 3
""")
    spec = load_tuning(path)
    assert (spec.experiment.name, spec.experiment.steps, spec.experiment.folder) == ("shop", 10_000, str(tmp_path))
    assert (spec.objective, spec.factor, len(spec.experiment.tasks)) == ("worst", 4, 2)
    assert spec.agent.schedule_parameters == {"horizon_power": [0.25]}
    assert spec.search == {"schedule.horizon_scale": Range(1.0, 9.0, "log")}


def test_what_is_left_out():
    spec = read_tuning(LEAST)
    assert (spec.experiment.runs, spec.candidates, spec.factor, spec.final_runs) == (4, 30, 3, 50)
    assert (spec.objective, spec.experiment.seed) == ("mean", 0)


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        ({"candidates": 0}, ("candidates", 0)),
        ({"candidates": 1e6}, ("candidates", 1000000.0)),
        ({"factor": 1}, ("factor", 1)),
        ({"final_runs": 1}, ("final_runs", 1)),
        ({"objective": "best"}, ("objective", "best")),
        ({"agent": ["growing-horizon", "always"]}, ("agent", 2)),
        (
            {"agent": {"name": "growing-horizon", "schedule": ["smooth", "fixed"]}},
            ("agent.schedule", ["smooth", "fixed"]),
        ),
        (
            {"agent": {"name": "always", "parameters": {"policy": ["a", "b"]}}},
            ("agent.parameters.policy", ["a", "b"]),
        ),
        ({"steps": "many"}, ("steps", "many")),
        ({"task": []}, ("task", [])),
    ],
)
def test_what_makes_no_sense_is_refused(changes, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        read_tuning({**LEAST, **changes})


def test_what_is_missing_is_named():
    for key in ("steps", "task", "agent", "search"):
        with pytest.raises(InputError, check=refusal(key, None)):
            read_tuning({name: value for name, value in LEAST.items() if name != key})


def test_an_unknown_key_is_refused_with_the_nearest():
    with pytest.raises(UnknownName, check=refusal("key", "candidate")):
        read_tuning({**LEAST, "candidate": 3})
