"""Quadratic bounds on the cost of networks: against closed forms, certified optima, and the inequalities themselves."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from everlearn.environments.network import Network
from everlearn.tasks.networks import REGIMES, criss_cross, n_model, reentrant_line
from everlearn.theory.potentials import _least, below, cost_at_least, cost_at_most, shared_cost

QUEUE = Network((0.6,), ((1.0,),), (None,), (1,))
TANDEM = Network((0.3, 0.0), ((1.0, 0.0), (0.0, 0.8)), (1, None), (1, 1))
TWO_SERVERS = Network((1.0,), ((1.0,), (1.0,)), (None,), (1,))


def test_one_queue_has_its_cost():
    assert cost_at_least(QUEUE) == pytest.approx(1.5, rel=1e-5)
    assert cost_at_most(QUEUE) == pytest.approx(1.5, rel=1e-5)
    assert cost_at_least(QUEUE) <= 1.5 <= cost_at_most(QUEUE)


def test_shares_of_networks_of_product_form():
    assert shared_cost(TANDEM) == pytest.approx(0.3 / 0.7 + 0.375 / 0.625)
    assert shared_cost(TWO_SERVERS) == np.inf


@pytest.mark.parametrize("arrival", [1.0, 1.5])
def test_an_unstable_queue_has_no_cost(arrival):
    queue = Network((arrival,), ((1.0,),), (None,), (1,))
    assert shared_cost(queue) == cost_at_most(queue) == np.inf


@pytest.mark.parametrize("seed", range(20))
def test_what_a_server_can_do_is_bounded_by_the_best_affine_function_with_its_slopes(seed):
    random, n = np.random.default_rng(seed), 3
    options = [(k, random.integers(-4, 5, n + 1).astype(float)) for k in range(1 + seed % n)]
    found = _least(n, options)
    lengths = [np.array([*x, 1.0]) for x in product(range(4), repeat=n)]
    best = [min([0.0, *(option @ x for k, option in options if x[k] >= 1)]) for x in lengths]
    gaps = [chosen - found @ x for chosen, x in zip(best, lengths, strict=True)]
    assert min(gaps) == 0.0


def test_two_servers_are_enclosed():
    assert cost_at_least(TWO_SERVERS) <= 4 / 3 <= cost_at_most(TWO_SERVERS) < np.inf


@pytest.mark.parametrize("regime", ["IL", "BL", "IM", "BM"])
def test_the_criss_cross_network_is_enclosed(regime):
    optimum, network = REGIMES[regime][2], criss_cross(regime=regime, seen=1).network
    assert 0.7 * optimum < cost_at_least(network) < optimum < cost_at_most(network) < 1.4 * optimum


@pytest.mark.parametrize(
    "network", [criss_cross(regime="BH").network, n_model().network], ids=["criss-cross", "n-model"]
)
def test_potentials_satisfy_their_inequality_beyond_the_grid(network):
    """Events are those of the task; servers that idle too, class by class."""
    jobs, cost, rng = 60, 15.0 * min(network.holding), np.random.default_rng(1)
    found = below(network, jobs, cost)
    assert any(each.weights.any() for each in found)
    for total in (jobs + 1, 1000):
        for share in [*np.eye(network.classes), *rng.dirichlet(np.full(network.classes, 0.4), 3)]:
            x = np.floor(total * share)
            x[0] += total - x.sum()
            for each, choice in product(found, product(*((*classes, None) for classes in network.skills))):
                assert network.cost(x) + drift(network, each, x, choice) >= cost


def drift(network, potential, x, choice):
    """A V (x) if each server serves the class of its choice, or idles."""
    unit, change, left = np.eye(network.classes), 0.0, x.copy()
    for k, rate in enumerate(network.arrivals):
        change += rate * (potential(x + unit[k]) - potential(x))
    for s, k in enumerate(choice):
        if k is not None and left[k] > 0:
            left[k] -= 1
            to = network.routes[k]
            after = x - unit[k] + (unit[to] if to is not None else 0.0)
            change += network.services[s][k] * (potential(after) - potential(x))
    return change


def test_a_line_of_six_classes_has_bounds():
    network = reentrant_line(seen=1).network
    assert 9.1 < cost_at_least(network) < cost_at_most(network) < 20.7
