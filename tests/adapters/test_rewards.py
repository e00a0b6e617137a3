"""Rewards as texts, listed or rounded."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.adapters.rewards import listed_rewards, read_numbers, read_range, rounded_rewards, tried_rewards
from everlearn.errors import InputError, RewardError
from tests.refusal import refusal


@given(st.lists(st.floats(-1e9, 1e9), min_size=1))
def test_a_text_is_worth_what_it_stands_for(values):
    rewards = listed_rewards(values)
    for value in values:
        assert rewards.paid[rewards.text(value)] == value
    assert rewards.error == 0


def test_numbers_of_any_type_are_the_same_reward():
    rewards = listed_rewards([1, 0])
    assert rewards.text(np.float32(1)) == rewards.text(True) == rewards.text(1.0) == "1"
    assert rewards.text(-0.0) == "0"


@given(st.integers(2, 50), st.floats(-100, 100), st.floats(1e-3, 100), st.floats(0, 1))
def test_rounding_is_to_the_nearest_level_and_off_by_at_most_what_it_says(number, low, width, share):
    rewards = rounded_rewards(number, low, low + width)
    reward = min(low + share * width, low + width)
    rounded = rewards.paid[rewards.text(reward)]
    grid = np.linspace(low, low + width, number)
    assert abs(rounded - reward) <= rewards.error + 1e-9
    assert abs(rounded - reward) == pytest.approx(np.abs(grid - reward).min(), abs=1e-9)


@pytest.mark.parametrize(
    ("make", "refused"),
    [
        (lambda: listed_rewards([]), ("task.rewards", [])),
        (lambda: listed_rewards([float("nan")]), ("task.rewards",)),
        (
            lambda: listed_rewards([0, 1]).text(0.5),
            ("reward", 0.5),
        ),
        (lambda: listed_rewards([0, 1]).text(1e-5), ("reward", 1e-5)),
        (
            lambda: listed_rewards([0, 1]).text(None),
            ("reward", None),
        ),
        (
            lambda: tried_rewards(np.linspace(0, 1, 101).tolist()),
            ("task.rewards", None),
        ),
        (lambda: rounded_rewards(1, 0, 1), ("task.reward_levels", 1)),
        (
            lambda: rounded_rewards(10**12, 0, 1),
            ("task.reward_levels", 1000000000000),
        ),
        (lambda: rounded_rewards(1000, 0, 1e-321), ("task.reward_range", (0, 1e-321))),
        (lambda: read_range("-1e308,1e308"), ("task.reward_range", "-1e308,1e308")),
        (
            lambda: listed_rewards([0]).text(float("nan")),
            ("reward",),
        ),
        (lambda: rounded_rewards(3, 0, 1).text(1.5), ("reward", 1.5)),
        (lambda: rounded_rewards(3, 0, 1).text(float("nan")), ("reward",)),
        (lambda: rounded_rewards(3, 0, 1).text(1.26), ("reward", 1.26)),
        (lambda: read_numbers("one", "task.rewards"), ("task.rewards", "one")),
        (lambda: read_range("1,0"), ("task.reward_range", "1,0")),
        (lambda: read_range([1, 2, 3]), ("task.reward_range", [1, 2, 3])),
    ],
)
def test_what_cannot_be_is_refused(make, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        make()


def test_a_reward_that_was_not_declared_is_a_reward_error():
    with pytest.raises(RewardError):
        listed_rewards([1]).text(2)


def test_rewards_that_rounding_has_touched_are_those_listed_rewards():
    assert listed_rewards([0.1, 0.3]).text(np.float32(0.1)) == "0.1"
    assert listed_rewards([0.1, 0.3]).text(0.1 + 0.2) == "0.3"


def test_levels_hold_what_lies_outside_by_less_than_half_a_step():
    rewards = rounded_rewards(3, 0, 1)
    assert [rewards.text(reward) for reward in (-0.2, 1.0000000000000002, 1.2)] == ["0", "1", "1"]


def test_texts_are_made_once():
    rewards = rounded_rewards(1000, 0, 1)
    assert rewards.texts is rewards.texts
