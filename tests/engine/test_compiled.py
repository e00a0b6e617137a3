"""The compiled engine equals the reference engine bit for bit, whatever the threads, lanes, stretches and batches."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import everlearn as el
from everlearn.agents.registry import make_design
from everlearn.engine import compiled
from everlearn.engine.plan import Plan
from everlearn.engine.runner import ReferenceWarning, simulate, table_for
from everlearn.errors import CompilationError, InputError, ScheduleError, TableFull
from everlearn.tasks.registry import make_task
from tests.refusal import has, refusal
from tests.worlds import pendulum, random_mdp, shop

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(autouse=True)
def examples(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))


def both(task, agent="growing-horizon", **arguments) -> tuple[el.Result, el.Result]:
    return tuple(el.run(task, agent, engine=engine, **arguments) for engine in ("compiled", "reference"))


def assert_same(one: el.Result, other: el.Result) -> None:
    assert one.total_reward.tolist() == other.total_reward.tolist()
    if one.policies is not None:
        assert one.policies.tolist() == other.policies.tolist()


def own_schedule() -> el.Schedule:
    """Counts that shrink a little at every step, and now and then to nothing."""
    return el.Schedule(
        lambda t: 2 + t**0.25, lambda t: 0.1 * t**0.1, lambda t: 0.3 / t, lambda t: 0.0 if t % 400 == 0 else 0.99
    )


SCHEDULES = {"smooth": "smooth", "change points": "change-points", "fixed": "fixed", "own": own_schedule()}
TASKS = {
    "station": "service-station",
    "shop": shop(),
    "four actions": random_mdp(1, 5, 4),
    "many actions": random_mdp(2, 30, 12, 7.0, -3.0),
}


EVERY = [(task, schedule) for task in TASKS for schedule in SCHEDULES]
FEW = [*(("station", schedule) for schedule in SCHEDULES), ("many actions", "smooth")]
"""Every schedule once, and many actions: each pair is compiled for itself."""


@pytest.mark.parametrize(
    ("task", "schedule"),
    [pytest.param(*pair, marks=[] if pair in FEW else [pytest.mark.soak]) for pair in EVERY],
)
def test_the_paper_agent_is_the_interpreted_one(task, schedule):
    assert_same(*both(TASKS[task], schedule=SCHEDULES[schedule], steps=1500, runs=3, seed=5))


def test_optimism_low_enough_for_values_to_leave_the_clip():
    parameters = {"schedule.optimism_scale": 0.01}
    one, other = both("service-station", schedule="change-points", parameters=parameters, steps=5000, runs=2)
    assert_same(one, other)
    assert one.policies[:, -1].max() == 1


@pytest.mark.soak  # tests/engine/test_guarded.py compares another every time
def test_a_users_own_agent_and_task():
    import own_agent
    import own_task

    assert_same(*both(own_task.shop, own_agent.r_learning, steps=2000, runs=3))


def test_a_task_with_endless_memories():
    import uncapped_station

    one, other = both(uncapped_station.station, steps=3000, runs=3, seed=2)
    assert_same(one, other)
    assert one.pairs is not None


def test_endless_memories_expanded_by_several_threads_at_once(monkeypatch):
    import uncapped_station

    monkeypatch.setattr(compiled, "LANES", 2)
    arguments = {"steps": 1_000, "runs": 8, "seed": 4}
    results = [el.run(uncapped_station.station, threads=threads, **arguments) for threads in (1, 4)]
    assert_same(*results)


@lru_cache(maxsize=1)
def undivided() -> tuple[Plan, list[list[float]]]:
    """Seven runs, and what came of them on one thread."""
    plan = Plan(make_task("service-station", {"window": 2}), make_design("growing-horizon"), 3000, 7, 3)
    return plan, simulate(plan, table_for(plan, "compiled"), threads=1).total_reward.tolist()


@settings(max_examples=8)
@given(
    threads=st.integers(1, 4),
    lanes=st.sampled_from([1, 2, 3, 8, 16]),
    stretch=st.sampled_from([256, 1000, 1 << 16]),
    memory=st.sampled_from([1, 500, 1 << 30]),
)
def test_nothing_depends_on_threads_lanes_stretches_or_batches(threads, lanes, stretch, memory):
    plan, expected = undivided()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("LANES", lanes), ("STRETCH", stretch), ("MEMORY", memory)):
            patch.setattr(compiled, name, value)
        curves = simulate(plan, table_for(plan, "compiled"), threads=threads)
    assert curves.total_reward.tolist() == expected


def test_a_longer_run_begins_like_a_shorter_one():
    short, long = (el.run("service-station", steps=steps, runs=2, seed=9) for steps in (1000, 70_000))
    kept = np.searchsorted(long.times, short.times)
    assert short.total_reward.tolist() == long.total_reward[:, kept].tolist()


def test_calls_from_several_threads():
    def one(seed: int) -> list:
        return el.run("service-station", steps=2000, runs=2, seed=seed, engine="compiled").total_reward.tolist()

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(one, range(8)))
    assert found == [one(seed) for seed in range(8)]


def test_the_engine_that_can_is_chosen():
    assert table_for(plan_of("service-station"), "auto") is not None
    assert table_for(plan_of("service-station"), "reference") is None
    assert table_for(plan_of(pendulum()), "auto") is None
    with pytest.raises(InputError, check=refusal("engine", "compiled")):
        table_for(plan_of(pendulum()), "compiled")
    with pytest.raises(InputError, check=refusal("engine", "fast")):
        table_for(plan_of("service-station"), "fast")


def plan_of(task, design="always") -> Plan:
    return Plan(make_task(task), make_design(design), 10, 1, 0)


def uncompilable() -> el.Design:
    def act(knowledge, aleatoric_state, now, stream):
        return int(f"{aleatoric_state:03d}") * 0

    design = make_design("always")
    return el.Design(design.build, act, design.learn, name="odd")


def test_an_agent_that_cannot_be_compiled_is_interpreted_with_a_warning():
    with pytest.warns(ReferenceWarning) as caught:
        result = el.run("service-station", uncompilable(), steps=10)
    assert [warning.message.agent for warning in caught] == ["odd"]
    assert result.engine == "reference"
    with pytest.raises(CompilationError, check=has(agent="odd")):
        el.run("service-station", uncompilable(), steps=10, engine="compiled")


@pytest.mark.soak
def test_by_state_is_not_believed_of_a_design_of_ones_own():
    design = make_design("static")
    mine = el.Design(lambda indexed: design.build(indexed), design.act, design.learn, by_state=True, name="mine")
    expected = el.run("service-station", "static", steps=300, runs=3, engine="reference").total_reward
    assert el.run("service-station", mine, steps=300, runs=3).total_reward.tolist() == expected.tolist()


def test_the_bound_on_pairs_is_kept():
    import uncapped_station

    with pytest.raises(TableFull, check=has(max_pairs=50)):
        el.run(uncapped_station.station, steps=10_000, max_pairs=50)


def test_a_schedule_that_leaves_its_domain_stops_the_run():
    parameters = {"schedule.horizon_scale": 10, "schedule.horizon_power": -0.5}
    with pytest.raises(ScheduleError, check=refusal("horizon at t = 101")):
        el.run("service-station", parameters=parameters, steps=5000, engine="compiled")


def test_an_interrupt_is_answered_and_the_engine_still_works():
    def interrupt(_steps: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        el.run("service-station", steps=10**9, runs=4, progress=interrupt)
    assert el.run("service-station", steps=100).engine == "compiled"


def test_progress_adds_up_to_all_steps():
    told: list[int] = []
    el.run("service-station", steps=123_456, runs=3, progress=told.append)
    assert sum(told) == 3 * 123_456
    assert len(told) > 3
