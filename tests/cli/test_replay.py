"""``everlearn replay``."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import everlearn as el
from everlearn.cli.main import app
from tests.refusal import refusal

SETUP = {"actions": ["slow", "fast"], "observations": ["idle", "busy"], "reward_range": (0, 1)}


@pytest.fixture
def directory(tmp_path):
    with el.live(tmp_path / "agent", **SETUP) as agent:
        agent.warm_start([("idle", "slow", 0.25), ("busy", "fast", 0.5), ("idle", "fast", 1.0)] * 30)
    return tmp_path / "agent"


def test_a_new_directory(directory, tmp_path, call, call_json):
    lines = call(
        "replay", str(directory), "--setup", "schedule=smooth,schedule.horizon_scale=3", "--out", f"{directory}2"
    )
    assert lines.splitlines()[0] == "learned from 90 of 90 rows; rewards recorded"
    assert "what it would do now" in lines
    assert "never tried, in states that occurred: fast in start, slow in busy (2 in all)" in lines
    assert f"to resume: everlearn.live('{directory}2')" in " ".join(lines.split())
    with el.live(f"{directory}2") as agent:
        assert (agent.t, agent.core.setup.document["schedule"]) == (90, "smooth")
    found = call_json("replay", str(directory), "--agent", "agent", "--from", "11", "--to", "20")
    assert (found["rows"], found["out"], len(found["policy"]["actions"])) == (10, None, 3)


def test_a_setup_in_a_file_and_a_log(directory, tmp_path, call_json):
    (tmp_path / "s.toml").write_text('aleatoric = "window:2"\n[parameters]\n"schedule.horizon_scale" = 2.5\n')
    found = call_json("replay", str(directory), "--setup", str(tmp_path / "s.toml"))
    assert (found["states_changed"], found["rewards"]) == (90, "recorded")
    Path(tmp_path / "log.csv").write_text("observation,action,reward\nidle,slow,1\nbusy,fast,0\n")
    (tmp_path / "w.toml").write_text('actions=["slow","fast"]\nobservations=["idle","busy"]\nreward_range=[0,1]\n')
    assert call_json("replay", str(tmp_path / "log.csv"), "--setup", str(tmp_path / "w.toml"))["learned"] == 2


@pytest.mark.parametrize(
    ("setup", "value"),
    [
        ("smooth", "smooth"),
        ("schedule=smooth,schedule=fixed", "schedule=smooth,schedule=fixed"),
        ("windows=2", "windows"),
        ("missing.toml", "missing.toml"),
    ],
)
def test_a_setup_that_is_none(directory, setup, value):
    result = CliRunner().invoke(app, ["replay", str(directory), "--setup", setup])
    assert result.exit_code != 0
    assert refusal("setup", value)(result.exception)
