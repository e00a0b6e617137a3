"""The reference loop: any environment, any agent."""

from __future__ import annotations

import everlearn as el
from everlearn.engine.reference import Record, reference_loop
from everlearn.tasks.interface import Interface
from everlearn.tasks.service_station import service_station
from tests.worlds import environment_stream, pendulum


class Stubborn:
    """An agent that is no everlearn.Agent, and takes notes."""

    def __init__(self, action):
        self.action, self.heard = action, []

    def act(self):
        return self.action

    def observe(self, observation, executed=None):
        self.heard.append((observation, executed))


class Script:
    """An environment that plays a list, and takes notes."""

    def __init__(self, *observations):
        self.left, self.done = list(observations), []

    def start(self, rng):
        pass

    def step(self, action):
        self.done.append(action)
        return self.left.pop(0)


def test_agent_and_environment_take_turns():
    environment, agent = Script("arrival", "nothing", "departure", "arrival"), Stubborn("fast")
    records = list(reference_loop(environment, agent, Interface(service_station()), [1, 3, 4]))
    assert environment.done == ["fast"] * 4
    assert agent.heard == [("arrival", None), ("nothing", None), ("departure", None), ("arrival", None)]
    assert records == [Record(1, 1.0), Record(3, 0.0), Record(4, 1.0)]


def test_rewards_are_in_the_units_of_the_task():
    task = service_station(revenue=8, raw=False)
    records = list(reference_loop(Script("arrival"), Stubborn("slow"), Interface(task), [1]))
    assert records[0].total_reward == 8


def test_nothing_is_done_before_it_is_asked_for():
    environment = Script("arrival", "nothing")
    loop = reference_loop(environment, Stubborn("slow"), Interface(service_station()), [1, 2])
    assert environment.done == []
    next(loop)
    assert environment.done == ["slow"]


def test_an_environment_without_a_model():
    task = pendulum().finish()
    agent = el.Agent(task, seed=2)
    records = list(reference_loop(task.start(environment_stream(2)), agent, agent.interface, [10, 100]))
    assert [record.t for record in records] == [10, 100]
    assert agent.t == 100
    assert 0 < records[-1].average_reward < 1


def test_an_average_is_a_total_over_its_time():
    assert Record(8, 2.0).average_reward == 0.25
