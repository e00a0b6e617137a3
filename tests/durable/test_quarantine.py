"""A design that fails harms its own agent alone, which stays on disk and can be rolled back."""

from __future__ import annotations

import pytest

import everlearn as el
from everlearn.agents.snapshot import unpack
from everlearn.durable.agent import NAME
from everlearn.durable.store import Store
from everlearn.errors import Failed, SnapshotError
from tests.durable.failing import failing_directory, spoilt
from tests.durable.worlds import advance, whole
from tests.refusal import has


@pytest.fixture
def place(tmp_path):
    failing_directory(tmp_path / "agent", NAME)
    return tmp_path / "agent"


def test_it_opens_as_it_was_before_the_row_that_it_cannot_learn_from(place):
    with Store(place) as store:
        core = store.open(NAME)
    assert (core.step, core.t) == (4, 3)  # the fourth is recorded, and not learned from
    assert (unpack(core.export_state(), "now")[0].epistemic["cells"] == -5).all()  # nothing of it is half learned
    assert "could not learn (ValueError: math domain error)" in str(core.failure)


def test_it_neither_acts_nor_learns_and_says_why(place):
    with el.live(place) as agent:
        before = whole(agent.core)
        for call in (agent.act, lambda: agent.observe("nothing", executed="slow")):
            with pytest.raises(Failed, check=has(seq=5, quarantined=True)) as caught:
                call()
            assert "\n" not in str(caught.value)
        assert agent.inspect()["quarantined"] == str(agent.core.failure)
        assert whole(agent.core) == before


def test_a_snapshot_does_not_hide_it(place):
    with el.live(place) as agent:
        agent.snapshot()
        before = whole(agent.core)
    with el.live(place) as agent:
        assert whole(agent.core) == before
        with pytest.raises(Failed, check=has(seq=5, quarantined=True)):
            agent.act()


def test_rolled_back_it_works_again(place):
    with el.live(place) as agent:
        agent.rollback(3)
        assert agent.inspect()["quarantined"] is None
        advance(agent, 20)
        before = whole(agent.core)
    with el.live(place) as agent:
        assert whole(agent.core) == before


def test_a_state_that_cannot_be_used_is_refused(tmp_path):
    with el.live(tmp_path / "agent", task="service-station", schedule="smooth") as agent:
        advance(agent, 5)
        before = whole(agent.core)
        (tmp_path / "spoilt.npz").write_bytes(spoilt(agent.core.export_state()))
        with pytest.raises(SnapshotError) as caught:
            agent.load(tmp_path / "spoilt.npz")
        assert isinstance(caught.value.__cause__, Failed)
        assert caught.value.__cause__.step == 6
        assert whole(agent.core) == before


def test_in_process_nothing_is_written_that_could_not_be_learned_from(tmp_path):
    with el.live(tmp_path / "agent", task="service-station", schedule="smooth") as agent:
        advance(agent, 5)
        rows = len(list(agent.journal()))
        agent.core.agent.from_bytes(spoilt(agent.core.export_state()))
        agent.act()
        with pytest.raises(Failed, check=has(step=6, seq=6, quarantined=False)):
            agent.observe("nothing")
        assert len(list(agent.journal())) == rows == agent.step
        advance(agent, 9)
