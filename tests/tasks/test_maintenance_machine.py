"""Beliefs against sums over every path of the hidden wear, and the law of what is seen against a simulation of it."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from everlearn.environments.model import ModelEnvironment
from everlearn.errors import InputError
from everlearn.tasks.maintenance import Machine
from tests.refusal import refusal
from tests.worlds import environment_stream


def by_paths(machine: Machine, known: int, age: int) -> list[Fraction]:
    """The wear after a run of products, given them: the weight of every path, added up and divided by all."""
    wear, top = Fraction(str(machine.wear)), machine.levels - 1
    least, most = Fraction(str(machine.new_failure)), Fraction(str(machine.worn_failure))
    weights = [Fraction(0)] * machine.levels
    for path in product((0, 1), repeat=age):
        now, weight = known, Fraction(1)
        for worse in path:
            weight *= 1 - (least + (most - least) * now / top)
            weight *= wear if worse else 1 - wear
            now = min(now + worse, top)
        weights[now] += weight
    return [weight / sum(weights) for weight in weights]


@pytest.mark.parametrize("machine", [Machine(), Machine(levels=4, wear=0.35, new_failure=0.02, worn_failure=0.6)])
def test_beliefs_are_those_of_all_paths(machine):
    for known, age in product(range(machine.levels), range(8)):
        expected = [float(chance) for chance in by_paths(machine, known, age)]
        assert list(machine.belief((known, age))) == pytest.approx(expected, rel=1e-14, abs=0)


def test_late_beliefs_are_as_exact_as_the_first():
    """Weights over 200 steps in fractions, never normalised on the way."""
    machine = Machine(levels=3, wear=0.01, new_failure=0.001, worn_failure=0.9, limit=200)
    wear, failures = Fraction(1, 100), [Fraction(1, 1000), Fraction(901, 2000), Fraction(9, 10)]
    weights = [Fraction(1), Fraction(0), Fraction(0)]
    for _ in range(200):
        a, b, c = (weight * (1 - failure) for weight, failure in zip(weights, failures, strict=True))
        weights = [(1 - wear) * a, wear * a + (1 - wear) * b, wear * b + c]
    expected = [float(weight / sum(weights)) for weight in weights]
    assert list(machine.belief((0, 200))) == pytest.approx(expected, rel=1e-12, abs=0)


def test_numbers_of_many_digits_take_no_longer():
    """In exact fractions, they would for hours."""
    machine = Machine(20, 0.1234567890123457, 0.0123456789012346, 0.4123456789012345, 200)
    assert len(machine.memories) == 20 * 201
    assert all(sum(machine.belief(memory)) == pytest.approx(1, abs=1e-13) for memory in machine.memories)


def test_a_machine_that_almost_surely_fails_has_beliefs():
    machine = Machine(levels=4, new_failure=0.3, worn_failure=math.nextafter(1, 0), limit=3)
    assert machine.belief((3, 3)) == (0, 0, 0, 1)


def test_the_first_beliefs_by_hand():
    machine = Machine(levels=2, wear=0.5, new_failure=0.0, worn_failure=0.5)
    assert machine.belief((0, 1)) == (1 / 2, 1 / 2)
    assert machine.belief((0, 2)) == pytest.approx((1 / 3, 2 / 3))  # 1/2 survived new, 1/4 worn; half of 2/3 wears
    assert machine.belief((1, 5)) == (0, 1)


def test_failures_grow_evenly_with_wear():
    assert Machine(levels=3, new_failure=0.01, worn_failure=0.4).failures() == pytest.approx((0.01, 0.205, 0.4))


def probabilities(machine: Machine, memory: tuple[int, int], action: str) -> dict[str, tuple[float, tuple[int, int]]]:
    return {o: (p, following) for o, p, following in machine.model().outcomes(memory, action)}


def test_what_each_action_does():
    machine = Machine()
    assert probabilities(machine, (0, 0), "produce") == {"failure": (0.01, (0, 0)), "product": (0.99, (0, 1))}
    assert probabilities(machine, (2, 3), "produce") == {"failure": (0.4, (0, 0)), "product": (0.6, (2, 4))}
    assert probabilities(machine, (2, 3), "inspect") == {"wear 2": (1.0, (2, 0))}
    assert probabilities(machine, (2, 3), "replace") == {"replaced": (1.0, (0, 0))}


def test_an_overhaul_is_due_at_the_limit():
    machine = Machine(limit=4)
    assert probabilities(machine, (1, 4), "produce") == {"replaced": (1.0, (0, 0))}
    assert set(probabilities(machine, (1, 4), "inspect")) == {"wear 1", "wear 2"}
    assert "product" in probabilities(machine, (1, 3), "produce")


def test_the_hidden_machine_shows_what_the_model_says():
    """A machine whose wear is simulated, and the model, both inspected at every fifth step; 200,000 steps each.

    Shares of independent steps would have standard errors of at most 0.001; machines live for some ten steps.
    """
    machine, steps = Machine(), 200_000
    plan = ["produce"] * 4 + ["inspect"]
    environment = ModelEnvironment(machine.model())
    environment.start(environment_stream(7))
    seen = [environment.step(plan[step % 5]) for step in range(steps)]
    random, wear, shown = np.random.default_rng(8), 0, []
    for step in range(steps):
        if plan[step % 5] == "inspect":
            shown.append(f"wear {wear}")
        elif random.random() < (0.01, 0.205, 0.4)[wear]:
            shown.append("failure")
            wear = 0
        else:
            shown.append("product")
            wear = min(2, wear + (random.random() < 0.1))
    for observation in machine.observations:
        assert seen.count(observation) / steps == pytest.approx(shown.count(observation) / steps, abs=0.004)


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [
        ({"levels": 1}, ("levels", 1)),
        ({"wear": 0}, ("wear", 0)),
        ({"new_failure": -0.1}, ("new_failure", -0.1)),
        ({"worn_failure": 0.01}, ("worn_failure", 0.01)),
        ({"limit": 0}, ("limit", 0)),
    ],
)
def test_what_is_refused(arguments, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        Machine(**arguments)
