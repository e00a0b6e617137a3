"""A durable agent in a directory: it is the agent that it would be in memory, and it is there again."""

from __future__ import annotations

import json
import random
import tempfile
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st

import everlearn as el
from everlearn.durable.core import Core
from everlearn.errors import (
    Absent,
    Changed,
    Conflict,
    Held,
    InputError,
    LiveError,
    ObservationError,
    RewardError,
    SnapshotError,
    TaskError,
    UserCodeError,
)
from tests.durable.worlds import advance, seen, whole
from tests.laws import law
from tests.memory import place
from tests.refusal import has, refusal

QUEUE = {"actions": ["slow", "fast"], "observations": ["idle", "busy"], "reward_range": (0, 1), "seed": 3}


def test_it_does_what_an_agent_in_memory_does(tmp_path):
    plain = el.Agent("service-station", seed=5)
    with el.live(tmp_path, task="service-station", seed=5) as agent:
        for step in range(1, 301):
            assert agent.act() == agent.act() == plain.act()
            observation = seen(step, plain.act())
            assert agent.observe(observation) == plain.observe(observation)
        assert agent.core.export_state() == plain.to_bytes()
        assert (agent.step, agent.t, agent.mode) == (300, 300, "learn")


def test_opened_again_it_goes_on(tmp_path):
    with el.live(tmp_path / "one", task="service-station", seed=5, snapshot_every=40) as one:
        advance(one, 100)
        expected = whole(one.core)
    with el.live(tmp_path / "other", task="service-station", seed=5, snapshot_every=40) as other:
        advance(other, 57)
    with el.live(tmp_path / "other") as other:
        advance(other, 100)
        assert whole(other.core) == expected


def test_recovery_replays_no_more_than_came_since_the_last_snapshot(tmp_path, monkeypatch):
    with el.live(tmp_path, task="service-station", snapshot_every=10) as agent:
        advance(agent, 95)
    replayed = []
    apply = Core.apply
    monkeypatch.setattr(Core, "apply", lambda core, entry: (replayed.append(1), apply(core, entry)))
    with el.live(tmp_path) as agent:
        assert agent.step == 95
    assert len(replayed) == 5


def test_functions_are_given_again_and_the_rest_must_agree(tmp_path):
    def profit(s, action, observation):
        return float(observation == "busy")

    with el.live(tmp_path, **QUEUE, reward=profit) as agent:
        agent.act()
        assert agent.observe("busy") == 1.0
    with pytest.raises(InputError, check=refusal("reward")):
        el.live(tmp_path)
    with pytest.raises(Changed, check=has(keys=["seed"])):
        el.live(tmp_path, reward=profit, seed=4)
    with el.live(tmp_path, **QUEUE, reward=profit) as agent:
        assert agent.step == 1


def test_a_second_process_is_told(tmp_path, runner):
    script = {"second.py": "import everlearn as el\nel.live('agent', task='service-station')\n"}
    with el.live(tmp_path / "agent", task="service-station"):
        with pytest.raises(Held, check=has(path=tmp_path / "agent")):
            el.live(tmp_path / "agent")
        assert "Held" in runner("python second.py", tmp_path, script).stderr
    assert runner("python second.py", tmp_path, script).status == 0


def test_after_a_refusal_the_directory_is_free(tmp_path):
    with pytest.raises(InputError, check=refusal("directory")):
        el.live(tmp_path)
    with el.live(tmp_path, **QUEUE) as agent:
        assert agent.step == 0


@pytest.mark.parametrize("wrong", [{"actions": ["a", "a"]}, {"agent": "nobody"}, {"allowed": {"idle": ["none"]}}])
def test_what_cannot_be_made_leaves_nothing_behind(tmp_path, wrong):
    with pytest.raises(InputError):
        el.live(tmp_path / "agent", **{**QUEUE, **wrong})
    assert not (tmp_path / "agent").exists()


def test_what_was_executed_is_what_is_learned_from(tmp_path):
    plain = el.Agent("service-station", seed=1)
    with el.live(tmp_path, task="service-station", seed=1) as agent:
        for step in range(1, 60):
            asked = agent.act() if step % 3 else None
            plain_asked = plain.act() if step % 3 else None
            assert asked == plain_asked
            executed = "slow" if step % 3 == 0 or step % 5 == 0 else None
            assert agent.observe("arrival", executed) == plain.observe("arrival", executed)
        assert agent.core.export_state() == plain.to_bytes()


def test_nothing_asked_and_nothing_named_is_refused(tmp_path):
    with el.live(tmp_path, task="service-station") as agent:
        with pytest.raises(InputError, check=refusal("executed")):
            agent.observe("arrival")
        assert agent.step == 0


def test_rewards_that_are_given_are_checked(tmp_path):
    with el.live(tmp_path, **QUEUE) as agent:
        agent.act()
        for wrong in (None, "0.5", float("nan"), 1.5):
            with pytest.raises(RewardError):
                agent.observe("busy", reward=wrong)
        assert agent.observe("busy", reward=1) == 1.0


def test_states_that_are_given(tmp_path):
    setup = {"actions": ["a", "b"], "aleatoric": "given", "states": ["low", "high"], "reward_range": (0, 1)}
    with el.live(tmp_path / "same", **setup) as agent:
        agent.act()
        agent.observe("high", reward=0.5)
        assert agent.aleatoric_state == "high"
    with el.live(tmp_path / "apart", **setup, observations=["seen"]) as agent:
        agent.act()
        with pytest.raises(InputError, check=refusal("state")):
            agent.observe("seen", reward=0.5)
        agent.observe("seen", reward=0.5, state="high")
        assert agent.aleatoric_state == "high"


def test_frozen_it_acts_greedily_and_learns_nothing(tmp_path):
    with el.live(tmp_path, task="service-station", seed=1) as agent:
        advance(agent, 200)
        before = agent.inspect()["values"]
        policy = {row["state"]: row["action"] for row in agent.policy()["actions"]}
        agent.freeze()
        stream = agent.core.agent.snapshot().algorithmic["stream"]
        for step in range(201, 251):
            assert agent.act() == policy[agent.aleatoric_state]
            agent.observe(seen(step, "x"))
        assert agent.inspect()["values"] == before
        assert (agent.step, agent.t) == (250, 200)
        assert agent.core.agent.snapshot().algorithmic["stream"] == stream
        agent.learn()
        advance(agent, 251)
        assert agent.t == 201
        expected = whole(agent.core)
    with el.live(tmp_path) as agent:
        assert whole(agent.core) == expected


def test_in_shadow_it_learns_from_what_somebody_else_decides(tmp_path):
    plain = el.Agent("service-station", seed=1)
    with el.live(tmp_path, task="service-station", seed=1) as agent:
        agent.shadow()
        for _ in range(30):
            assert agent.act() == plain.act()
            with pytest.raises(InputError, check=refusal("executed")):
                agent.observe("arrival")
            agent.observe("arrival", executed="slow")
            plain.observe("arrival", executed="slow")
        assert agent.core.export_state() == plain.to_bytes()


def test_what_was_asked_for_stands_across_a_change_of_mode_and_a_crash(tmp_path):
    with el.live(tmp_path, task="service-station", seed=1) as agent:
        advance(agent, 3)
        asked = agent.act()
        agent.freeze()
        assert agent.act() == asked
    with el.live(tmp_path) as agent:
        assert agent.act() == asked
        agent.observe("nothing")
        expected = whole(agent.core)
    with el.live(tmp_path) as agent:
        assert whole(agent.core) == expected


@pytest.mark.parametrize("change", ["freeze", "shadow", "rollback", "load"])
def test_what_was_asked_for_stands_whatever_is_changed(tmp_path, change):
    with el.live(tmp_path / "agent", task="service-station", seed=1) as agent:
        agent.save(tmp_path / "state.npz")
        for step in range(1, 12):
            asked = agent.act(["slow"] if step % 2 else ["fast"])
            arguments = {"rollback": [0], "load": [tmp_path / "state.npz"]}.get(change, [])
            getattr(agent, change)(*arguments)
            assert agent.act() == asked
            agent.observe("nothing", executed=asked)
            assert next(agent.journal(first=step, last=step))["proposed"] == asked
            agent.learn()


@pytest.mark.parametrize("mode", ["freeze", "shadow"])
def test_a_mode_is_part_of_a_snapshot(tmp_path, mode):
    with el.live(tmp_path, task="service-station", seed=1) as agent:
        getattr(agent, mode)()
        agent.snapshot()
        expected = agent.mode
    with el.live(tmp_path) as agent:
        assert agent.mode == expected != "learn"


def test_a_rollback_to_one_of_two_snapshots_of_a_step(tmp_path):
    saved = tmp_path / "state.npz"
    plain = el.Agent("service-station", schedule="smooth", seed=2)
    for _ in range(3):
        plain.act()
        plain.observe("arrival")
    plain.save(saved)
    with el.live(tmp_path / "agent", "service-station", schedule="smooth") as agent:
        agent.load(saved)
        agent.snapshot()
        assert [each["step"] for each in agent.snapshots()] == [0, 0]
        (first, later), times = [each["seq"] for each in agent.snapshots()], []
        for seq in (first, later, None, first):
            agent.rollback(0, seq=seq)
            times.append(agent.t)
        assert times[:2] == [0, 3]
        assert times[3] == 0
        with pytest.raises(LiveError):
            agent.rollback(0, seq=99)


def test_a_rollback_takes_back_what_was_learned_and_not_the_world(tmp_path):
    with el.live(tmp_path, task="service-station", seed=1) as agent:
        advance(agent, 50)
        known, t = agent.core.agent.snapshot().epistemic["cells"].tolist(), agent.t
        assert agent.snapshot() == 50
        advance(agent, 80)
        situation = agent.aleatoric_state
        agent.rollback(50)
        assert agent.core.agent.snapshot().epistemic["cells"].tolist() == known
        assert (agent.t, agent.step, agent.aleatoric_state) == (t, 80, situation)
        advance(agent, 90)
        expected = whole(agent.core)
        with pytest.raises(Absent, check=has(step=51)):
            agent.rollback(51)
    with el.live(tmp_path) as agent:
        assert whole(agent.core) == expected


def test_an_agent_state_is_saved_and_loaded(tmp_path):
    with el.live(tmp_path / "one", task="service-station", seed=1) as one:
        advance(one, 40)
        one.save(tmp_path / "state.npz")
        expected = one.core.export_state()
    plain = el.Agent("service-station")
    plain.load(tmp_path / "state.npz")
    assert plain.t == 40
    with el.live(tmp_path / "other", task="service-station", seed=2) as other:
        other.load(tmp_path / "state.npz")
        assert other.core.export_state() == expected
        assert (other.step, other.t) == (0, 40)
        (tmp_path / "broken").write_bytes(b"nonsense")
        with pytest.raises(SnapshotError, check=has(source="agent state")):
            other.load(tmp_path / "broken")
        with pytest.raises(LiveError, check=has(path=tmp_path / "none")):
            other.load(tmp_path / "none")
        assert other.core.export_state() == expected


def test_a_step_told_again_changes_nothing(tmp_path):
    with el.live(tmp_path, task="service-station", seed=1) as agent:
        agent.act()
        reward = agent.observe("arrival", step=1)
        before = whole(agent.core)
        assert agent.observe("arrival", step=1) == agent.observe("arrival", "fast", step=1) == reward
        with pytest.raises(Conflict, check=has(step=1, field="observation")) as caught:
            agent.observe("nothing", step=1)
        assert caught.value.recorded["observation"] == "arrival"
        assert caught.value.expected == 2
        with pytest.raises(Conflict, check=has(step=1, field="executed")):
            agent.observe("arrival", "slow", step=1)
        with pytest.raises(Conflict, check=has(step=3, expected=2, field=None)):
            agent.observe("arrival", "slow", step=3)
        with pytest.raises(ObservationError):
            agent.observe("departed", step=1)
        assert whole(agent.core) == before


def test_the_journal_tells_everything_by_labels(tmp_path):
    with el.live(tmp_path, **QUEUE, aleatoric="window:2") as agent:
        agent.act(allowed=["fast"])
        agent.observe("busy", executed="slow", reward=0.25)
        agent.freeze()
        (row, event) = list(agent.journal())
    assert row["allowed"] == ["fast"]
    assert row["proposed"] == "fast"
    assert row["executed"] == "slow"
    assert (row["observation"], row["reward"], row["state"], row["next_state"]) == ("busy", 0.25, (), ("busy",))
    assert (event["kind"], event["to"], event["step"]) == ("mode", "frozen", 1)
    json.dumps([row, event])


@pytest.mark.parametrize("snapshot", [False, True])
def test_a_pending_action_can_be_withdrawn_and_recovery_does_the_same(tmp_path, snapshot):
    """The draws of both proposals are made again, whether or not a snapshot was taken between."""
    with el.live(tmp_path, **QUEUE, agent="q-learning", parameters={"agent.epsilon": 1.0}) as agent:
        for step in range(12):
            first = agent.act(["slow"] if step % 3 else None)
            if snapshot:
                agent.snapshot()
            second = agent.act(["fast"], again=True)
            assert (second, agent.act(["fast"], again=True), agent.act()) == ("fast", "fast", "fast")
            assert first == "slow" or step % 3 == 0
            agent.observe("busy", reward=0.5)
        kinds = [row["kind"] for row in agent.journal()]
        expected = whole(agent.core)
    assert kinds == ["forgotten", "observed"] * 12
    with el.live(tmp_path) as agent:
        assert whole(agent.core) == expected
        agent.act(["slow"])
        with pytest.raises(InputError, check=refusal("allowed")):
            agent.act(["fast"])
        with pytest.raises(InputError):
            agent.act("fast", again=True)
        assert agent.inspect()["pending_allowed"] == ["slow"]


def test_old_rows_are_let_go_and_the_agent_stays(tmp_path):
    with el.live(tmp_path, task="service-station", seed=1, snapshot_every=10, retain=25) as agent:
        advance(agent, 200)
        steps = [row["step"] for row in agent.journal()]
        assert steps[-1] == 200
        assert 25 <= len(steps) <= 45
        assert steps == list(range(steps[0], 201))
        expected = whole(agent.core)
    with el.live(tmp_path) as agent:
        assert whole(agent.core) == expected
        agent.rollback(0)
        assert agent.t == 0


def test_snapshots_thin_out(tmp_path):
    with el.live(tmp_path, task="service-station", snapshot_every=1) as agent:
        advance(agent, 100)
        steps = [snapshot["step"] for snapshot in agent.snapshots()]
    assert steps == [0, 32, 48, 64, 72, 80, 88, 92, 94, 96, 97, 98, 99, 100]


def test_the_alarm_is_part_of_what_is_recovered(tmp_path):
    with el.live(tmp_path, **QUEUE, drift={"batch": 1, "rarity": 20}, snapshot_every=7) as agent:
        for step in range(1, 60):
            agent.act()
            agent.observe("busy", reward=0.5 + 0.01 * (step % 9) if step < 50 else 0.1)
        assert agent.alarm is not None
        assert agent.alarm.step >= 50
        expected = whole(agent.core)
    with el.live(tmp_path) as agent:
        assert whole(agent.core) == expected


@law(8, st.lists(st.floats(-1e290, 1e290), min_size=1, max_size=5))
def test_any_reward_comes_back_from_the_disk_as_it_was(rewards):
    with tempfile.TemporaryDirectory(dir=place()) as folder:
        given = {**QUEUE, "reward_range": (-1e290, 1e290)}
        with el.live(folder, **given) as agent:
            for reward in (*rewards, -0.0, 5e-324, 1.0):
                agent.act()
                assert agent.observe("busy", reward=reward) == reward
            expected = whole(agent.core)
        with el.live(folder) as agent:
            assert whole(agent.core) == expected


def test_numbers_that_no_journal_has_are_no_step(tmp_path):
    with el.live(tmp_path, task="service-station") as agent:
        for step in (10**30, 1.5, "a"):
            with pytest.raises(InputError, check=refusal("step")):
                agent.rollback(step)
            with pytest.raises(InputError, check=refusal("step")):
                agent.journal(first=step)


def test_labels_that_can_be_read_once_are_kept(tmp_path):
    labels = {"actions": iter(["slow", "fast"]), "observations": iter(["idle", "busy"]), "reward_range": (0, 1)}
    with el.live(tmp_path, **labels, agent=own_design()) as agent:
        for _ in range(2):
            with pytest.raises(UserCodeError):
                agent.act()
        assert agent.step == 0


def own_design():
    """Return a design whose act fails, so that the agent is read from the disk again."""

    class Known(NamedTuple):
        q: np.ndarray

    return el.Design(lambda indexed: Known(np.zeros(1)), lambda k, s, now, stream: k.q[1], lambda *_: None)


def test_given_states_in_another_order_are_still_observed(tmp_path):
    setup = {"actions": ["a"], "aleatoric": "given", "reward_range": (0, 1), "start": "s"}
    with el.live(tmp_path, **setup, states=["s", "t"]) as agent:
        agent.observe("t", "a", reward=0)
    with el.live(tmp_path, **setup, states=["t", "s"], observations=["s", "t"]) as agent:
        agent.observe("s", "a", reward=0)
        assert agent.aleatoric_state == "s"


@pytest.mark.parametrize("part", ["reward", "aleatoric"])
def test_a_function_that_draws_leaves_nothing_behind(tmp_path, part):
    drawn = lambda s, action, observation: random.choice(["idle", "busy"])  # noqa: E731
    given = {"reward": drawn, "aleatoric": el.AleatoricState("idle", drawn, ("idle", "busy"))}
    with pytest.raises(TaskError, check=has(value="random.choice")):
        el.live(tmp_path / "agent", **QUEUE, **{part: given[part]})
    assert not (tmp_path / "agent").exists()


def test_a_snapshot_without_a_gauge_is_restored(tmp_path):
    with el.live(tmp_path, task="service-station", seed=1) as agent:
        agent.observe("arrival", "fast")
        checkpoint = agent.core.snapshot()
        checkpoint.more["gauge"] = None
        agent.core.restore(checkpoint)
        assert (agent.step, agent.core.gauge.count) == (1, 1)


@pytest.mark.parametrize(
    ("reward", "earned"),
    [(np.array(0.5), 0.5), (np.float32(0.5), 0.5), (np.int64(1), 1.0)],
)
def test_a_reward_may_be_any_single_number(tmp_path, reward, earned):
    with el.live(tmp_path, actions=["a"], observations=["o"], reward_range=(0, 1)) as agent:
        agent.act()
        assert agent.observe("o", reward=reward) == earned


@pytest.mark.parametrize("reward", [True, np.True_])
def test_a_truth_value_is_no_reward(tmp_path, reward):
    with el.live(tmp_path, actions=["a"], observations=["o"], reward_range=(0, 1)) as agent:
        agent.act()
        with pytest.raises(RewardError, check=refusal("reward")):
            agent.observe("o", reward=reward)
        assert agent.step == 0


def test_a_directory_may_be_below_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    el.live("~/agent", "riverswim").close()
    el.Agent("riverswim").save("~/agent.npz")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agent", "agent.npz"]
