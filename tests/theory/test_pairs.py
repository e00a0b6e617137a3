"""The pairs of a task are its Markov decision process."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import everlearn as el
from everlearn.environments.model import Model
from everlearn.errors import EverlearnError, TableFull
from everlearn.tables import PairTable, make_table
from everlearn.tasks.catch import catch
from everlearn.tasks.service_station import service_station
from everlearn.tasks.tiger import tiger
from everlearn.theory.pairs import has_more_memories, tabulate
from tests.chains import arrows, reachable
from tests.refusal import has, refusal
from tests.theory.dense import coarse, matrices, random_coarse, random_policy, station, under
from tests.worlds import corridor, pendulum, random_mdp, shop

TASKS = {"shop": lambda: shop().finish(), "coarse": lambda: random_coarse(3), "station": lambda: service_station(cap=3)}


@pytest.mark.parametrize("name", TASKS)
def test_the_pairs_are_those_that_a_search_of_the_model_finds(name):
    task = TASKS[name]()
    pairs, found = tabulate(task), reachable(task)
    assert set(pairs.labels) == set(found)
    assert pairs.size == len(found) == len(pairs.labels)
    assert pairs.labels[pairs.start] == (task.model.memory, task.aleatoric.start)
    assert [task.states[state] for state in pairs.states] == [state for _, state in pairs.labels]
    assert pairs.memories == len({memory for memory, _ in found})


@pytest.mark.parametrize("name", TASKS)
def test_probabilities_and_rewards_are_those_of_the_model(name):
    task = TASKS[name]()
    pairs = tabulate(task)
    index = {label: number for number, label in enumerate(pairs.labels)}
    P, r = np.zeros((len(task.actions), pairs.size, pairs.size)), np.zeros(pairs.rewards.shape)
    for label, number in index.items():
        for arrow in arrows(task, label):
            action = task.actions.index(arrow.action)
            P[action, number, index[arrow.following]] += arrow.probability
            r[action, number] += arrow.probability * task.reward(label[1], arrow.action, arrow.observation)
    np.testing.assert_allclose(matrices(pairs), P, atol=1e-15)
    np.testing.assert_allclose(pairs.rewards, r, atol=1e-15)


def test_arrays_come_back_as_they_were_given():
    task = random_mdp(5, states=4, actions=2, scale=3.0, low=-1.0)
    pairs = tabulate(task)
    np.testing.assert_array_equal(matrices(pairs), [matrix.toarray() for matrix in task.arrays.matrices])
    shares = [m.data * r for m, r in zip(task.arrays.matrices, task.arrays.rewards, strict=True)]
    expected = [np.add.reduceat(s, m.indptr[:-1]) for s, m in zip(shares, task.arrays.matrices, strict=True)]
    np.testing.assert_allclose(pairs.rewards, expected, atol=1e-15)


def test_rewards_that_depend_on_what_follows_are_averaged():
    task = el.mdp([[[0.25, 0.75], [1, 0]]], [[[0, 4]], [[2, 100]]])
    np.testing.assert_allclose(tabulate(task).rewards, [[3.0, 2.0]])


def test_states_that_no_policy_reaches_are_left_out():
    P = [[[0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0]]]
    pairs = tabulate(el.mdp(P, [[0.0], [5.0], [1.0], [9.0]], start=0))
    assert pairs.labels == [(0, 0), (2, 2)]
    np.testing.assert_array_equal(matrices(pairs), [[[0, 1], [0, 1]]])
    np.testing.assert_array_equal(pairs.rewards, [[0, 1]])
    assert pairs.policy(np.array([[0.1], [0.2], [0.3], [0.4]])).tolist() == [[0.1], [0.3]]


def test_the_start_is_found_among_those_that_are_kept():
    P = [[[0, 1, 0], [0, 0, 1], [0, 1, 0]]]
    pairs = tabulate(el.mdp(P, [[0.0], [0.0], [1.0]], start=2))
    assert (pairs.labels[pairs.start], pairs.size) == ((2, 2), 2)


def test_one_memory_with_two_aleatoric_states_is_two_pairs():
    task = coarse([[[0, 1, 0], [0, 0, 1], [1, 0, 0]]], np.zeros((2, 1, 3)), [0, 1, 0])
    assert tabulate(task).memories == tabulate(task).size == 3
    assert (tabulate(shop().finish()).memories, tabulate(shop().finish()).size) == (2, 3)


def test_a_policy_mixes_the_rows_of_its_actions():
    pairs = tabulate(random_mdp(1))
    policy = random_policy(2, pairs.size, 3)
    matrix, rewards = pairs.under(policy)
    P, r = under(pairs, policy)
    np.testing.assert_allclose(matrix.toarray(), P, atol=1e-15)
    np.testing.assert_allclose(rewards, r, atol=1e-15)


def test_what_a_policy_never_does_leaves_no_entry():
    pairs = tabulate(el.mdp([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], [[0, 0], [1, 0]]))
    matrix, _ = pairs.under(np.array([[1.0, 0.0], [1.0, 0.0]]))
    assert matrix.nnz == 2


def test_the_station_with_a_cap_of_three_is_small():
    assert station(3).size == 364


@pytest.mark.parametrize("make", [lambda: shop().finish(), lambda: random_mdp(0)], ids=["model", "arrays"])
def test_more_pairs_than_allowed_are_refused(make):
    task = make()
    assert tabulate(task, max_pairs=3).size == 3
    with pytest.raises(TableFull, check=has(max_pairs=2)):
        tabulate(task, max_pairs=2)


def test_a_task_without_a_model_is_refused():
    with pytest.raises(EverlearnError, check=refusal("task", "pendulum")):
        tabulate(pendulum().finish())


def test_the_corridor_by_hand():
    pairs = tabulate(corridor())
    np.testing.assert_array_equal(matrices(pairs), [[[0, 1], [1, 0]]] * 2)
    np.testing.assert_array_equal(pairs.rewards, [[0, 1], [0, 1]])


def test_too_many_memories_are_counted_before_a_table_is_completed(monkeypatch):
    def complete(_table):
        raise AssertionError("the memories were not counted")

    task = catch(rows=5, columns=3)  # which has 768 memories
    monkeypatch.setattr(PairTable, "complete", complete)
    with pytest.raises(TableFull, check=has(max_pairs=700)):
        tabulate(task, 700)
    with pytest.raises(AssertionError):
        tabulate(task, 768)


def test_memories_of_a_users_model_are_not_counted_since_that_takes_as_long_as_a_table(monkeypatch):
    calls = []

    def rho(memory, action):
        calls.append(memory)
        yield "x", 1.0, (memory + 1) % 2000

    model = Model(("a",), ("x",), 0, rho)
    task = el.Task(("a",), ("x",), el.AleatoricState(0, lambda *_: 0, (0,)), el.Reward(lambda *_: 0.0, 0, 1), model)
    monkeypatch.setattr("everlearn.theory.pairs.make_table", partial(make_table, eager=8))
    assert tabulate(task).size == 2000
    assert len(calls) < 3 * 2000  # a user's function is called twice to check that it repeats itself


@pytest.mark.parametrize("name", ["shop", "coarse", "tiger", "catch"])
def test_memories_are_counted_exactly(name):
    makers = {**TASKS, "tiger": tiger, "catch": lambda: catch(rows=4, columns=2)}
    task = makers[name]()
    memories = len({memory for memory, _ in reachable(task)})
    assert has_more_memories(task.model, memories - 1)
    assert not has_more_memories(task.model, memories)
