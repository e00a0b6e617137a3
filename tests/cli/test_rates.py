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
    assert refused("rates") == "TASK: is missing; name a task, or give --budget"
