"""What a client takes, and what it refuses before anything waits to be sent."""

from __future__ import annotations

import logging
import math

import numpy as np
import pytest

import everlearn as el
from everlearn.client import Client, ServiceError
from everlearn.client.fallback import FunctionPolicy
from everlearn.errors import InputError
from tests.refusal import has, refusal

NOBODY = "http://127.0.0.1:9"
SETUP = {"actions": ["a", "b"], "observations": ["x", 1], "reward_range": [0, 1]}
WRONG = [
    ("reward", math.nan),
    ("reward", math.inf),
    ("reward", 10**400),
    ("reward", True),
    ("reward", "0.5"),
    ("duration", {1}),
    ("cost", b"1"),
    ("observation", {"x"}),
    ("observation", b"x"),
    ("observation", True),
    ("observation", None),
    ("observation", [1.0, math.nan]),
    ("executed", b"a"),
    ("executed", 0.5),
    ("state", {1}),
]


@pytest.fixture
def client(service, request):
    name = "".join(letter if letter.isalnum() else "_" for letter in request.node.name.lower())[-50:].strip("_")
    with Client(service.url, name, deadline=60, fallback="a") as made:
        made.create(SETUP)
        yield made


def observe(client: Client, method: str = "observe", **values: object) -> object:
    given = {"observation": "x", "reward": 0.5, **values}
    return getattr(client, method)(given.pop("observation"), **given)


@pytest.mark.parametrize("method", ["observe", "step"])
def test_what_cannot_be_sent_is_refused_and_does_not_wait(client, method):
    action = client.act()
    for argument, value in WRONG:
        with pytest.raises(InputError, check=refusal(argument)):
            observe(client, method, **{argument: value})
        assert (client.waiting, client.lost, client.act()) == (0, 0, action)
    observe(client, method)
    assert client.inspect()["step"] == 1


def test_numbers_and_labels_of_numpy_are_converted(client):
    client.act()
    assert observe(client, observation=np.int64(1), reward=np.float32(0.5), executed=np.str_("b")) == 0.5
    client.act(allowed=np.array(["a"]))
    assert observe(client, observation=np.str_("x"), reward=np.int64(1)) == 1.0
    assert client.inspect()["step"] == 2


def test_points_of_a_box_may_be_arrays(service):
    with Client(service.url, "boxed", deadline=60) as client:
        client.create({**SETUP, "observations": el.Box(low=[0, 0], high=[1, 1]), "seed": np.int64(3)})
        for point in (np.array([0.5, 0.25], dtype=np.float32), (np.float32(0.5), 1), [0, 1]):
            client.act()
            assert observe(client, observation=point) == 0.5


def test_the_allowed_actions_are_a_list(client):
    for wrong in ("a", {"a": 1}, 5, [True], []):
        with pytest.raises(InputError, check=refusal("allowed")):
            client.act(allowed=wrong)
        with pytest.raises(InputError, check=refusal("allowed")):
            client.step("x", executed="a", reward=0.5, allowed=wrong)
    assert client.act(allowed={"b"}) == "b"


@pytest.mark.parametrize("mistake", [{"observation": "unheard"}, {"executed": "unknown"}, {"reward": 5.0}])
def test_a_mistake_of_an_outage_is_reported_and_later_calls_succeed(client, caplog, mistake, monkeypatch):
    client.act()
    connected = client._connection
    monkeypatch.setattr(client, "_connection", Client(NOBODY, "a", deadline=0.05)._connection)
    client.deadline = 0.05
    assert observe(client, **mistake) is None
    assert client.act() == "a"
    assert observe(client) is None
    client.deadline = 60
    monkeypatch.setattr(client, "_connection", connected)
    with caplog.at_level(logging.WARNING, "everlearn.client"):
        assert client.act() in ("a", "b")
    assert (client.waiting, client.lost, client.inspect()["step"]) == (0, 1, 1)
    assert client.refused.status == 422
    assert str(client.refused) in caplog.text


def test_a_mistake_of_an_outage_does_not_take_the_next_observation_with_it(client, monkeypatch):
    client.act()
    connected = client._connection
    monkeypatch.setattr(client, "_connection", Client(NOBODY, "a", deadline=0.05)._connection)
    client.deadline = 0.05
    assert observe(client, observation="unheard") is None
    client.deadline = 60
    monkeypatch.setattr(client, "_connection", connected)
    assert observe(client, executed="b") == 0.5
    assert (client.waiting, client.lost, client.inspect()["step"]) == (0, 1, 1)


@pytest.mark.parametrize(
    ("argument", "given"),
    [
        ("url", {"url": None}),
        ("url", {"url": 5}),
        ("url", {"url": b"http://127.0.0.1:9"}),
        ("agent", {"agent": None}),
        ("agent", {"agent": 5}),
        ("deadline", {"deadline": "1"}),
        ("deadline", {"deadline": None}),
        ("deadline", {"deadline": True}),
        ("token", {"token": 5}),
        ("backlog", {"backlog": "5"}),
        ("fallback", {"fallback": 0.5}),
        ("fallback", {"fallback": {"actions": [5]}}),
    ],
)
def test_wrong_arguments_of_a_client(argument, given):
    with pytest.raises(InputError, check=refusal(argument)):
        Client(**{"url": NOBODY, "agent": "p", **given})


def test_wrong_arguments_of_requests():
    client = Client(NOBODY, "p", deadline=0.05, fallback="zzz")
    for argument, call in {
        "to": lambda: client.move(None),
        "setup": lambda: client.create(None),
        "setup.reward": lambda: client.create({"reward": lambda s, a, o: 0}),
        "setup.seed": lambda: client.create({"seed": math.nan}),
        "setup.allowed": lambda: client.create({"allowed": {("x", 1): ["a"]}}),
        "fallback": lambda: client.create(SETUP),
        "rule.gain": lambda: client._request("PUT", "/", {"rule": {"gain": math.inf}}),
    }.items():
        with pytest.raises(InputError, check=refusal(argument)):
            call()


def test_the_fallback_is_among_the_actions(service):
    table = {"actions": [{"state": "x", "action": "zzz"}]}
    for fallback in ("zzz", table):
        with Client(service.url, "fallen", deadline=60, fallback=fallback) as client:
            with pytest.raises(InputError, check=refusal("fallback", "zzz")):
                client.create(SETUP)
            assert "fallen" not in client.names()


def test_the_action_of_a_function_is_converted():
    assert type(FunctionPolicy(lambda _s, _o: np.int64(3)).choose(None, None, None)) is int
    with pytest.raises(InputError, check=refusal("fallback")):
        FunctionPolicy(lambda _s, _o: None).choose(None, None, None)


def test_it_explains_what_the_agent_has_learned(client):
    assert client.explain() == client.inspect()["explanation"]
    assert "It acts by" in client.explain()


def test_a_snapshot_that_is_missing_is_refused(client):
    client.act()
    client.observe("x", reward=0.5)
    state = client.export_state()
    client.import_state(state)
    for step in (7, 99):
        with pytest.raises(ServiceError, check=has(status=404)):
            client.rollback(step)


def test_a_truth_value_is_no_late_reward_either(client, tmp_path):
    with el.live(tmp_path, **{**SETUP, "reward_delay": 5}) as agent:
        agent.act()
        agent.observe("x")
        with pytest.raises(InputError, check=refusal("reward")):
            agent.reward(1, np.True_)
