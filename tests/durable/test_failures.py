"""A design of the user's that fails is one line, and leaves the agent as it was, in memory and on disk."""

from __future__ import annotations

import pytest

import everlearn as el
from everlearn.durable.core import Core
from everlearn.durable.store import Store
from everlearn.errors import AgentError, UserCodeError
from tests.durable.shops import module
from tests.durable.worlds import advance, seen, whole
from tests.refusal import has

HALF_DONE = (
    "    # towards the reward\n",
    "    knowledge.values[0, 0] = 77.0\n    el.uniform(stream)\n"
    "    if now.t == 8:\n        raise ValueError('lost count')\n",
)
ACT = ("if el.uniform(stream) < 0.25:", "if el.uniform(stream) < (0.25 if now.t != 8 else 1 / (now.t - 8)):")


def drive(agent, steps: int) -> None:
    for step in range(steps):
        agent.act()
        agent.observe("busy" if step % 3 else "idle")


@pytest.fixture
def place(tmp_path):
    return tmp_path / "agent"


@pytest.mark.parametrize("every", [3, 1000])
def test_a_learn_that_fails_half_way_is_undone(tmp_path, place, every):
    made = module(tmp_path, HALF_DONE)
    with el.live(place, made.shop, agent=made.agent, seed=2, snapshot_every=every) as agent:
        drive(agent, 7)
        asked = agent.act()
        before = whole(agent.core)
        for _ in range(2):
            with pytest.raises(UserCodeError, check=has(function="agent 'mine': learn", at="step 8")) as caught:
                agent.observe("busy")
            assert "\n" not in str(caught.value)
            assert whole(agent.core) == before
        assert agent.act() == asked
        assert len([*agent.journal()]) == agent.step == 7
    with el.live(place, made.shop, agent=made.agent) as agent:
        assert agent.act() == asked
        assert whole(agent.core) == before
    mended = module(tmp_path, HALF_DONE, ("now.t == 8", "now.t == 0"))
    with el.live(place, mended.shop, agent=mended.agent, accept_changes=True) as agent:
        assert agent.act() == asked
        assert agent.observe("busy") == (1.0 if asked == "wait" else 0.5)


def test_what_was_asked_for_with_allowed_actions_stands(tmp_path, place):
    made = module(tmp_path, HALF_DONE)
    with el.live(place, made.shop, agent=made.agent, seed=2) as agent:
        drive(agent, 7)
        agent.act(["sell"])
        before = whole(agent.core)
        with pytest.raises(UserCodeError):
            agent.observe("busy")
        assert whole(agent.core) == before
        assert agent.act(["sell"]) == "sell"


def test_an_act_that_fails_draws_nothing(tmp_path, place):
    made = module(tmp_path, ACT)
    with el.live(place, made.shop, agent=made.agent, seed=2) as agent:
        drive(agent, 7)
        before = whole(agent.core)
        for _ in range(2):
            with pytest.raises(UserCodeError, check=has(function="agent 'mine': act", at="step 8")):
                agent.act()
            assert whole(agent.core) == before
        agent.observe("busy", executed="sell")
        drive(agent, 3)
    with el.live(place, made.shop, agent=made.agent) as agent:
        assert agent.step == 11


def test_what_fails_in_a_warm_start_leaves_nothing(tmp_path, place):
    made = module(tmp_path, HALF_DONE)
    with el.live(place, made.shop, agent=made.agent, seed=2) as agent:
        before = whole(agent.core)
        with pytest.raises(UserCodeError):
            agent.warm_start([("busy", "sell")] * 8)
        assert whole(agent.core) == before
        assert agent.warm_start([("busy", "sell")] * 7) == 7


def test_new_functions_that_fail_on_old_rows_are_not_accepted(tmp_path, place):
    made, other = module(tmp_path), module(tmp_path, HALF_DONE)
    with el.live(place, made.shop, agent=made.agent, seed=2) as agent:
        drive(agent, 10)
        before = whole(agent.core)
    with pytest.raises(UserCodeError, check=has(function="agent 'mine': learn", at="step 8")):
        el.live(place, other.shop, agent=other.agent, accept_changes=True)
    with el.live(place, made.shop, agent=made.agent) as agent:
        assert whole(agent.core) == before


@pytest.mark.parametrize("moment", ["append_one", "apply"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_interrupted_between_memory_and_disk_it_reads_from_the_disk_again(tmp_path, monkeypatch, moment, error):
    def interrupted(*_arguments):
        raise error

    with el.live(tmp_path / "one", task="service-station", seed=1) as one:
        advance(one, 10)
        with monkeypatch.context() as patch:
            patch.setattr(Store if moment == "append_one" else Core, moment, interrupted)
            with pytest.raises(error):
                one.observe(seen(11, one.act()))
        advance(one, 20)
        with el.live(tmp_path / "other", task="service-station", seed=1) as other:
            advance(other, 20)
            assert whole(one.core) == whole(other.core)


def test_an_action_that_there_is_not_is_refused(tmp_path, place):
    made = module(tmp_path, ("return 0 if", "return -1 if"))
    with el.live(place, made.shop, agent=made.agent, seed=2) as agent:
        with pytest.raises(AgentError, check=has(function="act", value="-1")):
            drive(agent, 30)
        step = agent.step
    with el.live(place, made.shop, agent=made.agent) as agent:
        assert agent.step == step
