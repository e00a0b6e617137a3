"""Tokens: each set of functions is compiled for itself, also where they share a class and a process."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import pytest

import everlearn as el
from everlearn.engine.kernels import Token, make_callable
from everlearn.errors import UserCodeError


class Shared(NamedTuple):
    """What several designs of these tests know."""

    count: np.ndarray


def learn(knowledge, experience, now, stream):
    knowledge.count[0] += 1


def always(action: int) -> el.Design:
    """A design that differs from its siblings by an enclosed constant alone."""

    def act(knowledge, aleatoric_state, now, stream):
        return action

    return el.Design(lambda indexed: Shared(np.zeros(1)), act, learn, name=f"always {action}")


def total(design: el.Design, engine: str) -> float:
    return float(el.run("service-station", design, steps=500, engine=engine).total_reward[0, -1])


@pytest.mark.soak
def test_designs_that_share_a_class_are_not_mistaken_for_each_other():
    found = [total(always(action), "compiled") for action in (0, 1, 0)]
    assert found == [total(always(action), "reference") for action in (0, 1, 0)]
    assert found[0] != found[1]


def test_a_token_is_known_by_its_functions():
    one, same, other = Token(always(0).act, learn), Token(always(0).act, learn), Token(always(1).act, learn)
    assert numba.typeof(one) == numba.typeof(same)
    assert numba.typeof(one) != numba.typeof(other)


def triple(x):
    return 3 * x


def test_plain_functions_can_be_called_from_compiled_code():
    make_callable(triple)
    make_callable(triple)

    @numba.njit
    def call(x):
        return triple(x)

    assert call(4) == 12


def test_a_division_by_zero_is_infinite_as_it_is_interpreted():
    def act(knowledge, aleatoric_state, now, stream):
        return 0 if 1.0 / knowledge.count[1] > 1e300 else 1

    def forget(knowledge, experience, now, stream):
        pass

    design = el.Design(lambda indexed: Shared(np.zeros(2)), act, forget, infinite=True, name="divides")
    assert total(design, "compiled") == total(design, "reference")


@pytest.mark.soak  # tests/engine/test_guarded.py divides by zero every time
def test_a_division_by_zero_is_refused_where_infinity_is_not_declared():
    def act(knowledge, aleatoric_state, now, stream):
        return 0 if 1.0 / (knowledge.count[1] - 200) > 0 else 1

    def count(knowledge, experience, now, stream):
        knowledge.count[1] += 1

    design = el.Design(lambda indexed: Shared(np.zeros(2)), act, count, name="divides")
    said = []
    for engine in ("compiled", "reference"):
        with pytest.raises(UserCodeError) as caught:
            total(design, engine)
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert "act raised FloatingPointError at step 201" in said[0]


@pytest.mark.soak
@pytest.mark.parametrize("actions", [1, 2, 8, 9, 20])
def test_any_number_of_actions(actions):
    task = el.mdp(np.full((actions, 3, 3), 1 / 3), np.random.default_rng(1).random((3, actions)), reward_range=(0, 1))
    fast, slow = (el.run(task, steps=300, runs=2, engine=engine) for engine in ("compiled", "reference"))
    assert fast.total_reward.tolist() == slow.total_reward.tolist()
