"""``everlearn mode`` and ``everlearn promotion``, on a directory; tests/service has them on a service."""

from __future__ import annotations

import json
import random

import pytest
from typer.testing import CliRunner

import everlearn as el
from everlearn.cli.main import app


@pytest.fixture
def machine(tmp_path):
    """A directory with one agent, which has learned for a few steps."""
    given = {"actions": ["slow", "fast"], "observations": ["idle", "busy"], "reward_range": (0, 1), "reward": "given"}
    with el.live(tmp_path / "machine", **given, seed=1) as agent:
        for _ in range(3):
            agent.act()
            agent.observe("idle", reward=0.5)
    return str(tmp_path / "machine")


def test_a_mode_is_printed_and_changed_once(call, call_json, machine):
    assert call("mode", machine) == "agent agent: learn, at step 3\nno promotion rule\n"
    for _ in range(2):
        assert call("mode", machine, "shadow").startswith("agent agent: shadow, at step 3\n")
    with el.live(machine) as agent:
        assert agent.mode == "shadow"
    rows = [
        row["to"] for row in map(json.loads, call("journal", machine, "--json").splitlines()) if row["kind"] == "mode"
    ]
    assert rows == ["shadow"]
    assert call_json("mode", machine, "frozen") == {"name": "agent", "step": 3, "mode": "frozen", "promotion": None}


def test_a_rule_is_set_and_removed(call, call_json, machine):
    set_ = call_json("promotion", machine, "--set", "gain=0.05", "--set", "to=learn", "--set", "demote=false")
    rule = set_["promotion"]["rule"]
    assert (rule["gain"], rule["to"], rule["demote"]) == (0.05, "learn", False)
    assert call_json("promotion", machine) == set_
    assert call_json("promotion", machine, "--remove")["promotion"] is None
    lines = [line.split("  mode ")[1] for line in call("journal", machine).splitlines() if "  mode " in line]
    assert lines == ["learn (promotion rule set)", "learn (promotion rule removed)"]


def decide(agent: el.Live, going_on) -> None:
    """Let a controller decide that does not look at the mode; fast earns more."""
    draw = random.Random(1)
    while going_on() and agent.step < 2000:
        action = draw.choice(["slow", "fast"])
        agent.act()
        agent.observe(draw.choice(["idle", "busy"]), executed=action, reward=0.75 if action == "fast" else 0.25)


def test_a_controller_that_does_not_look_at_the_mode_is_noticed(call, machine, caplog):
    call("mode", machine, "shadow")
    call("promotion", machine, "--set", "every=60", "--set", "error=0.5")
    with el.live(machine) as agent:
        decide(agent, lambda: agent.mode == "shadow")
        assert caplog.text == ""
        end = agent.step + 130
        decide(agent, lambda: agent.step < end)
    assert "does the controller look at the mode?" in caplog.text
    shown = CliRunner().invoke(app, ["promotion", machine])
    assert "it is demoted if the upper end is below 0" in shown.stdout
    assert "does the controller look at the mode?" in shown.stderr


def test_a_promotion_is_undone(call, call_json, machine):
    call("mode", machine, "shadow")
    call("promotion", machine, "--set", "every=60", "--set", "error=0.5")
    with el.live(machine) as agent:
        decide(agent, lambda: agent.mode == "shadow")
        assert agent.mode == "frozen"
    assert call_json("promotion", machine)["promotion"]["in_control"]
    assert "rule: gain above 0 for 0 steps and 0 hours, a look every 60 steps, error 0.5" in call("promotion", machine)
    for _ in range(2):
        assert "demoted by an operator" in call("promotion", machine, "--demote")
    lines = call("journal", machine).splitlines()
    assert [line for line in lines if "demoted" in line] == [lines[-1]]
    assert lines[-1].endswith("mode shadow (demoted: an operator)")
    after = call_json("mode", machine)
    assert (after["mode"], after["promotion"]["armed"]) == ("shadow", False)


def test_mistakes(refused, machine):
    assert refused("mode", machine, "fast") == "MODE: 'fast'; known: learn, frozen, shadow"
    assert refused("promotion", machine, "--set", "gain=much") == "promotion.gain: 'much'; give a number"
    assert refused("promotion", machine, "--set", "gain=1", "--remove").startswith("--remove: True; give one of --set,")
    assert "the agent was never promoted" in refused("promotion", machine, "--demote")
    assert refused("mode", "http://127.0.0.1:9", "shadow") == "--agent: ''; name the agent of the service"
    with el.live(machine):
        assert "has it open" in refused("mode", machine, "shadow")
    assert refused("promotion", machine, "--set", "gian=1").endswith("(did you mean gain?)")


def test_what_is_only_printed_may_be_in_use(call, call_json, machine):
    alone = call_json("promotion", machine)
    with el.live(machine):
        assert call("mode", machine) == "agent agent: learn, at step 3\nno promotion rule\n"
        assert call_json("promotion", machine) == call_json("mode", machine) == alone
