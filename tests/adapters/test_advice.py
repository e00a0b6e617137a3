"""What a warning or an error of the adapters advises works when it is typed as it stands."""

from __future__ import annotations

import re
import warnings

import gymnasium
import pytest

import everlearn as el
from everlearn.errors import EverlearnError


class Toll(gymnasium.Env):
    """Ends its first episode after fifty steps with a reward of 5, and pays 1 at all others."""

    observation_space = action_space = gymnasium.spaces.Discrete(2)
    past = 0

    def reset(self, *, seed=None, options=None):
        return 0, {}

    def step(self, action):
        self.past += 1
        over = self.past == 50
        return self.past % 2, 5.0 if over else 1.0, over, False, {}


class Scale(Toll):
    """Pays in fractions, more than can be listed."""

    def step(self, action):
        self.past += 1
        return self.past % 2, 3.5 * (self.past % 151) / 151 - 0.4, self.past % 7 == 0, False, {}


def said(environment, parameters, steps=100):
    """Return the first that making a task and running it says: a warning, an error, or nothing."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            el.run(el.from_gymnasium(environment, **parameters), "always", steps=steps)
        except EverlearnError as error:
            return str(caught[0].message if caught else error)
    return str(caught[0].message) if caught else ""


def advice(text):
    """Return the parameters that a text advises, by alternative."""
    ways = re.split(r",? or,? ", text)
    found = [dict(re.findall(r"task\.(\w+)=([^\s;()]*[^\s;(),])", way)) for way in ways]
    return [way for way in found if way]


@pytest.mark.parametrize(
    ("environment", "parameters", "ways"),
    [
        (Toll, {"trial_steps": 10}, [{"trial_steps": "200"}, {"rewards": "1"}]),
        (Toll, {"rewards": "1"}, [{"rewards": "1,5"}, {"reward_levels": "21", "reward_range": "1,5"}]),
        (Toll, {"trial_steps": 200}, [{"trial_steps": "4000"}, {"rewards": "1,5"}]),
        (Scale, {}, [{"reward_levels": "21", "reward_range": "-1,4"}]),
        ("CartPole-v1", {}, [{"discretiser": "quantile"}]),
        pytest.param("Taxi-v4", {}, [{"time_limit": "none"}], marks=pytest.mark.soak, id="Taxi"),
        pytest.param(
            "Acrobot-v1", {}, [{"trial_steps": "20000"}, {"rewards": "-1"}], marks=pytest.mark.soak, id="Acrobot"
        ),
        pytest.param(
            "Acrobot-v1",
            {"trial_steps": 20_000},
            [{"trial_steps": "400000"}, {"rewards": "-1,0"}],
            marks=pytest.mark.soak,
            id="Acrobot, further",
        ),
    ],
)
def test_it_is_what_it_should_be(environment, parameters, ways):
    assert advice(said(environment, parameters)) == ways


@pytest.mark.parametrize(
    ("environment", "parameters"),
    [
        (Toll, {"rewards": "1,5"}),
        (Toll, {"reward_levels": "21", "reward_range": "1,5"}),
        (Scale, {"reward_levels": "21", "reward_range": "-1,4"}),
        ("CartPole-v1", {"discretiser": "quantile"}),
        pytest.param("Taxi-v4", {"time_limit": None}, marks=pytest.mark.soak, id="Taxi"),
        pytest.param("Acrobot-v1", {"rewards": "-1,0"}, marks=pytest.mark.soak, id="Acrobot"),
    ],
)
def test_it_leads_to_a_run_without_a_word(environment, parameters):
    assert said(environment, parameters, steps=200) == ""
