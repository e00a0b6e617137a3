"""One function that runs an agent on a task and returns the result."""

from __future__ import annotations

import json

import numpy as np
import pytest

import everlearn as el
from everlearn.errors import InputError
from tests.refusal import refusal
from tests.worlds import agent_stream, environment_stream, random_mdp, shop


def run(task="service-station", agent="growing-horizon", **arguments) -> el.Result:
    return el.run(task, agent, **({"steps": 300, "engine": "reference"} | arguments))


def test_a_run_is_agent_and_environment_in_turn():
    result = run(runs=3, seed=5)
    for number in range(3):
        agent = el.Agent("service-station", "growing-horizon", seed=5, run=number)
        agent.stream = agent_stream(5, number)
        environment = agent.task.start(environment_stream(5, number))
        rewards = [agent.observe(environment.step(agent.act())) for _ in range(300)]
        assert result.total_reward[number].tolist() == [float(np.cumsum(rewards)[t - 1]) for t in result.times]


def test_the_same_seed_gives_the_same_result_and_another_another():
    assert np.array_equal(run(seed=1).total_reward, run(seed=1).total_reward)
    assert not np.array_equal(run(seed=1).total_reward, run(seed=2).total_reward)


def test_runs_do_not_depend_on_how_many_there_are():
    assert np.array_equal(run(runs=4).total_reward[:2], run(runs=2).total_reward)


def test_a_longer_run_begins_like_a_shorter():
    short, long = run(steps=200), run(steps=300)
    common = short.times[:-1]
    assert np.array_equal(short.total_reward[:, : common.size], long.total_reward[:, : common.size])


def test_agents_meet_the_same_draws_of_the_environment():
    # Until the first customer is served nothing that an agent does matters: the first observation is the same for all.
    firsts = {run(agent=agent, steps=1, runs=1, parameters=given).total_reward[0, 0] for agent, given in BASELINES}
    assert len(firsts) == 1


BASELINES = [("always", {}), ("growing-horizon", {}), ("static", {"agent.phase": 5})]


def test_what_was_run_is_told():
    result = run(schedule="change-points", runs=2, seed=3, parameters={"task.window": 6, "schedule.first": 10})
    assert (result.task, result.agent, result.schedule) == ("service-station", "growing-horizon", "change-points")
    assert (result.steps, result.runs, result.seed, result.engine) == (300, 2, 3, "reference")
    assert result.parameters["task.window"] == 6
    assert result.parameters["task.revenue"] == 1.0
    assert result.parameters["schedule.first"] == 10
    assert result.parameters["schedule.growth"] == 2.0
    assert result.scaling == "raw rewards, from -0.5 to 1"
    assert result.references["optimum"] == 0.5
    assert result.version == el.__version__


def test_parameters_reach_task_agent_and_schedule():
    base = run(runs=2, schedule="smooth").total_reward
    for given in ({"task.fast_cost": 0.1}, {"schedule.optimism_scale": 5.0}, {"task.raw": "no"}):
        assert not np.array_equal(run(runs=2, schedule="smooth", parameters=given).total_reward, base)
    fast = run(agent="always", parameters={"agent.policy": "fast"})
    assert fast.total_reward[0, -1] == 150.5


def test_things_themselves_may_be_given():
    schedule = el.Schedule(lambda t: 5.0, lambda t: 0.1, lambda t: 0.0, lambda t: 1.0)
    result = run(shop(), "growing-horizon", schedule=schedule)
    assert (result.task, result.schedule, result.parameters) == ("serve", "schedule", {})
    assert run(random_mdp(1), "always").task == "random-1"


@pytest.mark.parametrize("policy", [{1: "fast"}, np.array([[0.5, 0.5], [1.0, 0.0]]), [[0.5, 0.5], [1.0, 0.0]]])
def test_any_result_is_json(policy):
    document = run(agent="always", parameters={"agent.policy": policy}).to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_numbers_may_be_given_as_people_write_them():
    assert run(steps="1e2", runs="2", seed="7").times[-1] == 100
    assert run(steps=1e2).steps == 100


def test_progress_adds_up_to_all_steps():
    done = []
    run(runs=3, progress=done.append)
    assert sum(done) == 900
    assert min(done) > 0


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [
        ({"steps": 0}, ("steps", 0)),
        ({"steps": 1.5}, ("steps", 1.5)),
        ({"steps": "many"}, ("steps", "many")),
        ({"steps": float("inf")}, ("steps",)),
        ({"steps": None}, ("steps", None)),
        ({"runs": 0}, ("runs", 0)),
        ({"seed": -1}, ("seed", -1)),
        ({"parameters": {"window": 3}}, ("parameter", "window")),
    ],
)
def test_what_is_refused(arguments, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        run(**arguments)


def test_a_seed_is_kept_to_the_last_digit():
    assert run(seed=2**60 + 1, steps=5).seed == 2**60 + 1


def test_threads_must_be_at_least_one():
    with pytest.raises(el.EverlearnError, check=refusal("threads", 0)):
        el.run("service-station", steps=10, threads=0)
