"""The agent that is driven step by step."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import everlearn as el
from everlearn.agents.agent import whole
from everlearn.agents.spec import split
from everlearn.errors import InputError, LabelError, ObservationError, RewardError
from tests.refusal import refusal
from tests.worlds import agent_stream, random_mdp, shop


def test_it_acts_observes_and_counts():
    agent = el.Agent("service-station", seed=1)
    assert agent.t == 0
    assert agent.aleatoric_state == 0
    assert agent.act() in ("fast", "slow")
    assert agent.observe("arrival") == 1.0
    assert agent.t == 1
    assert agent.aleatoric_state == 1
    assert agent.now.t == 1


def test_what_was_executed_counts():
    agent = el.Agent("service-station")
    agent.observe("arrival", executed="slow")
    assert agent.observe("nothing", executed="slow") == 0.0
    assert agent.observe("departure", executed="fast") == -0.5
    assert agent.inspect()["N"].tolist() == [[0, 1], [1, 1]]


def test_a_deep_copy_learns_as_the_agent_does_and_leaves_it_alone():
    agent = el.Agent("service-station", schedule="smooth", seed=1)
    _live(agent, 20)
    other, before = copy.deepcopy(agent), agent.values.copy()
    _live(other, 30)
    assert (agent.values == before).all()
    assert (other.values != before).any()
    _live(agent, 30)
    assert (agent.values == other.values).all()
    assert agent.t == other.t == 50


def _live(agent: el.Agent, steps: int) -> None:
    for step in range(steps):
        agent.act()
        agent.observe(("arrival", "departure")[step % 2])


def test_it_reports_in_the_units_of_the_task_and_learns_scaled():
    task = random_mdp(1, scale=10.0, low=-5.0)
    agent = el.Agent(task, "gradient", parameters={"agent.phase": 100})
    agent.act()
    reward = agent.observe(1)
    assert reward == task.reward(0, 2, 1)
    assert agent.inspect()["gathered"][0] == (reward + 5) / 10


def test_it_takes_definitions_and_designs_and_schedules_themselves():
    schedule = el.Schedule(lambda t: 7.0, lambda t: 0.0, lambda t: 0.0, lambda t: 1.0)
    agent = el.Agent(shop(), "growing-horizon", schedule=schedule)
    assert agent.task.states == ("start", "idle", "busy")
    assert agent.now.horizon == 7.0
    assert el.Agent(shop(), agent.design).design is agent.design


def test_seed_and_run_name_its_stream():
    agent = el.Agent("service-station", seed=7, run=3)
    assert agent.stream.random() == agent_stream(7, 3).random()


@pytest.mark.parametrize("seed", [2**53 + 1, 2**64 - 1, 10**30 + 1])
def test_large_seeds_are_kept_to_the_last_digit(seed):
    assert el.Agent("service-station", seed=seed).seed == seed
    assert el.Agent("service-station", seed=str(seed)).seed == seed


def test_a_state_taken_is_a_copy():
    agent = el.Agent("service-station", "growing-horizon")
    taken = agent.snapshot()
    agent.observe("nothing", executed="slow")
    assert not any(table.any() for table in taken.epistemic.values())
    assert taken.algorithmic["t"] == 0


def test_an_error_in_an_observation_leaves_the_agent_as_it_was():
    agent = el.Agent("service-station")
    action = agent.act()
    with pytest.raises(ObservationError):
        agent.observe("rain")
    with pytest.raises(LabelError):
        agent.observe("nothing", executed="sleep")
    assert agent.t == 0
    assert agent.act() == action


def test_an_error_in_a_reward_leaves_the_agent_as_it_was():
    task = el.Task((0,), (0, 1), el.AleatoricState(0, lambda s, a, o: o), el.Reward(lambda s, a, o: 2.0 * o))
    agent = el.Agent(task)
    with pytest.raises(RewardError):
        agent.observe(1, executed=0)
    assert agent.aleatoric_state == 0
    assert agent.inspect()["N"].sum() == 0


def test_inspecting_between_acting_and_observing_at_the_end_of_a_block_changes_nothing():
    schedule = el.Schedule(lambda t: 2 + t**0.2, lambda t: 0.1, lambda t: 0.2 / t, lambda t: 0.9)
    agents = [el.Agent("service-station", schedule=schedule, seed=1) for _ in range(2)]
    for _ in range(4096):
        for agent in agents:
            agent.observe("nothing", executed="slow")
    agents[0].act()
    tables = agents[0].inspect()
    assert all(np.array_equal(table, agents[1].inspect()[name]) for name, table in tables.items())
    assert agents[0].act() == agents[1].act()
    for agent in agents:
        agent.observe("nothing")
    assert np.array_equal(agents[0].inspect()["Q"], agents[1].inspect()["Q"])


@pytest.mark.parametrize(
    ("call", "error", "refused"),
    [
        (
            lambda agent: agent.observe("nothing"),
            InputError,
            ("executed", None),
        ),
        (
            lambda agent: agent.observe("rain", executed="slow"),
            ObservationError,
            ("observation", "rain"),
        ),
        (
            lambda agent: agent.observe(["arrival"], executed="slow"),
            ObservationError,
            ("observation", ["arrival"]),
        ),
        (
            lambda agent: agent.observe("nothing", executed="sleep"),
            LabelError,
            ("action", "sleep"),
        ),
    ],
)
def test_what_it_refuses(call, error, refused):
    with pytest.raises(error, check=refusal(*refused)):
        call(el.Agent("service-station"))


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [
        ({"seed": -1}, ("seed", -1)),
        ({"seed": 1.5}, ("seed", 1.5)),
        ({"run": -1}, ("run", -1)),
        ({"parameters": {"window": 6}}, ("parameter", "window")),
        ({"parameters": {"engine.x": 6}}, ("parameter", "engine.x")),
    ],
)
def test_arguments_it_refuses(arguments, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        el.Agent("service-station", **arguments)


def test_a_design_that_does_not_tell_its_policy():
    design = el.Design(
        el.Agent("service-station", "growing-horizon").design.build,
        lambda knowledge, aleatoric_state, now, stream: 0,
        lambda knowledge, experience, now, stream: None,
        name="silent",
    )
    agent = el.Agent("service-station", design)
    with pytest.raises(InputError, check=refusal("policy", "silent")):
        _ = agent.policy
    assert agent.inspect() == {}


def test_split_sorts_parameters():
    given = {"task.a": 1, "agent.b": 2, "schedule.c.d": 3}
    assert split(given) == {"task": {"a": 1}, "agent": {"b": 2}, "schedule": {"c.d": 3}}


@pytest.mark.parametrize(("given", "number"), [(5, 5), (1e6, 10**6), ("2e3", 2000), ("17", 17), (np.int64(4), 4)])
def test_whole_numbers(given, number):
    assert whole(given, "steps") == number
    assert type(whole(given, "steps")) is int


@pytest.mark.parametrize("given", [1.5, "many", "1.5", None, True, float("inf"), float("nan"), "inf", [1]])
def test_what_is_no_whole_number(given):
    with pytest.raises(InputError, check=refusal("steps")):
        whole(given, "steps")
