"""The command ``everlearn run``."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from pyarrow import parquet

import everlearn as el
from everlearn.cli.main import main
from everlearn.cli.options import parse_settings
from everlearn.errors import InputError

KEYS = {
    "task",
    "agent",
    "schedule",
    "parameters",
    "steps",
    "runs",
    "seed",
    "engine",
    "times",
    "average_reward",
    "standard_error",
    "final",
    "seconds",
    "steps_per_second",
    "version",
}

RUN = ("run", "service-station", "--engine", "reference")

MINE = '''
"""What a user keeps beside their work."""

from typing import NamedTuple

import numpy as np

import everlearn as el


@el.task(actions=["left", "right"], observations=[0, 1], memory=0)
def walk(memory, action):
    """Walk."""
    yield (1, 1.0, 1) if action == "right" else (0, 1.0, 0)


@walk.reward
def value(s, action, observation):
    return float(observation)


def long_walk(*, reward: float = 0.5):
    """Walk for a reward."""
    task = walk.finish()
    return el.Task(task.actions, task.observations, task.aleatoric, el.Reward(lambda s, a, o: reward), task.model)


class Nothing(NamedTuple):
    turn: np.ndarray


def stubborn(*, action: int = 1):
    """Do the same for ever."""
    return el.Design(
        lambda indexed: Nothing(np.zeros(1)),
        lambda knowledge, aleatoric_state, now, stream: action,
        lambda knowledge, experience, now, stream: None,
    )


def patient(*, horizon: float = 9.0):
    """Wait."""
    return el.Schedule(lambda t: horizon, lambda t: 0.1, lambda t: 0.0, lambda t: 1.0)
'''


SWING = """
import everlearn as el
from tests.worlds import pendulum

swing = pendulum()
"""

INTERRUPTED = """

steps = []


@el.task(actions=["go"], observations=[0])
class stopped:
    def start(self, rng):
        pass

    def step(self, action):
        steps.append(action)
        if len(steps) == 150:
            raise KeyboardInterrupt
        return 0


stopped.reward(lambda s, action, observation: 0.0)
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch) -> Path:
    """A directory in which a user works, with a file of their own."""
    (tmp_path / "mine_own.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "mine_own", raising=False)
    return tmp_path


def test_json_has_all_that_is_promised(call_json):
    document = call_json(*RUN, "--steps", "300", "--runs", "3")
    assert set(document) >= KEYS
    assert set(document["final"]) == {"mean", "standard_error", "min", "max"}
    assert document["times"][-1] == document["steps"] == 300
    assert len(document["average_reward"]) == len(document["standard_error"]) == len(document["times"])
    assert document["final"]["min"] <= document["final"]["mean"] <= document["final"]["max"]
    assert document["version"] == el.__version__
    assert document["seconds"] > 0


def test_json_is_what_the_library_returns(call_json):
    document = call_json(
        *RUN, "--agent", "growing-horizon", "--schedule", "change-points", "--steps", "200", "--seed", "4"
    )
    result = el.run("service-station", schedule="change-points", steps=200, seed=4, engine="reference").to_dict()
    measured = {"seconds", "steps_per_second"}
    assert {key: document[key] for key in document.keys() - measured} == {
        key: result[key] for key in result.keys() - measured
    }


def test_it_shows_the_state_that_was_learned(call, call_json):
    shown = ("run", "alternating", "--agent", "learned", "--engine", "reference", "--steps", "200", "--show-state")
    assert call_json(*shown)["state"].startswith("in 1:")
    assert "in 1:" in call(*shown)
    assert call_json(*RUN, "--agent", "growing-horizon", "--steps", "20", "--show-state")["state"] is None


def test_one_run_has_null_for_its_standard_error(call_json):
    document = call_json(*RUN, "--steps", "20")
    assert document["final"]["standard_error"] is None


def test_nothing_but_json_is_on_standard_output(command):
    done = command("run", "service-station", "--steps", "1e3", "--runs", "2", "--json")
    assert done.returncode == 0
    assert done.stderr == ""
    assert json.loads(done.stdout)["steps"] == 1000


def test_the_same_seed_gives_the_same_json(call_json):
    documents = [call_json(*RUN, "--steps", "500", "--runs", "2", "--seed", "9") for _ in range(2)]
    for document in documents:
        del document["seconds"], document["steps_per_second"]
    assert documents[0] == documents[1]
    assert call_json(*RUN, "--steps", "500", "--runs", "2", "--seed", "8")["final"] != documents[0]["final"]


@pytest.mark.parametrize(("text", "steps"), [("1e3", 1000), ("250", 250), ("2.5e2", 250)])
def test_steps_as_people_write_them(call_json, text, steps):
    assert call_json(*RUN, "--agent", "always", "--steps", text)["steps"] == steps


def test_large_seeds_are_kept(call_json):
    assert call_json(*RUN, "--steps", "5", "--seed", str(2**63 + 1))["seed"] == 2**63 + 1


def test_parameters_reach_task_agent_and_schedule(call_json):
    always = call_json(*RUN, "--agent", "always", "--set", "agent.policy=0=slow,1=fast", "--steps", "101")
    assert always["final"]["mean"] == pytest.approx(51 / 101)
    assert always["parameters"]["agent.policy"] == "0=slow,1=fast"
    other = call_json(*RUN, "--steps", "20", "--set", "task.window=6", "--set", "schedule.horizon_scale=3")
    assert other["parameters"]["task.window"] == 6
    assert other["parameters"]["schedule.horizon_scale"] == 3.0


def test_a_task_of_ones_own(mine, call_json):
    document = call_json("run", "mine_own:walk", "--engine", "reference", "--steps", "50")
    assert document["task"] == "mine_own:walk"
    assert 0 <= document["final"]["mean"] <= 1


def test_a_task_of_ones_own_with_parameters(mine, call_json):
    document = call_json(
        "run", "mine_own:long_walk", "--engine", "reference", "--steps", "10", "--set", "task.reward=0.25"
    )
    assert document["final"]["mean"] == 0.25


def test_an_agent_and_a_schedule_of_ones_own(mine, call_json):
    common = ("run", "mine_own:walk", "--engine", "reference", "--steps", "40")
    agent = call_json(*common, "--agent", "mine_own:stubborn", "--set", "agent.action=0")
    assert agent["agent"] == "mine_own:stubborn"
    assert agent["final"]["mean"] == 0
    assert call_json(*common, "--agent", "mine_own:stubborn")["final"]["mean"] == 1
    scheduled = call_json(*common, "--schedule", "mine_own:patient", "--set", "schedule.horizon=4")
    assert (scheduled["schedule"], scheduled["parameters"]) == ("mine_own:patient", {"schedule.horizon": 4.0})


def test_the_command_finds_them_in_the_current_directory(mine, command):
    arguments = ("--agent", "mine_own:stubborn", "--steps", "30", "--engine", "reference", "--json")
    done = command("run", "mine_own:walk", *arguments, cwd=mine)
    assert done.stderr == ""
    assert json.loads(done.stdout)["final"]["mean"] == 1


def test_people_see_a_table(call):
    text = call(*RUN, "--steps", "200", "--runs", "3", "--seed", "5")
    assert "versatile on service-station" in text
    assert "3 runs of 200 steps, seed 5\nlearns from rewards scaled from [-0.5, 1] to [0, 1]\n" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "always right on riverswim" in call("run", "riverswim", "--agent", "always", "--set", "agent.policy=right")
    assert "optimum over all policies" in text
    assert "best over aleatoric states" in text
    assert "reference engine" in text


def test_a_task_without_a_model_has_no_optimum(mine, call):
    (mine / "swing_own.py").write_text(SWING)
    text = call("run", "swing_own:swing", "--steps", "20")
    assert "The optimum over all policies is not known: the task has no model.\n" in text


def test_figures_and_results_are_kept(tmp_path, call):
    arguments = ("--steps", "50", "--runs", "2", "--plot", str(tmp_path / "curve.svg"), "--out", str(tmp_path / "kept"))
    text = call("run", "riverswim", "--engine", "reference", *arguments)
    assert (tmp_path / "curve.svg").read_text().startswith("<?xml")
    assert text.count("written: ") == 4
    result = el.load(tmp_path / "kept")
    assert result == el.run("riverswim", steps=50, runs=2, engine="reference")
    assert parquet.read_table(tmp_path / "kept" / "runs.parquet").equals(result.to_arrow())
    assert json.loads((tmp_path / "kept" / "result.json").read_text()) == result.to_dict()


def test_json_alone_is_printed_where_files_are_written(tmp_path, call_json):
    document = call_json("run", "riverswim", "--engine", "reference", "--steps", "9", "--out", str(tmp_path / "kept"))
    assert document == json.loads((tmp_path / "kept" / "result.json").read_text())


@pytest.mark.parametrize("arguments", [("--plot", "curve.gif"), ("--plot", "nowhere/c.png"), ("--out", "taken")])
def test_what_cannot_be_written_is_refused_before_the_run(arguments, tmp_path, monkeypatch, refused):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").touch()
    monkeypatch.setattr("everlearn.run", lambda *_, **__: pytest.fail("it was run"))
    refused("run", "riverswim", *arguments)


def test_people_see_no_standard_error_of_one_run(call):
    text = call(*RUN, "--agent", "always", "--steps", "200")
    assert "1 run of 200 steps" in text
    assert "nan" not in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--steps", "many"], "--steps: 'many'; give a whole number"),
        (["--steps", "1.5"], "--steps: '1.5'; give a whole number"),
        (["--steps", "-5"], "--steps: '-5'; give a whole number of at least"),
        (["--steps", "0"], "give a whole number of at least 1"),
        (["--runs", "0"], "give a whole number of at least 1"),
        (["--seed", "x"], "--seed: 'x'; give a whole number"),
        (["--agent", "growing"], "agent: 'growing'; known: actor-critic, "),
        (
            ["--schedule", "smoth"],
            "schedule: 'smoth'; known: change-points, fixed, practical, smooth (did you mean smooth?)",
        ),
        (
            ["--agent", "always", "--schedule", "smooth"],
            "schedule: 'smooth'; the agent 'always' takes no schedule; leave it out",
        ),
        (["--set", "window"], "--set: 'window'; write KEY=VALUE, as in task.window=6"),
        (["--set", "=6"], "--set: '=6'; write KEY=VALUE, as in task.window=6"),
        (["--set", "window=6"], "parameter: 'window'; write task.NAME, agent.NAME or schedule.NAME"),
        (["--set", "task.windows=6"], "parameter: 'task.windows'; known: task.aleatoric, task.arrival_decay, "),
        (["--set", "task.window=six"], "task.window: 'six'; give a whole number"),
        (["--set", "task.window=0"], "window: 0; give at least 1 customer"),
        (["--set", "task.raw=perhaps"], "task.raw: 'perhaps'; give true or false"),
        (["--set", "schedule.horizon_scale=0.5"], "horizon at t = 1: 0.5; must be at least 1"),
        (["--set", "schedule.optimism_scale=-1"], "optimism at t = 1: -0.8325546111576977; must be at least 0"),
        (
            ["--agent", "no_such_module:agent"],
            "agent: 'no_such_module:agent'; there is no module 'no_such_module' here",
        ),
        (["--agent", "math:agent"], "agent: 'math:agent'; known: "),
        (["--agent", ":agent"], "agent: ':agent'; "),
    ],
)
def test_what_is_refused(refused, arguments, message):
    assert message in refused(*RUN, *arguments, *([] if "--steps" in arguments else ["--steps", "10"]))


def test_a_task_that_contradicts_itself_is_refused_in_one_line(mine, refused):
    (mine / "wrong_own.py").write_text(MINE.replace("1.0, 1)", "0.5, 1)"))
    message = refused(
        "run", "wrong_own:walk", "--agent", "always", "--set", "agent.policy=right", "--engine", "reference"
    )
    assert message == "probabilities after memory 0 and action 'right': 0.5; must sum to one"


def test_an_interrupted_run_says_how_far_it_got(mine, monkeypatch, capsys):
    (mine / "stopped_own.py").write_text(MINE + INTERRUPTED)
    steps = ("--steps", "100", "--runs", "3", "--engine", "reference", "--json")
    monkeypatch.setattr(sys, "argv", ["everlearn", "run", "stopped_own:stopped", *steps])
    with pytest.raises(SystemExit) as caught:
        main()
    printed = capsys.readouterr()
    assert caught.value.code == 130
    assert printed.out == ""
    told = re.fullmatch(r"everlearn: interrupted after (\d+) of 300 steps\n", printed.err)
    assert told is not None, printed.err
    assert 100 <= int(told[1]) < 150  # progress is reported now and then: how often depends on the machine


def test_settings_are_split_at_the_first_equals_sign():
    assert parse_settings(["a.b=1", " c.d = 0=x,1=y "]) == {"a.b": "1", "c.d": "0=x,1=y"}
    with pytest.raises(InputError):
        parse_settings(["a.b"])


@pytest.mark.parametrize(("steps", "says"), [("1e3", False), ("2e3", True)])
def test_a_short_run_says_nothing_about_speed(call, monkeypatch, steps, says):
    monkeypatch.setattr("everlearn.cli.run.MEASURED", 2000)
    assert ("steps per second" in call("run", "riverswim", "--agent", "always", "--steps", steps)) == says


@pytest.mark.parametrize(("long", "says"), [(0.0, True), (1e9, False)])
def test_who_waited_is_told_how_long(call, monkeypatch, long, says):
    monkeypatch.setattr("everlearn.cli.run.LONG", long)
    text = " ".join(call("run", "riverswim", "--agent", "always", "--steps", "10").split())
    assert bool(re.search(r"s of simulation, \w+ engine.*; [\d.]+ s in all, with preparation", text)) == says


def test_a_warning_about_rewards_is_printed_once(runner, tmp_path):
    pytest.importorskip("gymnasium")
    done = runner("everlearn run gymnasium:MountainCar-v0 --agent linear --steps 20 --engine reference", tmp_path, {})
    assert done.status == 0
    assert done.stderr.count("everlearn: warning:") == 1
