"""Test that an agent that restarts is the other one until it does, and a new one afterwards."""

from __future__ import annotations

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

import everlearn as el
from everlearn.agents import restarting
from everlearn.agents.knowledge import arrays
from everlearn.agents.registry import make_design, takes_schedule
from everlearn.agents.restarting import OWN, class_for
from everlearn.errors import EverlearnError, InputError, UnknownName
from everlearn.registry import locate, parameters
from tests.conformance.brief import brief_parameters, make_agent
from tests.conformance.test_agents import drive, same_state
from tests.few import AGENTS_OF_EVERY_KIND, few
from tests.refusal import has, refusal
from tests.worlds import environment_stream, random_mdp

REWARD = el.Reward(lambda _state, _action, observation: observation, 0, 1)

OTHERS = [name for name in el.AGENTS if name != "restarting"]
EVERY = few(OTHERS, (*AGENTS_OF_EVERY_KIND, "planner", "learned"))


def wrapped(task: object, agent: str, **chosen: object) -> el.Agent:
    own = {f"agent.{name}": value for name, value in chosen.items()}
    return el.Agent(task, "restarting", parameters={**brief_parameters(agent), "agent.of": agent, **own})


@pytest.mark.parametrize("agent", EVERY)
def test_it_is_the_other_agent_until_it_restarts(agent):
    task = random_mdp(3, states=3, actions=2)
    one, other = make_agent(task, agent), wrapped(task, agent)
    assert drive(one, 150) == drive(other, 150)
    for name, array in arrays(one.knowledge).items():
        assert np.array_equal(array, getattr(other.knowledge, name))
    assert np.array_equal(one.policy, other.policy)
    assert (one.values is None) == (other.values is None)
    shown = other.inspect()
    assert shown.pop("restarts").tolist() == [0.0]
    assert shown.keys() == one.inspect().keys()


@pytest.mark.parametrize("agent", EVERY)
def test_afterwards_it_is_a_new_one(agent):
    # Literally: at each restart copy the arrays of an unused agent, and count the steps from there.
    task, every = random_mdp(3, states=3, actions=2), 35
    other, literal, unused = wrapped(task, agent, every=every), make_agent(task, agent), make_agent(task, agent)
    design, began = literal.design, [0]

    def shifted(function):
        return lambda known, given, now, stream: function(known, given, now._replace(t=now.t - began[0]), stream)

    literal.use(SimpleNamespace(act=shifted(design.act), learn=shifted(design.learn)))
    environments = [each.task.start(environment_stream(2)) for each in (literal, other)]
    for t in range(1, 101):
        action = literal.act()
        assert other.act() == action
        assert literal.observe(environments[0].step(action)) == other.observe(environments[1].step(action))
        if t % every == 0:
            began[0] = t
            assert not other.knowledge.record.any()
            for name, array in arrays(literal.knowledge).items():
                array[...] = getattr(unused.knowledge, name)
        for name, array in arrays(literal.knowledge).items():
            assert np.array_equal(array, getattr(other.knowledge, name))
    assert other.inspect()["restarts"].tolist() == [2.0]


@pytest.mark.parametrize("agent", few(OTHERS, ["growing-horizon"]))
def test_both_engines_restart_alike(agent):
    chosen = {**brief_parameters(agent), "agent.of": agent, "agent.every": 30}
    known = []
    results = [
        el.run(
            "riverswim",
            "restarting",
            steps=100,
            runs=2,
            seed=4,
            parameters=chosen,
            engine=engine,
            finished=known.append,
        )
        for engine in ("compiled", "reference")
    ]
    assert np.array_equal(results[0].total_reward, results[1].total_reward)
    for name, array in arrays(known[0].knowledge).items():
        assert np.array_equal(array, getattr(known[1].knowledge, name))


def test_it_resumes_where_it_was():
    one, other = (wrapped("riverswim", "q-learning", every=50) for _ in range(2))
    drive(one, 70)
    other.from_bytes(one.to_bytes())
    assert drive(one, 60, seed=9) == drive(other, 60, seed=9)
    assert same_state(one, other)
    assert other.knowledge.restarts.tolist() == [100, 2]


def test_no_agent_has_a_parameter_of_its_name():
    taken = {"of", "every", "alarm"}
    assert all(taken.isdisjoint(parameters(locate(name, el.AGENTS, "agent"))) for name in OTHERS)
    assert all(set(OWN).isdisjoint(make_agent("riverswim", name).knowledge._fields) for name in OTHERS)


def test_parameters_and_the_schedule_are_those_of_the_other():
    chosen = {"agent.of": "q-learning", "agent.step_size": 0.3, "agent.alarm": 2}
    agent = el.Agent("riverswim", "restarting", parameters=chosen)
    assert agent.knowledge.step_size == 0.3
    assert agent.design.parameters["step_size"] == 0.3
    assert agent.design.parameters["of"] == "q-learning"
    given = {"schedule.forgetting": 0.1}
    one = el.Agent("riverswim", "restarting", parameters=given)
    other = el.Agent("riverswim", el.restarting(parameters=given, schedule="practical"))
    assert one.design.schedule.forgetting == other.design.schedule.forgetting == 0.1
    assert el.Agent("riverswim", "restarting", schedule="smooth").design.schedule.name == "smooth"
    assert takes_schedule("restarting")
    assert not takes_schedule("restarting", {"of": "tsde"})
    assert takes_schedule("restarting", {"of": make_design("growing-horizon")})


def test_what_it_is_made_from_is_named_or_a_design():
    with pytest.raises(UnknownName, check=refusal("agent.of", "os:system")):
        el.Agent("riverswim", "restarting", parameters={"agent.of": "os:system"})
    with pytest.raises(InputError, check=refusal("agent.of", "restarting")):
        el.restarting(el.restarting("tsde"))
    with pytest.raises(InputError, check=refusal("schedule", "smooth")):
        el.restarting("tsde", schedule="smooth")
    with pytest.raises(InputError, check=refusal("parameters", "window")):
        el.restarting("tsde", parameters={"task.window": 3})


class Visits(NamedTuple):
    n: np.ndarray
    size: int

    @property
    def share(self):
        return self.n[:, None] / max(self.n.sum(), 1)


def count(knowledge, experience, now, stream):
    knowledge.n[experience.aleatoric_state] += 1


def overflow(knowledge, experience, now, stream):
    knowledge.n[knowledge.size if now.t > 60 else 0] += 1


def own_design(learn=count, **others):
    def build(task):
        return Visits(np.zeros(task.states), task.states)

    return el.Design(build, lambda known, s, now, stream: el.choose(stream, 2), learn, **others)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_a_users_own_agent_stays_checked(engine):
    good = el.restarting(own_design(), every=40)
    assert good.own
    result = el.run("riverswim", good, steps=100, runs=2, seed=3, engine=engine)
    assert np.array_equal(
        result.total_reward, el.run("riverswim", own_design(), steps=100, runs=2, seed=3).total_reward
    )
    with pytest.raises(EverlearnError, check=has(function="agent 'restarting': learn")):
        el.run("riverswim", el.restarting(own_design(overflow)), steps=100, engine=engine)


def test_methods_of_a_users_knowledge_stay():
    design = own_design(inspect=lambda known, now: {"share": known.share})
    agent = el.Agent("riverswim", el.restarting(design))
    drive(agent, 20)
    assert agent.inspect()["share"].sum() == 1


def test_fields_of_the_same_name_are_refused():
    class Record(NamedTuple):
        record: np.ndarray

    design = el.Design(lambda task: Record(np.zeros(1)), lambda *_: 0, lambda *_: None)
    with pytest.raises(InputError, check=refusal("agent.of", "agent")):
        el.Agent("riverswim", el.restarting(design))


def test_classes_are_found_by_their_names():
    kind = class_for(type(make_agent("riverswim", "q-learning").knowledge))
    assert getattr(restarting, kind.__name__) is kind
    assert not hasattr(restarting, "missing")


def test_it_restarts_when_rewards_fall():
    # A machine that pays for one action, and after 3,000 steps for the other.
    def rho(memory, action):
        good = action == ("left" if memory < 3_000 else "right")
        yield 1, 0.8 if good else 0.2, min(memory + 1, 6_000)
        yield 0, 0.2 if good else 0.8, min(memory + 1, 6_000)

    model = el.Model(("left", "right"), (0, 1), 0, rho)
    task = el.Task(model.actions, model.observations, el.AleatoricState(0, lambda *_: 0), REWARD, model)
    agents = []
    for design in ("tsde", el.restarting("tsde")):
        el.run(task, design, steps=4_000, engine="reference", seed=2, finished=agents.append)
    one, other = agents
    assert other.knowledge.restarts[1] == 1
    assert 3_000 < other.knowledge.restarts[0] <= 3_300
    assert one.policy[0].tolist() == [1, 0]
    assert other.policy[0].tolist() == [0, 1]
