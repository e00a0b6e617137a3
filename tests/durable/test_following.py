"""A durable agent that is followed while it works is seen as it is."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

import everlearn as el
from everlearn.durable import following
from everlearn.durable.following import TAIL, Follower
from everlearn.durable.reader import Reader
from everlearn.durable.views import glance, labelled
from everlearn.errors import Absent
from tests.refusal import has

SETUP = {"actions": ["off", "on"], "observations": ["cold", "warm"], "reward": "given", "reward_range": (0, 1)}


def work(agent, steps: int) -> None:
    for step in range(steps):
        agent.act()
        agent.observe(("cold", "warm")[step % 3 == 0], reward=step % 2)


def test_what_is_new_is_applied_to_what_is_known(tmp_path, monkeypatch):
    """It is what a replay of the whole journal gives, without another replay."""
    with el.live(tmp_path, **SETUP, seed=1, drift={"batch": 10}) as agent:
        follower = Follower(tmp_path)
        work(agent, 25)
        follower.look("agent")
        monkeypatch.setattr(Reader, "look", None)
        work(agent, 30)
        agent.freeze()
        work(agent, 3)
        seen = follower.look("agent")
        monkeypatch.undo()
        with Reader(tmp_path) as reader:
            assert labelled(seen.document) == labelled(glance(reader.look("agent")))
    assert (seen.document["step"], seen.document["mode"], seen.size) == (58, "frozen", 1)
    assert [end for end, _ in seen.batches] == [*range(1, 59)]
    assert len(seen.journal) == TAIL
    assert [row["step"] for row in seen.journal[:3]] == [58, 57, 56]


def test_before_there_are_batches_rewards_are_averaged_over_fewer(tmp_path):
    with el.live(tmp_path, **SETUP, seed=1) as agent:
        work(agent, 120)
    seen = Follower(tmp_path).look("agent")
    assert (seen.size, seen.batches[0], seen.batches[-1]) == (2, (2, 0.5), (120, 0.5))


def test_small_batches_stay_until_there_are_as_many_large_ones(tmp_path):
    """Otherwise the curve would shrink to two points when the second batch is complete."""
    with el.live(tmp_path, **SETUP, seed=1, drift={"batch": 10}) as agent:
        follower, sizes = Follower(tmp_path), []
        for steps in (19, 2, 470, 20):
            work(agent, steps)
            seen = follower.look("agent")
            sizes.append((seen.size, len(seen.batches)))
    assert sizes == [(1, 19), (1, 21), (9, 54), (10, 51)]


def test_few_large_batches_do_as_well_after_many_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(following, "ROWS", 50)
    with el.live(tmp_path, **SETUP, seed=1, drift={"batch": 10}) as agent:
        work(agent, 95)
        first = Follower(tmp_path).look("agent")
        work(agent, 10)
        second = Follower(tmp_path).look("agent")
    assert (first.size, len(first.batches), first.batches[0][0]) == (1, 50, 46)
    assert (second.size, len(second.batches)) == (10, 10)


def test_a_follower_knows_who_has_an_agent_open_and_since_when_it_rests(tmp_path, monkeypatch):
    """The time of a row that was seen to come is told by the follower's own clock, whatever the writer's says."""
    skew, now = 3600.0, 1000.0
    monkeypatch.setattr(
        "everlearn.durable.following.time", SimpleNamespace(time=lambda: time.time() - skew, monotonic=lambda: now)
    )
    with el.live(tmp_path, **SETUP, seed=1) as agent:
        follower = Follower(tmp_path)
        assert (follower.look("agent").age, follower.look("agent").held) == (None, True)
        work(agent, 3)
        assert follower.look("agent").age == 0.0  # an hour ahead
        now += 14
        assert follower.look("agent").age == 14.0
        skew = -3600.0
        work(agent, 1)
        assert follower.look("agent").age == 0.0  # an hour behind
    assert not follower.look("agent").held
    assert Follower(tmp_path).look("agent").age == pytest.approx(3600, abs=60)


def test_averages_are_per_unit_of_time_from_the_beginning(tmp_path):
    """A late reward counts with the time of its step, as in the drift alarm."""
    with el.live(tmp_path, **SETUP, durations=(1, 10), reward_delay=5, seed=1) as agent:
        for step in range(1, 5):
            agent.act()
            agent.observe("cold", duration=10.0)
            agent.reward(step, 1.0)
    seen = Follower(tmp_path).look("agent")
    assert seen.batches == [(step, pytest.approx(0.1)) for step in range(1, 5)]
    assert seen.document["average_reward"] == pytest.approx(0.1)


def test_rows_are_read_once(tmp_path, monkeypatch):
    with el.live(tmp_path, **SETUP, seed=1) as agent:
        follower = Follower(tmp_path)
        work(agent, 70)
        follower.look("agent")
        read = []
        rows = Reader.rows
        monkeypatch.setattr(Reader, "rows", lambda *given: (read.append(row.seq) or row for row in rows(*given)))
        work(agent, 30)
        seen = follower.look("agent")
    assert len(read) == 30 + 30 + TAIL  # for the agent, for its averages, and to show
    assert (seen.size, seen.batches[0], seen.batches[-1]) == (2, (2, 0.5), (100, 0.5))


def test_an_agent_without_values_and_policy_is_followed(tmp_path):
    with el.live(tmp_path, **SETUP, agent="examples.own_agent:r_learning", seed=1) as agent:
        work(agent, 5)
    seen = Follower(tmp_path).look("agent")
    assert "has neither values nor a policy" in seen.greedy
    assert seen.document["step"] == 5


def test_only_sqlite_writes_beside_what_is_followed(tmp_path):
    with el.live(tmp_path, **SETUP, seed=1) as agent:
        work(agent, 5)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    Follower(tmp_path).look("agent")
    after = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert {name: data for name, data in after.items() if name in before} == before
    assert after.keys() - before.keys() <= {"everlearn.db-wal", "everlearn.db-shm"}


def test_an_accepted_change_is_seen(tmp_path):
    with el.live(tmp_path, **SETUP, seed=1) as agent:
        work(agent, 5)
    follower = Follower(tmp_path)
    follower.look("agent")
    with el.live(tmp_path, **SETUP | {"reward_range": (0, 2)}, seed=1, accept_changes=True) as agent:
        work(agent, 1)
    seen = follower.look("agent")
    assert seen.document["step"] == 6
    assert seen.document["changed"]


def test_a_directory_without_agents_is_refused(tmp_path):
    with pytest.raises(Absent, check=has(path=tmp_path, agent=None)):
        Follower(tmp_path)
    with el.live(tmp_path, **SETUP, seed=1), pytest.raises(Absent, check=has(agent="other")):
        Follower(tmp_path).look("other")
