"""Tasks from arrays, dense and sparse."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array

import everlearn as el
from everlearn.errors import InputError, LabelError, ProbabilityError, RewardError, TaskError
from everlearn.tables import make_table
from everlearn.theory.pairs import tabulate
from tests.refusal import refusal
from tests.worlds import environment_stream

STAY, GO = [[1, 0], [0, 1]], [[0, 1], [1, 0]]
R = [[0, 0], [1, 0.5]]


@settings(max_examples=30)
@given(seed=st.integers(0, 1000), states=st.integers(1, 5), actions=st.integers(1, 4), by_next=st.booleans())
def test_outcomes_and_rewards_are_those_of_the_arrays(seed, states, actions, by_next):
    random = np.random.default_rng(seed)
    P = random.dirichlet(np.ones(states), size=(actions, states))
    rewards = random.random((states, actions, states) if by_next else (states, actions))
    task = el.mdp(P, rewards)
    for s in range(states):
        for a in range(actions):
            found = {o.observation: o.probability for o in task.model.outcomes(s, a)}
            assert found == {n: P[a, s, n] for n in range(states)}
            assert all(task.reward(s, a, n) == (rewards[s, a, n] if by_next else rewards[s, a]) for n in range(states))
            assert all(o.memory == o.observation for o in task.model.outcomes(s, a))


def test_sparse_and_dense_are_the_same():
    dense = el.mdp(np.array([STAY, GO], dtype=float), R)
    sparse = el.mdp([csr_array(STAY), coo_array(GO)], R)
    assert all(dense.model.outcomes(s, a) == sparse.model.outcomes(s, a) for s in (0, 1) for a in (0, 1))


def test_what_was_given_is_left_as_it_was():
    data, indices, indptr = np.array([0.0, 0.5, 0.5, 1.0]), np.array([1, 0, 0, 1]), np.array([0, 3, 4])
    matrix = csr_array((data, indices, indptr), shape=(2, 2))  # an explicit zero, and an entry in two parts
    el.mdp([matrix], [[0], [1]])
    assert matrix.indptr.tolist() == [0, 3, 4]
    assert matrix.data.tolist() == [0.0, 0.5, 0.5, 1.0]
    assert matrix.toarray().tolist() == [[1, 0], [0, 1]]


def test_later_changes_of_what_was_given_do_not_matter():
    P, rewards = np.array([STAY, GO], dtype=float), np.array(R, dtype=float)
    matrices = [csr_array(P[0]), csr_array(P[1])]
    dense, sparse = el.mdp(P, rewards, reward_range=(0, 1)), el.mdp(matrices, rewards, reward_range=(0, 1))
    P[:], rewards[:] = 0.5, 0.75
    matrices[0].data[:] = 7
    for task in (dense, sparse):
        assert task.model.outcomes(0, 0)[0].probability == 1.0
        assert task.reward(1, 0, 1) == 1.0


def test_labels_start_and_range():
    task = el.mdp(
        [STAY, GO], R, actions=["stay", "go"], start=1, reward_range=(-1, 3), raw=True, name="two", source="me"
    )
    assert task.actions == ("stay", "go")
    assert task.states == task.observations == (0, 1)
    assert task.aleatoric.start == task.model.memory == 1
    assert (task.reward.low, task.reward.high, task.reward.raw) == (-1, 3, True)
    assert (task.name, task.source) == ("two", "me")
    assert task.start(environment_stream()).step("go") == 0


def test_the_range_is_that_of_the_rewards_unless_given():
    assert (el.mdp([STAY, GO], R).reward.low, el.mdp([STAY, GO], R).reward.high) == (0, 1)
    constant = el.mdp([STAY], [[2], [2]])
    assert (constant.reward.low, constant.reward.high) == (2, 3)


BAD_RANGE = r"outside its range, 0 to 0\.25; widen reward_range"


def test_a_reward_outside_a_given_range_is_refused_when_it_happens():
    with pytest.raises(RewardError, check=refusal("reward of (1, 0, 1)", 1.0)):
        el.run(el.mdp([STAY, GO], R, start=1, reward_range=(0, 0.25)), steps=20, engine="reference")


@pytest.mark.parametrize(
    ("make", "error", "refused"),
    [
        (lambda: el.mdp([], R), InputError, ("P", [])),
        (lambda: el.mdp(["ab"], R), InputError, ("P[0]", "ab")),
        (lambda: el.mdp([STAY, [[1, 0, 0]]], R), InputError, ("shape of P[1]", (1, 3))),
        (lambda: el.mdp([[1, 0]], R), InputError, ("shape of P[0]", (2,))),
        (lambda: el.mdp([STAY, [[0, 1], [2, -1]]], R), ProbabilityError, ("P[1]", 2.0)),
        (
            lambda: el.mdp([[[float("nan"), 1], [0, 1]]], [[0], [0]]),
            ProbabilityError,
            ("P[0]",),
        ),
        (lambda: el.mdp([STAY, [[0, 1], [0.5, 0.25]]], R), ProbabilityError, ("sum of P[1][1]", 0.75)),
        (
            lambda: el.mdp([STAY, GO], [[0, 1]]),
            InputError,
            ("shape of R", (1, 2)),
        ),
        (
            lambda: el.mdp([STAY, GO], [csr_array(STAY)]),
            InputError,
            ("shapes of R", [(2, 2)]),
        ),
        (
            lambda: el.mdp([STAY, GO], [csr_array([[np.nan, 0], [0, 0]])] * 2),
            RewardError,
            ("R",),
        ),
        (
            lambda: el.mdp([STAY, GO], R, aggregate=["any"]),
            InputError,
            ("aggregate", "1 labels"),
        ),
        (
            lambda: el.mdp([[[1, 0], [1, 0]]], [[0], [1]], aggregate=["any", "any"]),
            RewardError,
            ("reward of ('any', 0, 0)", (0.0, 1.0)),
        ),
        (lambda: el.mdp([STAY, GO], [[0, 1], [float("inf"), 0]]), RewardError, ("R",)),
        (lambda: el.mdp([STAY, GO], R, start=2), InputError, ("start", 2)),
        (lambda: el.mdp([STAY, GO], R, start=-1), InputError, ("start", -1)),
        (
            lambda: el.mdp([STAY, GO], R, actions=["stay"]),
            InputError,
            ("actions", ("stay",)),
        ),
        (
            lambda: el.mdp([STAY, GO], R, actions=["go", "go"]),
            LabelError,
            ("actions", "go"),
        ),
        (
            lambda: el.mdp([STAY, GO], R, reward_range=(1, 0)),
            InputError,
            ("reward_range", (1, 0)),
        ),
    ],
)
def test_what_is_refused(make, error, refused):
    with pytest.raises(error, check=refusal(*refused)):
        make()


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: el.mdp(5, R), "P"),
        (lambda: el.mdp([STAY, GO], [[0, 1], [1]]), "R"),
        (lambda: el.mdp([STAY, GO], [["a", "b"], ["c", "d"]]), "R"),
        (lambda: el.mdp([STAY, GO], R, reward_range=(1,)), "reward_range"),
    ],
)
def test_what_is_no_array_is_refused_by_name(make, argument):
    with pytest.raises(InputError, check=refusal(argument)):
        make()


@settings(max_examples=30)
@given(seed=st.integers(0, 1000), states=st.integers(1, 5), actions=st.integers(1, 3))
def test_rewards_may_be_sparse(seed, states, actions):
    random = np.random.default_rng(seed)
    P = random.dirichlet(np.ones(states), size=(actions, states)) * (random.random((actions, states, states)) < 0.6)
    P[:, :, 0] += 1 - P.sum(axis=2)
    rewards = random.random((states, actions, states)) * (random.random((states, actions, states)) < 0.5)
    dense = el.mdp(P, rewards, reward_range=(0, 1))
    sparse = el.mdp(P, [csr_array(rewards[:, a]) for a in range(actions)], reward_range=(0, 1))
    assert make_table(dense).digest() == make_table(sparse).digest()
    steps = [(s, a, n) for s in range(states) for a in range(actions) for n in range(states)]
    assert all(dense.reward(*step) == sparse.reward(*step) == rewards[step] for step in steps)


def aggregated(seed: int, states: int = 6, classes: int = 3) -> el.Task:
    """Return random arrays seen through classes, with rewards that the class, the action and the next state tell."""
    random = np.random.default_rng(seed)
    P = random.dirichlet(np.ones(states), size=(2, states)) * (random.random((2, states, states)) < 0.7)
    P[:, :, 0] += 1 - P.sum(axis=2)
    labels = [f"class {number}" for number in random.integers(0, classes, states)]
    by_class = {label: random.random((2, states)) for label in labels}
    rewards = np.array([by_class[label] for label in labels])
    return el.mdp(P, rewards, aggregate=labels, reward_range=(0, 1))


@settings(max_examples=20)
@given(seed=st.integers(0, 1000))
def test_an_aggregation_tabulated_at_once_is_the_one_expanded_pair_by_pair(seed):
    task = aggregated(seed)
    at_once, expanded = tabulate(task), tabulate(replace(task, arrays=None))
    place = {label: number for number, label in enumerate(expanded.labels)}
    order = [place[label] for label in at_once.labels]
    assert sorted(order) == list(range(at_once.size))
    for action in range(2):
        other = expanded.transitions[action].toarray()[np.ix_(order, order)]
        np.testing.assert_array_equal(at_once.transitions[action].toarray(), other)
        np.testing.assert_allclose(at_once.rewards[action], expanded.rewards[action][order], rtol=1e-14)
    assert at_once.labels[at_once.start] == expanded.labels[expanded.start]


@pytest.mark.soak
def test_an_aggregation_runs_the_same_in_both_engines():
    task = aggregated(3)
    runs = [
        el.run(task, steps=2_000, runs=2, seed=1, engine=engine).total_reward for engine in ("compiled", "reference")
    ]
    np.testing.assert_array_equal(*runs)


def test_what_an_aggregated_state_cannot_lead_to_has_no_reward():
    task = el.mdp([[[0, 1, 0], [0, 0, 1], [1, 0, 0]]], [[0], [0], [1]], aggregate=["low", "low", "high"])
    assert task.reward("low", 0, 2) == 0.0
    with pytest.raises(TaskError, check=refusal("aleatoric state, action and next state, by number", (1, 0, 2))):
        task.reward("high", 0, 2)


def test_a_constant_reward_however_large():
    assert el.mdp([[[1.0]]], [[1e17]]).reward.high > 1e17
    assert el.mdp([[[1.0]]], [[5.0]]).reward.high == 6.0
