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
    assert refused("rates", "riverswim", "--steps", "2000", "--since", "300") == f"since: 300; {remedy}"
