"""The commands on a directory of durable agents."""

from __future__ import annotations

import json
import sqlite3

import pytest
from typer.testing import CliRunner

import everlearn as el
from everlearn.agents.registry import make_design
from everlearn.cli.main import app
from everlearn.durable import layout
from everlearn.durable.setup import make_setup
from everlearn.durable.store import Store
from everlearn.tasks.registry import TASKS
from tests.durable.shops import module
from tests.durable.worlds import advance


@pytest.fixture
def directory(tmp_path):
    with el.live(tmp_path / "agent", task="service-station", agent="growing-horizon", seed=1) as agent:
        advance(agent, 30)
        agent.freeze()
    return tmp_path / "agent"


def test_check_a_sound_directory(directory, call, call_json):
    assert call("check", str(directory)) == f"{directory}: sound\nagent agent: step 30, 31 rows, 1 snapshot\n"
    found = call_json("check", str(directory))
    assert (found["sound"], found["findings"], found["in_use"], found["repaired"]) == (True, [], False, None)


def test_check_one_that_is_in_use(directory, call):
    with el.live(directory):
        assert call("check", str(directory)).startswith(f"{directory}: sound, and in use\n")


def test_check_one_whose_design_is_not_here(tmp_path, call, call_json):
    with el.live(tmp_path / "agent", task="service-station", agent=make_design("q-learning")) as agent:
        advance(agent, 3)
    printed = call("check", str(tmp_path / "agent"))
    assert "agent agent: step 3, 3 rows, 1 snapshot; undamaged, but not opened for a test: its design" in printed
    assert call_json("check", str(tmp_path / "agent"))["agents"][0]["verdict"] == "unknown"


def test_check_and_repair_a_damaged_one(directory, call, call_json):
    connection = sqlite3.connect(directory / "everlearn.db", isolation_level=None)
    connection.execute("UPDATE journal SET reward = 0.125 WHERE seq = 20")
    connection.close()
    result = CliRunner().invoke(app, ["check", str(directory)])
    assert result.exit_code == 1
    assert "damaged: everlearn.db: table journal: agent agent: row 20: is damaged\n" in result.stdout
    assert "agent agent: damaged; step 30, 31 rows, 1 snapshot\n" in result.stdout
    assert f"everlearn check {directory} --repair" in result.stdout
    found = json.loads(CliRunner().invoke(app, ["check", str(directory), "--json"]).stdout)
    assert found["findings"][0]["row"] == 20
    repaired = call("check", str(directory), "--repair")
    assert "agent agent: saved up to step 19, 12 rows are lost\n" in repaired
    assert call_json("check", str(directory))["sound"]


def test_a_repair_says_how_much_of_a_journal_it_could_not_save(directory, call, call_json):
    """The agent itself is saved, from its newest snapshot; the row that is damaged lies before that."""
    with el.live(directory) as agent:
        agent.snapshot()
    connection = sqlite3.connect(directory / "everlearn.db", isolation_level=None)
    connection.execute("UPDATE journal SET reward = 0.125 WHERE seq = 20")
    connection.close()
    repaired = call("check", str(directory), "--repair")
    assert "31 journal rows could not be saved; what can be read of them is in " in repaired
    assert "everlearn.db.before-1" in repaired
    assert call_json("check", str(directory))["agents"][0]["rows"] == 0


@pytest.fixture
def sharded(tmp_path):
    place = tmp_path / "shards"
    with el.live(place / "shard-0", task="service-station", seed=1) as agent:
        agent.shadow()
        for _ in range(200):
            agent.act()
            agent.observe("arrival", executed="slow")
    with Store(place / "shard-1") as store:
        store.create("other", make_setup(task="service-station"))
    layout.record(place, 2)
    return place


def test_check_all_shards(sharded, call, call_json, refused):
    printed = call("check", str(sharded)).splitlines()
    agents = ["agent agent: step 200, 201 rows, 1 snapshot", "agent other: step 0, 0 rows, 1 snapshot"]
    assert printed == [f"{sharded}: sound", *agents]
    with el.live(sharded / "shard-0"):
        assert call_json("check", str(sharded))["in_use"]
    connection = sqlite3.connect(sharded / "shard-0" / "everlearn.db", isolation_level=None)
    connection.execute("UPDATE journal SET reward = 0.125 WHERE seq = 20")
    connection.close()
    result = CliRunner().invoke(app, ["check", str(sharded)])
    assert result.exit_code == 1
    assert "damaged: shard-0/everlearn.db: table journal: agent agent: row 20: is damaged\n" in result.stdout
    assert f"everlearn check {sharded}/shard-0 --repair" in result.stdout
    assert f"everlearn check {sharded}/shard-0 --repair" in refused("check", str(sharded), "--repair")
    call("check", f"{sharded}/shard-0", "--repair")
    assert call_json("check", str(sharded))["sound"]


def test_an_agent_is_found_in_its_shard(sharded, call, call_json, refused, tmp_path):
    named = (str(sharded), "--agent", "agent")
    assert len(call("journal", *named).splitlines()) == 201
    assert call_json("policy", *named)["step"] == 200
    assert call_json("shadow", *named)["agreement"]["steps"] == 200
    assert call_json("evaluate", *named, "--policy", "0=slow,1=slow")["steps"] == 200
    assert call_json("replay", *named)["rows"] == 200
    assert call("accept", *named) == "nothing changed\n"
    (tmp_path / "log.csv").write_text("observation,action\narrival,fast\n")
    assert call_json("warm", str(sharded), str(tmp_path / "log.csv"), "--agent", "other")["step"] == 1
    for command in ("journal", "policy", "shadow", "replay"):
        assert "there are 2 agents; name one: agent, other" in refused(command, str(sharded))
        assert "there is no agent 'nobody'" in refused(command, str(sharded), "--agent", "nobody")


def test_backup(directory, tmp_path, call, call_json):
    with el.live(directory):
        printed = call("backup", str(directory), str(tmp_path / "copy.db"))
    assert printed.endswith("bytes, checked\nagent agent: step 30, 31 rows, 1 snapshot\n")
    assert call_json("backup", str(directory), str(tmp_path / "copy.db"))["agents"][0]["step"] == 30


def test_journal(directory, call):
    lines = call("journal", str(directory), "--from", "29").splitlines()
    assert len(lines) == 3
    assert lines[-1].endswith("mode frozen")
    rows = [json.loads(line) for line in call("journal", str(directory), "--to", "5", "--json").splitlines()]
    assert [row["step"] for row in rows] == [1, 2, 3, 4, 5]


def test_policy(directory, call, call_json):
    table = call_json("policy", str(directory))
    assert [row["state"] for row in table["actions"]] == [0, 1]
    assert call("policy", str(directory)).startswith("step 30, t = 30, growing-horizon\n")


def test_a_function_is_not_needed_to_look(tmp_path, call_json, call):
    setup = {"actions": ["a", "b"], "observations": ["x", "y"], "reward_range": (0, 1)}
    with el.live(tmp_path, **setup, reward=lambda s, a, o: 0.5) as agent:
        agent.act()
        agent.observe("x")
    assert len(call_json("policy", str(tmp_path))["actions"]) == 3
    assert len(call("journal", str(tmp_path)).splitlines()) == 1
    assert call_json("check", str(tmp_path))["sound"]


def test_accept(tmp_path, call, call_json, refused, monkeypatch):
    made, other = module(tmp_path), module(tmp_path, ("(-1, 1)", "(-2, 2)"))
    monkeypatch.setitem(TASKS, "shop", f"{made.__name__}:shop")
    with el.live(tmp_path / "agent", "shop") as agent:
        agent.act()
        agent.observe("busy")
    assert call("accept", str(tmp_path / "agent")) == "nothing changed\n"
    monkeypatch.setitem(TASKS, "shop", f"{other.__name__}:shop")
    (tmp_path / "log.csv").write_text("observation,action\nbusy,sell\n")
    words = "the reward range was -1 to 1 and is now -2 to 2"
    message = refused("warm", str(tmp_path / "agent"), str(tmp_path / "log.csv"))
    assert message == f"{tmp_path / 'agent'}: {words}; to accept this: everlearn accept {tmp_path / 'agent'}"
    assert call("accept", str(tmp_path / "agent")) == f"accepted: {words}\n"
    assert call_json("accept", str(tmp_path / "agent")) == {"step": 1, "changes": []}
    assert call("journal", str(tmp_path / "agent")).splitlines()[-1].endswith(f"change {words}")


def test_warm(tmp_path, call_json, refused):
    with el.live(tmp_path / "agent", task="service-station", agent="growing-horizon", seed=1):
        pass
    (tmp_path / "log.csv").write_text("observation,action\narrival,slow\ndeparture,fast\n")
    assert call_json("warm", str(tmp_path / "agent"), str(tmp_path / "log.csv")) == {"rows": 2, "step": 2, "t": 2}
    (tmp_path / "log.csv").write_text("observation,action\narrival,slow\ndepartures,fast\n")
    message = refused("warm", str(tmp_path / "agent"), str(tmp_path / "log.csv"))
    assert message.startswith("row 2 of the log, observation: 'departures'; known: arrival, ")
    with el.live(tmp_path / "agent") as agent:
        assert agent.step == 2
        assert "this process has it open already" in refused("warm", str(tmp_path / "agent"), str(tmp_path / "log.csv"))


@pytest.mark.parametrize("command", ["check", "journal", "policy", "warm"])
def test_a_directory_without_agents_is_refused(tmp_path, refused, command):
    more = ["log.csv"] if command == "warm" else []
    remedy = "has no durable agents; pass the directory that everlearn.live was given"
    assert refused(command, str(tmp_path), *more) == f"DIR: {str(tmp_path)!r}; {remedy}"


def test_of_several_one_is_named(tmp_path, refused, call_json):
    with Store(tmp_path) as store:
        for name in ("one", "two"):
            store.create(name, make_setup(task="service-station"))
    assert "there are 2 agents; name one: one, two" in refused("policy", str(tmp_path))
    assert call_json("policy", str(tmp_path), "--agent", "two")["step"] == 0
    assert refused("policy", str(tmp_path), "--agent", "three") == f"{tmp_path}: there is no agent 'three'"


def test_a_late_reward_is_told(tmp_path, call):
    setup = {"actions": ["a", "b"], "observations": ["x"], "reward_range": (0, 1), "reward_delay": 5}
    with el.live(tmp_path / "agent", **setup) as agent:
        agent.act()
        agent.observe("x")
        agent.reward(1, 0.5)
    observed, rewarded = call("journal", str(tmp_path / "agent")).splitlines()
    assert observed.endswith("x, no reward yet")
    assert rewarded.endswith("reward of step 1: 0.5")
