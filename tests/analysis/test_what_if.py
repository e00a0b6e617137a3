"""What other setups would have earned: learned from one half of a journal, judged by the other."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

import everlearn as el
from everlearn.analysis.what_if import UNKNOWN, evaluate_setups, verdict
from everlearn.errors import InputError, LiveError
from tests.memory import tmp_path, tmp_path_factory
from tests.refusal import has, refusal

__all__ = ["tmp_path", "tmp_path_factory"]

ECHO = {"actions": ["a", "b"], "observations": ["x", "y"], "reward_range": (0, 1)}


@pytest.fixture(scope="module")
def echo(tmp_path_factory):
    """What pays is the observation before the last: a is right after x, b after y; a person decided at random."""
    draw, seen, log = random.Random(1).choice, ["x", "x"], []
    for _ in range(6000):
        action = draw("ab")
        reward = float((action == "a") == (seen[-2] == "x"))
        seen.append(draw("xy"))
        log.append((seen[-1], action, reward))
    place = tmp_path_factory.mktemp("echo") / "agent"
    with el.live(place, **ECHO, start="x") as agent:
        agent.warm_start(log)
    return place


def test_a_longer_window_would_have_been_better(echo):
    now, longer, other = evaluate_setups(
        echo, {"present": {}, "window": {"aleatoric": "window:2"}, "schedule": {"schedule": "smooth"}}
    )
    assert now.lower < 0.5 < now.upper
    assert (longer.lower < 1.0 <= longer.upper, longer.estimate) == (True, pytest.approx(1.0, abs=0.02))
    assert (verdict(longer, now), verdict(now, longer), verdict(other, now)) == ("better", "worse", UNKNOWN)
    assert (now.trained, now.steps) == (3000, 3000)
    assert el.evaluate(echo, setup={"aleatoric": "window:2"}) == replace(longer, policy="aleatoric=window:2")
    assert verdict(replace(longer, estimate=None, lower=None, upper=None), now) == UNKNOWN


def test_steps_and_rewards(echo):
    found = el.evaluate(echo, setup={}, first=1001, last=2000)
    assert (found.trained, found.steps, found.policy) == (500, 500, "present")
    paid = el.evaluate(echo, setup={}, reward=lambda s, action, observation: 5.0 + (observation == "x"))
    assert 5.4 < paid.lower < 5.5 < paid.upper < 5.6
    shaped = el.evaluate(echo, setup={"reward": lambda s, action, observation: float(action == "b")})
    assert shaped.lower < 0.5 < shaped.upper  # it learned to prefer b, and is judged by the rewards of the journal


def test_what_is_refused(echo, tmp_path):
    with pytest.raises(InputError, check=refusal("policy", None)):
        el.evaluate(echo)
    with pytest.raises(InputError, check=refusal("policy", "a")):
        el.evaluate(echo, "a", setup={})
    with el.live(tmp_path / "a", **ECHO) as agent:
        agent.warm_start([("x", "a", 1)])
    with pytest.raises(LiveError, check=has(path=tmp_path / "a")):
        el.evaluate(tmp_path / "a", setup={})


def test_logged_exploration_adds_an_estimate_by_weights(tmp_path):
    draw = random.Random(4).choice
    with el.live(tmp_path / "a", **ECHO, explore=0.5, seed=1) as agent:
        for _ in range(6000):
            agent.observe(draw("xy"), reward=draw((0.5, 1.0)) if agent.act() == "b" else draw((0.0, 0.25)))
    found = el.evaluate(tmp_path / "a", "b")
    assert found.weighted["lower"] <= 0.75 <= found.weighted["upper"]
    assert found.weighted["effective_steps"] > 300
    assert found.to_dict()["weighted"] == found.weighted
    few = el.evaluate(tmp_path / "a", "b", last=200)
    assert few.weighted is None
    assert few.warnings[-1].startswith("propensities were logged, but too few")
    assert np.isfinite(found.estimate)
