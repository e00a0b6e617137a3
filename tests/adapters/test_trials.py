"""Trials: always the same, never kept, and frank about what they may have missed."""

from __future__ import annotations

from collections import Counter

import gymnasium
import pytest

from everlearn.adapters.making import OWN, Maker
from everlearn.adapters.trials import Trial, TrialWarning
from everlearn.errors import InputError
from tests.refusal import refusal


class Rare(gymnasium.Env):
    """Pays 5 once, at its twentieth step, and 1 otherwise; an episode ends after three."""

    observation_space = action_space = gymnasium.spaces.Discrete(2)
    past = 0

    def reset(self, *, seed=None, options=None):
        return 0, {}

    def step(self, action):
        self.past += 1
        return self.past % 2, 5.0 if self.past == 20 else 1.0, self.past % 3 == 0, False, {}


def test_points_are_those_that_were_seen_each_once():
    steps = list(Trial(Maker(Rare, {}, OWN), 6))
    assert [step.past for step in steps] == [0, 1, 2, 0, 1, 2]
    assert Trial(Maker(Rare, {}, OWN), 6).points() == [0, 1, 0, 1, 0, 0, 1, 0]


def test_rewards_that_were_seen_often_are_taken_for_all():
    assert Trial(Maker(Rare, {}, OWN), 19).rewards().texts == ("1",)


def test_a_reward_that_was_seen_once_is_a_reason_to_doubt():
    with pytest.warns(TrialWarning) as caught:
        assert Trial(Maker(Rare, {}, OWN), 20).rewards().texts == ("1", "5")
    assert caught.pop(TrialWarning).message.terminated


def test_without_a_terminated_episode_there_is_a_reason_to_doubt():
    with pytest.warns(TrialWarning) as caught:
        Trial(Maker(Rare, {}, OWN), 2).rewards()
    assert not caught.pop(TrialWarning).message.terminated


def test_a_trial_is_the_same_again():
    one = Trial(Maker("Blackjack-v1", {}, OWN), 200)
    assert Counter(step.reward for step in one) == Counter(step.reward for step in one)


@pytest.mark.parametrize("steps", [0, 10**7])
def test_its_length_is_bounded(steps):
    with pytest.raises(InputError, check=refusal("task.trial_steps")):
        Trial(Maker(Rare, {}, OWN), steps)
