"""Halving: how many go on, that runs are not done again, that the best is found, and that its score is fair."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import everlearn as el
from everlearn.tasks.registry import make_task
from everlearn.tuning.candidates import FINAL, RUNG, derive_seed
from everlearn.tuning.halving import rungs
from tests.experiments.small import Counting

POLICIES = {"agent.policy": ["slow", "fast", "0=fast,1=slow"]}
SHORT = {"name": "service-station", "parameters": {"window": 2}, "label": "station"}
STATION = {"task": SHORT, "agent": "always", "search": POLICIES, "steps": 2000, "runs": 2, "seed": 1}


def coin() -> el.Task:
    """Heads or tails: each action bets on one side, so that all policies earn a half, and differ by luck alone."""

    @el.task(actions=[0, 1], observations=["won", "lost"], memory=0)
    def coin(_memory, action):
        sides = ("won", "lost") if action == 0 else ("lost", "won")
        for side in sides:
            yield side, 0.5, 0

    @coin.reward
    def stake(_s, _action, observation):
        return float(observation == "won")

    return coin.finish()


@pytest.mark.parametrize(
    ("number", "factor", "expected"),
    [(2, 2, [(2, 4, 4)]), (9, 3, [(9, 4, 4), (3, 12, 8)]), (10, 2, [(10, 4, 4), (5, 8, 4), (3, 16, 8), (2, 32, 16)])],
)
def test_rungs(number, factor, expected):
    assert [tuple(rung[1:]) for rung in rungs(number, 4, factor)] == expected


@pytest.mark.parametrize("number", [2, 7, 31, 200])
def test_of_each_rung_as_many_go_on_as_the_next_has(number):
    found = rungs(number, 3, 3)
    for one, other in itertools.pairwise(found):
        assert other.candidates == math.ceil(one.candidates / 3)
        assert other.runs == 3 * one.runs == one.runs + other.new
    assert found[-1].candidates <= 3


@pytest.mark.soak
def test_the_best_policy_of_the_station_is_found():
    """Serving fast is optimal and earns 1/2 a step; serving slowly earns 1/11 (the paper, Section 4)."""
    tuned = el.tune({**STATION, "task": "service-station", "candidates": 9, "factor": 2, "final_runs": 10})
    assert tuned.best.settings == {"agent.policy": "fast"}
    assert tuned.score.mean == pytest.approx(0, abs=0.01)
    slow = [row for row in tuned.tried() if row["settings"] == {"agent.policy": "slow"} and row["rung"] == 1]
    assert [row["score"] for row in slow] == pytest.approx([1 - 2 / 11] * 2, abs=0.02)
    assert [row["candidate"] for row in tuned.table()][-1] == "default"


def test_every_score_can_be_had_by_running_the_agent():
    tuned = el.tune({**STATION, "candidates": 2, "factor": 2, "final_runs": 4})
    optimum = el.Theory(make_task("service-station", {"window": 2})).optimal_average_reward
    for standing in tuned.standings:
        seeds = (
            [(4, derive_seed(1, FINAL))]
            if standing.rung == 0
            else [(2, derive_seed(1, RUNG, r + 1)) for r in range(standing.rung)]
        )
        policy = standing.candidate.settings["agent.policy"]
        chosen = {"task.window": 2, **({} if policy is None else {"agent.policy": policy})}
        totals = [
            el.run("service-station", "always", steps=2000, runs=runs, seed=seed, parameters=chosen).total_reward[:, -1]
            for runs, seed in seeds
        ]
        expected = (optimum - np.concatenate(totals) / 2000) / optimum
        assert standing.units["station"] == pytest.approx(expected, abs=1e-9)
    assert {standing.rung for standing in tuned.standings} == {0, 1, 2}


@pytest.mark.soak
def test_the_score_in_the_final_is_fair_where_the_choice_was_luck():
    """Every candidate has the loss 0; that of the chosen one is below it where it was chosen, and not in the final."""
    shares = [number / 10 for number in range(1, 10)]
    search = {"agent.policy": [f"won=0:{one},lost=0:{other}" for one in shares for other in shares]}
    document = {"steps": 400, "runs": 2, "candidates": 60, "final_runs": 100, "factor": 99, "seed": 4, "search": search}
    tuned = el.tune({**document, "task": coin(), "agent": "always"})
    chosen_on = [row for row in tuned.tried() if row["candidate"] == tuned.best.number and row["rung"] == tuned.rungs]
    # The loss of a run has the standard deviation 1 / sqrt(steps); it was chosen on two runs, and the final has 100.
    assert tuned.rungs == 1
    assert chosen_on[-1]["score"] < -1.5 / math.sqrt(400 * 2)
    assert abs(tuned.score.mean) < 3.5 / math.sqrt(400 * 100)
    assert tuned.score.high - tuned.score.low == pytest.approx(2 * 1.96 / math.sqrt(400 * 100), rel=0.3)


def watched(path, **changes):
    watcher = Counting()
    el.tune({**STATION, "final_runs": 5, "candidates": 3, **changes}, out=path, watcher=watcher)
    return watcher


@pytest.mark.soak
def test_runs_are_extended_and_nothing_is_done_twice(tmp_path):
    """Four candidates and factor 2: 4 x 2 runs, then 2 x 2 new ones; then 5 of each finalist and of the default."""
    first = watched(tmp_path, factor=2)
    finalists = len(list((tmp_path / "final" / "cells").glob("*.npz")))
    assert first.taken == 2000 * (4 * 2 + 2 * 2 + finalists * 5)
    assert watched(tmp_path, factor=2).taken == 0


@pytest.mark.soak
def test_more_candidates_and_more_final_runs_add_to_what_is_there(tmp_path):
    """A fourth candidate has two runs, makes a second rung of two, with four new runs each, and new finalists."""
    watched(tmp_path, candidates=2)
    more = watched(tmp_path, candidates=3)
    assert more.taken - 2000 * (1 * 2 + 2 * 4) in {2000 * 5 * fresh for fresh in (0, 1, 2)}


@pytest.mark.soak
def test_the_whole_objective_and_threads_change_nothing_of_what_is_drawn(tmp_path):
    one = el.tune({**STATION, "candidates": 3, "final_runs": 3}, out=tmp_path / "one", threads=1)
    two = el.tune({**STATION, "candidates": 3, "final_runs": 3, "objective": "worst"}, out=tmp_path / "two", threads=3)
    assert one.tried() == two.tried()
    for name in ("tried.parquet", "tuned.toml"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
