"""RiverSwim: its numbers, and an optimum that is known for all of them."""

from __future__ import annotations

import inspect
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import everlearn as el
from everlearn.errors import InputError
from everlearn.tasks.riverswim import riverswim, riverswim_12
from everlearn.theory.pairs import tabulate
from tests.refusal import refusal
from tests.theory.dense import best_gain


def probabilities(task: el.Task, state: int, action: str) -> dict[int, float]:
    return {outcome.observation: outcome.probability for outcome in task.model.outcomes(state, action)}


def test_the_numbers_of_osband_russo_and_van_roy():
    task = riverswim()
    assert probabilities(task, 0, "right") == pytest.approx({0: 0.4, 1: 0.6})
    for state in (1, 2, 3, 4):
        assert probabilities(task, state, "right") == pytest.approx({state - 1: 0.05, state: 0.6, state + 1: 0.35})
    assert probabilities(task, 5, "right") == pytest.approx({4: 0.4, 5: 0.6})
    assert [probabilities(task, state, "left") for state in range(6)] == [{max(0, s - 1): 1.0} for s in range(6)]


def test_rewards_are_paid_at_the_ends_alone_whatever_comes_of_it():
    task = riverswim()
    paid = {(s, a, o): task.reward(s, a, o) for s in task.states for a in task.actions for o in task.observations}
    left, right = {key for key, r in paid.items() if r == 0.005}, {key for key, r in paid.items() if r == 1.0}
    assert left == {(0, "left", o) for o in range(6)}
    assert right == {(5, "right", o) for o in range(6)}
    assert all(paid[key] == 0 for key in set(paid) - left - right)
    assert (task.reward.low, task.reward.high) == (0.0, 1.0)


def by_hand(states: int) -> Fraction:
    """What goes up between neighbours goes down: weights 1, 12, 84, ... grow by 12, by 7 inside, by 7/8 at the end."""
    weights = [Fraction(1), *(Fraction(12) * 7**inside for inside in range(states - 2))]
    weights.append(weights[-1] * Fraction(7, 8))
    return weights[-1] / sum(weights)


def test_the_optimum_of_six_states_by_hand():
    assert by_hand(6) == Fraction(7203, 16805)
    assert float(by_hand(6)) == pytest.approx(0.428622, abs=5e-7)


@pytest.mark.parametrize(("task", "states"), [(riverswim(), 6), (riverswim_12(), 12), (riverswim(states=3), 3)])
def test_reference_and_theory_are_what_was_found_by_hand(task, states):
    assert task.references["optimum"] == pytest.approx(float(by_hand(states)), abs=1e-15)
    theory = el.Theory(task)
    assert theory.optimum.certified
    assert theory.optimal_average_reward == pytest.approx(float(by_hand(states)), abs=1e-8)
    assert theory.average_reward("right") == pytest.approx(float(by_hand(states)), abs=1e-8)
    assert theory.average_reward("left") == pytest.approx(0.005)


def test_nothing_is_lost_by_what_is_seen():
    assert el.Theory(riverswim()).distortion_sup(1).value == 0.0


probability = st.floats(0.05, 1)


@st.composite
def rivers(draw):
    advance = draw(probability)
    return riverswim(
        states=draw(st.integers(2, 4)),
        advance=advance,
        back=draw(st.floats(0, 1 - advance)),
        first_advance=draw(probability),
        last_back=draw(st.one_of(st.just(0.0), probability)),
        left_reward=draw(st.floats(0, 2)),
        right_reward=draw(st.floats(0.1, 2)),
    )


@settings(max_examples=60, deadline=None)
@given(task=rivers())
def test_the_optimum_is_the_best_of_all_policies(task):
    pairs = tabulate(task)
    assert task.references["optimum"] == pytest.approx(best_gain(pairs)[pairs.start], abs=1e-9)


def test_the_longer_river_is_the_same_river():
    longer, same = riverswim_12(left_reward=0.01), riverswim(states=12, left_reward=0.01)
    assert longer.references == same.references
    assert longer.states == same.states
    assert (longer.name, same.name) == ("riverswim-12", "riverswim")
    for state in longer.states:
        for action in longer.actions:
            assert longer.model.outcomes(state, action) == same.model.outcomes(state, action)


OTHERWISE = {
    "states": 5,
    "advance": 0.3,
    "back": 0.1,
    "first_advance": 0.3,
    "last_back": 0.7,
    "left_reward": 0.1,
    "right_reward": 2.0,
}


def test_every_parameter_is_tried():
    assert set(OTHERWISE) == set(inspect.signature(riverswim).parameters)
    assert set(OTHERWISE) - {"states"} == set(inspect.signature(riverswim_12).parameters)


@pytest.mark.parametrize("name", OTHERWISE)
def test_every_parameter_has_an_effect(name):
    changed = riverswim(**{name: OTHERWISE[name]})
    assert changed.references != riverswim().references
    assert changed.parameters[name] == OTHERWISE[name]


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [
        ({"states": 1}, ("states", 1)),
        ({"advance": 0}, ("advance", 0)),
        ({"back": 0.7}, ("back", 0.7)),
        ({"first_advance": 1.5}, ("first_advance", 1.5)),
        ({"last_back": -0.1}, ("last_back", -0.1)),
        ({"left_reward": -1}, ("left_reward", -1)),
        ({"right_reward": math.inf}, ("right_reward",)),
    ],
)
def test_what_is_refused(arguments, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        riverswim(**arguments)
