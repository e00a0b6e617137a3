"""Every task and every agent that has a name, each ready to be put under a law.

The tests are parametrised over the registries, so that what is registered is tested.  Every task meets the paper's
agent.  Every agent meets one small world, and every world several agents; the soak adds the other pairs.
"""

from __future__ import annotations

from functools import cache
from itertools import product

import pytest

import everlearn as el
from everlearn.tasks.registry import make_task
from tests.few import few
from tests.worlds import random_mdp, shop

WORLDS = {
    **{name: lambda name=name: make_task(name) for name in ("alternating", "riverswim", "service-station")},
    "three states, three actions": lambda: random_mdp(11),
    "one state, one action": lambda: random_mdp(12, states=1, actions=1),
    "a shop": lambda: shop().finish(),
    "large rewards": lambda: random_mdp(13, scale=4e6, low=-1e6),
}


@pytest.fixture(params=el.TASKS, scope="module")
def task_name(request) -> str:
    """The name of a task; the laws of one task are tried one after the other, so that they can share what they need."""
    return request.param


@cache
def made(task_name: str) -> el.Task:
    """A task, which nothing changes, and some of which take half a second to make."""
    return make_task(task_name)


@pytest.fixture
def task(task_name: str) -> el.Task:
    return made(task_name)


@pytest.fixture(params=el.SCHEDULES)
def schedule_name(request) -> str:
    return request.param


@pytest.fixture
def world(request) -> el.Task:
    return WORLDS[request.param]()


MEETINGS = [(agent, [*WORLDS][number % len(WORLDS)]) for number, agent in enumerate(el.AGENTS)]
"""Each agent meets one world, in turn; so a world is met by agents that have little in common."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Let every agent be tested, in a few worlds if the law needs one."""
    if "world" in metafunc.fixturenames:
        metafunc.parametrize(("agent_name", "world"), few(product(el.AGENTS, WORLDS), MEETINGS), indirect=["world"])
    elif "agent_name" in metafunc.fixturenames:
        metafunc.parametrize("agent_name", list(el.AGENTS))
