"""The reference engine: any environment, any agent."""

from __future__ import annotations

import everlearn as el
from everlearn.engine.reference import ReferenceLoop
from everlearn.tasks.indexed import IndexedTask
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
    loop = ReferenceLoop(environment, agent, IndexedTask(service_station()))
    totals = []
    for t in (1, 3, 4):
        loop.advance(t)
        totals.append((loop.t, loop.total_reward))
    assert environment.done == ["fast"] * 4
    assert agent.heard == [("arrival", None), ("nothing", None), ("departure", None), ("arrival", None)]
    assert totals == [(1, 1.0), (3, 0.0), (4, 1.0)]


def test_rewards_are_in_the_units_of_the_task():
    task = service_station(revenue=8, raw=False)
    loop = ReferenceLoop(Script("arrival"), Stubborn("slow"), IndexedTask(task))
    loop.advance(1)
    assert loop.total_reward == 8


def test_nothing_is_done_before_it_is_asked_for():
    environment = Script("arrival", "nothing")
    loop = ReferenceLoop(environment, Stubborn("slow"), IndexedTask(service_station()))
    assert environment.done == []
    loop.advance(1)
    assert environment.done == ["slow"]


def test_an_environment_without_a_model():
    task = pendulum().finish()
    agent = el.Agent(task, seed=2)
    loop = ReferenceLoop(task.start(environment_stream(2)), agent, agent.indexed)
    loop.advance(100)
    assert agent.t == loop.t == 100
    assert 0 < loop.total_reward < 100
