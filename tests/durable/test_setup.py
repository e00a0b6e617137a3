"""A setup is a document: what it may say, and what is refused with a word of what is wrong."""

from __future__ import annotations

import json
import math
import sqlite3
from inspect import signature

import pytest

import everlearn as el
from everlearn.durable.changes import reopen
from everlearn.durable.core import Core
from everlearn.durable.setup import KEYS, Setup, make_setup
from everlearn.errors import InputError
from everlearn.service.models import SetupIn
from everlearn.windows import LONGEST_WINDOW, Window
from tests.refusal import refusal

BASE = {"actions": ["a", "b"], "observations": ["x", "y"], "reward_range": [0, 1]}
SMALL = {
    "s": {"a": {"x": "s", "y": "t"}, "b": {"x": "t", "y": "s"}},
    "t": {"a": {"x": "s", "y": "s"}, "b": {"x": "t", "y": "t"}},
}


@pytest.mark.parametrize(
    ("more", "states"),
    [
        ({}, ("start", "x", "y")),
        ({"aleatoric": "last", "start": "x"}, ("x", "y")),
        ({"aleatoric": "window:1"}, ((), ("x",), ("y",))),
        ({"aleatoric": "given", "states": [1, [2, "z"]]}, (1, (2, "z"))),
        ({"aleatoric": SMALL}, ("s", "t")),
        ({"aleatoric": SMALL, "start": "t"}, ("s", "t")),
    ],
)
def test_ways_to_keep_the_past(more, states):
    made = make_setup(**BASE, **more)
    assert made.task.states == states
    again = Setup(json.loads(made.encoded()))
    assert (again.document, again.task.states) == (made.document, states)
    assert made.is_declared


def test_every_key_can_be_given_in_python_and_over_http():
    arguments = [name for name in signature(el.live).parameters if name not in ("directory", "accept_changes")]
    assert sorted(arguments) == sorted(SetupIn.model_fields) == sorted(KEYS)


def test_a_table_is_what_it_says():
    task = make_setup(**BASE, aleatoric=SMALL, reward={s: {a: {"x": 0.25, "y": 1} for a in "ab"} for s in "st"}).task
    for s, rows in SMALL.items():
        for a, row in rows.items():
            for o, following in row.items():
                assert task.aleatoric.update(s, a, o) == following
                assert task.reward(s, a, o) == (0.25 if o == "x" else 1.0)


@pytest.mark.parametrize(
    ("more", "refused"),
    [
        ({"actions": None}, ("actions", None)),
        ({"actions": "ab"}, ("actions", "ab")),
        ({"actions": ["a", "a"]}, ("actions", "a")),
        ({"actions": [0.5]}, ("actions", 0.5)),
        ({"reward_range": [1, 0]}, ("reward_range", [1, 0])),
        ({"reward_range": [0, True]}, ("reward_range", [0, True])),
        ({"reward_range": [0, 10**400]}, ("reward_range", [0, 10**400])),
        ({"reward_range": [-1e308, 1e308]}, ("reward_range", [-1e308, 1e308])),
        ({"retain": 10**30}, ("retain", 10**30)),
        ({"actions": ["a", "\ud800"]}, ("actions", "'\\ud800'")),
        ({"reward_range": 3}, ("reward_range", 3)),
        ({"aleatoric": "window:0"}, ("aleatoric", "window:0")),
        ({"aleatoric": "window:90"}, ("aleatoric", "window:90")),
        ({"aleatoric": "mirror"}, ("aleatoric", "mirror")),
        ({"aleatoric": "given"}, ("states", None)),
        ({"aleatoric": "window:1", "start": "x"}, ("start", "x")),
        ({"aleatoric": [["s", "a", "x"]]}, ("aleatoric", ["s", "a", "x"])),
        ({"aleatoric": [["s", "a", "x", "s"]]}, ("aleatoric", ["s", "a", "y"])),
        ({"aleatoric": {"s": {a: dict.fromkeys("xy", "u") for a in "ab"}}}, ("next state in aleatoric", "u")),
        ({"reward": [["start", "a", "x", "much"]]}, ("reward", ["start", "a", "y"])),
        ({"reward": "mine"}, ("reward", "mine")),
        ({"task": "service-station"}, ("actions", ["a", "b"])),
        ({"agent": "no-such"}, ("agent", "no-such")),
        ({"schedule": "no-such"}, ("schedule", "no-such")),
        ({"parameters": {"agent.none": 1}}, ("parameter", "agent.none")),
        ({"parameters": [1]}, ("parameters", [1])),
        ({"seed": -1}, ("seed", -1)),
        ({"snapshot_every": 0}, ("snapshot_every", 0)),
        ({"retain": 0}, ("retain", 0)),
        ({"drift": {"bath": 3}}, ("drift", {"bath": 3})),
        ({"allowed": {"z": ["a"]}}, ("state in allowed", "z")),
        ({"allowed": {"x": ["z"]}}, ("action in allowed", "z")),
        ({"allowed": {"x": []}}, ("allowed", ["x", []])),
        ({"allowed": [["x", ["a"]], ["x", ["b"]]]}, ("allowed", "x")),
        ({"allowed": 3}, ("allowed", 3)),
        ({"colour": "red"}, ("setup", "colour")),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(more, refused):
    with pytest.raises(InputError, check=refusal(*refused)) as caught:
        Core(make_setup(**{**BASE, **more}))
    assert "\n" not in str(caught.value)


def test_objects_are_marked_in_the_document_and_given_again():
    aleatoric = el.AleatoricState(0, lambda s, a, o: (s + (o == "x")) % 2)
    schedule = el.Schedule(lambda t: 2.0, lambda t: 1.0, lambda t: 0.0, lambda t: 1.0)
    given = {**BASE, "aleatoric": aleatoric, "reward": lambda s, a, o: 0.5, "schedule": schedule}
    made = make_setup(**given)
    assert not made.is_declared
    document = json.loads(made.encoded())
    assert document["aleatoric"] == document["reward"] == document["schedule"] == {"function": True}
    for missing in ("aleatoric", "reward", "schedule"):
        with pytest.raises(InputError, check=refusal(missing, "a function or an object")):
            reopen(made.encoded(), made.face(), {key: value for key, value in given.items() if key != missing})
    with pytest.raises(InputError, check=refusal("agent", "a function or an object")):
        Setup(json.loads(made.encoded()), json.loads(made.face())).agent()
    again = reopen(made.encoded(), made.face(), given)
    assert (again.setup.document, again.changes, again.recorded) == (made.document, [], True)


def test_to_look_no_function_is_needed():
    made = make_setup(**BASE, reward=lambda s, a, o: 0.5, aleatoric="window:2")
    looking = Setup(json.loads(made.encoded()), json.loads(made.face()))
    assert looking.task.states == made.task.states
    assert looking.agent().identity == made.agent().identity
    assert make_setup(**BASE).face() is None


def test_a_task_of_ones_own(tmp_path):
    @el.task(actions=["slow", "fast"], observations=["idle", "busy"], memory=0)
    def shop(memory, action):
        yield "busy", 0.5, 0
        yield "idle", 0.5, 0

    @shop.reward
    def profit(s, action, observation):
        return float(observation == "busy")

    with el.live(tmp_path, task=shop) as agent:
        agent.act()
        assert agent.observe("busy") == 1.0
    with pytest.raises(InputError, check=refusal("task")):
        el.live(tmp_path)
    with el.live(tmp_path, task=shop) as agent:
        assert agent.step == 1


@pytest.mark.parametrize("entry", [math.nan, math.inf, 10**400, 5, -0.5])
def test_a_reward_that_no_agent_could_be_given_is_refused_at_once(entry):
    table = [["x", "a", "x", entry]]
    with pytest.raises(InputError, check=refusal("reward of ('x', 'a', 'x')")):
        make_setup(actions=["a"], observations=["x"], start="x", reward_range=(0, 1), reward=table)
    Setup({"actions": ["a"], "observations": ["x"], "start": "x", "reward_range": (0, 1), "reward": table})


def test_zeros_before_the_length_of_a_window_count_for_nothing():
    for text, length in (("window:0000000003", 3), ("window:000", 0), ("window:30", 30)):
        assert Window.read(text) == Window(length, False)
    assert Window.read("window:" + "9" * 30).length > LONGEST_WINDOW


@pytest.mark.parametrize(
    ("key", "text", "number"),
    [
        ("seed", "7", 7),
        ("snapshot_every", "1e3", 1000),
        ("retain", "5", 5),
        ("reward_delay", "5", 5),
        ("drift", {"batch": "5", "rarity": "1e3"}, {"batch": 5, "rarity": 1000}),
    ],
)
def test_numbers_that_are_written_as_text_are_stored_as_numbers(tmp_path, key, text, number):
    declared = {"actions": ["a", "b"], "observations": ["x", "y"], "reward_range": (0, 1)}
    el.live(tmp_path, **declared, **{key: text}).close()
    for given in (number, text):
        with el.live(tmp_path, **{key: given}) as agent:
            assert agent.core.setup.document[key] == number
    connection = sqlite3.connect(tmp_path / "everlearn.db")  # as earlier versions stored them
    (stored,) = connection.execute("SELECT setup FROM agents").fetchone()
    connection.close()
    older = {**json.loads(stored), key: text}
    assert reopen(json.dumps(older), None, {key: number}).changes == []


@pytest.mark.parametrize("key", ["seed", "snapshot_every", "retain", "reward_delay"])
@pytest.mark.parametrize("value", ["", "x", True, -1, 0.5])
def test_what_is_no_whole_number_is_refused(tmp_path, key, value):
    declared = {"actions": ["a", "b"], "observations": ["x", "y"], "reward_range": (0, 1)}
    with pytest.raises(InputError, check=refusal(key)):
        el.live(tmp_path, **declared, **{key: value})
