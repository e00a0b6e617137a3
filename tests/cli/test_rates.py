"""The command ``everlearn rates``."""

from __future__ import annotations


def test_the_command(call, call_json, refused):
    at = ("--agent", "always", "--steps", "2000", "--runs", "2")
    assert "exponent" in call("rates", "riverswim", *at)
    assert list(call_json("rates", "riverswim", *at)["rates"]["riverswim"]) == [
        "exponent",
        "low",
        "high",
        "regret",
        "standard_error",
    ]
    alone = call_json("rates", "riverswim", "--agent", "always", "--steps", "2000", "--runs", "1")["rates"]["riverswim"]
    assert alone["standard_error"] is alone["low"] is None
    assert refused("rates", "riverswim", "--steps", "1") == "steps: 1; give at least 100, to fit an exponent"
    assert refused("rates") == "TASK: is missing; name a task, or give --budget"
    remedy = "give at least 1, and at most a tenth of the steps, 200"
    assert refused("rates", "riverswim", "--steps", "2000", "--since", "300") == f"--since: 300; {remedy}"


def test_parameters_reach_the_task_and_its_optimum(call_json, refused):
    at = ("--agent", "always", "--steps", "2000", "--runs", "2", "--set", "agent.policy=right")
    short = call_json("rates", "riverswim", *at, "--set", "task.states=3")
    assert short["parameters"] == {"agent.policy": "right", "task.states": "3"}
    assert abs(short["rates"]["riverswim"]["regret"]) < 200
    assert short["distorted"] == []
    message = "--set: 'task.states'; the random tasks of --budget take no parameters; leave it out"
    assert refused("rates", "--budget", "0", "--set", "task.states=3") == message


def test_it_says_which_tasks_have_distortion(call, call_json):
    at = ("rates", "alternating", "riverswim", "--agent", "always", "--steps", "1000", "--runs", "1")
    assert call_json(*at)["distorted"] == ["alternating"]
    assert "Theorem 4 has no exponent below 1: alternating" in " ".join(call(*at).split())
