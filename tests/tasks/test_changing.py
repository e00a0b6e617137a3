"""A task made of two: its rows are theirs, each in its season, and its optimum knows the season."""

from __future__ import annotations

import pytest

import everlearn as el
from everlearn.errors import InputError
from everlearn.tasks.changing import SLOW, changing
from everlearn.tasks.drifting import drifting
from tests.refusal import refusal


def chances(task: el.Task, step: int) -> dict[object, float]:
    rows = task.model.outcomes((step, 0), task.actions[0])
    assert {row.memory[0] for row in rows} == {(step + 1) % 4}
    return {row.observation: round(row.probability, 12) for row in rows}


@pytest.fixture
def pair() -> tuple[el.Task, el.Task]:
    return drifting(period=1, window=0, floor=0.1, height=0.8), drifting(period=1, window=0, floor=0.5, height=0.0)


def test_half_a_year_has_each_law(pair):
    task = changing(*pair, year=4)
    assert [chances(task, step)[1] for step in range(4)] == [0.9, 0.9, 0.5, 0.5]


def test_a_slow_change_mixes_them(pair):
    task = changing(*pair, year=4, change=SLOW)
    assert [chances(task, step)[1] for step in range(4)] == [0.9, 0.7, 0.5, 0.7]


def test_the_optimum_is_the_mean_of_the_seasons(pair):
    assert el.Theory(changing(*pair, year=4)).optimal_average_reward == pytest.approx((0.9 + 0.5) / 2)


def test_mistakes_are_named(pair):
    summer, winter = pair
    for given, name in [({"year": 1}, "year"), ({"year": 4, "change": "never"}, "change")]:
        with pytest.raises(InputError, check=refusal(name)):
            changing(summer, winter, **given)
    with pytest.raises(InputError, check=refusal("winter", (0, 1, 2))):
        changing(summer, drifting(options=3), year=4)
    with pytest.raises(InputError, check=refusal("summer", "task")):
        changing(el.Task((0, 1), (0, 1), el.window(1), summer.reward), winter, year=4)
