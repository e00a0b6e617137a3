"""Policies over aleatoric states, as people write them."""

from __future__ import annotations

import numpy as np
import pytest

import everlearn as el
from everlearn.agents.policies import policy_table
from everlearn.errors import InputError, LabelError
from everlearn.tasks.service_station import service_station
from tests.refusal import refusal
from tests.worlds import random_mdp


@pytest.mark.parametrize(
    ("given", "table"),
    [
        (None, [[0.5, 0.5], [0.5, 0.5]]),
        ("slow", [[0, 1], [0, 1]]),
        ("0=slow,1=fast", [[0, 1], [1, 0]]),
        ("1=fast", [[0.5, 0.5], [1, 0]]),
        (" 1 = fast:0.25 ", [[0.5, 0.5], [0.25, 0.75]]),
        ("fast:0.25", [[0.25, 0.75], [0.25, 0.75]]),
        ({0: "fast"}, [[1, 0], [0.5, 0.5]]),
        ({"1": "slow:1"}, [[0.5, 0.5], [0, 1]]),
        ([[0.1, 0.9], [1, 0]], [[0.1, 0.9], [1, 0]]),
        (np.array([[0.1, 0.9], [1, 0]]), [[0.1, 0.9], [1, 0]]),
    ],
)
def test_ways_to_write_one(given, table):
    np.testing.assert_allclose(policy_table(service_station(), given), table, atol=1e-15)


def test_the_rest_is_shared_equally():
    assert policy_table(random_mdp(1), "0=1:0.5")[0].tolist() == [0.25, 0.5, 0.25]


@pytest.mark.parametrize("policy", [1, np.int64(1), "1", {0: 1, 1: 1, "2": np.int64(1)}])
def test_actions_that_are_numbers(policy):
    assert policy_table(random_mdp(1), policy).tolist() == [[0, 1, 0]] * 3
    assert el.run(random_mdp(1), "always", parameters={"agent.policy": policy}, steps=5, engine="reference").steps == 5


@pytest.mark.parametrize("policy", ["0=slow,1=slow,0=fast", "0=slow, 0 =slow", {0: "slow", "0": "fast"}])
def test_a_state_that_is_named_twice(policy):
    with pytest.raises(InputError, check=refusal("policy")) as caught:
        policy_table(service_station(), policy)
    assert caught.value.argument == "policy"


def test_labels_that_are_tuples():
    task = el.Task((0,), ("a", "b"), el.window(2), el.Reward(lambda s, a, o: 0.0))
    assert policy_table(task, '["a","b"]=0').tolist() == [[1.0]] * len(task.states)


def test_actions_with_a_colon_in_their_name():
    task = el.mdp([[[1.0]], [[1.0]]], [[0, 1]], actions=["gear:1", "gear:2"])
    assert policy_table(task, "gear:2").tolist() == [[0, 1]]
    assert policy_table(task, "0=gear:2:0.75").tolist() == [[0.25, 0.75]]


@pytest.mark.parametrize(
    ("given", "error", "refused"),
    [
        ("0=slow,fast", InputError, ("policy", "fast")),
        ("quick", LabelError, ("action in the policy", "quick")),
        ("2=slow", LabelError, ("aleatoric state in the policy", "2")),
        ("1=fast:much", InputError, ("policy", "fast:much")),
        ("1=fast:1.5", InputError, ("probability in the policy", 1.5)),
        ("1=fast:nan", InputError, ("probability in the policy",)),
        (
            [[1, 1], [1, 0]],
            InputError,
            ("policy", [[1, 1], [1, 0]]),
        ),
        ([[1, 0]], InputError, ("policy", [[1, 0]])),
        (
            [[2, -1], [1, 0]],
            InputError,
            ("policy", [[2, -1], [1, 0]]),
        ),
        (object, InputError, ("policy", object)),
    ],
)
def test_what_is_refused(given, error, refused):
    with pytest.raises(error, check=refusal(*refused)):
        policy_table(service_station(), given)


def test_a_policy_is_a_function_of_history():
    policy = el.AleatoricPolicy(service_station(), "0=slow,1=fast:0.75")
    assert policy([]).tolist() == [0, 1]
    assert policy([("slow", "arrival")]).tolist() == [0.75, 0.25]
    assert policy([("slow", "arrival"), ("fast", "departure")]).tolist() == [0, 1]
