"""Rewards: their range, their scaling, and what is refused."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import everlearn as el
from everlearn.aleatoric.reward import reward_range
from everlearn.errors import InputError, RewardError
from tests.refusal import refusal


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
    "value", [1.5, -1e-9, math.nan, math.inf, None, "much", "0.5", b"1", 1j, [0.5], np.array([0.5])], ids=repr
)
def test_what_is_refused(value):
    with pytest.raises(RewardError) as caught:
        returning(value)(0, "go", 1)
    assert caught.value.argument.endswith("of (0, 'go', 1)")
    assert caught.value.value is value


@pytest.mark.parametrize(
    "ends", [(1, 1), (2, 1), (-math.inf, 0), (0, math.nan), ("0", "1"), (None, 1), (-1e308, 1e308)]
)
def test_ranges_that_are_refused(ends):
    with pytest.raises(InputError) as caught:
        returning(0, *ends)
    assert (caught.value.argument, caught.value.value) == ("reward_range", ends)


@pytest.mark.parametrize("given", [1, None, "01", (0,), (0, 1, 2), {0: 1, 1: 2}])
def test_what_is_no_range(given):
    with pytest.raises(InputError) as caught:
        reward_range(given)
    assert (caught.value.argument, caught.value.value) == ("reward_range", given)


@pytest.mark.parametrize("function", ["profit", None, 0.5])
def test_a_reward_is_a_function(function):
    with pytest.raises(InputError) as caught:
        el.Reward(function)
    assert (caught.value.argument, caught.value.value) == ("reward", function)


def test_it_is_shown_in_a_line():
    def profit(s, action, observation):
        return 0.0

    assert repr(el.Reward(profit, -2, 1.5, raw=True)) == "Reward(profit, -2 to 1.5, raw)"


def test_many_rewards_are_checked_at_once():
    reward = returning(0.0, -1, 1)
    reward.check_range(np.array([[-1.0, 0.5], [1.0, 0.0]]))
    with pytest.raises(RewardError, check=refusal("reward", 1.5)):
        reward.check_range(np.array([[0.0, 0.5], [1.5, 7.0]]))
    with pytest.raises(RewardError):
        reward.check_range(np.array([math.nan]))


@pytest.mark.parametrize("kind", [Decimal, Fraction, np.int64])
def test_the_range_is_of_plain_numbers(kind):
    made = el.Reward(lambda s, a, o: 0.5, kind(0), kind(2))
    assert (type(made.low), type(made.high)) == (float, float)
    assert made.learned(1.0) == 0.5
