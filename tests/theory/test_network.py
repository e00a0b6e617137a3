"""Certified optima of networks against closed forms of queueing theory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import everlearn as el
from everlearn.environments.network import Network
from everlearn.errors import InputError
from everlearn.tasks.networks import criss_cross
from everlearn.tasks.registry import make_task
from everlearn.theory import network as module
from everlearn.theory import potentials
from everlearn.theory.network import NetworkOptimum, default_jobs, network_optimum
from everlearn.theory.potentials import best_order, cost_at_least, cost_at_most
from everlearn.theory.summary import optimum_rows
from tests.refusal import refusal

QUEUE = Network((0.6,), ((1.0,),), (None,), (1,))
TANDEM = Network((0.3, 0.0), ((1.0, 0.0), (0.0, 0.8)), (1, None), (1, 1))
TWO_SERVERS = Network((1.0,), ((1.0,), (1.0,)), (None,), (1,))
DEAR = Network((0.3, 0.0), ((1.0, 0.0), (0.0, 0.8)), (1, None), (1, 10))
UNEQUAL = Network((0.3, 0.0), ((1.0, 0.0), (0.0, 0.8)), (1, None), (1, 100))
CROSSED = Network((0.2,) * 8, ((1.0,) * 8,) * 2, (None,) * 8, (1,) * 8)
PRIORITIES = Network((0.3, 0.2), ((1.0, 0.6),), (None, None), (1, 3))


def preemptive(first, second) -> tuple[float, float]:
    """The mean numbers of jobs of two classes (rate of arrival, rate of service), the first with preemptive priority.

    Sojourn times by Kleinrock (1976), Section 3.4, for exponential services.
    """
    (l1, m1), (l2, m2) = first, second
    r1, r2 = l1 / m1, l2 / m2
    T1 = 1 / m1 / (1 - r1)
    T2 = 1 / m2 / (1 - r1) + (r1 / m1 + r2 / m2) / ((1 - r1) * (1 - r1 - r2))
    return l1 * T1, l2 * T2


KNOWN = {
    "M/M/1": (QUEUE, 60, 0.6 / 0.4),
    "two in tandem (Jackson, 1957)": (TANDEM, 50, 0.3 / 0.7 + 0.375 / 0.625),
    "M/M/2": (TWO_SERVERS, 60, 4 / 3),
    "c mu with preemption": (PRIORITIES, 110, np.dot(preemptive((0.2, 0.6), (0.3, 1.0)), (3, 1))),
}


@pytest.mark.parametrize("name", KNOWN)
def test_bounds_enclose_what_is_known(name):
    network, jobs, cost = KNOWN[name]
    found = network_optimum(network, jobs)
    assert found.lower <= -cost + 1e-12 <= found.upper + 2e-12
    assert found.upper - found.lower < 1e-5 * cost
    assert found.certified


@pytest.mark.parametrize("name", KNOWN)
def test_a_small_grid_gives_wide_bounds_that_hold(name):
    """A boundary that loses arrivals or forgets what lies beyond it would put one bound on the wrong side."""
    network, jobs, cost = KNOWN[name]
    found = network_optimum(network, jobs // 3)
    assert found.lower < -cost <= found.upper + 1e-12
    assert found.upper - found.lower > 1e-9


@pytest.mark.parametrize("name", [name for name in KNOWN if name != "M/M/2"])
def test_servers_that_never_idle_attain_what_is_known(name):
    network, jobs, cost = KNOWN[name]
    found = network_optimum(network, jobs)
    assert -cost * (1 + 1e-5) <= found.working <= found.lower <= -cost + 1e-12


def test_classes_with_two_servers_have_a_bound_from_an_order_of_priority():
    found = network_optimum(TWO_SERVERS, 60)
    assert found.working == pytest.approx(-best_order(TWO_SERVERS).cost)
    assert -2 * 4 / 3 < found.working < -4 / 3


def test_it_can_pay_to_idle_and_servers_that_never_do_are_counted_apart():
    """Jackson (1957): if no server idles, each queue is an M/M/1 queue."""
    found = network_optimum(DEAR, 80)
    always = 0.3 / 0.7 + 10 * 0.375 / 0.625
    assert -always * (1 + 1e-6) <= found.working <= -always
    assert found.lower > found.working + 0.1
    first, _, third = optimum_rows(_Theory(found))
    assert "may let servers idle" in first[1]
    assert "never idle" in third[1]


class _Theory(NamedTuple):
    """What the rows of a summary need."""

    optimum: NetworkOptimum


@pytest.mark.parametrize(("regime", "jobs"), [("IL", 20), ("IM", 40)])
def test_a_known_policy_for_criss_cross_never_idles(regime, jobs):
    rows = optimum_rows(_Theory(network_optimum(criss_cross(regime=regime, seen=1).network, jobs)))
    assert len(rows) == 2
    assert "never idle" in rows[0][1]


def test_the_criss_cross_network_has_its_published_optimum():
    """Dai and Gluzman (2021), Table 2: 0.671 and 2.084; to four digits computed elsewhere: 0.6706, 2.0836."""
    light = network_optimum(criss_cross().network, 20)
    assert [light.lower, light.upper] == pytest.approx([-0.6706227] * 2, abs=2e-6)
    assert criss_cross().references["optimum"] == pytest.approx(light.average_reward, abs=2e-6)


@pytest.mark.soak
@pytest.mark.parametrize("regime", ["BL", "IM", "BM"])
def test_stated_optima_are_certified(regime):
    theory = el.Theory("criss-cross", {"regime": regime})
    assert theory.optimum.certified
    assert theory.task.references["optimum"] == pytest.approx(theory.optimal_average_reward, rel=2e-6)
    assert theory.optimum.working == pytest.approx(theory.optimum.upper, rel=1e-5)


def test_too_many_classes_for_a_grid_still_have_bounds():
    found = el.Theory("input-switch", {"seen": 1}).optimum
    assert not found.certified
    assert [round(-found.upper, 3), round(-found.lower, 3), round(-found.working, 4)] == [5.333, 12.667, 14.4445]
    assert "from quadratic functions" in repr(found)


def test_a_default_grid_that_is_too_small_still_has_bounds():
    """The task of this network has one action, which costs 60.4286."""
    found = network_optimum(UNEQUAL)
    assert default_jobs(UNEQUAL) == 29  # 222 are needed
    assert [round(-found.upper, 3), round(-found.lower, 3)] == [37.929, 60.429]


@pytest.mark.parametrize(("network", "jobs"), [(QUEUE, 2), (QUEUE, 3), (TANDEM, 5)])
def test_a_grid_gives_no_wider_bounds_than_potentials(network, jobs):
    found = network_optimum(network, jobs)
    assert -cost_at_most(network) <= found.lower <= found.upper <= -cost_at_least(network)


def test_a_grid_whose_edge_does_not_settle_is_refused(monkeypatch):
    monkeypatch.setattr(module, "LAST_MOVE", 1)
    with pytest.raises(InputError, check=refusal("jobs", 20)):
        network_optimum(QUEUE, 20)


def test_the_summary_says_that_servers_may_idle():
    rows = [meaning for _, meaning in optimum_rows(el.Theory("input-switch", {"seen": 1}))]
    assert "may let servers idle" in rows[0]
    assert "never idle" in rows[2]


def test_theory_gives_the_bounds_and_nothing_else():
    theory = el.Theory(el.Theory("criss-cross", {"seen": 2}).task)
    with pytest.raises(InputError, check=lambda error: error.argument == "task"):
        _ = theory.pairs


@pytest.mark.parametrize(
    ("network", "jobs", "argument"),
    [
        (Network((1.0,), ((1.0,),), (None,), (1,)), 9, "load of the network"),
        (QUEUE, 0, "jobs"),
        (Network((0.9,), ((1.0,),), (None,), (1,)), 8, "jobs"),
        (PRIORITIES, 9_999, "jobs"),
        (CROSSED, None, "network"),
    ],
)
def test_what_has_no_bound_is_refused(network, jobs, argument):
    with pytest.raises(InputError, check=lambda error: error.argument == argument):
        network_optimum(network, jobs)


@pytest.mark.parametrize("jobs", [None, 20], ids=["no grid", "a grid"])
def test_orders_of_priority_are_solved_once(monkeypatch, jobs):
    solved = []
    monkeypatch.setattr(potentials, "best_order", lambda network: solved.append(network))
    monkeypatch.setattr(module, "best_order", lambda network: solved.append(network) or best_order(network))
    network_optimum(make_task("input-switch", {"seen": 1}).network if jobs is None else PRIORITIES, jobs)
    assert len(solved) == 1
