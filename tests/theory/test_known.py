"""What is known without being asked: decided by size, the same as theory computes, and computed once."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import everlearn as el
from everlearn.tasks.registry import make_task
from everlearn.theory import known as module
from everlearn.theory.known import Known, known
from tests.worlds import corridor, pendulum, random_mdp, shop


@pytest.fixture(autouse=True)
def nothing_is_known(monkeypatch):
    monkeypatch.setattr(module, "_KNOWN", {})


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("riverswim", {}),
        ("alternating", {}),
        ("garnet", {}),
        pytest.param("t-maze", {"window": 1}, marks=pytest.mark.soak),
        pytest.param("queueing-network", {}, marks=pytest.mark.soak),
    ],
)
def test_it_is_what_theory_computes(name, parameters):
    task = make_task(name, parameters)
    theory, found = el.Theory(task), known(task)
    assert found.optimum == pytest.approx(theory.optimal_average_reward, abs=1e-9)
    assert found.lower <= found.optimum <= found.upper
    assert found.best == pytest.approx(theory.best_aleatoric.average_reward, abs=1e-8)
    assert found.proved == (found.best >= found.optimum - 1e-8)


def test_a_task_without_a_model_is_not_known():
    assert known(pendulum().finish()) == Known()


@pytest.mark.parametrize("limit", ["MOST_PAIRS", "MOST_OUTCOMES"])
def test_a_large_task_is_not_known(limit, monkeypatch):
    monkeypatch.setattr(module, limit, 2)
    assert known(random_mdp(1)) == Known()
    assert known(shop().finish()).optimum is None or limit == "MOST_PAIRS"


def aggregated() -> el.Task:
    """Nine states of which an agent sees the remainder by three: something is hidden."""
    random = np.random.default_rng(3)
    P, classes = random.dirichlet(np.ones(9) * 0.2, size=(2, 9)), np.arange(9) % 3
    R = random.random((3, 2))[classes]
    return el.mdp(P, R, reward_range=(0, 1), aggregate=classes.tolist(), name="aggregated")


def test_the_best_policy_is_searched_for_where_it_is_small(monkeypatch):
    found = known(aggregated())
    assert found.best < found.optimum - 1e-3
    assert not found.proved
    monkeypatch.setattr(module, "MOST_SEARCHED", 8)
    assert known(aggregated()).best == pytest.approx(found.best)  # eight policies are few, and all are tried
    monkeypatch.setattr(module, "MOST_TRIED", 71)
    assert known(aggregated()) == Known(*found[:3])


def test_a_policy_that_attains_the_optimum_is_known_however_large(monkeypatch):
    monkeypatch.setattr(module, "MOST_SEARCHED", 0)
    monkeypatch.setattr(module, "MOST_TRIED", 0)
    found = known(random_mdp(2))
    assert found.proved
    assert found.best == pytest.approx(found.optimum)


def test_a_task_is_computed_once(monkeypatch):
    calls = []
    monkeypatch.setattr(module, "_solved", lambda task: calls.append(task.name) or Known(1.0))
    task = corridor()
    assert known(task) is known(task)
    assert known(random_mdp(1), "name") is known(random_mdp(1), "name")
    assert calls == ["corridor", "random-1"]


def test_a_task_that_is_gone_is_forgotten():
    task = corridor()
    known(task)
    assert len(module._KNOWN) == 1
    del task
    gc.collect()
    assert not module._KNOWN


def test_what_cannot_be_tabulated_is_not_known():
    """The mistake is told by whatever needs the table, not by what would have been nice to know."""

    @el.task(actions=["a"], observations=[0], memory=0, reward_range=(0, 1))
    def broken(memory, action):
        if memory > 3:
            raise ZeroDivisionError
        yield 0, 1.0, memory + 1

    broken.reward(lambda s, action, observation: 0.5)
    assert known(broken.finish()) == Known()


@pytest.mark.soak
def test_bounds_from_less_work_contain_those_of_theory(monkeypatch):
    monkeypatch.setattr("everlearn.theory.known.MOST_WORK", 1)
    task = make_task("tiger")
    found, theory = known(task, "tiger, from little work"), el.Theory(task)
    assert found.optimum is None
    assert found.lower <= theory.optimal_bounds.lower
    assert theory.optimal_bounds.upper < found.upper <= theory.clairvoyant.upper
