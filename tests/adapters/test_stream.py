"""The endless stream: what is observed where an episode ends, and the same seed the same stream."""

from __future__ import annotations

import gymnasium
import numpy as np

from everlearn.adapters.making import OWN, Maker
from everlearn.adapters.rewards import listed_rewards
from everlearn.adapters.spaces import Reading
from everlearn.adapters.stream import GymnasiumStream
from everlearn.adapters.trials import Trial
from everlearn.protocol import Environment, RestorableEnvironment


class Countdown(gymnasium.Env):
    """Begins at 3, 4 or 5 and counts down; at 0 it is over, and says so again if it is not reset."""

    observation_space = gymnasium.spaces.Discrete(6)
    action_space = gymnasium.spaces.Discrete(2)
    closed = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = int(self.np_random.integers(3, 6))
        return self.left, {}

    def step(self, action):
        self.left -= 1
        return self.left, float(self.left == 0), self.left == 0, False, {}

    def close(self):
        type(self).closed += 1


def started(seed=1, limit=None):
    bare = Countdown()
    made = bare if limit is None else gymnasium.wrappers.TimeLimit(bare, limit)
    stream = GymnasiumStream(made, Reading(tuple(range(6)), int), listed_rewards([0, 1]))
    stream.start(np.random.default_rng(seed))
    return stream


def test_the_end_of_an_episode_is_an_ordinary_step():
    stream, left = started(), None
    for _ in range(200):
        point, reward, mark = stream.step(0)
        assert (mark == "terminated") == (reward == "1") == (point >= 3 and left == 1)
        assert mark or left is None or point == left - 1
        left = point


def test_a_truncated_episode_is_marked_as_such_unless_it_is_over():
    stream = started(limit=3)
    marks = [stream.step(0)[1:] for _ in range(300)]
    assert set(marks) == {("0", ""), ("0", "truncated"), ("1", "terminated")}  # from 3 it is over at the limit
    assert all(mark == ("0", "") for place, mark in enumerate(marks) if place % 3 != 2)


def test_the_same_seed_gives_the_same_stream():
    first, second, other = ([one.step(0) for _ in range(100)] for one in (started(1), started(1), started(2)))
    assert first == second
    assert first != other


def test_resets_do_not_seed_again():
    stream = started()
    starts = [point for point, _, mark in (stream.step(0) for _ in range(200)) if mark]
    assert set(starts) == {3, 4, 5}


def test_it_is_an_environment_that_cannot_be_restored():
    assert isinstance(started(), Environment)
    assert not isinstance(started(), RestorableEnvironment)


def test_it_is_closed_when_nobody_holds_it_any_more():
    before = Countdown.closed
    stream = started()
    del stream
    assert Countdown.closed == before + 1


def test_a_trial_is_always_the_same_and_tells_what_happened():
    maker = Maker("FrozenLake-v1", {}, OWN)
    steps = list(Trial(maker, 500))
    assert steps == list(Trial(maker, 500))
    table = maker.make().unwrapped.P
    for step in steps:
        possible = {(following, reward, over) for _, following, reward, over in table[step.before][step.action]}
        assert (step.after, step.reward, step.terminated) in possible
