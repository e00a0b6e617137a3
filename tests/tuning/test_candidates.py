"""Candidates: the default first, all different, the same for the same seed, and refused before anything is run."""

from __future__ import annotations

import pytest

from everlearn.agents.registry import make_design
from everlearn.errors import InputError, UnknownName
from everlearn.tuning.candidates import FINAL, RUNG, derive_seed, draw_candidates
from everlearn.tuning.spec import read_tuning
from tests.refusal import refusal

WIDE = {"schedule.horizon_scale": {"low": 1, "high": 9}, "schedule.optimism_scale": {"low": 0.1, "high": 1}}


def spec(search=WIDE, agent="growing-horizon", **changes):
    document = {"steps": 100, "task": "riverswim", "agent": agent, "search": search, "candidates": 10, "seed": 1}
    return read_tuning({**document, **changes})


def settings(described):
    return [dict(one.settings) for one in draw_candidates(described)]


def test_the_first_is_the_default():
    schedule = make_design("growing-horizon").schedule
    first, *others = draw_candidates(spec())
    assert first.settings == {name: schedule.parameters[name.removeprefix("schedule.")] for name in WIDE}
    assert (first.label, len(others)) == ("default", 10)


def test_what_is_set_and_searched_is_the_default():
    agent = {"name": "growing-horizon", "schedule_parameters": {"horizon_scale": 7.0, "horizon_power": 0.1}}
    first, second, *_ = draw_candidates(spec(agent=agent))
    assert first.settings["schedule.horizon_scale"] == 7.0
    entry = second.entry(spec(agent=agent).agent)
    assert entry.schedule_parameters["horizon_power"] == [0.1]
    assert entry.schedule_parameters["horizon_scale"] == [second.settings["schedule.horizon_scale"]] != [7.0]


def test_they_depend_on_the_seed_alone():
    assert settings(spec()) == settings(spec(steps=500, runs=9, search=dict(reversed(WIDE.items()))))
    assert settings(spec()) != settings(spec(seed=2))


def test_more_of_them_begin_with_the_same():
    assert settings(spec(candidates=25))[:11] == settings(spec())


def test_all_differ_and_end_where_there_are_no_more():
    search = {"schedule.horizon_scale": [12, 24, 24.0, 48], "schedule.horizon_power": [0.05, 0.1]}
    found = settings(spec(search, candidates=100))
    assert len(found) == len({tuple(sorted(one.items())) for one in found}) == 6
    assert found[0] == {"schedule.horizon_power": 0.05, "schedule.horizon_scale": 12.0}


def test_purposes_have_seeds_of_their_own():
    seeds = [
        derive_seed(seed, *purpose) for seed in (0, 1, 2) for purpose in ((FINAL,), (RUNG, 1), (RUNG, 2), (RUNG, 3))
    ]
    assert len(set(seeds)) == 12


def test_an_unknown_parameter_is_named():
    with pytest.raises(UnknownName, check=refusal("key", "search.schedule.horizon_scales")):
        draw_candidates(spec({"schedule.horizon_scales": [1, 2]}))
    with pytest.raises(UnknownName, check=refusal("key", "search.schedule.horizon_scale")):
        draw_candidates(spec({"schedule.horizon_scale": [1, 2]}, agent="always"))


def test_a_candidate_that_cannot_run_is_refused_beforehand():
    with pytest.raises(InputError, check=refusal("candidate 2, horizon at t = 1", 0.5)):
        draw_candidates(spec({"schedule.horizon_scale": [0.5]}))
    with pytest.raises(InputError, check=refusal("candidate 2, schedule.horizon_scale", "long")):
        draw_candidates(spec({"schedule.horizon_scale": ["long"]}))
    with pytest.raises(InputError, check=refusal("agent, parameter", "agent.speed")):
        draw_candidates(spec(agent={"name": "growing-horizon", "parameters": {"speed": 1}}))
