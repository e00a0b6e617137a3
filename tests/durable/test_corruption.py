"""Damage in a directory is found, named, and recovered from as far as the journal allows; it is never believed."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import everlearn as el
from everlearn.durable import moving, notes
from everlearn.durable.checking import check
from everlearn.durable.database import errors
from everlearn.durable.repair import PAGE, repair
from everlearn.durable.setup import make_setup
from everlearn.durable.store import Store
from everlearn.durable.wal import inspect
from everlearn.errors import Corrupt, EverlearnError, InputError, LiveError, OtherVersion
from tests.durable.worlds import advance, whole
from tests.few import few
from tests.refusal import has, refusal

STEPS = 300
LAST = 307
SETUP = {"task": "service-station", "seed": 1, "snapshot_every": 50}


@pytest.fixture(scope="module")
def truth(tmp_path_factory) -> dict[int, Any]:
    """What the agent was after each step."""
    found: dict[int, Any] = {}
    with el.live(tmp_path_factory.mktemp("truth"), **SETUP) as agent:
        found[0] = whole(agent.core)
        for step in range(1, STEPS + 20):
            advance(agent, step)
            found[step] = whole(agent.core)
    return found


@pytest.fixture(scope="module")
def closed(tmp_path_factory) -> Path:
    """A directory that was closed: all in one file."""
    place = tmp_path_factory.mktemp("closed") / "agent"
    with el.live(place, **SETUP) as agent:
        advance(agent, STEPS)
    return place


@pytest.fixture(scope="module")
def crashed(tmp_path_factory) -> Path:
    """A directory as a crash leaves it: much of it is in the write-ahead log alone."""
    place = tmp_path_factory.mktemp("crashed")
    with el.live(place / "working", **SETUP) as agent:
        advance(agent, LAST)
        shutil.copytree(place / "working", place / "agent")
    return place / "agent"


def copy(directory: Path, tmp_path: Path, name: str = "copy") -> Path:
    shutil.copytree(directory, tmp_path / name)
    return tmp_path / name


def damage(path: Path, where: int, bits: int = 0xFF, length: int = 1) -> None:
    data = bytearray(path.read_bytes())
    for place in range(where, min(where + length, len(data))):
        data[place] ^= bits
    path.write_bytes(bytes(data))


def execute(directory: Path, statement: str, *values: Any) -> None:
    connection = sqlite3.connect(directory / "everlearn.db", isolation_level=None)
    assert connection.execute(statement, values).rowcount == 1
    connection.close()


def opened(directory: Path) -> dict[str, Any] | None:
    """Return what the agent is, or None where it is refused; nothing else may happen."""
    try:
        with el.live(directory) as agent:
            return whole(agent.core)
    except EverlearnError:
        return None


def is_some_truth(found: dict[str, Any] | None, truth: dict[int, Any]) -> bool:
    return found is not None and found == truth[found["step"]]


PARTS = 12


@pytest.mark.parametrize("part", few(range(PARTS), range(0, PARTS, 3)))
def test_any_flipped_byte_is_harmless_or_found_and_repaired(closed, truth, tmp_path, part):
    """Go over the whole file, a byte in each of its regions: pages of every table, the header, free space."""
    size = (closed / "everlearn.db").stat().st_size
    where = random.Random(part).randrange(part * size // PARTS, (part + 1) * size // PARTS)
    place = copy(closed, tmp_path)
    damage(place / "everlearn.db", where)
    found = opened(copy(place, tmp_path, "opened"))
    assert found is None or found == truth[STEPS]
    report = check(place)
    if found is None:
        assert not report.sound
        assert all(finding.file == "everlearn.db" for finding in report.findings)
    if not report.sound:
        saved = repair(place)
        assert check(place).sound
        assert not saved["agents"] or is_some_truth(opened(place), truth)
        assert Path(saved["damaged_file"]).exists()


@pytest.mark.soak
def test_every_flipped_byte(closed, truth, tmp_path):
    """An agent is lost only if the page of its own record was hit: without its setup nothing can be made of it."""
    size = (closed / "everlearn.db").stat().st_size
    for number, where in enumerate(range(0, size, 97)):
        place = copy(closed, tmp_path, str(number))
        damage(place / "everlearn.db", where, bits=1 << number % 8)
        found = opened(place)
        assert found is None or found == truth[STEPS]
        if found is None:
            saved = repair(place)["agents"]
            assert check(place).sound
            assert is_some_truth(opened(place), truth) if saved else where // PAGE == page_of(closed, "agents"), where
        shutil.rmtree(place)


def page_of(place: Path, table: str) -> int:
    """Return the number of the page, from 0, on which a table begins."""
    with closing(sqlite3.connect(place / "everlearn.db")) as connection:
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    return int(page) - 1


def test_a_store_whose_tables_lie_elsewhere(closed, truth, tmp_path):
    """As SQLite dumps and restores it: it is refused, and what repair makes of it has lost nothing."""
    place = copy(closed, tmp_path)
    path = place / "everlearn.db"
    with closing(sqlite3.connect(path)) as connection:
        script = "".join(line for line in connection.iterdump())
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE other (x); " + script)
    assert opened(place) is None
    assert repair(place)["agents"] == [
        {"name": "agent", "step": STEPS, "rows": STEPS, "unsaved_rows": 0, "lost_rows": 0}
    ]
    assert opened(place) == truth[STEPS]


@pytest.mark.parametrize("table", ["meta", "heads", "agents"])
@pytest.mark.parametrize("byte", few(range(12), (0, 3, 5, 8)))
def test_the_header_of_a_page_that_tells_of_all_agents(closed, truth, tmp_path, table, byte):
    """A bit in it may hide every entry of the page; the rows of the journal tell where the agent is."""
    place = copy(closed, tmp_path)
    damage(place / "everlearn.db", PAGE * page_of(closed, table) + byte, bits=1 << byte % 8)
    found = opened(copy(place, tmp_path, "opened"))
    assert found in (None, truth[STEPS])
    if found is None:
        saved = repair(place)["agents"]
        assert check(place).sound
        assert is_some_truth(opened(place), truth) if saved else table == "agents"


@pytest.mark.parametrize("column", [b"setup TEXT", b"more TEXT", b"following INTEGER"])
def test_a_declaration_that_can_be_read_and_is_wrong(closed, truth, tmp_path, column):
    """A letter in the name of a column, which would make every row look damaged."""
    place = copy(closed, tmp_path)
    path = place / "everlearn.db"
    damage(path, path.read_bytes().index(column), bits=1)
    assert not check(place).sound
    assert repair(place)["agents"] == [
        {"name": "agent", "step": STEPS, "rows": STEPS, "unsaved_rows": 0, "lost_rows": 0}
    ]
    assert opened(place) == truth[STEPS]


def test_the_first_page_can_be_done_without(closed, truth, tmp_path):
    place = copy(closed, tmp_path)
    damage(place / "everlearn.db", 0, length=4096)
    assert opened(place) is None
    assert repair(place)["agents"] == [
        {"name": "agent", "step": STEPS, "rows": STEPS, "unsaved_rows": 0, "lost_rows": 0}
    ]
    assert not list(place.glob("*.part*"))
    assert opened(place) == truth[STEPS]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
def test_a_truncated_file_is_found_and_what_is_left_is_saved(closed, truth, tmp_path, share):
    place = copy(closed, tmp_path)
    path = place / "everlearn.db"
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(Corrupt, check=has(path=path)):
        el.live(place)
    assert not check(place).sound
    saved = repair(place)
    assert check(place).sound
    assert not saved["agents"] or is_some_truth(opened(place), truth)


def test_a_damaged_snapshot_is_passed_over_and_said_so(closed, truth, tmp_path, caplog):
    place = copy(closed, tmp_path)
    execute(place, "UPDATE snapshots SET state = zeroblob(10) WHERE seq = ?", STEPS)
    assert opened(place) == truth[STEPS]
    assert "table snapshots: agent 1: the snapshot after row 300 is damaged; an older one is used" in caplog.text
    (finding,) = check(place).findings
    assert str(finding) == "everlearn.db: table snapshots: agent agent: row 300: is damaged"
    repair(place)
    assert check(place).sound
    assert opened(place) == truth[STEPS]


def test_however_little_is_retained_two_damaged_snapshots_can_be_borne(tmp_path):
    with el.live(tmp_path / "agent", **SETUP, retain=1) as agent:
        advance(agent, STEPS)
        expected = whole(agent.core)
        assert len(list(agent.journal())) == 100
    for seq in (STEPS, STEPS - 50):
        execute(tmp_path / "agent", "UPDATE snapshots SET state = zeroblob(10) WHERE seq = ?", seq)
    assert opened(tmp_path / "agent") == expected


def test_without_any_snapshot_the_journal_is_enough(closed, truth, tmp_path):
    place = copy(closed, tmp_path)
    connection = sqlite3.connect(place / "everlearn.db", isolation_level=None)
    connection.execute("DELETE FROM snapshots")
    connection.close()
    assert opened(place) == truth[STEPS]


@pytest.mark.parametrize(
    "change",
    ["reward = reward + 0.5", "executed = 1 - executed", "following = 1 - following", "at = at + 1", "step = 7"],
)
def test_a_changed_row_is_named(closed, truth, tmp_path, change):
    place = copy(closed, tmp_path)
    execute(place, "DELETE FROM snapshots WHERE seq = ?", STEPS)
    execute(place, f"UPDATE journal SET {change} WHERE seq = ?", 277)
    with pytest.raises(Corrupt, check=has(path=place / "everlearn.db", table="journal", number=1, row=277)):
        el.live(place)
    named = [str(finding) for finding in check(place).findings]
    assert "everlearn.db: table journal: agent agent: row 277: is damaged" in named
    assert repair(place)["agents"] == [{"name": "agent", "step": 276, "rows": 276, "unsaved_rows": 0, "lost_rows": 24}]
    assert opened(place) == truth[276]


def test_a_missing_row_is_named(closed, truth, tmp_path):
    place = copy(closed, tmp_path)
    execute(place, "DELETE FROM snapshots WHERE seq = ?", STEPS)
    execute(place, "DELETE FROM journal WHERE seq = ?", 260)
    with pytest.raises(Corrupt, check=has(row=260)):
        el.live(place)
    assert any("row 260: is missing" in str(finding) for finding in check(place).findings)
    repair(place)
    assert opened(place) == truth[259]


def test_rows_missing_at_the_end_are_seen_where_a_snapshot_knows_of_them(closed, truth, tmp_path):
    place = copy(closed, tmp_path)
    execute(place, "DELETE FROM journal WHERE seq = ?", STEPS)
    (finding,) = check(place).findings
    assert str(finding) == "everlearn.db: table journal: agent agent: row 300: rows 300 to 300 are missing"
    repair(place)
    assert opened(place) == truth[STEPS]


def test_a_damaged_setup_is_named_and_saved_where_a_snapshot_vouches_for_it(closed, truth, tmp_path):
    place = copy(closed, tmp_path)
    execute(place, "UPDATE agents SET created = 0")
    with pytest.raises(Corrupt, check=has(table="agents", agent="agent")):
        el.live(place)
    repair(place)
    assert opened(place) == truth[STEPS]
    execute(place, """UPDATE agents SET setup = replace(setup, 'service-station', 'riverswim')""")
    assert repair(place)["lost_agents"] == ["agent"]


@pytest.mark.parametrize("damaged", ["replace(face, 'observations', 'observatixns')", "CAST(x'ff' AS TEXT)", "'['"])
def test_a_damaged_fingerprint_is_recorded_anew(closed, truth, tmp_path, damaged):
    place = copy(closed, tmp_path)
    execute(place, f"UPDATE agents SET face = {damaged}")
    assert opened(place) is None
    assert not check(place).sound
    assert repair(place)["lost_agents"] == []
    assert check(place).sound
    assert opened(place) == truth[STEPS]
    with el.live(place) as agent:
        assert len(json.loads(agent.store.enrolled("agent").face)["rewards"]["values"]) == 16


def test_what_sqlite_says_of_damage_need_not_be_text(tmp_path):
    with pytest.raises(Corrupt), errors(tmp_path / "everlearn.db"):
        b"\xff".decode()


def test_a_directory_of_a_later_version_is_refused(closed, tmp_path):
    place = copy(closed, tmp_path)
    execute(place, "UPDATE meta SET value = '99' WHERE key = 'schema'")
    with pytest.raises(OtherVersion, check=has(path=place / "everlearn.db")):
        el.live(place)


def test_a_log_left_by_a_crash_is_read(crashed, truth, tmp_path):
    place = copy(crashed, tmp_path)
    assert check(place).sound
    assert opened(place) == truth[LAST]


@pytest.mark.parametrize("share", [0.0, 0.05, 0.3, 0.6, 0.9])
def test_a_damaged_log_is_refused_and_repaired(crashed, truth, tmp_path, share):
    place = copy(crashed, tmp_path)
    log = place / "everlearn.db-wal"
    damage(log, int(share * log.stat().st_size) + 20)
    with pytest.raises(Corrupt, check=has(path=log)):
        el.live(place)
    assert any(finding.file == "everlearn.db-wal" for finding in check(place).findings)
    kept = log.read_bytes()
    saved = repair(place)
    assert (place / "everlearn.db.before-1-wal").read_bytes() == kept
    found = opened(place)
    assert is_some_truth(found, truth) or not saved["agents"]
    assert found is None or found["step"] < LAST


@pytest.mark.parametrize("left", [0.0, 0.5, 0.95])
def test_a_log_that_was_cut_off_is_seen_by_its_index(crashed, truth, tmp_path, left):
    place = copy(crashed, tmp_path)
    log = place / "everlearn.db-wal"
    data = log.read_bytes()
    if left:
        log.write_bytes(data[: int(left * len(data))])
    else:
        log.unlink()
    assert inspect(place / "everlearn.db").missing > 0
    with pytest.raises(Corrupt, check=has(path=log)):
        el.live(place)
    repair(place)
    found = opened(place)
    assert found is None or is_some_truth(found, truth)


def test_what_a_power_cut_tears_at_the_end_is_no_damage(crashed, truth, tmp_path):
    place = copy(crashed, tmp_path)
    (place / "everlearn.db-shm").unlink()  # it does not survive a power cut
    log = place / "everlearn.db-wal"
    log.write_bytes(log.read_bytes()[:-100])
    found = opened(place)
    assert found == truth[LAST - 1]


def test_an_interrupted_repair_is_finished_by_whoever_opens_next(closed, truth, tmp_path, monkeypatch):
    place = copy(closed, tmp_path)
    execute(place, "UPDATE agents SET created = 0")
    moves: list[int] = []
    move = Path.replace

    def killed(self, target):
        moves.append(1)
        if len(moves) == stop:
            raise KeyboardInterrupt
        return move(self, target)

    for stop in (1, 2, 3):
        broken = copy(place, tmp_path, f"stopped {stop}")
        moves.clear()
        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", killed)
            with pytest.raises(KeyboardInterrupt):
                repair(broken)
        if stop == 1:
            repair(broken)
        assert opened(broken) == truth[STEPS]


def test_a_database_that_is_gone_is_not_begun_anew_beside_its_log(crashed, tmp_path):
    place = copy(crashed, tmp_path)
    (place / "everlearn.db").unlink()
    with pytest.raises(Corrupt, check=has(path=place / "everlearn.db")):
        el.live(place, **SETUP)
    assert not (place / "everlearn.db").exists()


def test_one_damaged_agent_does_not_take_others_along(tmp_path):
    with Store(tmp_path) as store:
        for name in ("one", "other"):
            core = store.create(name, make_setup(**SETUP))
            core.act()
            entry = core.prepare("arrival")
            store.append([(core.number, entry)])
            core.apply(entry)
    execute(tmp_path, "UPDATE journal SET reward = 0 WHERE agent = 1")
    with Store(tmp_path) as store:
        assert store.open("other").step == 1
        with pytest.raises(Corrupt):
            store.open("one")
    assert [agent["step"] for agent in repair(tmp_path)["agents"]] == [0, 1]


DAMAGED_NOTES = {
    "value": "value = replace(value, '9', '8')",
    "type of the value": "value = CAST(value AS BLOB)",
    "text of the value": "value = CAST(value || x'ff' AS TEXT)",
    "type of the key": "key = CAST(key AS BLOB)",
    "name in the key": "key = 'leaving agent onf'",
    "kind in the key": "key = 'lfaving agent one'",
    "text of the key": "key = CAST(key || x'ff' AS TEXT)",
}


@pytest.mark.parametrize(
    "part", few(DAMAGED_NOTES, ("value", "type of the value", "name in the key", "text of the key"))
)
def test_a_damaged_note_concerns_its_agent_alone_which_stays_unused(tmp_path, part):
    """The agent may belong to another store already: neither the damage nor a repair may give it back."""
    with Store(tmp_path) as store:
        for name in ("one", "other"):
            store.create(name, make_setup(**SETUP))
        note = moving.begin(store, "one", "http://127.0.0.1:9999")
    assert check(tmp_path).sound
    execute(tmp_path, f"UPDATE meta SET {DAMAGED_NOTES[part]} WHERE key = 'leaving agent one'")
    found = check(tmp_path)
    assert [damage.table for damage in found.findings if "is damaged" in damage.what] == ["meta"]
    for _ in range(2):
        with Store(tmp_path) as store:
            assert store.open("other").step == 0
            with pytest.raises(LiveError, check=has(__class__=LiveError, agent="one")):
                store.open("one")
            with pytest.raises(InputError, check=refusal("to", "http://127.0.0.1:1")):
                moving.begin(store, "one", "http://127.0.0.1:1")
            kept = notes.read(store, notes.LEAVING)["one"]
        lost = part in ("value", "text of the value")
        assert kept == (notes.LOST if lost else note)
        if not check(tmp_path).sound:
            assert repair(tmp_path)["damaged_notes"] == (["leaving agent one"] if lost else [])
    assert check(tmp_path).sound
    with Store(tmp_path) as store:
        assert moving.cancel(store, "one", kept["move"])
        assert store.open("one").step == 0


@pytest.mark.parametrize("part", ["value", "type of the value"])
def test_a_damaged_note_that_must_be_read_is_refused(tmp_path, part):
    with Store(tmp_path) as store:
        moving.refuse(store, "one", "9" * 32)
    execute(tmp_path, f"UPDATE meta SET {DAMAGED_NOTES[part]} WHERE key = 'arrivals agent one'")
    with Store(tmp_path) as store, pytest.raises(Corrupt, check=has(table="meta")):
        moving.Arrivals.of(store, "one")
    assert repair(tmp_path)["damaged_notes"] == (["arrivals agent one"] if part == "value" else [])


@pytest.mark.parametrize("change", ["seq = 'x'", "\"check\" = 'x'", "payload = 'x'", "at = 'x'"])
def test_a_row_with_text_for_a_number_is_damaged_like_any_other(closed, truth, tmp_path, change):
    place = copy(closed, tmp_path)
    execute(place, f"UPDATE journal SET {change} WHERE seq = {STEPS}")
    connection = sqlite3.connect(place / "everlearn.db", isolation_level=None)
    connection.execute("DELETE FROM snapshots WHERE seq > 250")
    connection.close()
    with pytest.raises(Corrupt, check=has(path=place / "everlearn.db", table="journal", number=1, row=STEPS)):
        el.live(place)
    assert not check(place).sound
    (saved,) = repair(place)["agents"]
    assert saved["step"] == STEPS - 1
    assert opened(place) == truth[STEPS - 1]


@pytest.mark.parametrize(
    "payload", [b"\x00\xff", b"{}\n", b'{"changes":[],"relearned_since":0,"more":{}}\n', "text", None]
)
def test_a_damaged_change_is_damage(tmp_path, payload):
    place = tmp_path / "agent"
    labels = {"actions": ["a", "b"], "observations": ["x", "y"]}
    for range_ in ((0, 1), (0, 2)):
        with el.live(place, **labels, reward_range=range_, accept_changes=True) as agent:
            for _ in range(5):
                agent.observe("x", "a", reward=0.5)
    execute(place, "UPDATE journal SET payload = ? WHERE kind = 5", payload)
    connection = sqlite3.connect(place / "everlearn.db", isolation_level=None)
    connection.execute("UPDATE snapshots SET sha256 = 'x' WHERE seq >= 6")
    connection.close()
    with pytest.raises(Corrupt, check=has(table="journal", number=1, row=6)):
        el.live(place)
    assert not check(place).sound


def test_every_agent_is_checked_whatever_is_found_at_others(tmp_path):
    with Store(tmp_path) as store:
        for name in ("one", "other"):
            core = store.create(name, make_setup(**SETUP))
            entry = core.prepare("arrival", "fast")
            store.append([(core.number, entry)])
    execute(tmp_path, "INSERT INTO meta VALUES ('without rows up to, agent 1', 'x')")
    execute(tmp_path, "UPDATE journal SET reward = 0.3 WHERE agent = 2")
    assert {finding.agent for finding in check(tmp_path).findings} == {"one", "other"}


def own_design():
    from dataclasses import replace

    from everlearn.agents.registry import make_design

    return replace(make_design("growing-horizon"), name="mine")


@pytest.mark.parametrize("damaged", ["nothing", "snapshots", "row", "setup"])
def test_an_agent_with_a_design_of_the_users_own_is_saved(tmp_path, damaged):
    place = tmp_path / "agent"
    with el.live(place, agent=own_design(), **{**SETUP, "snapshot_every": 20}) as agent:
        advance(agent, 50)
        found = whole(agent.core)
        assert agent.core.setup.has_own_design
    if damaged == "snapshots":
        execute(place, "UPDATE snapshots SET state = x'00' WHERE seq = 40")
    elif damaged == "row":
        execute(place, "UPDATE journal SET reward = 0.3 WHERE seq = 10")
    elif damaged == "setup":
        execute(place, "UPDATE agents SET setup = setup || ' '")
    saved = repair(place)
    assert check(place).sound
    if damaged == "setup":
        assert (saved["agents"], saved["lost_agents"]) == ([], ["agent"])
        return
    rows = 30 if damaged == "row" else 50
    assert saved["agents"] == [{"name": "agent", "step": 50, "rows": rows, "unsaved_rows": 50 - rows, "lost_rows": 0}]
    with el.live(place, agent=own_design()) as agent:
        assert whole(agent.core) == found


def test_rows_that_an_agent_of_the_users_own_design_lost_are_counted(tmp_path):
    place = tmp_path / "agent"
    with el.live(place, agent=own_design(), **{**SETUP, "snapshot_every": 20}) as agent:
        advance(agent, 50)
    execute(place, "UPDATE journal SET reward = 0.3 WHERE seq = 46")
    (saved,) = repair(place)["agents"]
    assert saved == {"name": "agent", "step": 45, "rows": 45, "unsaved_rows": 0, "lost_rows": 5}
    with el.live(place, agent=own_design()) as agent:
        assert agent.step == 45


def test_without_a_snapshot_an_accepted_change_is_resumed_from(tmp_path):
    place = tmp_path / "agent"
    labels = {"actions": ["a", "b"], "observations": ["x", "y"]}
    for steps, greatest in ((60, 1), (15, 2)):
        with el.live(place, **labels, reward_range=(0, greatest), accept_changes=True) as agent:
            for _ in range(steps):
                agent.act()
                agent.observe("x", reward=0.5)
            found = whole(agent.core)
    execute(place, "UPDATE journal SET reward = 0.25 WHERE seq = 1")
    connection = sqlite3.connect(place / "everlearn.db", isolation_level=None)
    connection.execute("UPDATE snapshots SET sha256 = 'x'")
    connection.close()
    assert opened(copy(place, tmp_path)) == found
    assert repair(place)["agents"] == [{"name": "agent", "step": 75, "rows": 16, "unsaved_rows": 60, "lost_rows": 0}]
    assert check(place).sound
    assert opened(place) == found
