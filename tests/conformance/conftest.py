"""Every task and every agent that has a name, each ready to be put under a law.

The fixtures are parametrised over the registries, so that what is registered is tested.  Every task meets the paper's
agent, and every agent a few small worlds; all agents in all tasks is what the soak adds.
"""

from __future__ import annotations

from functools import cache

import pytest

import everlearn as el
from everlearn.tasks.registry import make_task
from tests.worlds import random_mdp, shop

WORLDS = {
    **{name: lambda name=name: make_task(name) for name in ("alternating", "riverswim", "service-station")},
    "three states, three actions": lambda: random_mdp(11),
    "one state, one action": lambda: random_mdp(12, states=1, actions=1),
    "a shop": lambda: shop().finish(),
    "large rewards": lambda: random_mdp(13, scale=4e6, low=-1e6),
}


@pytest.fixture(params=el.TASKS)
def task_name(request) -> str:
    return request.param


@cache
def made(task_name: str) -> el.Task:
    """A task, which nothing changes, and some of which take half a second to make."""
    return make_task(task_name)


@pytest.fixture
def task(task_name: str) -> el.Task:
    return made(task_name)


@pytest.fixture(params=el.AGENTS)
def agent_name(request) -> str:
    return request.param


@pytest.fixture(params=el.SCHEDULES)
def schedule_name(request) -> str:
    return request.param


@pytest.fixture(params=WORLDS)
def world(request) -> el.Task:
    return WORLDS[request.param]()
