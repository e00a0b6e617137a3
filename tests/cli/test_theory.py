"""The command ``everlearn theory``."""

from __future__ import annotations

import shlex

import pytest

from everlearn.theory.report import Theory

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
    meanings = ("optimum over all policies", "best over aleatoric states", "its averaging time")
    for words in (*meanings, "distortion at horizon 10", "Theorem 4 (Section 4.2)"):
        assert words in text
    assert "at no T, because of the distortion, as printed, and at no T" in text
    assert "the bounds do not apply: rewards are raw here" in text


@pytest.mark.parametrize(
    ("task", "settings"),
    [
        ("alternating", ()),
        pytest.param("riverswim", (), marks=pytest.mark.soak),
        ("t-maze", ("--set", "task.window=2", "--set", "task.length=2")),
        ("service-station", ("--set", "task.cap=2", "--set", "task.aleatoric=window:2")),
        ("odd_own:odd", ()),
    ],
)
def test_the_best_policy_can_be_given_back(task, settings, call, call_json, tmp_path, monkeypatch):
    (tmp_path / "odd_own.py").write_text(ODD)
    monkeypatch.syspath_prepend(tmp_path)
    text = call("theory", task, *settings)
    (line,) = [line for line in text.splitlines() if line.startswith("  --policy ")]
    _, policy = shlex.split(line)
    document = call_json("theory", task, *settings, "--policy", policy)
    assert document["best_aleatoric"]["text"] == policy
    average = document["policies"][policy]["average_reward"]
    assert average == pytest.approx(document["best_aleatoric"]["average_reward"], abs=1e-9)
    printed = next(line.split()[0] for line in text.splitlines() if "best over aleatoric" in line)
    assert average == pytest.approx(float(printed), abs=1e-9)


ODD = """
import everlearn as el

@el.task(actions=["a,b", "c=d:0.5", "e+f"], observations=["x, y", ("[", 1), '"'], memory=0, reward_range=(0, 1))
def odd(memory, action):
    yield ("x, y", ("[", 1), '"')[memory], 1.0, (memory + 1) % 3

odd.reward(lambda s, action, observation: float(action == {"x, y": "e+f", ("[", 1): "c=d:0.5"}.get(s, "a,b")))
"""


def test_a_long_policy_is_left_to_json(call, call_json):
    large = ("theory", "garnet", "--set", "task.states=300")
    assert "--json has it under" in call(*large)
    assert len(call_json(*large)["best_aleatoric"]["text"].split(",")) == 300


def test_the_optimum_alone(call, call_json, monkeypatch):
    monkeypatch.setattr(Theory, "best_aleatoric", property(lambda _: pytest.fail("it was searched for")))
    document = call_json(*SMALL, "--only", "optimum")
    assert document["optimal_average_reward"] == pytest.approx(0.5, abs=1e-9)
    assert "best_aleatoric" not in document
    text = call(*SMALL, "--only", "optimum")
    assert "optimum over all policies" in text
    assert "aleatoric states:" not in text


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


def test_a_bound_that_says_something_only_after_more_steps_than_can_be_run(call):
    text = " ".join(call("theory", "riverswim", "--steps", "1e18").split())
    assert "proof has a gap: Algorithm 2 clips Q (E2)" in text
    assert "from T = 8.11e+17 on, as printed, and from T = 1.45e+16 on, repaired" in text
