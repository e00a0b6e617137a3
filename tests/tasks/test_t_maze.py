"""The T-maze: what can be earned and what is lost, in closed form, for every length and window."""

from __future__ import annotations

import numpy as np
import pytest

import everlearn as el
from everlearn.errors import InputError
from everlearn.tasks.t_maze import END, TMaze, t_maze
from tests.few import few
from tests.refusal import refusal
from tests.worlds import environment_stream

CASES = [(length, window) for length in (1, 2, 3, 5) for window in (1, 2, 3, 4, 6, 8)]


@pytest.mark.parametrize(("length", "window"), few(CASES, [(1, 1), (1, 3), (2, 2), (2, 4), (3, 1), (3, 6), (5, 8)]))
def test_closed_forms_are_what_theory_computes(length, window):
    task = t_maze(length=length, window=window)
    theory = el.Theory(task)
    enough = window > length
    assert theory.optimum.certified
    assert theory.optimal_average_reward == pytest.approx(1 / (length + 2), abs=1e-12)
    assert task.references["optimum"] == pytest.approx(theory.optimal_average_reward, abs=1e-12)
    best = theory.best_aleatoric.average_reward
    assert best == pytest.approx((1.0 if enough else 0.5) / (length + 2), abs=1e-9)
    assert best == pytest.approx(task.references["best with this window"], abs=1e-9)
    for horizon in (1, 3, 100):
        assert theory.distortion(horizon).value == pytest.approx(0.0 if enough else 1.0, abs=1e-9)


@pytest.mark.parametrize("seed", few(range(3), range(2)))
def test_with_a_short_window_every_policy_earns_half(seed):
    task = t_maze(length=3, window=3)
    policy = np.random.default_rng(seed).dirichlet([1, 1], size=len(task.states))
    theory = el.Theory(task)
    chain = theory.policy_over_pairs(theory.pairs.policy(policy))
    assert chain.average_reward == pytest.approx(task.references["turning at random"], abs=1e-12)


def test_a_trial_from_cue_to_prize():
    environment = t_maze(length=3).start(environment_stream(1))
    for _ in range(20):
        cue = environment.step("left")
        assert cue in ("left", "right")
        assert [environment.step("right") for _ in range(3)] == ["corridor", "corridor", "junction"]
        assert environment.step(cue) == "prize"
        assert environment.memory == END


def test_the_wrong_turn_earns_nothing():
    maze = TMaze(1).model()
    assert [maze.outcomes((1, "left"), turn)[0].observation for turn in ("left", "right")] == ["prize", "nothing"]


def test_windows_that_cannot_happen_are_not_listed():
    assert len(t_maze(length=1, window=1).states) == 6  # the beginning, two cues, the junction, two ends
    assert ("prize", "prize") not in t_maze(window=2).states


@pytest.mark.parametrize(("length", "window"), [(1, 9), (4, 5), (4, 12), (7, 20), (300, 301)])
def test_there_are_no_more_windows_than_the_bound_counts(length, window):
    full = [kept for kept in t_maze(length=length, window=window).states if len(kept) == window]
    assert len(full) <= (length + 2) * 4 ** (window // (length + 2) + 1)


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [
        ({"length": 0}, ("length", 0)),
        ({"length": 10**9}, ("length", 1000000000)),
        ({"window": 0}, ("window", 0)),
        ({"window": 10**400}, ("window",)),
        ({"window": 100}, ("window", 100)),
    ],
)
def test_what_is_refused(arguments, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        t_maze(**arguments)
