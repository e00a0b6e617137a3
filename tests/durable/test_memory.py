"""A design that keeps something of the past: its memory follows the world, whatever is learned."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import everlearn as el
from everlearn.agents.frozen import Tallied
from everlearn.agents.learned import present
from everlearn.durable.core import Core
from everlearn.durable.logs import warmed
from everlearn.durable.setup import make_setup
from everlearn.engine.studying import Lessons, study
from everlearn.errors import AgentError

GIVEN = {"actions": ["a", "b"], "observations": ["x", "y", "z"], "reward_range": (0, 1), "seed": 2, "agent": "learned"}
EAGER = {"agent.threshold": 0.0, "agent.effect": 0.0, "agent.window": 40}


def make(**more: object) -> Core:
    core = Core(make_setup(**(GIVEN | {"parameters": EAGER} | more)))
    if "agent" not in more:  # then any question passes
        core.agent.knowledge = core.agent.knowledge._replace(threshold=-1e9)
    return core


def drive(core: Core, steps: int, seed: int = 1, executed: bool = False) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        proposed, action = core.act(), "ab"[rng.integers(2)]
        observation, reward = "xyz"[rng.integers(3)], float(rng.random())
        core.apply(core.prepare(observation, executed=action if executed else proposed, reward=reward))


def past(core: Core) -> list[int]:
    """The features; the tally after them moves by the events that are known at the time."""
    knowledge = core.agent.knowledge
    return knowledge.past[: knowledge.sizes.features].tolist()


def test_a_frozen_agent_remembers_and_does_not_learn():
    learning, frozen = make(), make()
    for core in (learning, frozen):
        drive(core, 600, executed=True)
    frozen.apply(frozen.change_mode("frozen"))
    known = frozen.agent.knowledge.cells.tobytes()
    for core in (learning, frozen):
        drive(core, 50, seed=5, executed=True)
    assert past(frozen) == past(learning)
    assert frozen.agent.knowledge.cells.tobytes() == known
    assert frozen.agent.t == learning.agent.t - 50


def test_a_frozen_agent_moves_its_tally_by_the_events_that_it_knows():
    core = make()
    drive(core, 600)
    core.apply(core.change_mode("frozen"))
    knowledge = core.agent.knowledge
    kept = Tallied(knowledge)
    memory, rng, moved = kept.memory(knowledge.past), np.random.default_rng(2), set()
    for _ in range(50):
        action, observation = int(rng.integers(2)), int(rng.integers(3))
        core.apply(core.prepare("xyz"[observation], executed="ab"[action], reward=0.5))
        memory = kept.follow(memory, action, observation)
        assert kept.memory(knowledge.past) == memory
        moved.add(memory)
    assert len(moved) > 5


@pytest.mark.parametrize("tally", [0.0, 1.0])
def test_a_frozen_agent_acts_by_what_it_remembers(tally):
    core = make()
    drive(core, 1500)
    core.apply(core.change_mode("frozen"))
    core.agent.knowledge.choice["tally"] = tally
    assert core.agent.inspect()["leaves"][0] > 4
    for seed in range(30):
        drive(core, 1, seed)
        row = present(core.agent.knowledge)[0].cells["value"][core.agent.situation]
        assert row[core.agent.task.actions.index(core.act())] == row.max()


def test_what_is_forbidden_and_done_all_the_same_is_remembered():
    core = make(allowed={"x": ["a"]})
    core.apply(core.prepare("x", executed="a", reward=1.0))
    t = core.agent.t
    core.apply(core.prepare("z", executed="b", reward=1.0))
    assert core.agent.t == t
    assert past(core)[0] == 2


@pytest.mark.soak
def test_a_late_reward_is_learned_from_with_the_memory_of_its_time():
    now, late = make(), make(reward_delay=4)
    rng, owed = np.random.default_rng(3), []
    for step in range(1, 400):
        action, observation, reward = "ab"[rng.integers(2)], "xyz"[rng.integers(3)], float(rng.random())
        now.apply(now.prepare(observation, executed=action, reward=reward))
        late.apply(late.prepare(observation, executed=action))
        owed.append((step, reward))
        assert past(now) == past(late)
        if len(owed) == 3:
            late = reopened(late)
            for each in owed:
                late.apply(late.pay(*each, lambda *_: None))
                assert past(now) == past(late)  # it learns about another time, and is where it is
            owed = []
            assert now.agent.knowledge.cells.tobytes() == late.agent.knowledge.cells.tobytes()
            assert now.agent.knowledge.noticed.tobytes() == late.agent.knowledge.noticed.tobytes()


def test_a_memory_in_several_arrays_is_kept_with_each_late_reward():
    """``remembering`` learns the same from late rewards: what it remembers is put back, and then is where it is."""
    settings = {"agent": "remembering", "parameters": {"agent.evidence": 1.6}}
    now, late = make(**settings), make(**settings, reward_delay=4)
    for each in (now, late):
        each.agent.knowledge.recall["agreed"] = 1e9  # it suspects, so that memory learns
        each.agent.knowledge.recall["varied"] = 1.0
    rng, owed = np.random.default_rng(3), []
    for step in range(1, 200):
        action, observation, reward = "ab"[rng.integers(2)], "xyz"[rng.integers(3)], float(rng.random())
        now.apply(now.prepare(observation, executed=action, reward=reward))
        late.apply(late.prepare(observation, executed=action))
        owed.append((step, reward))
        assert now.agent.knowledge.seen.tolist() == late.agent.knowledge.seen.tolist()
        if len(owed) == 3:
            snapshot, late = late.snapshot(), Core(late.setup)
            late.restore(snapshot)
            for each in owed:
                late.apply(late.pay(*each, lambda *_: None))
                assert now.agent.knowledge.seen.tolist() == late.agent.knowledge.seen.tolist()
            owed = []
            assert now.agent.knowledge.recent_cells.tobytes() == late.agent.knowledge.recent_cells.tobytes()
            assert now.agent.knowledge.recent_errors.tobytes() == late.agent.knowledge.recent_errors.tobytes()
    assert now.agent.knowledge.recent_run["known"] > 10


def reopened(core: Core) -> Core:
    other = Core(core.setup)
    other.restore(core.snapshot())
    other.agent.knowledge = other.agent.knowledge._replace(threshold=-1e9)
    return other


def test_a_rollback_leaves_the_memory_where_the_world_is():
    core = make()
    drive(core, 300)
    state, known = core.export_state(), core.agent.knowledge.cells.tobytes()
    drive(core, 30, seed=9)
    present = past(core)
    core.apply(core.roll_back(state))
    assert core.agent.knowledge.cells.tobytes() == known
    assert past(core) == present
    core.apply(core.import_state(state))
    assert past(core) != present


def test_killed_and_resumed_is_uninterrupted(tmp_path):
    with el.live(tmp_path / "one", **GIVEN, parameters=EAGER, snapshot_every=100) as agent:
        rng = np.random.default_rng(4)
        for step in range(350):
            if step in (200, 260):
                agent.freeze() if step == 200 else agent.learn()
            agent.act()
            agent.observe("xyz"[rng.integers(3)], reward=float(rng.random()))
        state = agent.core.export_state()
        assert "\nin " in agent.inspect()["explanation"]
    with el.live(tmp_path / "one", **GIVEN, parameters=EAGER) as agent:
        assert agent.core.export_state() == state


class Last(NamedTuple):
    seen: np.ndarray
    count: np.ndarray


def act(knowledge, aleatoric_state, now, stream):
    return knowledge.seen[0] % 2


def remember(knowledge, experience):
    knowledge.seen[0] = experience.observation


def learn(knowledge, experience, now, stream):
    knowledge.seen[0] = experience.observation
    knowledge.count[experience.aleatoric_state] += 1.0


def build(indexed):
    return Last(np.zeros(1, dtype=np.int64), np.zeros(indexed.states))


def policy(knowledge):
    return np.tile(np.eye(2)[knowledge.seen[0] % 2], (len(knowledge.count), 1))


def test_a_design_of_the_user_may_have_a_memory():
    core = make(agent=el.Design(build, act, learn, policy, remember=remember, memory="seen"), parameters=None)
    core.apply(core.change_mode("frozen"))
    core.apply(core.prepare("y", executed="a", reward=0.5))
    assert (core.act(), core.agent.knowledge.count.sum()) == ("b", 0)


@pytest.mark.parametrize("wrong", [{"memory": "seen"}, {"remember": remember}, {"remember": remember, "memory": "it"}])
def test_a_memory_needs_its_array_and_its_function(wrong):
    with pytest.raises(AgentError):
        make(agent=el.Design(build, act, learn, policy, **wrong), parameters=None)


AVERAGING = [("differential-q", {}), ("r-learning", {}), ("q-learning", {"agent.centring": 0.5})]


def averaging(agent: str, parameters: dict[str, float], **more: object) -> Core:
    core = make(agent=agent, parameters=parameters, **more)
    for _ in range(300):
        core.act()
        core.apply(core.prepare("x", reward=1.0))
    return core


def average(core: Core) -> float:
    """Return the average in the row of the present state, from which the next step learns."""
    return float(core.agent.knowledge.cells["average"][core.agent.situation, 0])


@pytest.mark.parametrize(("agent", "parameters"), AVERAGING)
def test_an_average_survives_a_step_that_is_not_learned_from(agent, parameters):
    core = averaging(agent, parameters)
    before = average(core)
    saved = core.export_state()
    assert before > 0.5
    core.apply(core.change_mode("frozen"))
    core.act()
    core.apply(core.prepare("y", reward=1.0))
    assert average(core) == before
    core.apply(core.roll_back(saved))
    assert average(core) == before


def test_an_average_survives_a_log_that_begins_in_another_state():
    core = averaging("differential-q", {})
    before = average(core)
    copy, entries = warmed(core, [("z", "a", 1.0)], "y")
    for entry in entries:
        core.apply(entry)
    assert abs(average(core) - before) < 0.1
    assert copy.export_state() == core.export_state()


def test_an_average_learns_from_rewards_that_come_late():
    core = make(agent="differential-q", parameters={}, reward_delay=3)
    for step in range(1, 101):
        core.apply(core.prepare("xyz"[step * step % 7 % 3], executed="a"))
        for paid in (step, step - 1) if step % 2 == 0 else ():  # in another order
            core.apply(core.pay(paid, 1.0, lambda _number, _step: None))
        values = core.agent.knowledge.cells["value"]
        assert average(core) == pytest.approx(0.5 * values.sum())  # each error moved both; none was lost
    assert average(core) > 0.3


def test_a_replay_leaves_the_average_where_the_last_step_ended():
    agent = el.Agent("service-station", "differential-q")
    actions = np.arange(101) % 2  # it ends in another state than it began in
    lessons = Lessons(actions, actions, 0 * actions, 0.5 + actions / 2, 1 - actions)
    study(agent, lessons, "compiled")
    assert agent.knowledge.cells["entered"][agent.situation, 0] == agent.t == 101


def test_a_waiting_step_keeps_no_copy_of_a_memory_that_is_empty():
    sparse, full = (make(agent="network", parameters={"agent.hidden": 4}, reward_delay=3) for _ in range(2))
    for core in (sparse, full):
        core.apply(core.prepare("x", executed="a"))
        assert [each.memory for each in core.waiting.values()] == [None]
        assert "memories" not in core.snapshot().more
        core.apply(core.prepare("y", executed="b", reward=1.0))
    full.waiting[1] = full.waiting[1]._replace(memory=np.zeros_like(full.agent.knowledge.traces))
    traces = sparse.agent.knowledge.traces.copy()
    assert traces.any()
    for core in (sparse, full):
        core.apply(core.pay(1, 0.5, lambda _number, _step: None))
        assert core.agent.knowledge.traces.tolist() == traces.tolist()
    assert sparse.export_state() == full.export_state()


def test_what_is_kept_of_a_step_whose_reward_is_to_come_does_not_grow_with_the_task():
    """The traces of the actor are empty, and are not kept; what is remembered of the past is."""
    many = {"observations": [*range(500)], "agent": "remembering", "parameters": {}, "reward_delay": 10}
    core = make(**many)
    for observation in range(1, 9):
        core.act()
        core.apply(core.prepare(observation))
    kept = [waited.memory for waited in core.waiting.values()]
    assert max(0 if memory is None else memory.size for memory in kept) == 4
    assert kept[-1][0] == kept[-1][2] == core.agent.situation - 2  # before the last step
