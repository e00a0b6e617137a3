"""The stream that is watched is a run of the engines, however it was advanced."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pytest

import everlearn as el
from everlearn.agents.knowledge import stored_arrays
from everlearn.agents.registry import AGENTS, SCHEDULES, make_design
from everlearn.errors import AgentError, ScheduleError
from everlearn.play.interpreted import Interpreted
from everlearn.play.stream import Stream
from everlearn.tables import make_table
from everlearn.tasks.registry import make_task

TASKS = {name: make_task(name) for name in ("service-station", "riverswim", "t-maze")}
TABLES = {id(task): make_table(task, eager=64) for given in TASKS.values() for task in (given, given.scaled)}
SEED = 3


@pytest.fixture(scope="module")
def pool():
    with ThreadPoolExecutor(2) as made:
        yield made


def begin(pool, agent="growing-horizon", task="service-station", **chosen) -> Stream:
    design = make_design(agent, duration=1000, **chosen)
    return Stream(TASKS[task], design, SEED, TABLES[id(design.view(TASKS[task]))], pool)


def condition(stream: Stream) -> list[object]:
    """Everything on which the next step depends, and what was recorded."""
    lanes = stream.batch.groups[0].lanes
    known = [array.tolist() for array in stored_arrays(stream.batch.groups[0].knowledge).values()]
    places = [lanes.pair.tolist(), lanes.state.tolist(), lanes.environment.tolist(), lanes.agent.tolist()]
    return [stream.t, stream.total_reward, stream.batch.carry, stream.recorded(), *known, *places]


@pytest.mark.parametrize("schedule", SCHEDULES)
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


@pytest.mark.parametrize("agent", AGENTS)
def test_every_agent_goes_the_same_way_step_by_step(pool, agent):
    stepped, at_once = begin(pool, agent), begin(pool, agent)
    for _ in range(150):
        stepped.advance(1)
    at_once.advance(150)
    assert condition(stepped) == condition(at_once)


@pytest.mark.parametrize("task", TASKS)
def test_it_knows_what_an_agent_knows_that_is_driven_step_by_step(pool, task):
    """Against the agent itself, driven with what its own environment shows."""
    from everlearn.randomness import ENVIRONMENT
    from everlearn.randomness import stream as random_stream

    stream = begin(pool, task=task, schedule="change-points")
    agent = el.Agent(task, "growing-horizon", schedule="change-points", seed=SEED)
    environment = agent.task.start(random_stream(SEED, 0, ENVIRONMENT))
    for steps in (1, 5, 100, 1):
        stream.advance(steps)
        for _ in range(steps):
            agent.observe(environment.step(agent.act()))
        assert agent.task.states[stream.aleatoric_state] == agent.aleatoric_state
        assert stream.memory == environment.memory
        assert stream.now == agent.now
        for name, table in agent.inspect().items():
            assert np.array_equal(stream.known(range(len(agent.task.states)))[name], table), name


def test_some_rows_of_what_is_known_are_those_rows(pool):
    for agent in ("growing-horizon", "ucrl2", "always"):
        stream = begin(pool, agent, task="riverswim")
        stream.advance(500)
        every, some = stream.known(range(6)), stream.known((2, 4))
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


def count(knowledge, experience, now, stream):
    knowledge.count[0] += 1.0


def test_a_users_own_agent_is_checked_in_the_steps_that_are_interpreted_here(pool):
    design = el.Design(lambda indexed: Nothing(np.zeros(1)), no_action, count, name="mine", by_state=True)
    stream = Stream(TASKS["service-station"], design, SEED, TABLES[id(TASKS["service-station"])], pool)
    stream.advance(2)
    assert stream.taken.after.count[0] == 2
    with pytest.raises(AgentError, match="agent 'mine': act returned 7 at step 3"):
        stream.advance(1)


@pytest.mark.parametrize("part", ["policy", "inspect"])
def test_looking_at_a_users_own_agent_changes_nothing(pool, part):
    def shown(knowledge, *_now):
        knowledge.count[...] = 7
        return np.full((2, 2), 0.5) if part == "policy" else {"Q": knowledge.count}

    build, first = lambda indexed: Nothing(np.zeros(1)), lambda *_: 0
    design = el.Design(build, first, count, name="mine", **{part: shown})
    for stream in (
        Stream(TASKS["service-station"], design, SEED, TABLES[id(TASKS["service-station"])], pool),
        Interpreted(TASKS["service-station"], design, SEED),
    ):
        stream.advance(2)
        assert stream.known((0,))
        stream.advance(1)
        assert stream.taken.after.count[0] == 3


def test_a_schedule_outside_its_domain_is_refused_at_once(pool):
    with pytest.raises(ScheduleError, match="horizon at t = 1"):
        begin(pool, schedule="smooth", schedule_chosen={"horizon_scale": 0.5})


def test_a_schedule_that_leaves_its_domain_later_is_refused_then(pool):
    stream = begin(pool, schedule="smooth", schedule_chosen={"horizon_power": -0.1})
    with pytest.raises(ScheduleError, match="must be at least 1"):
        stream.advance(100_000)
