"""The command ``everlearn theory``."""

from __future__ import annotations

import pytest

SMALL = ("theory", "service-station", "--set", "task.cap=3")


def test_json_gives_what_was_asked_for(call_json):
    document = call_json(*SMALL, "--policy", "slow", "--policy", "1=fast:0.5", "--horizon", "10", "--steps", "1e6")
    assert document["optimal_average_reward"] == pytest.approx(0.5, abs=1e-9)
    assert document["policies"]["slow"]["average_reward"] == pytest.approx(0.0909364893, abs=3e-8)
    assert document["distortion"]["10"] == pytest.approx(4.57562979, abs=3e-8)
    assert set(document["policies"]) == {"slow", "1=fast:0.5"}
    assert "theorem:main" in document["bounds"]["1e+06"]


def test_a_person_reads_what_each_number_means(call):
    text = " ".join(call(*SMALL, "--policy", "slow", "--horizon", "10", "--steps", "1000").split())
    for words in ("the optimal average reward", "its averaging time", "distortion at horizon 10", "theorem:main"):
        assert words in text
    assert "at no T, because of the distortion" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--policy", "medium"), "action in the policy: 'medium'; known: fast, slow"),
        (("--horizon", "0.5"), "horizon: 0.5; give a finite number of at least 1"),
        (("--horizon", "long"), "--horizon: 'long'; give a number"),
        (("--steps", "0"), "--steps: '0'; give a whole number of at least 1"),
        (("--set", "agent.phase=3"), "--set: 'agent.phase'; theory takes parameters of the task alone"),
    ],
    ids=["policy", "horizon", "no number", "steps", "parameter"],
)
def test_what_is_refused(refused, arguments, message):
    assert refused(*SMALL, *arguments) == message
