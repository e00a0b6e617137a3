"""Catch: balls fall one row per step, and count when they reach the paddle."""

from __future__ import annotations

import numpy as np
import pytest

from everlearn.environments.catch import CAUGHT, MISSED, MOVES, NEITHER, Catch
from everlearn.environments.model import ModelEnvironment
from everlearn.errors import InputError
from tests.worlds import environment_stream


def test_every_ball_counts_once_when_it_has_fallen():
    made, choices = Catch(rows=5, columns=3, spawn=0.4), np.random.default_rng(1)
    environment = ModelEnvironment(made.model())
    environment.start(environment_stream(1))
    falling, paddle, seen = [], 2, []
    for t in range(300):
        action = list(MOVES)[choices.integers(3)]
        paddle = min(max(paddle + MOVES[action], 1), 3)
        event, board = environment.step(action)
        due = [column for born, column in falling if born == t - 4]
        assert event == (NEITHER if not due else CAUGHT if due == [paddle] else MISSED)
        assert board[0] == paddle
        if board[-1]:
            falling.append((t, board[-1]))
        seen.append(event)
    assert {CAUGHT, MISSED, NEITHER} == set(seen)


def test_balls_come_at_their_rate_in_every_column():
    (empty, *balls) = Catch(rows=3, columns=4, spawn=0.2).model().outcomes((1, 0, 0), "stay")
    assert empty.probability == pytest.approx(0.8)
    assert [(ball.memory[-1], round(ball.probability, 12)) for ball in balls] == [(c, 0.05) for c in range(1, 5)]


@pytest.mark.parametrize("given", [{"rows": 1}, {"columns": 1}, {"spawn": 0}, {"rows": 40}])
def test_sizes_are_checked(given):
    with pytest.raises(InputError, check=lambda error: error.argument == next(iter(given))):
        Catch(**given)
