"""``everlearn evaluate``."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

import everlearn as el
from everlearn.cli.main import app


@pytest.fixture
def directory(tmp_path):
    setup = {"actions": ["slow", "fast"], "observations": ["idle", "busy"], "reward_range": (0, 1)}
    with el.live(tmp_path / "agent", **setup) as agent:
        rows = [("idle", "slow", 0.25), ("idle", "fast", 0.5), ("idle", "fast", 1.0), ("idle", "slow", 0.0)] * 30
        agent.warm_start(rows)
    return str(tmp_path / "agent")


def test_an_estimate(directory, call, call_json):
    found = call_json("evaluate", directory, "--policy", "fast")
    assert found["estimate"] == pytest.approx(0.75, abs=1e-6)
    assert 0.6 < found["lower"] < 0.75 < found["upper"] < 0.9
    assert (found["supported"], found["reasons"], found["warnings"]) == (True, [], [])
    assert (found["earned"], found["steps"], found["confidence"], found["policy"]) == (0.4375, 120, 0.95, "fast")
    lines = call("evaluate", directory, "--policy", "fast", "--agent", "agent").splitlines()
    assert lines[0] == "earned: 0.4375 per step, over 120 steps"
    assert lines[1].startswith("policy fast: 0.75 per step, 0.")
    assert lines[1].endswith(" with confidence 0.95")
    assert lines[2].startswith("assumed: the aleatoric state predicts what follows (Markov); to test it, ")


def test_options(directory, call_json):
    wide, narrow = (
        call_json("evaluate", directory, "--policy", "fast", "--confidence", text) for text in ("0.99", "0.5")
    )
    assert wide["lower"] < narrow["lower"]
    assert call_json("evaluate", directory, "--policy", "greedy", "--from", "11", "--to", "1e2")["steps"] == 90


def test_another_reward(directory, call_json, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_price.py").write_text("def price(s, action, observation):\n    return 3 * (action == 'fast')\n")
    found = call_json("evaluate", directory, "--policy", "fast", "--reward", "own_price:price")
    assert found["estimate"] == pytest.approx(3, abs=1e-6)
    assert found["earned"] == 1.5


def test_no_support(directory, call, call_json):
    found = call_json("evaluate", directory, "--policy", "fast", "--to", "8")
    assert (found["estimate"], found["lower"], found["upper"], found["supported"]) == (None, None, None, False)
    lines = call("evaluate", directory, "--policy", "fast", "--to", "8").splitlines()
    assert lines[1].startswith(
        "policy fast: not supported, the journal has 4 visits of fast in state idle, and that is "
    )
    assert len(lines) == 1 + len(found["reasons"])


def test_warnings_are_on_standard_error(directory):
    with el.live(directory) as agent:
        agent.warm_start([("idle", "fast", 0.0)] * 100)
    result = CliRunner().invoke(app, ["evaluate", directory, "--policy", "fast"])
    assert result.exit_code == 0
    assert result.stderr.startswith(
        "everlearn: warning: the second half of the steps differs from the first (p < 0.001)"
    )
    assert result.stdout.count("\n") == 3


def test_mistakes(directory, refused):
    assert refused("evaluate", directory, "--policy", "faster").startswith("policy: 'faster'")
    assert refused("evaluate", directory, "--policy", "fast", "--confidence", "95").startswith("confidence: 95")
    assert refused("evaluate", directory, "--policy", "fast", "--from", "121").endswith(
        "no observations among these steps"
    )


def test_setups_are_compared(directory, call, call_json, tmp_path):
    (tmp_path / "w.toml").write_text('aleatoric = "window:2"\n')
    options = ("--setup", "schedule=smooth", "--setup", str(tmp_path / "w.toml"))
    found = call_json("evaluate", directory, *options)
    assert (found["trained"], found["steps"], found["earned"]) == (60, 60, 0.4375)
    assert [row["policy"] for row in found["setups"]] == ["present", "schedule=smooth", str(tmp_path / "w.toml")]
    assert [row["verdict"] for row in found["setups"]] == [None, "the data cannot tell", "the data cannot tell"]
    text = call("evaluate", directory, *options)
    assert "judged by the second half, 60 steps" in " ".join(text.split())
    assert "than present" in text


@pytest.mark.parametrize("options", [(), ("--policy", "fast", "--setup", "present")])
def test_either_a_policy_or_setups(directory, options):
    result = CliRunner().invoke(app, ["evaluate", directory, *options])
    assert result.exit_code != 0
    assert result.exception.argument == "--policy"
