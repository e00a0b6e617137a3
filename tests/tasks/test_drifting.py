"""Drifting options: closed forms of the optimum, and memoryless policies by products of matrices."""

from __future__ import annotations

import math
from functools import reduce
from itertools import product

import numpy as np
import pytest

import everlearn as el
from everlearn.errors import InputError
from everlearn.tasks.drifting import Drifting, _longest_window, drifting
from tests.refusal import refusal

SMALL = {"period": 40}


def by_products(world: Drifting, choice: dict) -> float:
    """Average success of a policy over (option, outcome), from the law at phase 0 that a period leaves as it is."""
    states = list(product(range(world.options), (0, 1)))
    steps = []
    for phase in range(world.period):
        step = np.zeros((len(states), len(states)))
        for row, state in enumerate(states):
            chance = world.chance(phase, choice[state])
            step[row, states.index((choice[state], 1))] += chance
            step[row, states.index((choice[state], 0))] += 1 - chance
        steps.append(step)
    round_trip = reduce(np.matmul, steps)
    law = np.linalg.matrix_power(round_trip, 64)[0]
    earned = 0.0
    for step in steps:
        law = law @ step
        earned += sum(law[number] for number, (_, outcome) in enumerate(states) if outcome)
    return earned / world.period


@pytest.mark.parametrize("period", [4, 8, 40, 500])
def test_two_options_on_a_triangle(period):
    # Over a period that 4 divides, the better of two opposite triangles is 3/4 on average, and each is 1/2.
    task = drifting(period=period)
    assert task.references["optimum"] == pytest.approx(0.1 + 0.8 * 0.75, abs=1e-12)
    assert task.references["best option"] == pytest.approx(0.5, abs=1e-12)


def test_two_options_on_a_cosine():
    # The mean of |cos| is 2 / pi; over P equal steps, P a multiple of 4, it is (2 / P) cot(pi / P).
    period = 40
    exact = 0.1 + 0.8 * (0.5 + 0.5 * 2 / period / math.tan(math.pi / period))
    assert drifting(period=period, wave="cosine").references["optimum"] == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("arguments", [{}, {"options": 3}, {"wave": "cosine"}, {"window": 0}, {"period": 7}])
def test_the_optimum_is_what_theory_computes(arguments):
    task = drifting(**(SMALL | arguments))
    theory = el.Theory(task)
    assert theory.optimum.certified
    assert theory.optimal_average_reward == pytest.approx(task.references["optimum"], abs=1e-10)


@pytest.mark.parametrize("options", [2, 3])
def test_who_keeps_nothing_earns_what_an_option_does(options):
    task = drifting(options=options, window=0, period=30)
    best = el.Theory(task).best_aleatoric
    assert task.states == ((),)
    assert best.average_reward == pytest.approx(task.references["best option"], abs=1e-10)


def test_the_best_policy_over_the_last_outcome_is_the_best_of_all_by_products():
    world = Drifting(period=40)
    states = list(product(range(2), (0, 1)))
    choices = [dict(zip(states, choice, strict=True)) for choice in product(range(2), repeat=4)]
    truth = max(by_products(world, choice) for choice in choices)
    best = el.Theory(drifting(**SMALL)).best_deterministic
    assert best.exact
    assert best.average_reward == pytest.approx(truth, abs=1e-10)
    stay = {(option, outcome): option if outcome else 1 - option for option, outcome in states}
    assert by_products(world, stay) == pytest.approx(truth, abs=1e-12)


def test_stay_or_leave_in_a_slow_drift():
    # Robbins (1952): fails at a rate of 2 p q / (p + q); p + q = 1 and p uniform on (0.1, 0.9) make that 59/150.
    world = Drifting(period=2000)
    stay = {(option, outcome): option if outcome else 1 - option for option in range(2) for outcome in (0, 1)}
    assert by_products(world, stay) == pytest.approx(1 - 59 / 150, abs=1e-4)


def test_the_phase_is_hidden_and_that_distorts():
    theory = el.Theory(drifting(**SMALL))
    assert theory.distortion(1).value == pytest.approx(0.8, abs=1e-9)  # chances go from 0.1 to 0.9
    assert theory.distortion(10).value > 0.8
    assert el.Theory(drifting(height=0.0, **SMALL)).distortion(10).value == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    "changed",
    [{"options": 3}, {"period": 41}, {"floor": 0.2}, {"height": 0.5}, {"wave": "cosine"}],
    ids=str,
)
def test_parameters_have_an_effect(changed):
    one, other = drifting(**SMALL), drifting(**(SMALL | changed))
    rows = [[task.model.outcomes(phase, 1) for phase in range(40)] for task in (one, other)]
    assert rows[0] != rows[1]
    assert len(drifting(window=2, **SMALL).states) > len(one.states)


@pytest.mark.parametrize("options", [1, 2, 3, 30])
def test_the_longest_window_is_counted(options):
    longest = _longest_window(options)
    states = [sum((2 * options) ** kept for kept in range(length + 1)) for length in (longest, longest + 1)]
    assert states[0] * options <= 1_000_000 < states[1] * options
    short = drifting(options=options, period=2, window=2)
    assert len(short.states) == sum((2 * options) ** kept for kept in range(3))


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [
        ({"options": 0}, ("options", 0)),
        ({"period": 0}, ("period", 0)),
        ({"options": 10**5}, ("options and period", (100000, 500))),
        ({"period": 10**400}, ("options and period", (2, 10**400))),
        ({"window": -1}, ("window", -1)),
        ({"window": 100}, ("window", 100)),
        ({"window": 1, "options": 10**5, "period": 1}, ("window", 1)),
        ({"floor": 1.5}, ("floor", 1.5)),
        ({"height": 0.95}, ("height", 0.95)),
        ({"wave": "square"}, ("wave", "square")),
    ],
)
def test_what_is_refused(arguments, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        drifting(**arguments)
