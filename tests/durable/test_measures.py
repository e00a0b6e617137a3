"""Durations and costs of durable agents: the right objective, exactly recovered."""

from __future__ import annotations

import itertools
import random
import shutil

import pytest

import everlearn as el
from everlearn.durable.core import Core
from everlearn.durable.setup import make_setup
from everlearn.errors import Changed, Conflict, InputError, LiveError, SnapshotError
from tests.durable import jobs
from tests.durable.worlds import whole
from tests.few import few
from tests.refusal import refusal

BOTH = {**jobs.TIMED, "cost_range": (0, 1), "limit": 0.2, "seed": 3, "snapshot_every": 17}


def test_the_best_policy_per_unit_of_time_is_another_than_that_per_step():
    theory = el.Theory(jobs.shop)
    per_step, per_time = theory.optimum, theory.constrained(duration=jobs.expected_duration)
    by_hand = {}
    for short, long in itertools.product(("take", "skip"), repeat=2):
        pairs = [("short", short), ("long", long)]
        earned = sum(jobs.wage(*pair, None) for pair in pairs)
        by_hand[short, long] = earned / sum(jobs.expected_duration(*pair, None) for pair in pairs)
    assert per_time.average_reward == pytest.approx(max(by_hand.values()))
    assert max(by_hand, key=by_hand.get) == ("take", "skip")
    assert abs(per_time.gap) < 1e-9
    assert per_time.policy.argmax(axis=1).tolist() == [0, 1]
    assert per_step.policy.argmax(axis=1).tolist() == [0, 0]


def test_an_agent_learns_the_optimum_per_unit_of_time_and_one_that_ignores_durations_does_not():
    """The optimum is 4 / 3 per unit of time, and taking every job earns 7 / 11."""
    core, late = jobs.lived(jobs.TIMED, jobs.job, 5000, seed=0, late=2500)
    assert late["reward"] / late["duration"] > 0.8
    assert core.gauge.average == pytest.approx(core.gauge.total / core.gauge.time)
    ignorant, late = jobs.lived(jobs.SHOP, jobs.job, 5000, seed=0, late=2500)
    assert late["reward"] / late["duration"] < 0.7
    assert ignorant.agent.policy.argmax(axis=1).tolist() == [0, 0]


@pytest.mark.soak
@pytest.mark.parametrize("seed", few(range(5), range(2)))
def test_in_the_long_run_the_rate_is_the_optimum(seed):
    core, late = jobs.lived(jobs.TIMED, jobs.job, 60_000, seed=seed, late=20_000)
    assert late["reward"] / late["duration"] == pytest.approx(4 / 3, rel=0.07)
    assert core.agent.prices.rate == pytest.approx(4 / 3, rel=0.1)


def test_a_limit_that_binds_is_met_by_alternating():
    """One state, two actions: the best policy takes the dear one in a quarter of the steps, and earns 0.4."""
    setup = {
        "actions": ["eco", "turbo"],
        "observations": ["on"],
        "start": "on",
        "reward_range": (0, 1),
        "cost_range": (0, 1),
        "limit": 0.25,
    }

    def machine(_rng, _state, action):
        dear = action == "turbo"
        return {"observation": "on", "reward": 1.0 if dear else 0.2, "cost": 1.0 if dear else 0.0}

    core, late = jobs.lived(setup, machine, 5000, seed=1, late=2500)
    assert late["cost"] / 2500 == pytest.approx(0.25, abs=0.03)
    assert late["reward"] / 2500 == pytest.approx(0.4, abs=0.03)
    assert 0.3 < core.agent.prices.multiplier < 2  # 0.8 in the limit
    free, late = jobs.lived({**setup, "limit": 1}, machine, 2000, seed=1, late=1000)
    assert late["reward"] / 1000 > 0.9
    assert free.agent.prices.multiplier == 0.0


@pytest.mark.soak
@pytest.mark.parametrize("seed", few(range(3), range(2)))
def test_in_the_long_run_the_violation_vanishes_and_the_reward_is_the_constrained_optimum(seed):
    best = el.Theory(jobs.server).constrained(jobs.power, jobs.SERVER["limit"])
    core, late = jobs.lived(jobs.SERVER, jobs.serve, 200_000, seed=seed, late=100_000)
    assert late["cost"] / 100_000 <= jobs.SERVER["limit"] + 0.005
    assert late["reward"] / 100_000 == pytest.approx(best.average_reward, abs=0.02)
    assert core.agent.prices.multiplier == pytest.approx(best.multiplier, abs=0.25)


def step_of(agent: el.Live, rng: random.Random, **more: object) -> None:
    outcome = jobs.job(rng, agent.aleatoric_state, agent.act())
    agent.observe(**outcome, cost=rng.random(), **more)


def test_a_crash_at_any_moment_changes_no_bit(tmp_path):
    rng = random.Random(5)
    with el.live(tmp_path / "agent", **BOTH) as agent:
        for number in range(40):
            step_of(agent, rng)
            if number % 6 == 0:  # the files as a crash would leave them
                shutil.copytree(tmp_path / "agent", tmp_path / str(number), ignore=shutil.ignore_patterns("*.lock"))
                with el.live(tmp_path / str(number)) as copy:
                    assert whole(copy.core) == whole(agent.core)
                    assert copy.inspect() == agent.inspect()


def test_late_rewards_are_priced_when_they_come_and_survive_a_crash(tmp_path):
    rng, wages = random.Random(6), {}
    with el.live(tmp_path / "agent", **BOTH, reward_delay=30) as agent:
        for number in range(40):
            outcome = jobs.job(rng, agent.aleatoric_state, agent.act())
            wages[number + 1] = outcome.pop("reward")
            agent.observe(**outcome, cost=0.5)
            if number % 3 == 0:
                agent.reward(number + 1, wages[number + 1])
        before, inspected = whole(agent.core), agent.inspect()
        assert inspected["waiting"] == 20  # of 26, six came too late
    with el.live(tmp_path / "agent") as agent:
        assert whole(agent.core) == before
        agent.reward(39, wages[39])
        assert agent.core.agent.prices.t == agent.t == 15
        assert agent.core.gauge.cost == pytest.approx(0.5 * 15)


def test_reports_count_per_unit_of_time(tmp_path):
    with el.live(tmp_path / "agent", **BOTH) as agent:
        for reward, duration, cost in ((1, 0.5, 0.25), (5, 11.5, 0.5)):
            agent.act()
            agent.observe("short", reward=reward, duration=duration, cost=cost)
        found = agent.inspect()
    assert (found["average_reward"], found["recent_average"]) == (0.5, 0.5)
    assert (found["prices"]["average_cost"], found["prices"]["limit"]) == (0.0625, 0.2)
    assert 5 / 11.5 <= found["prices"]["price_of_time"] <= 2
    assert found["prices"]["multiplier"] == 0.0
    with el.live(tmp_path / "plain", **jobs.SHOP) as agent:
        assert agent.inspect()["prices"] is None


def test_rollback_and_import_bring_the_prices_along(tmp_path):
    rng = random.Random(7)
    with el.live(tmp_path / "agent", **BOTH) as agent:
        for _ in range(17):
            step_of(agent, rng)
        prices = agent.core.agent.prices.snapshot()
        agent.save(tmp_path / "state.npz")
        for _ in range(10):
            step_of(agent, rng)
        agent.rollback(17)
        assert agent.core.agent.prices.snapshot() == prices
        step_of(agent, rng)
        agent.load(tmp_path / "state.npz")
        assert agent.core.agent.prices.snapshot() == prices
    with el.live(tmp_path / "plain", **{**jobs.SHOP, "seed": 3}) as plain, pytest.raises(SnapshotError):
        plain.load(tmp_path / "state.npz")


def test_a_step_that_is_reported_again_must_have_the_same_measures(tmp_path):
    with el.live(tmp_path / "agent", **BOTH) as agent:
        agent.act()
        agent.observe("short", reward=1, duration=2, cost=0.5, step=1)
        before = whole(agent.core)
        agent.observe("short", reward=1, duration=2, cost=0.5, step=1)
        agent.observe("short", reward=1, step=1)  # what is left out is taken from the row
        for other in ({"duration": 3}, {"cost": 0.25}):
            with pytest.raises(Conflict):
                agent.observe("short", reward=1, step=1, **other)
        with pytest.raises(InputError, check=refusal("duration", 99)):
            agent.observe("short", reward=1, step=1, duration=99)
        assert whole(agent.core) == before
        row = next(agent.journal(1))
        assert (row["duration"], row["cost"]) == (2.0, 0.5)


def test_a_log_brings_durations_and_costs(tmp_path):
    (tmp_path / "log.csv").write_text(
        "observation,action,reward,duration,cost\nshort,take,2,1,0.5\nlong,skip,0,0.5,0\n"
    )
    rows = [("short", "take", 2, None, 1, 0.5), ("long", "skip", 0, None, 0.5, 0)]
    with el.live(tmp_path / "a", **BOTH) as agent, el.live(tmp_path / "b", **BOTH) as other:
        assert agent.warm_start(tmp_path / "log.csv") == other.warm_start(rows) == 2
        assert whole(agent.core) == whole(other.core)
        assert agent.core.agent.prices.t == 2
        with pytest.raises(InputError):
            agent.warm_start([("short", "take", 2)])


def test_frozen_prices_stand_still():
    core = Core(make_setup(**BOTH))
    core.apply(core.change_mode("frozen"))
    before = core.agent.prices.snapshot()
    core.act()
    core.apply(core.prepare("short", reward=1, duration=1, cost=1))
    assert core.agent.prices.snapshot() == before
    assert core.gauge.average_cost == 1.0


def test_a_limit_can_be_changed_and_ranges_cannot(tmp_path):
    rng = random.Random(8)
    with el.live(tmp_path / "agent", **BOTH) as agent:
        for _ in range(20):
            step_of(agent, rng)
        prices = agent.core.agent.prices.snapshot()
    with pytest.raises(Changed):
        el.live(tmp_path / "agent", limit=0.1)
    for final in ({"durations": (0.5, 13)}, {"cost_range": (0, 2)}):
        with pytest.raises(Changed):
            el.live(tmp_path / "agent", **final, accept_changes=True)
    with el.live(tmp_path / "agent", limit=0.1, accept_changes=True) as agent:
        assert agent.core.agent.prices.limit == 0.1
        assert agent.core.agent.prices.snapshot() == prices
        step_of(agent, rng)
        before = whole(agent.core)
    with el.live(tmp_path / "agent") as agent:
        assert whole(agent.core) == before
    with el.live(tmp_path / "plain", **jobs.SHOP):
        pass
    with pytest.raises(LiveError):
        el.live(tmp_path / "plain", limit=0.1, cost_range=(0, 1), accept_changes=True)


def test_estimates_of_reward_per_step_are_refused(tmp_path):
    rng = random.Random(9)
    with el.live(tmp_path / "agent", **BOTH) as agent:
        for _ in range(5):
            step_of(agent, rng)
    with pytest.raises(InputError, check=refusal("agent", "agent")):
        el.evaluate(tmp_path / "agent", "take")
    assert el.replay(tmp_path / "agent").core.agent.prices.t == 5  # what it learns from needs no estimate


def test_raw_rewards_do_not_go_with_prices(tmp_path):
    with pytest.raises(InputError, check=refusal("raw")):
        el.live(tmp_path / "agent", **BOTH, raw=True)
    assert not (tmp_path / "agent").exists()
