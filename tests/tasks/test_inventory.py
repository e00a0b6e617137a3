"""Inventory control against published optimal costs, and what is lost by seeing less."""

from __future__ import annotations

import inspect
import math

import pytest
from scipy.stats import poisson

import everlearn as el
from everlearn.errors import InputError
from everlearn.tasks.inventory import enough, inventory
from tests.chains import arrows, reachable
from tests.few import few
from tests.refusal import refusal

ZIPKIN = {(1, 4): 4.04, (2, 4): 4.40, (1, 9): 5.44, (2, 9): 6.09}
"""Zipkin (2008), "Old and new methods for lost-sales inventory systems", Operations Research 56(5): the optimal average
cost for Poisson demand of mean 5 and holding cost 1, by lead time and penalty."""


def soak(value):
    """A case that tests the same law as others, and takes longer."""
    return pytest.param(value, marks=pytest.mark.soak)


@pytest.mark.parametrize(("lead_time", "penalty"), few(ZIPKIN, [(1, 4), (1, 9)]))
def test_the_optimal_costs_of_zipkin(lead_time, penalty):
    optimum = el.Theory(inventory(lead_time=lead_time, penalty=penalty)).optimum
    assert optimum.certified
    assert f"{-optimum.average_reward:.2f}" == f"{ZIPKIN[lead_time, penalty]:.2f}"


@pytest.mark.soak
@pytest.mark.parametrize(("penalty", "cost"), [(4, "4.60"), (9, "6.53")])
def test_the_optimal_costs_of_zipkin_at_a_longer_lead_time(penalty, cost):
    # The same source; a capacity of 20 would bind here, and the usual one grows with the lead time.
    optimum = el.Theory(inventory(lead_time=3, penalty=penalty)).optimum
    assert f"{-optimum.average_reward:.2f}" == cost


@pytest.mark.soak
@pytest.mark.parametrize(("lead_time", "mean"), [(1, 5.0), (2, 3.0), (3, 1.5), (1, 12.0)])
@pytest.mark.parametrize("penalty", [soak(1.0), 4.0, soak(19.0)])
def test_where_demand_waits_the_level_is_enough_for_demand_that_is_lost(lead_time, mean, penalty, monkeypatch):
    # The level is SciPy's quantile; room for six more units changes no optimum.
    monkeypatch.setattr("everlearn.tasks.inventory.USUAL_CAPACITY", 1)
    fractile = penalty / (1 + penalty)
    level = enough(lead_time, mean, fractile)
    assert level == poisson.ppf(fractile, (lead_time + 1) * mean)
    given = {
        "lead_time": lead_time,
        "mean_demand": mean,
        "penalty": penalty,
        "most_ordered": min(level, 20 // lead_time),
    }
    averages = [el.Theory(inventory(**given, capacity=room)).optimal_average_reward for room in (level, level + 6)]
    assert averages[0] == pytest.approx(averages[1], abs=1e-9)


@pytest.mark.soak
def test_the_usual_capacity():
    assert [len(inventory(lead_time=1, **given).states) - 1 for given in ({}, {"capacity": 7, "most_ordered": 7})] == [
        20,
        7,
    ]
    assert len(inventory(mean_demand=60.0, most_ordered=60).states) - 1 == poisson.ppf(0.8, 120)
    assert len(inventory(holding_cost=0.0).states) - 1 == 200  # whatever is held costs nothing: no level is best


@pytest.mark.soak
def test_rewards_and_observations_do_not_grow_with_room_that_is_not_needed():
    tasks = [inventory(capacity=capacity, holding_cost=0.1) for capacity in (20, 50, 100, 200)]
    assert [task.reward.low for task in tasks] == [-84.0, -112.0, -112.0, -112.0]
    averages = [el.Theory(task).optimal_average_reward for task in tasks[:3]]
    assert averages == pytest.approx([averages[0]] * 3, abs=1e-8)
    assert len(tasks[3].observations) < 9 * 200 * 30


@pytest.mark.parametrize(
    "arguments", [{}, {"penalty": 9.0}, soak({"lead_time": 2}), soak({"lead_time": 2, "penalty": 9.0})]
)
def test_the_bounds_on_stock_and_orders_cost_nothing(arguments):
    narrow, wide = inventory(**arguments), inventory(**arguments, capacity=26, most_ordered=10)
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


@pytest.mark.soak
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
    ("arguments", "refused"),
    [
        ({"see": "orders"}, ("see", "orders")),
        ({"holding_cost": -1}, ("holding_cost", -1)),
        ({"holding_cost": math.inf}, ("holding_cost",)),
        ({"penalty": 0}, ("penalty", 0)),
        ({"penalty": 1e308}, ("penalty", 1e308)),
        ({"lead_time": 10**400}, ("lead_time",)),
        ({"lead_time": -3}, ("lead_time", -3)),
        ({"mean_demand": -1e9}, ("mean_demand", -1000000000.0)),
        ({"mean_demand": math.nan}, ("mean_demand",)),
    ],
)
def test_what_is_refused(arguments, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        inventory(**arguments)
