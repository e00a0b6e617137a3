"""A warm start is the same as having been there, all rows or none."""

from __future__ import annotations

import json

import pytest

import everlearn as el
from everlearn.errors import InputError, LiveError, StoreFull
from tests.durable.worlds import whole
from tests.refusal import has, refusal

QUEUE = {
    "actions": ["slow", "fast"],
    "observations": ["idle", "busy", 3],
    "reward_range": (0, 1),
    "aleatoric": "window:2",
}
LOG = [("busy", "slow", 0.25), ("idle", "fast", 0.5), (3, "fast", 1), ("busy", "fast", 0)] * 10


def test_it_is_as_if_it_had_been_there(tmp_path):
    with el.live(tmp_path / "warm", **QUEUE) as warm, el.live(tmp_path / "there", **QUEUE) as there:
        assert warm.warm_start(LOG) == len(LOG)
        for observation, action, reward in LOG:
            there.observe(observation, executed=action, reward=reward)
        assert warm.core.export_state() == there.core.export_state()
        assert (warm.step, warm.t, warm.aleatoric_state) == (40, 40, (3, "busy"))
        assert warm.core.gauge.count == 0  # what somebody else earned is not its own past
        assert {row["kind"] for row in warm.journal()} == {"warm"}
        expected = whole(warm.core)
    with el.live(tmp_path / "warm") as warm:
        assert whole(warm.core) == expected


def test_without_its_snapshot_it_is_replayed(tmp_path):
    with el.live(tmp_path, **QUEUE) as warm:
        warm.observe("idle", executed="slow", reward=1)
        warm.warm_start(LOG, start=("idle", 3))
        expected = whole(warm.core)
        warm.store.connection.execute("DELETE FROM snapshots WHERE seq > 0")
    with el.live(tmp_path) as warm:
        assert whole(warm.core) == expected


def test_files(tmp_path):
    table, lines = tmp_path / "log.csv", tmp_path / "log.jsonl"
    table.write_text("action,observation,reward\n" + "".join(f"{a},{o},{r}\n" for o, a, r in LOG))
    keys = ("observation", "action", "reward")
    lines.write_text("".join(json.dumps(dict(zip(keys, row, strict=True))) + "\n" for row in LOG))
    states = []
    for number, log in enumerate((LOG, table, lines)):
        with el.live(tmp_path / str(number), **QUEUE) as agent:
            assert agent.warm_start(log) == len(LOG)
            states.append(agent.core.export_state())
    assert states[0] == states[1] == states[2]


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("observation,reward\nbusy,1\n", ("header of the log", "observation,reward")),
        ("observation,action,reward,weight\nbusy,slow,1,2\n", ("header of the log", "weight")),
        (
            "observation,action,reward\nbusy,slow,1\nbusy,slow\n",
            ("row 2 of the log", "busy,slow"),
        ),
        ("observation,action,reward\nbusy,slow,1,9\n", ("row 1 of the log", "busy,slow,1,9")),
        ("observation,action,reward\nbusy,slow,much\n", ("row 1 of the log, reward", "much")),
        (
            "observation,action,reward\nbusy,slow,1\nlazy,slow,1\n",
            ("row 2 of the log, observation", "lazy"),
        ),
        ("observation,action,reward\nbusy,slow,7\n", ("row 1 of the log", ["busy", "slow", 7.0, None, None, None])),
        ("observation,action,reward\nbusy,slow,nan\n", ("row 1 of the log",)),
        ("observation,action\nbusy,slow\n", ("row 1 of the log", ["busy", "slow", None, None, None, None])),
        ("", ("header of the log", "")),
    ],
)
def test_a_wrong_row_is_named_and_nothing_is_changed(tmp_path, text, refused):
    (tmp_path / "log.csv").write_text(text)
    with el.live(tmp_path / "agent", **QUEUE) as agent:
        before = whole(agent.core)
        with pytest.raises(InputError, check=refusal(*refused)):
            agent.warm_start(tmp_path / "log.csv")
        assert whole(agent.core) == before
        assert list(agent.journal()) == []


@pytest.mark.parametrize("line", ["{", "[1]", '{"observation": "busy"}', '{"observation": ["busy"], "action": "slow"}'])
def test_a_wrong_line_is_named(tmp_path, line):
    (tmp_path / "log.jsonl").write_text('{"observation": "busy", "action": "slow", "reward": 1}\n' + line + "\n")
    with el.live(tmp_path / "agent", **QUEUE) as agent:
        with pytest.raises(InputError, check=refusal("row 2 of the log")):
            agent.warm_start(tmp_path / "log.jsonl")
        assert agent.step == 0


def test_rows_of_another_form_are_refused(tmp_path):
    with el.live(tmp_path, **QUEUE) as agent:
        for wrong in ("busy", ("busy",), 3, {"observation": "busy"}):
            with pytest.raises(InputError, check=refusal("row 1 of the log")):
                agent.warm_start([wrong])
        with pytest.raises(InputError, check=refusal("log")):
            agent.warm_start(tmp_path / "none.csv")


def test_when_it_cannot_be(tmp_path):
    with el.live(tmp_path, **QUEUE) as agent:
        agent.act()
        with pytest.raises(LiveError, check=has(step=1)):
            agent.warm_start(LOG)
        agent.observe("busy", reward=1)
        agent.freeze()
        with pytest.raises(LiveError, check=has(step=None)):
            agent.warm_start(LOG)


def test_on_a_full_disk_nothing_is_changed(tmp_path):
    with el.live(tmp_path, **QUEUE) as agent:
        before = whole(agent.core)
        agent.store.connection.execute("PRAGMA max_page_count = 9")
        with pytest.raises(StoreFull):
            agent.warm_start(LOG * 100)
        assert whole(agent.core) == before
        agent.store.connection.execute("PRAGMA max_page_count = 100000")
        assert agent.warm_start(LOG * 100) == 4000
