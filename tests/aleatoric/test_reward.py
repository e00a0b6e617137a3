"""Rewards: their range, their scaling, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import everlearn as el
from everlearn.errors import InputError, RewardError

WHERE = "reward of (0, 'go', 1)"


def returning(value: object, low: float = 0.0, high: float = 1.0, raw: bool = False) -> el.Reward:
    return el.Reward(lambda s, a, o: value, low, high, raw)


@pytest.mark.parametrize("value", [0.0, 1.0, 0.5, True, np.float64(0.25), np.int64(1)])
def test_rewards_are_returned_as_floats(value):
    reward = returning(value)(0, "go", 1)
    assert reward == value
    assert type(reward) is float


def test_it_is_given_state_action_and_observation():
    assert el.Reward(lambda s, a, o: s + 10 * a + 100 * o, 0, 1000)(1, 2, 3) == 321


@given(low=st.floats(-1e6, 1e6), width=st.floats(1e-3, 1e6), share=st.floats(0, 1))
def test_the_learner_sees_the_unit_interval(low, width, share):
    reward = returning(0.0, low, low + width)
    assert reward.learned(low) == 0.0
    assert reward.learned(reward.high) == 1.0
    assert reward.learned(low + share * width) == pytest.approx(share, abs=1e-6)


def test_the_learner_sees_raw_rewards_where_the_task_says_so():
    assert returning(0.0, -3, 5, raw=True).learned(-2.5) == -2.5


def test_scaling_in_words():
    assert returning(0, -0.5, 1).scaling == "rewards scaled from [-0.5, 1] to [0, 1]"
    assert returning(0, -0.5, 1, raw=True).scaling == "raw rewards, from -0.5 to 1"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (1.5, f"{WHERE}: 1.5; outside its range, 0.0 to 1.0; widen reward_range"),
        (-1e-9, f"{WHERE}: -1e-09; outside its range, 0.0 to 1.0; widen reward_range"),
        (math.nan, f"{WHERE}: nan; must be finite"),
        (math.inf, f"{WHERE}: inf; must be finite"),
        (None, f"{WHERE}: None; must be a number"),
        ("much", f"{WHERE}: 'much'; must be a number"),
    ],
)
def test_what_is_refused(value, message):
    with pytest.raises(RewardError) as caught:
        returning(value)(0, "go", 1)
    assert str(caught.value) == message


@pytest.mark.parametrize(("low", "high"), [(1, 1), (2, 1), (-math.inf, 0), (0, math.nan)])
def test_ranges_that_are_refused(low, high):
    with pytest.raises(InputError) as caught:
        returning(0, low, high)
    assert str(caught.value) == f"reward_range: {(low, high)!r}; give two finite numbers, the lower first"


def test_many_rewards_are_checked_at_once():
    reward = returning(0.0, -1, 1)
    reward.check_range(np.array([[-1.0, 0.5], [1.0, 0.0]]))
    with pytest.raises(RewardError) as caught:
        reward.check_range(np.array([[0.0, 0.5], [1.5, 7.0]]))
    assert str(caught.value) == "reward: 1.5; outside its range, -1 to 1; widen reward_range"
    with pytest.raises(RewardError):
        reward.check_range(np.array([math.nan]))
