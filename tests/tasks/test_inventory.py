"""Inventory control against published optimal costs, and what is lost by seeing less."""

from __future__ import annotations

import inspect
import math

import pytest

import everlearn as el
from everlearn.errors import InputError
from everlearn.tasks.inventory import inventory
from tests.chains import arrows, reachable

ZIPKIN = {(1, 4): 4.04, (2, 4): 4.40, (1, 9): 5.44, (2, 9): 6.09}
"""Zipkin (2008), "Old and new methods for lost-sales inventory systems", Operations Research 56(5): the optimal average
cost for Poisson demand of mean 5 and holding cost 1, by lead time and penalty."""


@pytest.mark.parametrize(("lead_time", "penalty"), ZIPKIN)
def test_the_optimal_costs_of_zipkin(lead_time, penalty):
    optimum = el.Theory(inventory(lead_time=lead_time, penalty=penalty)).optimum
    assert optimum.certified
    assert f"{-optimum.average_reward:.2f}" == f"{ZIPKIN[lead_time, penalty]:.2f}"


@pytest.mark.soak
@pytest.mark.parametrize(("penalty", "cost"), [(4, "4.60"), (9, "6.53")])
def test_the_optimal_costs_of_zipkin_at_a_longer_lead_time(penalty, cost):
    optimum = el.Theory(inventory(lead_time=3, penalty=penalty, capacity=27, most_ordered=8)).optimum
    assert f"{-optimum.average_reward:.2f}" == cost


@pytest.mark.parametrize("arguments", [{}, {"penalty": 9.0}, {"lead_time": 2}, {"lead_time": 2, "penalty": 9.0}])
def test_the_bounds_on_stock_and_orders_cost_nothing(arguments):
    narrow, wide = inventory(**arguments), inventory(**arguments, capacity=24, most_ordered=10)
    averages = [el.Theory(task).optimal_average_reward for task in (narrow, wide)]
    assert averages[0] == pytest.approx(averages[1], abs=1e-8)


def test_with_room_for_one_unit_by_hand():
    """Room for one unit, a lead time of 1 and a demand with P(0) = q: order when there is none, or never.

    Always ordering: an empty shelf is filled, and a unit is left with probability q.  So the shelf is full a share
    1 / (2 - q) of steps; there it costs q to hold and E(D - 1)+ = m - 1 + q units to miss, else m units to miss.
    """
    q, m = math.exp(-0.5), 0.5
    theory = el.Theory(inventory(lead_time=1, mean_demand=m, penalty=3.0, capacity=1, most_ordered=1))
    full = 1 / (2 - q)
    cost = full * (q + 3 * (m - 1 + q)) + (1 - full) * 3 * m
    assert theory.average_reward("order 1") == pytest.approx(-cost)
    assert theory.average_reward("order 0") == pytest.approx(-3 * m)
    assert theory.optimal_average_reward == pytest.approx(max(-cost, -3 * m))


VIEWS = {"all": lambda memory: memory, "position": sum, "on-hand": lambda memory: memory[0]}


@pytest.mark.parametrize("see", VIEWS)
@pytest.mark.parametrize("lead_time", [1, 2, 3])
def test_what_is_kept_is_a_function_of_the_memory(see, lead_time):
    task = inventory(lead_time=lead_time, capacity=9, most_ordered=4, see=see)
    for memory, kept in reachable(task):
        assert kept == VIEWS[see](memory)


@pytest.mark.parametrize("see", VIEWS)
def test_costs_are_of_what_is_left_and_what_is_lost(see):
    task = inventory(lead_time=2, capacity=6, mean_demand=3.0, most_ordered=4, holding_cost=0.5, penalty=7.0, see=see)
    for pair in reachable(task):
        stock = pair[0][0]
        for arrow in arrows(task, pair):
            demand = arrow.observation[0] + arrow.observation[1]
            cost = 0.5 * max(0, stock - demand) + 7.0 * max(0, demand - stock)
            assert task.reward(pair[1], arrow.action, arrow.observation) == -cost


def test_seeing_less_is_distortion_and_changes_no_optimum():
    whole, position, on_hand = (el.Theory(inventory(lead_time=2, see=see)) for see in VIEWS)
    assert whole.distortion(10).value == 0.0
    assert position.distortion(10).value > 1
    assert on_hand.distortion(10).value > 1
    assert position.optimal_average_reward == pytest.approx(whole.optimal_average_reward)
    assert on_hand.optimal_average_reward == pytest.approx(whole.optimal_average_reward)


@pytest.mark.parametrize("see", VIEWS)
def test_with_a_lead_time_of_one_all_views_are_the_same(see):
    assert el.Theory(inventory(lead_time=1, see=see)).distortion(10).value == 0.0


@pytest.mark.parametrize("see", VIEWS)
def test_what_cannot_happen_leads_to_a_state_all_the_same(see):
    task = inventory(lead_time=2, capacity=5, most_ordered=2, mean_demand=2.0, see=see)
    known = set(task.states)
    assert all(
        task.aleatoric.update(s, a, o) in known for s in task.states for a in task.actions for o in task.observations
    )


OTHERWISE = {
    "lead_time": 2,
    "mean_demand": 4.0,
    "holding_cost": 2.0,
    "penalty": 9.0,
    "capacity": 8,
    "most_ordered": 3,
}


def test_every_parameter_is_tried():
    assert {*OTHERWISE, "see"} == set(inspect.signature(inventory).parameters)


@pytest.mark.parametrize("name", OTHERWISE)
def test_every_parameter_has_an_effect(name):
    changed = inventory(**{name: OTHERWISE[name]})
    usual, otherwise = el.Theory("inventory").optimal_average_reward, el.Theory(changed).optimal_average_reward
    assert abs(usual - otherwise) > 0.01
    assert changed.parameters[name] == OTHERWISE[name]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"see": "orders"}, "see: 'orders'; give one of all, position, on-hand"),
        ({"holding_cost": -1}, "holding_cost: -1; give a finite number of at least 0"),
        ({"penalty": 0}, "penalty: 0; give a positive, finite number"),
    ],
)
def test_what_is_refused(arguments, message):
    with pytest.raises(InputError) as caught:
        inventory(**arguments)
    assert str(caught.value) == message
