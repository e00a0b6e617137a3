"""Access control against the binomial law of SciPy, a linear programme, and queues that are solved by hand."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom

import everlearn as el
from everlearn.errors import InputError
from everlearn.tasks.access_control import access_control
from tests.chains import reachable
from tests.refusal import refusal

PAYMENTS = (1, 2, 4, 8)


def rows(servers: int, free: int, payment: int, accept: bool, freed: float) -> tuple[np.ndarray, float]:
    """The law of (free servers, payment), flattened, and what is paid: from the book's words, by SciPy."""
    served = accept and free > 0
    busy = servers - free + served
    law = np.zeros((servers + 1, len(PAYMENTS)))
    law[servers - busy :] = binom.pmf(np.arange(busy + 1), busy, freed)[:, None] / len(PAYMENTS)
    return law.ravel(), float(payment * served)


def test_the_law_is_that_of_the_book():
    task = access_control()
    assert len(task.states) == 44
    for free, payment in task.states:
        for action in task.actions:
            law = np.zeros(44)
            for outcome in task.model.outcomes((free, payment), action):
                law[task.states.index(outcome.observation)] += outcome.probability
                assert outcome.memory == outcome.observation
            expected, paid = rows(10, free, payment, action == "accept", 0.06)
            assert law == pytest.approx(expected, abs=1e-14)
            assert {task.reward((free, payment), action, o) for o in task.observations} == {paid}


def by_linear_programme(servers: int, freed: float) -> float:
    """The greatest average over frequencies of (state, action) that are stationary."""
    pairs = [(f, k, a) for f in range(servers + 1) for k in PAYMENTS for a in (True, False)]
    found = [rows(servers, *pair, freed) for pair in pairs]
    states = [(f, k) for f in range(servers + 1) for k in PAYMENTS]
    leaving = np.array([[(f, k) == state for f, k, _ in pairs] for state in states], dtype=float)
    balance = np.array([law for law, _ in found]).T - leaving
    constraints = np.vstack([balance, np.ones(len(pairs))])
    answer = linprog([-paid for _, paid in found], A_eq=constraints, b_eq=[0.0] * len(states) + [1.0])
    return -answer.fun


@pytest.mark.parametrize(("servers", "freed"), [(10, 0.06), (3, 0.2)])
def test_the_optimum_is_that_of_a_linear_programme(servers, freed):
    theory = el.Theory(access_control(servers=servers, free_probability=freed))
    assert theory.optimum.certified
    # HiGHS satisfies its constraints up to 1e-7
    assert theory.optimal_average_reward == pytest.approx(by_linear_programme(servers, freed), abs=1e-6)


def test_published_learners_stay_below_the_optimum():
    """Sutton and Barto: 2.31 in Example 10.2 (second edition, exploring), 2.73 in Example 6.7 (first edition)."""
    optimum = el.Theory("access-control").optimal_average_reward
    assert optimum == pytest.approx(2.747642, abs=5e-7)
    assert 2.31 < 2.73 < optimum < 2.75


@pytest.mark.parametrize("freed", [0.06, 0.25, 1 / 3, 0.5, 1.0])
def test_one_server_and_two_priorities_by_hand(freed):
    """Accept all: the server is free a share p of steps.  Only who pays 2: it is free p / (p + (1 - p) / 2)."""
    theory = el.Theory(access_control(servers=1, priorities=2, free_probability=freed))
    assert theory.average_reward("accept") == pytest.approx(1.5 * freed)
    assert theory.optimal_average_reward == pytest.approx(max(1.5 * freed, 2 * freed / (1 + freed)))


def test_nothing_is_lost_by_what_is_seen():
    task = access_control()
    assert all(memory == aleatoric_state for memory, aleatoric_state in reachable(task))
    assert el.Theory(task).distortion(10).value == 0.0


@pytest.mark.parametrize(("name", "value"), {"servers": 3, "priorities": 2, "free_probability": 0.5}.items())
def test_every_parameter_has_an_effect(name, value):
    assert name in inspect.signature(access_control).parameters
    changed = access_control(**{name: value})
    assert el.Theory(changed).average_reward("accept") != el.Theory("access-control").average_reward("accept")
    assert changed.parameters[name] == value


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [
        ({"servers": 0}, ("servers", 0)),
        ({"priorities": 17}, ("priorities", 17)),
        ({"free_probability": 0}, ("free_probability", 0)),
    ],
)
def test_what_is_refused(arguments, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        access_control(**arguments)
