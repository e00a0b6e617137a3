"""The store against SciPy's Poisson distribution, and against books that are kept by date."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import poisson

from everlearn.environments.inventory import Inventory, demand_law
from everlearn.environments.model import ModelEnvironment
from everlearn.errors import InputError
from tests.refusal import refusal
from tests.worlds import environment_stream


@settings(max_examples=100)
@given(mean=st.floats(0.05, 60), stock=st.integers(1, 80))
def test_the_law_of_demand_is_poisson_where_it_matters(mean, stock):
    law = np.array(demand_law(mean, stock))
    assert law.min() >= 0
    assert math.fsum(law) == pytest.approx(1, abs=1e-12)
    below = min(stock, law.size - 1)
    assert law[:below] == pytest.approx(poisson.pmf(np.arange(below), mean), abs=2e-12)
    assert below == stock or poisson.sf(below - 1, mean) < 1e-12
    assert math.fsum(np.arange(law.size) * law) == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize(
    ("mean", "capacity"), [(5.0, 20), (5.0, 12), (5.0, 4), (0.3, 3), (30.0, 8), (5.0, 60), (0.3, 40)]
)
def test_expected_costs_are_those_of_the_poisson_demand(mean, capacity):
    law = np.array(demand_law(mean, capacity))
    demands, far = np.arange(law.size), np.arange(400)
    for stock in range(capacity + 1):
        left = float(law @ np.maximum(stock - demands, 0))
        lost = float(law @ np.maximum(demands - stock, 0))
        # Beyond the last demand but one the error is at most the units of demand beyond it, on average.
        error = 1e-12 + float(poisson.sf(np.arange(law.size - 2, 400), mean).sum()) * (stock > law.size - 2)
        assert error < 3e-12
        assert left == pytest.approx(float(poisson.pmf(far, mean) @ np.maximum(stock - far, 0)), abs=error)
        assert lost == pytest.approx(float(poisson.pmf(far, mean) @ np.maximum(far - stock, 0)), abs=error)


@pytest.mark.parametrize("lead_time", [1, 2, 3])
@settings(max_examples=30)
@given(orders=st.lists(st.integers(0, 6), min_size=1, max_size=80), seed=st.integers(0, 2**32))
def test_the_model_is_what_the_books_say(lead_time, orders, seed):
    """The books are a list of orders by date; the demand is what was sold and lost."""
    environment = ModelEnvironment(Inventory(lead_time, 3.0, 14, 6).model())
    environment.start(environment_stream(seed))
    placed, stock = [], 0
    for date, order in enumerate(orders):
        under_way = sum(placed[max(0, date - lead_time + 1) : date])
        placed.append(min(order, 14 - stock - under_way))
        arriving = placed[date - lead_time + 1] if date >= lead_time - 1 else 0
        sold, lost, left, received = environment.step(f"order {order}")
        assert sold == min(sold + lost, stock)
        assert (left, received) == (stock - sold, arriving)
        stock = left + arriving
        assert environment.memory[0] == stock
        assert environment.memory[1:] == tuple(([0] * lead_time + placed)[len(placed) + 1 :])


def test_memories_are_all_within_the_capacity():
    store = Inventory(lead_time=3, capacity=5, most_ordered=2)
    assert all(sum(memory) <= 5 and max(memory[1:]) <= 2 for memory in store.memories)
    assert (
        len(set(store.memories)) == len(store.memories) == 36
    )  # by what is on order: 6 + 2 * 5 + 3 * 4 + 2 * 3 + 1 * 2


@pytest.mark.parametrize("store", [Inventory(1, 3.0, 6, 2), Inventory(2, 1.0, 40, 2), Inventory(1, 9.0, 4, 3)])
def test_every_observation_is_listed_once(store):
    listed = store.observations
    model = store.model()
    seen = {o.observation for memory in store.memories for a in store.actions for o in model.outcomes(memory, a)}
    assert len(set(listed)) == len(listed)
    assert seen <= set(listed)


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [
        ({"capacity": 0}, ("capacity", 0)),
        ({"most_ordered": 21}, ("most_ordered", 21)),
        ({"mean_demand": 0}, ("mean_demand", 0)),
        ({"lead_time": 0}, ("lead_time", 0)),
        (
            {"capacity": 200, "most_ordered": 200, "mean_demand": 30.0},  # 201 amounts, 78 demands, 201 orders
            ("capacity and most_ordered", (200, 200)),
        ),
        ({"lead_time": 9}, ("lead_time", 9)),
    ],
)
def test_what_is_refused(arguments, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        Inventory(**arguments)
