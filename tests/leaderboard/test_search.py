"""The searches: every agent has the same tasks and the same budget, and what is set could have been found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import everlearn.leaderboard
from everlearn.experiments.spec import load_spec
from everlearn.experiments.variants import make_variants
from everlearn.leaderboard.lineup import FRESH_FILE, SET_ASIDE_FILES, TRAINING_FILES, contenders, resource
from everlearn.tuning.candidates import draw_candidates
from everlearn.tuning.search import Choice
from everlearn.tuning.spec import TuningSpec, load_tuning
from tests.leaderboard.small import PAPERS

FOLDER = Path(everlearn.leaderboard.__file__).parent
UNSEARCHED = {PAPERS, *resource("settings.toml")["unsearched"]}
"""The agents with the constants of their sources."""

ENTRIES = {entry.label.replace(", ", "-"): entry for entry in contenders() if entry.label not in UNSEARCHED}


def searched(name: str) -> TuningSpec:
    return load_tuning(FOLDER / "search" / f"{name}.toml")


def test_every_agent_on_the_board_has_a_search_or_none_is_said_to_be():
    assert {entry.label for entry in contenders()} >= UNSEARCHED
    assert {path.stem for path in (FOLDER / "search").glob("*.toml")} == set(ENTRIES)


@pytest.mark.parametrize("name", ENTRIES)
def test_every_agent_is_searched_on_the_training_tasks(name):
    training, own = load_spec(FOLDER / "training.toml"), searched(name).experiment
    assert own.tasks == training.tasks
    assert (own.steps, own.runs, own.seed) == (training.steps, training.runs, training.seed)


@pytest.mark.parametrize("name", ENTRIES)
def test_every_agent_has_the_same_budget(name):
    one, other = searched(name), searched("growing-horizon-practical")
    for spec in (one, other):
        assert (spec.candidates, spec.factor, spec.final_runs, spec.objective) == (60, 3, 20, "mean")
    assert replace(one.experiment, agents=(), name="") == replace(other.experiment, agents=(), name="")


@pytest.mark.parametrize("name", ENTRIES)
def test_all_that_may_be_drawn_is_accepted(name):
    spec = searched(name)
    assert (spec.agent.given, spec.agent.schedules) == (ENTRIES[name].given, ENTRIES[name].schedules)
    combinations = 1
    for choice in spec.search.values():
        assert isinstance(choice, Choice)
        combinations *= len(choice.values)
    assert len(draw_candidates(spec)) == min(61, combinations)


@pytest.mark.parametrize("name", ENTRIES)
def test_what_is_set_could_have_been_found(name):
    """A setting is a value that was searched, and what is not set is the default, with which every search begins."""
    spec, entry = searched(name), ENTRIES[name]
    given = {f"agent.{key}": values[0] for key, values in entry.parameters.items()}
    given |= {f"schedule.{key}": values[0] for key, values in entry.schedule_parameters.items()}
    for key, value in given.items():
        assert value in spec.search[key].values, key


@pytest.mark.soak
def test_no_task_is_both_for_choosing_and_for_judging():
    """By what they do, not by what they are called."""
    from everlearn.experiments.cells import Tables

    tables, found = Tables(10**6), {}
    for file in (*TRAINING_FILES, *SET_ASIDE_FILES, FRESH_FILE):
        for one in make_variants(load_spec(FOLDER / file)):
            assert found.setdefault(tables.identity(one.plan.task), one.task.label) == one.task.label
    assert len(found) == 53 + 32
