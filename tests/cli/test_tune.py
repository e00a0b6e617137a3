"""The command ``everlearn tune``, end to end."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from everlearn.cli.tune import _verdict

SPEC = """
steps = 200
runs = 2
candidates = 5
final_runs = 4
{more}
[[task]]
name = "service-station"
parameters.window = 2
[agent]
name = "always"
[search.agent]
policy = ["slow", "fast"]
"""


@pytest.fixture
def spec(tmp_path):
    def write(more=""):
        path = tmp_path / "station.toml"
        path.write_text(SPEC.format(more=more))
        return str(path)

    return write


def test_the_table_has_the_chosen_one_first_and_the_default_last(call, spec, tmp_path):
    printed = call("tune", spec(), "--out", str(tmp_path / "out"))
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    assert lines[0] == "station: 3 candidates, 1 rung, 200 steps"
    assert lines[3].startswith("candidate")
    assert "chosen" in lines[3]
    assert lines[4].startswith("policy=fast")
    assert next(line for line in lines if line.startswith("default")) in lines[6:]
    assert "fresh runs" in printed
    assert "the chosen one lost" in printed
    assert str(tmp_path / "out" / "tuned.toml") in printed.replace("\n", "")


def test_as_json(call_json, spec, tmp_path):
    found = call_json("tune", spec(), "--out", str(tmp_path / "out"), "--threads", "1")
    assert found["settings"] == {"agent.policy": "fast"}
    assert found["agent"] == {"name": "always", "label": "tuned", "parameters": {"policy": "fast"}}
    assert found["improvement"]["low"] > 0
    assert set(found["score"]) == {"mean", "low", "high"}
    assert {row["task"] for row in found["tried"]} == {"service-station", "all tasks"}


@pytest.mark.soak
def test_several_tasks_have_a_table_of_their_own(call, spec, tmp_path):
    path = tmp_path / "two.toml"
    path.write_text(SPEC.format(more='objective = "worst"') + '[[task]]\nname = "service-station"\nlabel = "other"\n')
    printed = call("tune", str(path), "--out", str(tmp_path / "out"))
    assert "worst loss" in printed
    assert any(line.split()[:1] == ["other"] for line in printed.splitlines())


def test_nothing_better_is_said(call, tmp_path):
    path = tmp_path / "spec.toml"
    text = SPEC.format(more="").replace('name = "always"', 'name = "always"\nparameters.policy = "fast"')
    path.write_text(text.replace('["slow", "fast"]', '["slow"]'))
    assert "nothing that was tried did better than the default" in call("tune", str(path), "--out", str(tmp_path / "o"))


@pytest.mark.parametrize(
    ("more", "message"),
    [("factor = 1", "factor: 1; give a whole number of at least 2"), ("rungs = 3", "key: 'rungs'; known: agent,")],
)
def test_what_is_wrong_is_one_line(refused, spec, tmp_path, more, message):
    assert refused("tune", spec(more), "--out", str(tmp_path / "out")).startswith(message)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("improvement", "words"),
    [
        ((0.2, 0.1, 0.3), "the chosen one lost 0.2 less than the default (95% interval 0.1 to 0.3)"),
        ((0.2, -0.1, 0.3), "it lost 0.2 less (95% interval -0.1 to 0.3)"),
        ((-0.2, -0.3, 0.1), "it lost 0.2 more (95% interval -0.1 to 0.3)"),
        ((0.2, None, None), "in a single unit, which shows nothing"),
    ],
)
def test_the_verdict_says_who_lost_more(improvement, words):
    tuned = SimpleNamespace(improvement=improvement, best=SimpleNamespace(number=2))
    assert _verdict(tuned).endswith(words)
