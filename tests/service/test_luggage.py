"""What travels with an agent that moves: it is checked before anything is made of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from everlearn.durable import moving
from everlearn.durable.checking import check
from everlearn.durable.setup import make_setup
from everlearn.durable.store import Store
from everlearn.errors import InputError
from tests.refusal import refusal
from tests.service.conftest import STATION
from tests.service.moving import arrive, begin, put_into


def test_crafted_luggage_is_refused_in_one_line(start, tmp_path):
    first, second = start(directory=tmp_path / "first"), start("--max-agents", "1", directory=tmp_path / "second")
    first.create("a", STATION)
    for step in range(1, 4):
        first.post("/v1/agents/a/step", {"step": step, "observation": "arrival"})
    good = json.loads(begin(first, "a", second.url))
    row = good["rows"][-1]
    more = good["checkpoint"]["more"]
    spoiled = [
        [],
        {},
        {**good, "format": 2},
        {**good, "move": "x"},
        {**good, "more": 1},
        {**good, "rows": good["rows"][:-1]},
        {**good, "rows": [*good["rows"][:-1], [*row[:8], True, *row[9:]]]},
        {**good, "rows": [*good["rows"][:-1], [*row[:10], True, *row[11:]]]},
        {**good, "rows": [*good["rows"][:-1], [*row[:5], None, *row[6:]]]},
        {**good, "rows": [*good["rows"][:-1], [*row[:3], -1, *row[4:]]]},
        {**good, "rows": [*good["rows"][:-1], [*row[:5], 10**6, *row[6:]]]},
        {**good, "rows": [*good["rows"][:-1], [*row[:5], -1, *row[6:]]]},
        {**good, "rows": [*good["rows"][:-1], [*row[:4], "now", *row[5:]]]},
        {**good, "setup": {**good["setup"], "task": "os:system"}},
        {**good, "setup": {**good["setup"], "parameters": {"task.window": 10**9}}},
        {**good, "face": {}},
        {**good, "checkpoint": {**good["checkpoint"], "state": ""}},
        {**good, "checkpoint": {**good["checkpoint"], "seq": -1}},
        {**good, "checkpoint": {**good["checkpoint"], "more": {**more, "mode": "x"}}},
        {**good, "checkpoint": {**good["checkpoint"], "more": {**more, "gauge": [1]}}},
    ]
    for document in spoiled:
        reply = arrive(second, "a", json.dumps(document).encode())
        assert 400 <= reply.status < 500, (document, reply)
    assert arrive(second, "a", b"[" * 10**6).status == 422
    assert second.call("GET", "/readyz").status == 200
    assert arrive(second, "a", json.dumps(good).encode()).status == 200
    assert second.post("/v1/agents/a/act")["step"] == 4


def luggage_of(directory: Path) -> dict:
    """Return what moves of an agent that has taken three steps."""
    with Store(directory) as store:
        core = store.create("a", make_setup(**STATION))
        for _ in range(3):
            core.act()
            entry = core.prepare("arrival")
            store.append_one(core.number, entry)
            core.apply(entry)
        note = moving.begin(store, "a", "http://127.0.0.1:9")
        return json.loads(moving.pack(store, "a", core, note["move"]).to_bytes())


@pytest.mark.parametrize("written", [int, lambda _: -0.0])
def test_rewards_may_be_written_otherwise(tmp_path, written):
    """Another program writes 1.0 as 1; the check of a row is that of what SQLite returns."""
    luggage = luggage_of(tmp_path / "first")
    for row in luggage["rows"]:
        row[4], row[10] = int(row[4]), written(row[10])
    put_into(tmp_path / "second", json.dumps(luggage).encode())
    assert check(tmp_path / "second").sound


def test_luggage_has_few_rows(tmp_path):
    luggage = luggage_of(tmp_path)
    row = luggage["rows"][-1]
    for count, fine in ((moving.ROWS, True), (moving.ROWS + 1, False)):
        luggage["rows"] = [[number, row[1], 3, *row[3:]] for number in range(1, count + 1)]
        luggage["checkpoint"]["seq"] = count
        data = json.dumps(luggage).encode()
        if fine:
            assert len(moving.Luggage.from_bytes(data).rows) == count
        else:
            with pytest.raises(InputError, check=refusal("luggage", "1,001 rows")):
                moving.Luggage.from_bytes(data)
