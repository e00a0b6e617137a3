"""An agent that cannot be recovered here is neither damaged nor lost, and does not prevent a backup."""

from __future__ import annotations

import errno
import json
import sqlite3
from contextlib import nullcontext
from pathlib import Path

import pytest

import everlearn as el
from everlearn.agents.registry import make_design
from everlearn.durable.backup import backup
from everlearn.durable.checking import check
from everlearn.durable.repair import repair
from everlearn.durable.setup import make_setup
from everlearn.durable.store import Store
from everlearn.errors import Corrupt, LiveError
from tests.durable.failing import failing_directory
from tests.durable.flips import observe
from tests.durable.worlds import advance, whole
from tests.refusal import has

LABELS = {"actions": ["a", "b"], "observations": ["x", "y"], "reward_range": (0, 1)}
IMPOSSIBLE = {"schedule.optimism_scale": -1e300}
"""Parameters with which an agent cannot act, and which do not fit its snapshots."""


def create_impossible(store: Store, name: str) -> None:
    """Create an agent that cannot act, as if its setup had been accepted."""
    core = store.create(name, make_setup(**LABELS, agent="growing-horizon"))
    observe(store, core, 3)
    store.append([], [core])
    record = store.enrolled(name)
    setup = json.dumps({**json.loads(record.setup), "parameters": IMPOSSIBLE})
    record = record._replace(setup=setup).sealed()
    store.connection.execute("UPDATE agents SET setup = ?, sha256 = ? WHERE name = ?", (setup, record.sha256, name))


def verdicts(directory: Path) -> dict[str, str]:
    return {agent["name"]: agent["verdict"] for agent in check(directory).agents}


def damage(directory: Path, statement: str) -> None:
    connection = sqlite3.connect(directory / "everlearn.db", isolation_level=None)
    assert connection.execute(statement).rowcount
    connection.close()


@pytest.fixture
def several(tmp_path) -> Path:
    """Three agents: one with a design given as an object, one that cannot act, and one like any other."""
    with Store(tmp_path / "several") as store:
        store.create("own", make_setup(**LABELS, agent=make_design("q-learning")))
        create_impossible(store, "impossible")
        core = store.create("plain", make_setup(**LABELS, agent="q-learning"))
        observe(store, core, 5)
    return tmp_path / "several"


def test_there_are_three_verdicts(several):
    assert verdicts(several) == {"own": "unknown", "impossible": "unknown", "plain": "sound"}
    report = check(several)
    assert report.sound
    reasons = [agent["reason"] for agent in report.agents]
    assert "check runs no code of yours" in reasons[0]
    assert reasons[1].startswith("it cannot be run (")
    assert reasons[2] is None
    damage(several, "UPDATE journal SET reward = 0.25 WHERE agent = 3 AND seq = 2")
    assert verdicts(several) == {"own": "unknown", "impossible": "unknown", "plain": "damaged"}
    assert not check(several).sound


def test_no_agent_keeps_the_others_from_being_backed_up(several, tmp_path):
    names = [agent["name"] for agent in backup(several, tmp_path / "kept" / "everlearn.db")["agents"]]
    assert names == ["own", "impossible", "plain"]
    assert verdicts(tmp_path / "kept") == verdicts(several)


def recorded(directory: Path, but: int) -> list[tuple]:
    """Return everything that is recorded of all agents but one."""
    connection = sqlite3.connect(directory / "everlearn.db")
    tables = {"agents": "id", "journal": "agent", "snapshots": "agent", "heads": "agent"}
    rows = [
        connection.execute(f"SELECT * FROM {table} WHERE {number} <> {but} ORDER BY 1, 2").fetchall()
        for table, number in tables.items()
    ]
    connection.close()
    return rows


@pytest.mark.parametrize("agent", [1, 2, 3])
def test_a_repair_drops_no_agent_that_is_undamaged(several, agent):
    """Whichever agent is damaged, the others are copied as they are."""
    damage(several, f"UPDATE snapshots SET state = zeroblob(4) WHERE agent = {agent} AND seq IN (0, 3) AND number < 2")
    others = recorded(several, but=agent)
    saved = repair(several)
    assert saved["lost_agents"] == []
    assert [(kept["name"], kept["step"]) for kept in saved["agents"]] == [("own", 0), ("impossible", 3), ("plain", 5)]
    assert recorded(several, but=agent) == others
    assert verdicts(several)["plain"] == "sound"


def test_a_damaged_agent_that_cannot_be_run_is_saved_as_far_as_it_is_undamaged(several):
    damage(several, "UPDATE snapshots SET state = zeroblob(4) WHERE agent = 2 AND seq = 3")
    damage(several, "UPDATE journal SET reward = 0.25 WHERE agent = 2 AND seq = 3")
    assert repair(several)["agents"][1] == {
        "name": "impossible",
        "step": 2,
        "rows": 2,
        "unsaved_rows": 0,
        "lost_rows": 1,
    }
    assert verdicts(several)["impossible"] == "unknown"


def test_an_agent_of_ones_own_is_as_it_was_after_a_repair_for_another(tmp_path):
    design = make_design("q-learning")
    with el.live(tmp_path / "a", task="service-station", agent=design, snapshot_every=20) as agent:
        advance(agent, 50)
        before = agent.inspect()
        with Store.transaction(agent.store) as run:
            run("INSERT INTO agents VALUES (7, 'lost', '', NULL, 0, '')")
    assert repair(tmp_path / "a")["lost_agents"] == ["lost"]
    with el.live(tmp_path / "a", task="service-station", agent=design) as agent:
        assert agent.inspect() == before
        assert len(agent.snapshots()) == 3


def test_an_agent_that_cannot_be_run_is_not_begun_anew(tmp_path):
    with Store(tmp_path / "a") as store:
        create_impossible(store, "agent")
    repair(tmp_path / "a")
    with pytest.raises(LiveError, check=has(step=3)):
        el.live(tmp_path / "a")


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM agents WHERE id = 3",
        "DELETE FROM heads WHERE agent = 3",
        "UPDATE journal SET agent = 4 WHERE agent = 3",
    ],
)
def test_nothing_is_created_where_rows_are_left(several, statement):
    damage(several, statement)
    with Store(several) as store, pytest.raises(Corrupt, check=has(table="agents", agent=None)):
        store.create("new", make_setup(**LABELS))
    assert not check(several).sound


@pytest.mark.parametrize("change", ["agent = 4", "seq = 40"])
def test_the_last_row_is_not_missing_unnoticed(several, change):
    damage(several, f"UPDATE journal SET {change} WHERE seq = 5")
    with Store(several) as store, pytest.raises(Corrupt, check=has(table="journal", row=5)):
        store.open("plain")
    assert verdicts(several)["plain"] == "damaged"


def test_a_damaged_head_is_named(several):
    damage(several, "UPDATE heads SET seq = 3 WHERE agent = 3")
    with Store(several) as store, pytest.raises(Corrupt, check=has(table="heads", number=3)):
        store.open("plain")
    assert verdicts(several)["plain"] == "damaged"
    assert [kept["step"] for kept in repair(several)["agents"]] == [0, 3, 5]
    assert verdicts(several)["plain"] == "sound"


def test_heads_are_known_before_a_checkpoint(tmp_path, monkeypatch):
    """What is in the database and not in its log is known to the heads, while the agent is at work too."""
    monkeypatch.setattr("everlearn.durable.database.LOG_FRAMES", 10)
    monkeypatch.setattr("everlearn.durable.store.EVERY", 1)
    with Store(tmp_path) as store:
        core = store.create("plain", make_setup(**LABELS, agent="q-learning"))
        observe(store, core, 25)
        copied = store.connection.execute("SELECT seq FROM heads").fetchone()[0]
        assert copied >= 10
        main = (tmp_path / "everlearn.db").read_bytes()
    lone = tmp_path / "lone"
    lone.mkdir()
    (lone / "everlearn.db").write_bytes(main)  # without the log it is as of the last checkpoint
    with Store(lone) as store:
        assert store.open("plain").step == copied == store.head(1)


def test_an_agent_that_is_never_closed_is_known_to_the_heads(tmp_path):
    store = Store(tmp_path)
    observe(store, store.create("plain", make_setup(**LABELS, agent="q-learning")), 5)
    del store
    connection = sqlite3.connect(tmp_path / "everlearn.db")
    assert connection.execute("SELECT seq FROM heads").fetchall() == [(5,)]
    connection.close()


@pytest.mark.parametrize(("page", "entry"), [(4, b"\x01b\x02"), (7, b"\x01\x02\x02")], ids=["agents", "snapshots"])
def test_an_index_does_not_lead_to_the_row_of_another(tmp_path, page, entry):
    """The rows of both are undamaged in themselves."""
    with Store(tmp_path) as store:
        cores = [store.create(name, make_setup(**LABELS, agent="tsde", seed=seed)) for seed, name in enumerate("abc")]
        expected = whole(cores[1])
    path = tmp_path / "everlearn.db"
    data = bytearray(path.read_bytes())
    data[data.index(entry, (page - 1) * 4096, page * 4096) + 2] ^= 1  # 3, the number of the row of the third
    path.write_bytes(data)
    refused = pytest.raises(Corrupt, check=has(table="agents", agent="b")) if page == 4 else nullcontext()
    with Store(tmp_path) as store, refused:
        assert whole(store.open("b")) == expected


@pytest.mark.parametrize("sql", ["reward NEAL", "reward  REAL"])
def test_a_damaged_declaration_is_refused(several, sql):
    connection = sqlite3.connect(several / "everlearn.db", isolation_level=None)
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute(f"UPDATE sqlite_master SET sql = replace(sql, 'reward REAL', '{sql}')")
    connection.close()
    with pytest.raises(Corrupt, check=has(path=several / "everlearn.db", table=None)):
        Store(several)
    assert not check(several).sound


def test_what_the_system_says_is_one_line(tmp_path):
    (tmp_path / "a" / "everlearn.db").mkdir(parents=True)
    for attempt in (el.live, check, repair):
        with pytest.raises(LiveError) as caught:
            attempt(tmp_path / "a")
        assert "\n" not in str(caught.value)
    with pytest.raises(LiveError) as caught:
        check(tmp_path / ("x" * 300))
    assert caught.value.__cause__.errno == errno.ENAMETOOLONG


def test_an_agent_in_quarantine_is_named(tmp_path):
    failing_directory(tmp_path / "a", "failing")
    (agent,) = check(tmp_path / "a").agents
    assert agent["verdict"] == "unknown"
    assert agent["reason"].startswith("it is quarantined (step ")
    backup(tmp_path / "a", tmp_path / "copy.db")
