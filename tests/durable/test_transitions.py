"""The transitions of a journal as arrays."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest

import everlearn as el
from everlearn.durable import transitions
from everlearn.durable.reader import Reader
from everlearn.durable.transitions import read_transitions
from everlearn.errors import Corrupt
from tests.durable.worlds import advance
from tests.few import few
from tests.refusal import has


@pytest.fixture
def directory(tmp_path):
    with el.live(tmp_path / "agent", task="service-station", seed=1) as agent:
        advance(agent, 20)
        agent.freeze()
        advance(agent, 30)
        agent.learn()
        advance(agent, 40)
    return tmp_path / "agent"


@pytest.mark.parametrize("page", few([1, 7, 42, 10_000], [1, 42]))
@pytest.mark.parametrize(("first", "last"), [(None, None), (1, 40), (20, 31), (40, None), (None, 1), (41, None)])
def test_they_are_the_rows_of_the_journal(directory, monkeypatch, page, first, last):
    monkeypatch.setattr(transitions, "PAGE", page)
    with Reader(directory) as reader:
        found = read_transitions(reader, reader.enrolled("agent").number, first, last)
        task = reader.enrolled("agent").stored_setup().task
    with el.live(directory) as agent:
        rows = [row for row in agent.journal(first, last) if row["kind"] == "observed"]
    assert len(rows) == min(last or 40, 40) - min(first or 1, 41) + 1
    assert [task.states[state] for state in found.states] == [row["state"] for row in rows]
    assert [task.actions[action] for action in found.actions] == [row["executed"] for row in rows]
    assert [task.observations[seen] for seen in found.observations] == [row["observation"] for row in rows]
    assert [task.states[state] for state in found.following] == [row["next_state"] for row in rows]
    assert found.rewards.tolist() == [row["reward"] for row in rows]
    assert {array.dtype for array in found[:5]} <= {np.dtype(np.int64), np.dtype(np.float64)}
    assert found.changed is None


@pytest.mark.parametrize("page", [1, 7, 10_000])
@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE journal SET reward = 0.125 WHERE seq = 20",
        "DELETE FROM journal WHERE seq = 20",
        "UPDATE journal SET executed = 'a' WHERE seq = 20",
    ],
)
def test_a_damaged_row_is_refused(directory, monkeypatch, page, damage):
    monkeypatch.setattr(transitions, "PAGE", page)
    connection = sqlite3.connect(directory / "everlearn.db", isolation_level=None)
    connection.execute(damage)
    connection.close()
    with Reader(directory) as reader, pytest.raises(Corrupt, check=has(table="journal", row=20)):
        read_transitions(reader, 1)


@pytest.mark.parametrize("page", [1, 3, 10_000])
def test_rewards_that_come_late_are_where_their_observations_are(tmp_path, monkeypatch, page):
    monkeypatch.setattr(transitions, "PAGE", page)
    setup = {"actions": ["off", "on"], "observations": ["dry", "full"], "reward_range": (0, 1), "reward_delay": 5}
    with el.live(tmp_path / "agent", **setup) as agent:
        for step in range(1, 9):
            agent.act()
            agent.observe("dry", reward=0.5 if step == 3 else None)
            if step in (2, 5, 6):
                agent.reward(step - 1, step / 8)
    expected = [0.25, None, 0.5, 0.625, 0.75, None, None, None]
    for first, last in ((1, 8), (1, 4), (4, 4), (5, 5), (2, 3), (6, None)):
        with Reader(tmp_path / "agent") as reader:
            found = read_transitions(reader, 1, first, last)
        rewards = [None if np.isnan(reward) else reward for reward in found.rewards.tolist()]
        assert rewards == expected[first - 1 : last]
