"""Rewards that come late: each is learned from exactly once, when it comes, and recovery restores the same agent."""

from __future__ import annotations

import math
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import strategies as st

import everlearn as el
from everlearn.durable.core import Core
from everlearn.durable.setup import make_setup
from everlearn.errors import Conflict, EverlearnError, InputError, RewardError
from tests.durable.worlds import whole
from tests.laws import law
from tests.memory import place as memory
from tests.refusal import has, refusal

PUMP = {"actions": ["off", "on"], "observations": ["dry", "full"], "reward_range": (0, 1), "seed": 3}
DELAY = 5


@pytest.fixture
def place(tmp_path) -> Path:
    return tmp_path / "agent"


def level(step: int, action: str) -> str:
    return random.Random(f"{step} {action}").choice(["dry", "full"])


def worth(step: int, action: str) -> float:
    return random.Random(f"{step} {action} worth").randrange(3) / 2


def observed(agent: el.Live) -> tuple[int, float]:
    """Let it take a step without a reward; return the step, and the reward that is to come."""
    action = str(agent.act())
    assert agent.observe(level(agent.step + 1, action)) is None
    return agent.step, worth(agent.step, action)


def test_a_reward_that_comes_at_once_is_as_if_it_came_with_the_observation(tmp_path):
    with el.live(tmp_path / "late", **PUMP, reward_delay=DELAY) as late, el.live(tmp_path / "now", **PUMP) as now:
        for _ in range(200):
            late.reward(*observed(late))
            action = str(now.act())
            now.observe(level(now.step + 1, action), reward=worth(now.step + 1, action))
        assert late.core.export_state() == now.core.export_state()
        assert late.core.gauge.snapshot() == now.core.gauge.snapshot()


def test_it_learns_when_the_reward_comes_and_stays_where_it_is(place):
    with el.live(place, **PUMP, reward_delay=DELAY) as agent:
        first, second = observed(agent), observed(agent)
        assert (agent.step, agent.t, agent.inspect()["waiting"]) == (2, 0, 2)
        assert agent.inspect()["awaited"] == [1, 2]
        asked, state = agent.act(), agent.aleatoric_state
        agent.reward(*second)
        agent.reward(*first)
        assert (agent.step, agent.t, agent.inspect()["waiting"]) == (2, 2, 0)
        assert (agent.act(), agent.aleatoric_state) == (asked, state)
        assert sum(sum(row["actions"].values()) for row in agent.inspect()["counts"]) == pytest.approx(2)


def test_the_same_again_changes_nothing_and_another_is_a_conflict(place):
    with el.live(place, **PUMP, reward_delay=DELAY) as agent:
        step, reward = observed(agent)
        agent.reward(step, reward)
        agent.act()
        before = whole(agent.core)
        agent.reward(step, reward)
        with pytest.raises(Conflict, check=has(step=1, expected=2, field="reward")):
            agent.reward(step, 0.25)
        with pytest.raises(Conflict, check=has(step=2, expected=2, field=None)):
            agent.reward(2, 0.5)
        assert whole(agent.core) == before
    with el.live(place) as agent:
        agent.reward(step, reward)
        assert agent.t == 1


def test_after_the_delay_none_is_taken(place):
    with el.live(place, **PUMP, reward_delay=DELAY) as agent:
        rewards = [observed(agent) for _ in range(DELAY + 1)]
        with pytest.raises(Conflict, check=has(step=1, expected=7, field=None)):
            agent.reward(*rewards[0])
        for late in rewards[1:]:
            agent.reward(*late)
        assert agent.t == DELAY


def test_a_reward_may_also_come_with_the_observation(place):
    with el.live(place, **PUMP, reward_delay=DELAY) as agent:
        agent.act()
        assert agent.observe("dry", reward=0.5) == 0.5
        agent.reward(1, 0.5)
        with pytest.raises(Conflict, check=has(step=1, expected=2, field="reward")):
            agent.reward(1, 1)
        assert agent.t == 1


def test_frozen_it_records_and_does_not_learn(place):
    with el.live(place, **PUMP, reward_delay=DELAY) as agent:
        late = observed(agent)
        agent.freeze()
        agent.reward(*late)
        assert (agent.t, agent.inspect()["average_reward"]) == (0, late[1])


@pytest.mark.parametrize("reward", [2, -0.5, math.nan, "1", None])
def test_a_reward_that_cannot_be_is_refused(place, reward):
    with el.live(place, **PUMP, reward_delay=DELAY) as agent:
        step, _ = observed(agent)
        before = whole(agent.core)
        with pytest.raises(RewardError):
            agent.reward(step, reward)
        assert whole(agent.core) == before


def test_without_a_delay_rewards_come_with_observations(place):
    with el.live(place, **PUMP) as agent:
        agent.act()
        with pytest.raises(RewardError):
            agent.observe("dry")


def test_rewards_that_follow_from_the_setup_are_never_late():
    with pytest.raises(InputError, check=refusal("reward_delay", 5)):
        make_setup(task="service-station", reward_delay=5)
    with pytest.raises(InputError, check=refusal("reward_delay", -1)):
        make_setup(**PUMP, reward_delay=-1)


def test_the_journal_says_which_step_a_reward_belongs_to(place):
    with el.live(place, **PUMP, reward_delay=DELAY) as agent:
        first = observed(agent)
        observed(agent)
        agent.reward(*first)
        rows = list(agent.journal())
    assert [(row["kind"], row["reward"]) for row in rows] == [
        ("observed", None),
        ("observed", None),
        ("reward", first[1]),
    ]
    assert rows[-1]["rewarded"] == 1


def events(seed: int, steps: int) -> Iterator[tuple[str, int]]:
    """Yield steps and rewards as they come: some at once, some late, some never, and other calls between them."""
    chance, open_steps = random.Random(seed), list[int]()
    for step in range(1, steps + 1):
        yield "step", step
        open_steps.append(step)
        while open_steps and chance.random() < 0.6:
            yield "reward", open_steps.pop(chance.randrange(len(open_steps)))
        if chance.random() < 0.1:
            yield chance.choice(["act", "freeze", "learn", "snapshot"]), 0


def perform(agent: el.Live, event: str, step: int) -> None:
    if event == "step":
        observed(agent)
    elif event == "reward":
        try:
            agent.reward(step, worth(step, "on"))
        except Conflict:
            assert agent.step >= step + DELAY
    else:
        getattr(agent, event)()


@law(8, seed=st.integers(0, 10**6), often=st.sampled_from([2, 7, 30]))
def test_closed_anywhere_it_resumes_as_if_never_closed(seed, often):
    with tempfile.TemporaryDirectory(dir=memory()) as name:
        folder = Path(name)
        steady = el.live(folder / "steady", **PUMP, reward_delay=DELAY, snapshot_every=9)
        other = el.live(folder / "other", **PUMP, reward_delay=DELAY, snapshot_every=9)
        for number, (event, step) in enumerate(events(seed, 60)):
            perform(steady, event, step)
            perform(other, event, step)
            if number % often == 0:
                pending = other.core.agent.pending
                other.close()
                other = el.live(folder / "other")
                if pending is not None:
                    assert other.core.choose(None) == pending
        assert whole(other.core) == whole(steady.core)
        steady.close()
        other.close()


def test_it_learns_what_pays_though_rewards_are_late(place):
    with el.live(place, **PUMP, reward_delay=50, snapshot_every=10**6) as agent:
        owed: list[tuple[int, float]] = []
        for _ in range(1500):
            action = agent.act()
            agent.observe("full")
            owed.append((agent.step, float(action == "on")))
            if len(owed) > 20:
                agent.reward(*owed.pop(0))
        assert {row["action"] for row in agent.policy()["actions"] if row["state"] == "full"} == {"on"}


def test_a_core_without_its_rewards_is_copied_whole():
    core = Core(make_setup(**PUMP, reward_delay=DELAY))
    core.act()
    core.apply(core.prepare("dry"))
    assert core.copy().waiting.keys() == {1}
    with pytest.raises(EverlearnError):
        core.pay(9, 0.5, lambda _agent, _step: None)


def test_a_reward_that_is_awaited_is_reported_by_itself_and_one_that_is_too_late_is_refused(place):
    with el.live(place, **PUMP, reward_delay=1) as agent:
        agent.act()
        agent.observe("dry")
        with pytest.raises(Conflict, check=has(step=1, expected=2, field="reward", recorded=None)):
            agent.observe("dry", reward=1.0, step=1)
        agent.act()
        agent.observe("dry")
        with pytest.raises(Conflict, check=has(step=1, expected=3, field=None)):
            agent.reward(1, 0.5)


def test_a_wrong_action_is_named_as_it_was_passed(place):
    with el.live(place, **PUMP) as agent:
        with pytest.raises(InputError, check=refusal("executed", "turbo")):
            agent.observe("dry", executed="turbo", reward=1.0)
        with pytest.raises(InputError, check=refusal("allowed", "fof")):
            agent.act(allowed=["fof"])
        with pytest.raises(InputError, check=refusal("row 1 of the log", ["dry", "turbo", 1.0, None, None, None])):
            agent.warm_start([("dry", "turbo", 1.0)])
