"""A watched run is a run of the engines, however it was advanced."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

import everlearn as el
from everlearn.agents.knowledge import arrays, stored_arrays
from everlearn.agents.registry import AGENTS, SCHEDULES, make_design
from everlearn.errors import AgentError, EverlearnError, ScheduleError, UserCodeError
from everlearn.page.explanation import explain
from everlearn.page.knowledge import look
from everlearn.page.run import CompiledRun, ReferenceRun
from everlearn.tables import make_table
from everlearn.tasks.registry import make_task
from tests.few import AGENTS_OF_EVERY_KIND, few
from tests.refusal import has, refusal
from tests.worlds import pendulum

TASKS = {name: make_task(name) for name in ("service-station", "riverswim", "t-maze")}
TABLES = {id(task): make_table(task, eager=64) for given in TASKS.values() for task in (given, given.scaled)}
SEED = 3


@pytest.fixture(scope="module")
def pool():
    with ThreadPoolExecutor(2) as made:
        yield made


def begin(pool, agent="growing-horizon", task="service-station", **chosen) -> CompiledRun:
    design = make_design(agent, duration=1000, **chosen)
    return CompiledRun(TASKS[task], design, SEED, TABLES[id(design.view(TASKS[task]))], pool)


def condition(run: CompiledRun) -> list[object]:
    """Everything on which the next step depends, and what was recorded."""
    lanes = run.batch.groups[0].lanes
    known = [array.tolist() for array in stored_arrays(run.batch.groups[0].knowledge).values()]
    places = [lanes.pair.tolist(), lanes.state.tolist(), lanes.environment.tolist(), lanes.agent.tolist()]
    return [run.t, run.total_reward, run.batch.carry, run.recorded(), *known, *places]


@pytest.mark.parametrize("agent", few(["linear", "q-lambda", "network"], ["linear"]))
def test_a_run_on_a_fine_grid_is_watched(agent):
    """There are too many states for a table: the policy is shown in those around the present one."""
    pytest.importorskip("gymnasium")
    car = el.from_gymnasium("MountainCar-v0", rewards=-1, termination_reward=1)
    run = ReferenceRun(car, make_design(agent), SEED)
    run.advance(3)
    assert explain(run).t == 3
    known = look(run)
    assert run.aleatoric_state in known.states
    assert known.tables["policy"].sum(axis=1) == pytest.approx(np.ones(len(known.states)))


@pytest.mark.parametrize("schedule", few(SCHEDULES, ("change-points", "practical")))
def test_a_thousand_single_steps_are_a_run_of_a_thousand_steps(pool, schedule):
    stepped, at_once, halting = (begin(pool, schedule=schedule) for _ in range(3))
    for _ in range(1000):
        stepped.advance(1)
    at_once.advance(1000)
    for steps in (1, 200, 7, 65, 8, 9, 56, 291, 363):
        halting.advance(steps)
    assert condition(stepped) == condition(at_once) == condition(halting)
    for engine in ("reference", "compiled"):
        run = el.run("service-station", "growing-horizon", schedule=schedule, steps=1000, seed=SEED, engine=engine)
        assert (run.times.tolist(), run.average_reward.tolist()) == stepped.recorded()


@pytest.mark.parametrize("agent", few(AGENTS, AGENTS_OF_EVERY_KIND))
def test_every_agent_goes_the_same_way_step_by_step(pool, agent):
    task = "t-maze" if agent == "learned" else "service-station"  # for which other tests compile it
    stepped, at_once = begin(pool, agent, task), begin(pool, agent, task)
    for _ in range(150):
        stepped.advance(1)
    at_once.advance(150)
    assert condition(stepped) == condition(at_once)


@pytest.mark.parametrize("task", TASKS)
def test_it_knows_what_an_agent_knows_that_is_driven_step_by_step(pool, task):
    """Against the agent itself, driven with what its own environment shows."""
    from everlearn.randomness import ENVIRONMENT
    from everlearn.randomness import stream as random_stream

    run = begin(pool, task=task, schedule="change-points")
    agent = el.Agent(task, "growing-horizon", schedule="change-points", seed=SEED)
    environment = agent.task.start(random_stream(SEED, 0, ENVIRONMENT))
    for steps in (1, 5, 100, 1):
        run.advance(steps)
        for _ in range(steps):
            agent.observe(environment.step(agent.act()))
        assert agent.task.states[run.aleatoric_state] == agent.aleatoric_state
        assert run.memory == environment.memory
        assert run.now == agent.now
        for name, table in agent.inspect().items():
            assert np.array_equal(run.known(range(len(agent.task.states)))[name], table), name


def test_some_rows_of_what_is_known_are_those_rows(pool):
    for agent in ("growing-horizon", "ucrl2", "always"):
        run = begin(pool, agent, task="riverswim")
        run.advance(500)
        every, some = run.known(range(6)), run.known((2, 4))
        for name, table in some.items():
            expected = every[name][[2, 4]] if every[name].shape[:1] == (6,) else every[name]
            assert np.array_equal(table, expected), (agent, name)


def test_reading_changes_nothing(pool):
    looked, alone = begin(pool), begin(pool)
    for _ in range(50):
        looked.advance(3)
        looked.known((0, 1))
        assert (looked.memory, looked.now, looked.recorded()) is not None
    alone.advance(150)
    assert condition(looked) == condition(alone)


class Nothing(NamedTuple):
    count: np.ndarray


def no_action(knowledge, aleatoric_state, now, stream):
    return 7 if now.t == 3 else 0


def no_action_later(knowledge, aleatoric_state, now, stream):
    return 7 if now.t == 40 else 0


def count(knowledge, experience, now, stream):
    knowledge.count[0] += 1.0


def test_a_users_own_agent_is_checked_in_the_steps_that_are_interpreted_here(pool):
    design = el.Design(lambda indexed: Nothing(np.zeros(1)), no_action, count, name="mine", by_state=True)
    run = CompiledRun(TASKS["service-station"], design, SEED, TABLES[id(TASKS["service-station"])], pool)
    run.advance(2)
    assert run.latest.after.count[0] == 2
    with pytest.raises(AgentError, check=has(agent="mine", function="act", value="7", step=3)):
        run.advance(1)


@pytest.mark.parametrize("part", ["policy", "inspect"])
def test_looking_at_a_users_own_agent_changes_nothing(pool, part):
    def shown(knowledge, *_now):
        knowledge.count[...] = 7
        return np.full((2, 2), 0.5) if part == "policy" else {"Q": knowledge.count}

    build, first = lambda indexed: Nothing(np.zeros(1)), lambda *_: 0
    design = el.Design(build, first, count, name="mine", **{part: shown})
    for run in (
        CompiledRun(TASKS["service-station"], design, SEED, TABLES[id(TASKS["service-station"])], pool),
        ReferenceRun(TASKS["service-station"], design, SEED),
    ):
        run.advance(2)
        assert run.known((0,))
        run.advance(1)
        assert run.latest.after.count[0] == 3


def test_a_schedule_outside_its_domain_is_refused_at_once(pool):
    with pytest.raises(ScheduleError, check=refusal("horizon at t = 1", 0.5)):
        begin(pool, schedule="smooth", schedule_chosen={"horizon_scale": 0.5})


def test_a_schedule_that_leaves_its_domain_later_is_refused_then(pool):
    run = begin(pool, schedule="smooth", schedule_chosen={"horizon_power": -0.1})
    with pytest.raises(ScheduleError, check=refusal("horizon at t = 58")):
        run.advance(100_000)


def test_it_is_the_run_of_the_reference_loop_however_it_was_advanced():
    task, design = pendulum().finish(), make_design("growing-horizon")
    at_once, halting = (ReferenceRun(task, design, 3) for _ in range(2))
    at_once.advance(300)
    for steps in (0, 1, 99, 100, 1, 99):
        halting.advance(steps)
    run = el.run(task, steps=300, seed=3)
    assert at_once.recorded() == halting.recorded() == (run.times.tolist(), run.average_reward.tolist())


@pytest.mark.parametrize("agent", ["growing-horizon", "always", "ucrl2"])
def test_it_tells_what_a_compiled_stream_tells(agent):
    task, design = make_task("service-station"), make_design(agent)
    with ThreadPoolExecutor(1) as pool:
        table = make_table(design.view(task), eager=64)
        compiled, interpreted = CompiledRun(task, design, 2, table, pool), ReferenceRun(task, design, 2)
        for steps in (0, 1, 40):
            compiled.advance(steps)
            interpreted.advance(steps)
            assert interpreted.recorded() == compiled.recorded()
            assert (interpreted.aleatoric_state, interpreted.now) == (compiled.aleatoric_state, compiled.now)
            assert interpreted.memory == compiled.memory
            assert explain(interpreted) == explain(compiled)
            some, others = interpreted.known((1,)), compiled.known((1,))
            assert all(np.array_equal(some[name], others[name]) for name in others)
    taken = interpreted.latest
    before, after = arrays(taken.before), arrays(taken.after)
    assert agent == "always" or any(not np.array_equal(before[name], after[name]) for name in before)


def test_an_environment_that_fails_is_named_with_what_was_done():
    @el.task(actions=["push"], observations=["left"], name="swing")
    class Swing:
        def start(self, rng):
            self.left = 2

        def step(self, action):
            self.left -= 1
            return ["left"][-1 if self.left else 1]

    Swing.reward(lambda s, action, observation: 0.0)
    watched = ReferenceRun(Swing.finish(), make_design("always"), 0)
    with pytest.raises(UserCodeError, check=has(function="task 'swing': step", at="action 'push'")):
        watched.advance(5)


@pytest.mark.parametrize("shown", [{"policy"}, {"policy", "values"}, {"policy", "values", "inspect"}])
def test_what_a_design_shows_comes_before_its_values_and_these_before_its_policy(shown):
    parts = {
        "policy": lambda knowledge: np.full((2, 2), 0.5),
        "values": lambda knowledge: knowledge.count.reshape(2, 2),
        "inspect": lambda knowledge, now: {"merit": knowledge.count.reshape(2, 2), "N": knowledge.count.reshape(2, 2)},
    }
    chosen = {name: part for name, part in parts.items() if name in shown}
    design = el.Design(lambda indexed: Nothing(np.zeros(4)), lambda *_: 0, count, name="mine", **chosen)
    run = ReferenceRun(TASKS["service-station"], design, SEED)
    run.advance(3)
    assert list(look(run).pair) == {1: ["policy"], 2: ["Q"], 3: ["merit", "N"]}[len(shown)]


def fail_halfway(knowledge, experience, now, stream):
    knowledge.count[0] += 1.0
    if now.t == 15:
        knowledge.count[now.t] = 1.0


@pytest.mark.parametrize("steps", [1, 4, 30])
def test_a_step_that_fails_is_not_half_taken_and_nothing_follows_it(pool, steps):
    design = el.Design(lambda indexed: Nothing(np.zeros(1)), lambda *_: 0, fail_halfway, name="mine")
    for run in (
        CompiledRun(TASKS["service-station"], design, SEED, TABLES[id(TASKS["service-station"])], pool),
        ReferenceRun(TASKS["service-station"], design, SEED),
    ):
        said, shown = set(), []
        for _ in range(17):
            try:
                run.advance(steps)
            except EverlearnError as error:
                said.add(str(error))
                shown.append((run.t, run.total_reward, run.aleatoric_state, run.recorded()))
        assert len(said) == 1
        assert "step 15" in said.pop()
        assert run.knowledge.count[0] == run.t < 15
        assert shown == [shown[0]] * len(shown)


def test_a_run_that_failed_and_is_tried_again_keeps_what_was_recorded():
    design = el.Design(lambda indexed: Nothing(np.zeros(1)), no_action_later, count, name="mine")
    run = ReferenceRun(TASKS["service-station"], design, SEED)
    with pytest.raises(AgentError, check=has(function="act", value="7", step=40)):
        run.advance(100)
    recorded = run.recorded()
    with pytest.raises(AgentError, check=has(function="act", value="7", step=40)):
        run.advance(100)
    assert (run.t, run.recorded()) == (39, recorded)
    steady = ReferenceRun(TASKS["service-station"], replace(design, act=lambda *_: 0), SEED)
    steady.advance(39)
    assert steady.recorded() == recorded
