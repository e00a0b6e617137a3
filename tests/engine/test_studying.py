"""Learning from recorded experiences: compiled and step by step give the same agent, to the last bit."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import everlearn as el
from everlearn.agents.clock import BLOCK
from everlearn.agents.names import AGENTS
from everlearn.engine.studying import Lessons, study
from everlearn.errors import InputError
from everlearn.registry import locate
from tests.conformance.brief import BRIEF
from tests.few import few
from tests.refusal import refusal

QUICK = ("growing-horizon", "q-learning")
"""The agents that every run of the tests compiles; the others take longer."""

OWN = el.Schedule(
    lambda t: 2 + t**0.25, lambda t: 0.1 * t**0.1, lambda t: 0.3 / t, lambda t: 0.0 if t % 400 == 0 else 0.99
)


def lessons(agent: el.Agent, number: int, seed: int = 0) -> Lessons:
    random, indexed = np.random.default_rng(seed), agent.indexed
    states = random.integers(indexed.states, size=number + 1)
    actions, observations = random.integers(indexed.actions, size=number), random.integers(2, size=number)
    return Lessons(states[:-1], actions, observations, random.random(number), states[1:])


def agents(name: str = "growing-horizon", schedule: object = None, **parameters: object) -> list[el.Agent]:
    given = {f"agent.{key}": value for key, value in parameters.items()}
    return [el.Agent("riverswim", name, schedule=schedule, seed=3, parameters=given) for _ in range(2)]


def same(one: el.Agent, other: el.Agent) -> bool:
    return one.to_bytes() == other.to_bytes() and one.act() == other.act() and one.upcoming == other.upcoming


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.soak) for name in AGENTS]
)
def test_both_engines_teach_the_same(name):
    factory = locate(name, AGENTS, "agent")
    names = factory.__code__.co_varnames[: factory.__code__.co_argcount + factory.__code__.co_kwonlyargcount]
    one, other = agents(name, **{key: value for key, value in BRIEF.items() if key in names})
    past = lessons(one, 1000)
    assert study(one, past) == "compiled"
    assert study(other, past, "reference") == "reference"
    assert same(one, other)


@pytest.mark.parametrize("schedule", ["smooth", "change-points", OWN], ids=["smooth", "change-points", "own"])
@pytest.mark.parametrize("number", few([1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 7], [BLOCK, 2 * BLOCK + 7]))
def test_at_the_ends_of_blocks_too(schedule, number):
    one, other = agents(schedule=schedule)
    study(one, lessons(one, number))
    study(other, lessons(one, number), "reference")
    assert same(one, other)


def test_progress_is_reported():
    one, other = agents()
    for agent, engine in ((one, "auto"), (other, "reference")):
        told: list[int] = []
        study(agent, lessons(agent, BLOCK + 5), engine, told.append)
        assert told == [BLOCK, 5]


def test_nothing_to_learn_from():
    one, other = agents()
    study(one, lessons(one, 0))
    assert same(one, other)


def test_a_users_design_is_interpreted_and_an_agent_must_be_new():
    design = el.Agent("riverswim", "growing-horizon").design
    own = el.Design(design.build, design.act, lambda knowledge, experience, now, stream: None, schedule=design.schedule)
    agent = el.Agent("riverswim", own)
    assert study(agent, lessons(agent, 10)) == "reference"
    with pytest.raises(InputError, check=refusal("agent", 10)):
        study(agent, lessons(agent, 10))


def test_without_numba_it_is_interpreted(monkeypatch):
    one, other = agents()
    study(other, lessons(one, 100))
    for module in ("numba.core.errors", "everlearn.engine.compiling", "everlearn.engine.timeline"):
        monkeypatch.setitem(sys.modules, module, None)
    assert study(one, lessons(one, 100)) == "reference"
    assert same(one, other)
