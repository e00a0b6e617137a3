"""What a large agent knows is labelled and encoded outside the committer and the event loop, and in parts."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest
from pydantic_core import to_json

from everlearn.durable import views
from everlearn.durable.core import Core
from everlearn.durable.setup import make_setup
from everlearn.service import large
from everlearn.service.large import PIECE, encode, large_answer


@pytest.fixture(scope="module")
def core():
    """An agent of 3,000 values; one action is forbidden, and has none."""
    labels = {"actions": ["a", "b", "c"], "observations": list(range(1_000)), "reward_range": [0, 1]}
    return Core(make_setup(**labels, allowed={7: ["b", "c"]}))


@pytest.fixture
def encoded(monkeypatch):
    """The number of values of each table or list that is encoded, and the thread in which it is."""
    seen = []

    def noted(part, **options):
        rows = part if isinstance(part, list) else []
        values = sum(len(row.get("actions", "1")) if isinstance(row, dict) else 1 for row in rows)
        seen.append((values, threading.current_thread()))
        return to_json(part, **options)

    monkeypatch.setattr(large, "to_json", noted)
    return seen


@pytest.mark.parametrize("view", [views.glance, views.policy_table, lambda _core: {"rows": [1] * (3 * PIECE + 1)}])
def test_a_large_document_is_encoded_in_parts_in_a_thread(core, encoded, view):
    document = view(core)
    answer = asyncio.run(large_answer(document, {"ETag": '"1"'}))
    assert answer.headers["etag"] == '"1"'
    assert answer.headers["content-type"] == "application/json"
    whole = {key: part.rows() if isinstance(part, views.Tabulated) else part for key, part in document.items()}
    assert answer.body == to_json(whole, inf_nan_mode="null")
    assert all(values <= PIECE for values, _ in encoded)
    if view is not views.policy_table:  # which has 1,000 rows
        assert encoded
        assert threading.current_thread() not in {thread for _, thread in encoded}


def test_the_answer_is_what_inspect_returns(core):
    assert json.loads(encode(views.glance(core))) == json.loads(json.dumps(views.inspect(core)))
    (row,) = (row for row in json.loads(encode(views.glance(core)))["values"] if row["state"] == 7)
    assert (row["actions"]["a"], row["actions"]["b"] is None) == (None, False)


def test_what_is_yet_to_be_labelled_does_not_change_with_the_agent():
    core = Core(make_setup(task="service-station"))
    seen, expected = views.glance(core), views.inspect(core)
    for _ in range(3):
        core.act()
        core.apply(core.prepare("arrival"))
    assert json.loads(encode(seen)) == json.loads(json.dumps(expected))
    assert views.inspect(core)["counts"] != expected["counts"]
