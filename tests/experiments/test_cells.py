"""A cell is named by everything that determines its result, and by nothing else."""

from __future__ import annotations

import importlib
import linecache
import shutil
import sys
from collections.abc import Callable

import numpy as np
import pytest

import everlearn as el
from everlearn.agents.registry import AGENTS, make_design
from everlearn.agents.schedule import smooth
from everlearn.experiments import cells as module
from everlearn.experiments.cells import Tables
from everlearn.tables import FixedTable, PairTable
from everlearn.tasks.indexed import IndexedTask
from everlearn.tasks.registry import make_task
from tests.experiments.small import RANDOM, SMOOTH, STATION, cells_of, described, world
from tests.worlds import corridor, pendulum, shop

MINE = '''
from functools import partial
from typing import NamedTuple

import numpy as np

import everlearn as el

GUST = 0.9
VALUES = {"left": 0.0, "right": 1.0}
WEIGHTS = (1.0, 2.0)
STEP = 1
TURNS, ORDER = (0, 1), ((0,), (1,))


class Nothing(NamedTuple):
    turn: np.ndarray


def following(turn):
    return turn + STEP


def act(knowledge, aleatoric_state, now, stream):
    """Take turns."""
    return [TURNS[place] for place in range(2)][ORDER[int(knowledge.turn[0]) % 2][0]]


def learn(knowledge, experience, now, stream):
    # forward
    knowledge.turn[0] = following(knowledge.turn[0])


def build(indexed):
    return Nothing(np.zeros(1))


def agent(*, unused: int = 0):
    return el.Design(build, act, learn)


def gusty(p):
    return p


class Frame:
    def start(self, rng):
        self.rng, self.side = rng, 0


class Swing(Frame):
    def step(self, action):
        self.side = 1 - self.side if self.rng.random() < gusty(GUST) else self.side
        return ("left", "right")[self.side]


def valued(s, action, observation):
    return VALUES[observation]


def weighed(s, action, observation):
    return sum(WEIGHTS[place] for place in range(2)) if observation == "right" else 0.0


def scaled(scale, s, action, observation):
    return scale * (observation == "right")


def still(s, action, observation):
    return 0


def swinging(reward):
    alone = el.AleatoricState(0, still, (0,))
    return el.Task(("push", "wait"), ("left", "right"), alone, el.Reward(reward, 0, 9), environment=Swing)


swing, weighed_swing, scaled_swing = swinging(valued), swinging(weighed), swinging(partial(scaled, 1.0))
'''


def name(**changes) -> str:
    """The name of the first cell of a small experiment."""
    return cells_of(described(**{"agent": SMOOTH, **changes}))[0].name


@pytest.fixture
def mine(tmp_path, monkeypatch) -> Callable[..., str]:
    """The name of a cell of what a user keeps in a file, with changes to that file."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def named(*changes: tuple[str, str], **entries) -> str:
        text = MINE
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "kept_by_a_user.py").write_text(text)
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
        sys.modules.pop("kept_by_a_user", None)
        importlib.invalidate_caches()
        linecache.clearcache()
        return name(**entries)

    return named


OWN_AGENT = {"agent": "kept_by_a_user:agent"}
OWN_TASK = {"task": "kept_by_a_user:swing", "agent": RANDOM}

CHANGES = {
    "probabilities": {"task": {**STATION, "parameters": {"window": 2, "arrival_decay": 9}}},
    "rewards": {"task": {**STATION, "parameters": {"window": 2, "revenue": 2}}},
    "scaling of rewards": {"task": {**STATION, "parameters": {"window": 2, "raw": False}}},
    "memory": {"task": {**STATION, "parameters": {"window": 3}}},
    "agent": {"agent": RANDOM},
    "schedule": {"agent": {**SMOOTH, "schedule": "change-points"}},
    "parameter of the schedule": {"agent": {**SMOOTH, "schedule_parameters": {"horizon_scale": 1.6}}},
    "seed": {"seed": 2},
    "recording times": {"recording": {"per_decade": 19}},
    "block of runs": {"runs": 3},
}


@pytest.mark.parametrize("change", CHANGES)
def test_another_cell(change):
    assert name(**CHANGES[change]) != name()


def test_every_change_makes_a_cell_of_its_own():
    assert len({name(**change) for change in CHANGES.values()}) == len(CHANGES)


def test_parameters_of_the_agent():
    agents = [{"name": "always", "parameters": {"policy": policy}} for policy in ("slow", "fast", "0=slow,1=fast")]
    assert len({name(agent=agent) for agent in agents}) == 3


SAME = {
    "steps": {"steps": 5000},
    "label of the agent": {"agent": {**SMOOTH, "label": "ours"}},
    "label of the task": {"task": {**STATION, "label": "shop"}},
    "default spelled out": {"agent": {**SMOOTH, "schedule": "smooth", "schedule_parameters": {"horizon_scale": 1.5}}},
    "name": {"name": "another"},
    "engine": {"engine": "reference"},
    "other agents": {"agent": [SMOOTH, RANDOM]},
    "room for pairs": {"max_pairs": 5000},
}


@pytest.mark.parametrize("change", SAME)
def test_the_same_cell(change):
    assert name(**SAME[change]) == name()


def test_steps_make_another_cell_of_an_agent_that_is_told_them():
    assert name(agent="discounted", steps=300) != name(agent="discounted", steps=301)
    told = {"name": "discounted", "parameters": {"duration": 1000}}
    assert name(agent=told, steps=300) == name(agent=told, steps=301)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("% 2", "% 3"),
        ("following(knowledge.turn[0])", "following(knowledge.turn[0] + 1)"),
        ("return turn + STEP", "return turn - STEP"),
        ("STEP = 1", "STEP = 3"),
        ("TURNS, ORDER = (0, 1)", "TURNS, ORDER = (1, 0)"),
        ("((0,), (1,))\n", "((1,), (0,))\n"),
        ("np.zeros(1)", "np.ones(1)"),
        ("unused: int = 0", "unused: int = 1"),
    ],
    ids=[
        "act",
        "learn",
        "callee",
        "constant",
        "constant in a comprehension",
        "tuple of tuples",
        "what it knows",
        "parameter",
    ],
)
def test_an_edited_agent_is_another(mine, old, new):
    assert mine(**OWN_AGENT) != mine((old, new), **OWN_AGENT)


@pytest.mark.parametrize(
    ("old", "new"),
    [("# forward", "# onward, as before"), ('"""Take turns."""', '"""Take turns, for ever."""'), ("% 2", "%  2")],
    ids=["comment", "docstring", "layout"],
)
def test_an_agent_with_other_words_is_the_same(mine, old, new):
    assert mine(**OWN_AGENT) == mine((old, new), **OWN_AGENT)


def closed(value: float) -> el.Schedule:
    return el.Schedule(lambda t: value, lambda t: 0.1, lambda t: 0.0, lambda t: 1.0)


def test_what_a_schedule_closes_over():
    agents = [{**SMOOTH, "schedule": closed(value)} for value in (3.0, 4.0, 3.0)]
    first, second, third = (name(agent=agent) for agent in agents)
    assert first == third != second


def test_a_schedule_that_differs_late():
    def late(t):
        return 3.0 if t < 1000 else 4.0

    def later(t):
        return 3.0 if t < 3000 else 4.0

    others = (lambda t: 0.1, lambda t: 0.0, lambda t: 1.0)
    assert name(agent={**SMOOTH, "schedule": el.Schedule(late, *others)}) != name(
        agent={**SMOOTH, "schedule": el.Schedule(later, *others)}
    )


def test_a_schedule_by_name_and_as_a_thing_are_the_same():
    assert name(agent={**SMOOTH, "schedule": smooth()}) == name()


def test_agents_that_differ_in_a_default_argument_are_apart():
    always = make_design("always")

    def made(action: int) -> el.Design:
        def act(knowledge, aleatoric_state, now, stream, action=action):
            return action

        return el.Design(always.build, act, always.learn, name="stubborn")

    assert name(agent=made(0)) != name(agent=made(1))


@pytest.mark.parametrize("agent", AGENTS)
def test_what_is_hashed_as_text_has_no_array_in_it(agent):
    """NumPy abbreviates the text of a long array, so that agents that differ in its middle would share a cell."""
    knowledge = make_design(agent, duration=100).build(IndexedTask(make_task("riverswim")))
    nested = [value for value in knowledge if isinstance(value, tuple)]
    assert not any(isinstance(part, np.ndarray) for value in nested for part in value)


def test_a_task_as_arrays_is_known_by_them():
    assert name(task=world()) == name(task=world) != name(task=world(instance=1))
    assert name(task=corridor()) == name(task=corridor())


def endless(p: float, late: float = 0.5, *, reward: float = 1.0) -> el.Task:
    """Counts heads for ever; the coin changes when there were many."""

    @el.task(actions=["toss"], observations=["heads", "tails"], memory=0, reward_range=(0, 2))
    def coin(memory, action):
        chance = p if memory < 1000 else late
        yield "heads", chance, memory + 1
        yield "tails", 1 - chance, memory

    coin.reward(lambda s, action, observation: reward * (observation == "heads"))
    return coin.finish()


@pytest.fixture
def unsettled(monkeypatch):
    """Tables are never whole."""
    monkeypatch.setattr(module, "settled_table", lambda task, most: PairTable(task, most, eager=200))


def queue(rate: float = 0.6, outside: str = "c-mu", cost: int = 1) -> el.Task:
    """Two queues without bounds, of which the agent sees up to 60 jobs."""
    network = el.Network((0.3, 0.3), ((1.0, rate + 0.4),), (None, None), (1, cost))
    return el.network_task(network, seen=60, outside=outside)


def test_queues_without_bounds_are_known_by_the_network_and_the_rule_outside():
    """The rule decides only where no pair is expanded beforehand."""
    assert Tables(10**6).of(queue()).expanded < 2000
    assert name(task=queue(), agent=RANDOM) == name(task=queue(), agent=RANDOM)
    others = [queue(rate=0.7), queue(cost=2), queue(outside="max-weight")]
    assert name(task=queue(), agent=RANDOM) not in [name(task=other, agent=RANDOM) for other in others]


@pytest.mark.parametrize(
    "other",
    [endless(0.4), endless(0.3, late=0.6), endless(0.3, reward=2.0)],
    ids=["beginning", "what lies beyond", "reward"],
)
def test_a_task_with_endless_memories_is_known_by_its_beginning_and_its_source(unsettled, other):
    assert name(task=endless(0.3), agent=RANDOM) == name(task=endless(0.3), agent=RANDOM)
    assert name(task=endless(0.3), agent=RANDOM) != name(task=other, agent=RANDOM)


class Coins:
    """Holds what an environment is made with."""

    def __init__(self, p: float) -> None:
        self.p = p

    def rho(self, memory, action):
        yield "heads", self.p if memory > 1000 else 0.5, memory + 1
        yield "tails", 1 - self.p if memory > 1000 else 0.5, memory


def held_coin(p: float) -> el.Task:
    """Differs late, in what an object holds of which the model is a method."""
    alone = el.AleatoricState(0, lambda s, action, observation: 0, (0,))
    paid = el.Reward(lambda s, action, observation: float(observation == "heads"))
    model = el.Model(("toss",), ("heads", "tails"), 0, Coins(p).rho)
    return el.Task(model.actions, model.observations, alone, paid, model)


def test_what_an_object_holds_tells_tasks_apart(unsettled):
    one, same, other = (name(task=held_coin(p), agent=RANDOM) for p in (0.3, 0.3, 0.4))
    assert one == same != other


def test_a_task_without_a_model_is_known_by_its_source():
    assert name(task=pendulum(), agent=RANDOM) == name(task=pendulum(), agent=RANDOM)
    assert name(task=pendulum(), agent=RANDOM) != name(task=shop(), agent=RANDOM)


def test_an_environment_whose_class_was_edited_is_another(mine):
    assert mine(**OWN_TASK) != mine(('("left", "right")[self.side]', '("right", "left")[self.side]'), **OWN_TASK)


@pytest.mark.parametrize(
    ("task", "old", "new"),
    [
        ("swing", "GUST = 0.9", "GUST = 0.5"),
        ("swing", "return p\n", "return p / 2\n"),
        ("swing", "rng, 0", "rng, 1"),
        ("swing", '"right": 1.0', '"right": 2.0'),
        ("weighed_swing", "(1.0, 2.0)", "(1.0, 3.0)"),
        ("scaled_swing", "partial(scaled, 1.0)", "partial(scaled, 2.0)"),
    ],
    ids=["constant", "callee", "base class", "mapping", "generator", "partial"],
)
def test_an_environment_that_rests_on_something_edited_is_another(mine, task, old, new):
    entries = {"task": f"kept_by_a_user:{task}", "agent": RANDOM}
    assert mine(**entries) != mine((old, new), **entries)


def test_blocks_of_runs(monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 3)
    found = cells_of(described(runs=7, agent=[SMOOTH, RANDOM]))
    assert [(one.runs.start, one.runs.stop) for one in found] == [(0, 3), (3, 6), (6, 7)] * 2
    assert len({one.name for one in found}) == 6


def test_more_runs_keep_whole_blocks(monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 2)
    few, many = ([one.name for one in cells_of(described(runs=runs, agent=SMOOTH))] for runs in (4, 7))
    assert many[:2] == few
    assert len(many) == 4


def test_an_agent_that_knows_much_has_fewer_runs_in_a_cell(monkeypatch):
    monkeypatch.setattr(module, "MEMORY", 1)
    assert [len(one.runs) for one in cells_of(described(agent=SMOOTH))] == [1, 1, 1, 1]


def test_the_same_agent_under_two_labels_is_one_cell():
    one, other = cells_of(described(agent=[SMOOTH, {**SMOOTH, "label": "again"}]))
    assert one.name == other.name


def test_tables_of_tasks():
    tables = Tables(1000)
    task = world()
    assert isinstance(tables.of(task), FixedTable)
    assert tables.of(task) is tables.of(task)
    assert tables.of(pendulum().finish()) is None
    assert tables.identity(task) == Tables(5).identity(world())
