"""``everlearn shadow``."""

from __future__ import annotations

import random
import re

import pytest
from typer.testing import CliRunner

import everlearn as el
from everlearn.cli.main import app


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    setup = {"actions": ["slow", "fast"], "observations": ["idle", "busy"], "start": "idle", "reward_range": (0, 1)}
    path, draw = tmp_path_factory.mktemp("shadow") / "agent", random.Random(1)
    with el.live(path, **setup, seed=1, promotion={"every": 60, "gain": 0.9}) as agent:
        agent.shadow()
        for _ in range(160):
            agent.act()
            action = draw.choice(["slow", "fast"])
            agent.observe(draw.choice(["idle", "busy"]), executed=action, reward=0.75 if action == "fast" else 0.25)
    return str(path)


def test_a_report(directory, call, call_json):
    found = call_json("shadow", directory)
    keys = "agent mode step first last agreement gain states missing warnings promotion"
    assert list(found) == keys.split()
    assert (found["mode"], found["first"], found["last"]) == ("shadow", 1, 160)
    assert found["gain"]["supported"]
    assert found["gain"]["lower"] < 0.25 < found["gain"]["upper"]
    assert (found["gain"]["policy_step"], found["gain"]["steps"]) == (60, 100)
    lines = call("shadow", directory, "--agent", "agent", "--confidence", "0.9").splitlines()
    assert lines[0] == "agent agent: shadow, compared in steps 1 to 160"
    assert lines[1].startswith("agreement: ")
    assert lines[2].endswith(" per step in steps 61 to 160, which judge the policy")
    assert any(line.startswith("did it: ") and line.endswith("in steps 1 to 160") for line in lines)
    assert lines[3].startswith("policy of the agent at step 60: gain 0.2")
    assert "promotion to frozen: armed, candidate 1, look 1" in lines
    assert lines[-1].split()[1] == "fast"


def test_where_the_data_cannot_tell(directory, call_json):
    found = call_json("shadow", directory, "--from", "1", "--to", "12")
    assert (found["gain"]["supported"], found["gain"]["estimate"], found["last"]) == (False, None, 12)
    result = CliRunner().invoke(app, ["shadow", directory, "--to", "12"], catch_exceptions=False)
    assert result.exit_code == 0
    assert "gain: the data cannot tell, " in result.stdout
    assert "the controller hardly ever did what the agent would do in steps 1 to 12" in result.stdout
    assert result.stderr.startswith("everlearn: warning: the agent learned its policy from the same steps")


def test_the_journal_names_the_events(directory, call):
    lines = [line.split("  mode ")[1] for line in call("journal", directory).splitlines() if "  mode " in line]
    assert lines[:2] == ["shadow", "shadow (the rule fixed a candidate)"]
    assert re.fullmatch(r"shadow \(look 1 at candidate 1: gain 0\.\d+, -?0\.\d+ to 0\.\d+\)", lines[2])


def test_the_table_says_which_policy_is_meant(directory, call):
    lines = call("shadow", directory).splitlines()
    heading = next(number for number, line in enumerate(lines) if line.startswith("state "))
    assert re.split(" {2,}", lines[heading].strip()) == ["state", "policy at step 60", "visits", "did it", "agreed"]
    assert lines[heading - 2].startswith("did it: how often the controller did what the policy of the agent at step 60")
