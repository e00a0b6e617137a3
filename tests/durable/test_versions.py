"""A directory that version 0.1 wrote is opened, and its agent resumes as it was."""

from __future__ import annotations

import json
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import everlearn as el
from everlearn.durable.checking import check
from everlearn.durable.database import SCHEMA, read_version
from everlearn.durable.reader import Reader
from everlearn.durable.records import AgentRecord
from everlearn.errors import Changed, LiveError, OtherVersion
from everlearn.tasks.registry import TASKS
from everlearn.tasks.service_station import service_station
from tests.durable.shops import module
from tests.refusal import has

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.fixture
def second(tmp_path) -> Path:
    shutil.copytree(FIXTURES / "schema-2", tmp_path / "second")
    return tmp_path / "second"


def is_as_it_was(agent: el.Live) -> bool:
    """See that an agent is what it was, up to the last bits: rows are replayed, and processors differ in these."""
    state, expected = agent.core.agent.snapshot(), json.loads((agent.store.directory / "expected.json").read_text())
    for name, values in expected.pop("epistemic").items():
        np.testing.assert_allclose(state.epistemic[name], values, rtol=1e-9)
    found = {
        "step": agent.step,
        "t": agent.t,
        "mode": agent.mode,
        "aleatoric": json.loads(json.dumps(state.aleatoric)),
        "stream": state.algorithmic["stream"],
        "next action": agent.act(),
    }
    return found == expected


def test_a_version_that_was_never_released_is_refused(second):
    connection = sqlite3.connect(second / "everlearn.db", isolation_level=None)
    connection.execute("UPDATE meta SET value = '1' WHERE key = 'schema'")
    connection.close()
    for opened in (Reader, el.live):
        with pytest.raises(OtherVersion, check=has(path=second / "everlearn.db")):
            opened(second)


def test_version_2_is_read_as_it_is_and_its_task_recorded(second, monkeypatch):
    with Reader(second) as reader:
        assert reader.look("agent").step == 45
        assert reader.enrolled("agent").face is None
    with el.live(second) as agent:
        assert is_as_it_was(agent)
        assert read_version(agent.store.connection) == SCHEMA
        assert len(json.loads(agent.store.enrolled("agent").face)["rewards"]["values"]) == 16
        agent.observe("arrival")
    assert sorted(path.name for path in second.iterdir()) == [".lock", "everlearn.db", "expected.json"]
    assert check(second).sound
    monkeypatch.setitem(TASKS, "service-station", "tests.durable.test_versions:cheap_station")
    with pytest.raises(Changed) as caught:
        el.live(second)
    assert "reward" in caught.value.keys


def test_an_agent_of_version_0_1_opens_if_its_design_has_a_later_parameter(tmp_path):
    shutil.copytree(FIXTURES / "q-learning", tmp_path / "agent")
    with el.live(tmp_path / "agent") as agent:
        assert (agent.step, agent.act()) == (20, "slow")
        agent.observe("arrival")
    with el.live(tmp_path / "agent") as agent:
        assert agent.step == 21


def cheap_station():
    """Return the station with other rewards."""
    station = service_station()
    return replace(station, reward=replace(station.reward, function=lambda s, a, o: 0.5 * station.reward(s, a, o)))


def test_version_2_with_a_task_of_ones_own_knew_its_labels_and_its_range(tmp_path):
    made = module(tmp_path)
    with el.live(tmp_path / "agent", made.shop) as agent:
        agent.act()
        agent.observe("busy")
    as_version_2(tmp_path / "agent")
    for edit in (('"wait", "sell"]', '"rest", "sell"]'), ("(-1, 1)", "(-2, 2)")):
        with pytest.raises(Changed):
            el.live(tmp_path / "agent", module(tmp_path, edit).shop)
    with el.live(tmp_path / "agent", made.shop) as agent:
        assert agent.step == 1
    with pytest.raises(Changed):
        el.live(tmp_path / "agent", module(tmp_path, ("return 1.0 *", "return 0.5 *")).shop)


def as_version_2(directory: Path) -> None:
    """Make of a directory what the version before would have written."""
    connection = sqlite3.connect(directory / "everlearn.db", isolation_level=None)
    row = AgentRecord(*connection.execute("SELECT * FROM agents").fetchone())
    face = {key: json.loads(row.face)[key] for key in ("name", "actions", "observations", "states", "start", "reward")}
    row = row._replace(face=json.dumps(face))
    connection.execute("UPDATE agents SET face = ?, sha256 = ?", (row.face, row.sealed().sha256))
    connection.execute("UPDATE meta SET value = '2' WHERE key = 'schema'")
    connection.close()


@pytest.mark.parametrize("agent", ["learned", "planner"])
def test_an_agent_of_an_earlier_version_that_had_other_parameters_or_arrays_is_refused(agent, tmp_path):
    """They were saved before ``learned`` had a further parameter, and before ``planner`` kept its model in records."""
    shutil.copytree(FIXTURES / agent, tmp_path / "agent")
    with pytest.raises(LiveError, check=has(path=tmp_path / "agent" / "everlearn.db", step=0)):
        el.live(tmp_path / "agent")
