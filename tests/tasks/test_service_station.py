"""The station as a task: presence, profit, and averages that are known."""

from __future__ import annotations

import inspect
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import everlearn as el
from everlearn.errors import InputError
from everlearn.tasks.service_station import presence, service_station
from tests.chains import average_reward, reachable
from tests.refusal import refusal


def always(mode: str):
    return lambda present, action: float(action == mode)


def test_presence_follows_arrivals_and_departures():
    table = {
        "arrival": (1, 1),
        "departure": (0, 0),
        "arrival+departure": (1, 1),
        "nothing": (0, 1),
    }
    for observation, (vacant, busy) in table.items():
        for action in ("fast", "slow"):
            assert presence(0, action, observation) == vacant
            assert presence(1, action, observation) == busy


def test_presence_is_what_the_memory_says():
    for (clock, _ages), present in reachable(service_station(cap=3)):
        assert present == (clock >= 0)


def test_profit_is_revenue_on_arrival_less_the_cost_of_serving_fast():
    task = service_station(revenue=3, fast_cost=0.75, slow_cost=0.125)
    for present, action, observation in product((0, 1), ("fast", "slow"), task.observations):
        revenue = 3 if "arrival" in observation else 0
        cost = {("fast", 1): 0.75, ("slow", 1): 0.125}.get((action, present), 0)
        assert task.reward(present, action, observation) == revenue - cost
    assert (task.reward.low, task.reward.high) == (-0.75, 3)


def test_profit_is_learned_raw_unless_told():
    assert service_station().reward.learned(-0.5) == -0.5
    assert service_station(raw=False).reward.learned(-0.5) == 0.0


def test_it_begins_vacant():
    assert service_station().aleatoric.start == 0
    assert service_station().states == (0, 1)


SMALL = {"window": 3}
OTHERWISE = {
    "window": 2,
    "revenue": 2.0,
    "fast_cost": 0.25,
    "slow_cost": 0.125,
    "slow_completion": 0.25,
    "arrival_floor": 0.05,
    "arrival_height": 0.5,
    "arrival_decay": 6.0,
    "cap": 3,
    "raw": False,
}


def fingerprint(task: el.Task) -> tuple:
    """Everything that an agent could notice."""
    outcomes = [task.model.outcomes(memory, action) for memory, _ in reachable(task) for action in task.actions]
    rewards = [task.reward(s, a, o) for s in task.states for a in task.actions for o in task.observations]
    return outcomes, [task.reward.learned(reward) for reward in rewards]


def test_every_parameter_is_tried():
    assert set(OTHERWISE) == set(inspect.signature(service_station).parameters)


@pytest.mark.parametrize("name", OTHERWISE)
def test_every_parameter_has_an_effect(name):
    changed = service_station(**(SMALL | {name: OTHERWISE[name]}))
    assert fingerprint(changed) != fingerprint(service_station(**SMALL))
    assert changed.parameters[name] == OTHERWISE[name]


def test_always_slow_to_ten_digits():
    assert round(service_station().references["always slow"], 10) == 0.0909364893


def test_always_slow_is_the_stationary_average():
    # A cap of 3 is off by up to 3e-8, and has a chain of 364 pairs.
    exact = average_reward(service_station(cap=3), always("slow"))
    assert service_station().references["always slow"] == pytest.approx(exact, abs=3e-8)


def test_half_fast_is_the_number_of_another_program():
    half = average_reward(service_station(cap=3), lambda present, action: 0.5 if present else float(action == "slow"))
    assert half == pytest.approx(0.0667843929, abs=3e-8)


def test_the_optimum_is_always_fast():
    references = service_station().references
    assert references["optimum"] == references["always fast"] == 0.5


@pytest.mark.parametrize(
    "parameters",
    [
        {"window": 1},
        {"window": 2},
        {"window": 3, "slow_completion": 0.8, "slow_cost": 0.1},
        {"window": 2, "arrival_floor": 0.3, "arrival_height": 0.5, "arrival_decay": 1.5, "revenue": 2.0, "cap": 6},
        {"window": 4, "cap": 3, "fast_cost": 0.9},
        {"window": 2, "slow_completion": 1.0},
    ],
)
def test_references_are_stationary_averages(parameters):
    task = service_station(**parameters)
    for mode in ("fast", "slow"):
        assert task.references[f"always {mode}"] == pytest.approx(average_reward(task, always(mode)), rel=1e-9)


@settings(max_examples=200)
@given(
    revenue=st.floats(0.1, 5),
    fast_cost=st.floats(0, 6),
    slow_cost=st.floats(0, 6),
    completion=st.floats(0.1, 1),
    window=st.integers(1, 14),
)
def test_the_optimum_is_not_below_anything_known(revenue, fast_cost, slow_cost, completion, window):
    references = service_station(
        revenue=revenue, fast_cost=fast_cost, slow_cost=slow_cost, slow_completion=completion, window=window
    ).references
    assert references.get("optimum", 1e9) >= max(references.values()) - 1e-9


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [
        ({"revenue": 0}, ("revenue", 0)),
        ({"fast_cost": -1}, ("fast_cost", -1)),
        ({"slow_cost": -0.5}, ("slow_cost", -0.5)),
        ({"arrival_floor": 0}, ("arrival_floor", 0)),
    ],
)
def test_what_is_refused(arguments, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        service_station(**arguments)
