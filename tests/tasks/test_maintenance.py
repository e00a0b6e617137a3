"""Maintenance against renewal theory: cycles between times at which the wear is known, and every plan for them."""

from __future__ import annotations

import inspect
from itertools import product

import numpy as np
import pytest

import everlearn as el
from everlearn.errors import InputError
from everlearn.tasks.maintenance import maintenance
from tests.chains import reachable
from tests.refusal import refusal

USUAL = {
    "wear": 0.1,
    "new_failure": 0.01,
    "worn_failure": 0.4,
    "inspection_cost": 0.2,
    "replacement_cost": 3.0,
    "failure_cost": 10.0,
}


def runs(longest: int, *, wear: float, new_failure: float, worn_failure: float, **_costs: float) -> np.ndarray:
    """The probability of each wear after n products without a failure, by the wear at first: powers of a matrix."""
    failures = np.linspace(new_failure, worn_failure, 3)
    worse = np.array([[1 - wear, wear, 0], [0, 1 - wear, wear], [0, 0, 1]])
    step = np.diag(1 - failures) @ worse
    return np.array([np.linalg.matrix_power(step, n) for n in range(longest + 1)])


def cycles(longest: int, **numbers: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """By wear at first and plan (how many products, then inspect or replace): earned, duration, wear at the end."""
    alive = runs(longest, **numbers)
    survival = alive.sum(axis=2)
    earned, duration, end = (
        np.zeros((3, longest + 1, 2)),
        np.zeros((3, longest + 1, 2)),
        np.zeros((3, longest + 1, 2, 3)),
    )
    for wear, n, replace in product(range(3), range(longest + 1), (0, 1)):
        last = survival[n, wear]
        cost = numbers["replacement_cost"] if replace else numbers["inspection_cost"]
        earned[wear, n, replace] = survival[1 : n + 1, wear].sum() - (1 - last) * numbers["failure_cost"] - last * cost
        duration[wear, n, replace] = survival[:n, wear].sum() + last
        end[wear, n, replace] = [1, 0, 0] if replace else alive[n, wear]
        end[wear, n, replace, 0] += 0 if replace else 1 - last
    return earned, duration, end


def best_of_all_plans(longest: int, **numbers: float) -> float:
    """The greatest average over every choice of a plan for each wear.

    A choice makes a chain of three states; its stationary distribution weighs what is earned and how long it takes.
    To inspect at once what was just inspected never helps, and makes no chain with one class: it is left out.
    """
    earned, duration, end = cycles(longest, **numbers)
    plans = [(n, replace) for n in range(longest + 1) for replace in (0, 1) if (n, replace) != (0, 0)]
    n, replace = (np.array(column) for column in zip(*plans, strict=True))
    grid = np.array(list(product(range(len(plans)), repeat=3)))
    steps = np.stack([end[w, n[grid[:, w]], replace[grid[:, w]]] for w in range(3)], axis=1)
    balance = np.swapaxes(steps, 1, 2) - np.eye(3)
    balance[:, 0, :] = 1.0
    share = np.linalg.solve(balance, np.broadcast_to([[1.0], [0.0], [0.0]], (len(grid), 3, 1)))[..., 0]
    total = sum(share[:, w] * earned[w, n[grid[:, w]], replace[grid[:, w]]] for w in range(3))
    time = sum(share[:, w] * duration[w, n[grid[:, w]], replace[grid[:, w]]] for w in range(3))
    return float((total / time).max())


@pytest.mark.parametrize("numbers", [{}, {"wear": 0.3, "worn_failure": 0.2}, {"inspection_cost": 1.0, "wear": 0.2}])
def test_the_optimum_is_the_best_of_all_plans(numbers):
    optimum = el.Theory(maintenance(**numbers, see="age", limit=15)).optimum
    assert optimum.certified
    assert optimum.average_reward == pytest.approx(best_of_all_plans(15, **(USUAL | numbers)), abs=1e-9)


def test_where_inspection_is_dear_the_best_age_of_replacement_is_found():
    """A new machine has one plan: (products - failure - replacement) / duration in the mean, the best of all ages."""
    numbers = USUAL | {"inspection_cost": 100.0, "wear": 0.2}
    earned, duration, _ = cycles(40, **numbers)
    averages = earned[0, 1:, 1] / duration[0, 1:, 1]
    assert 1 < averages.argmax() + 1 < 20
    theory = el.Theory(maintenance(inspection_cost=100.0, wear=0.2))
    assert theory.optimal_average_reward == pytest.approx(averages.max(), abs=1e-9)


def test_the_optimum_is_a_known_number_and_the_limit_does_not_matter_to_it():
    assert el.Theory("maintenance").optimal_average_reward == pytest.approx(0.3011244, abs=5e-8)
    assert el.Theory(maintenance(limit=40)).optimal_average_reward == pytest.approx(0.3011244, abs=5e-8)


def test_the_age_is_all_there_is_to_know():
    task = maintenance(see="age")
    assert all(memory == kept for memory, kept in reachable(task))
    assert el.Theory(task).distortion(10).value == 0.0


def test_deterministic_policies_over_the_last_observation_lose_much():
    theory = el.Theory(maintenance())
    assert theory.distortion(10).value > 1
    policies = (
        f"replaced=produce,failure=produce,wear 0=produce,product={a},wear 1={b},wear 2={c}"
        for a, b, c in product(theory.task.actions, repeat=3)
    )
    assert max(theory.average_reward(policy) for policy in policies) < theory.optimal_average_reward - 0.05


def test_what_is_earned():
    task = maintenance(revenue=2.0)
    earned = {o: {task.reward(s, a, o) for s in task.states for a in task.actions} for o in task.observations}
    inspected = {f"wear {w}": {-0.2} for w in range(3)}
    assert earned == {"product": {2.0}, "failure": {-10.0}, "replaced": {-3.0}, **inspected}
    assert (task.reward.low, task.reward.high) == (-10.0, 2.0)


OTHERWISE = {
    "levels": 4,
    "wear": 0.2,
    "new_failure": 0.05,
    "worn_failure": 0.5,
    "limit": 2,
    "revenue": 2.0,
    "inspection_cost": 0.3,
    "replacement_cost": 2.0,
    "failure_cost": 8.0,
}


def test_every_parameter_is_tried():
    assert {*OTHERWISE, "see"} == set(inspect.signature(maintenance).parameters)


@pytest.mark.parametrize("name", OTHERWISE)
def test_every_parameter_has_an_effect(name):
    changed = maintenance(**{name: OTHERWISE[name]})
    assert abs(el.Theory(changed).optimal_average_reward - 0.3011244) > 1e-4
    assert changed.parameters[name] == OTHERWISE[name]


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [
        ({"see": "wear"}, ("see", "wear")),
        ({"revenue": 0}, ("revenue", 0)),
        ({"revenue": float("inf")}, ("revenue",)),
        ({"inspection_cost": -1}, ("inspection_cost", -1)),
        ({"replacement_cost": 1e308}, ("replacement_cost", 1e308)),
        ({"failure_cost": float("inf")}, ("failure_cost",)),
    ],
)
def test_what_is_refused(arguments, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        maintenance(**arguments)
