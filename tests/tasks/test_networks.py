"""Networks of queues against published transition probabilities, routes and closed forms."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.optimize
from scipy.optimize import linprog

import everlearn as el
from everlearn.environments import fluid
from everlearn.environments.network import RULES, Network
from everlearn.errors import InputError
from everlearn.tasks.networks import criss_cross, n_model, network_task, reentrant_line, six_class
from tests.refusal import refusal

TANDEM = ((0.5, 0.0), ((1.0, 0.0), (0.0, 1.0)), (1, None), (1, 1))


def test_the_criss_cross_network_by_hand():
    # B = 0.3 + 0.3 + 2 + 1.5; server 1 prefers class 3 or class 1, and takes the other one rather than idle.
    model = criss_cross().model
    assert {o.memory: pytest.approx(o.probability * 4.1) for o in model.outcomes((1, 1, 1), "3-2")} == {
        (2, 1, 1): 0.3,
        (1, 1, 2): 0.3,
        (1, 0, 1): 1.5,
        (1, 1, 0): 2.0,
    }
    for action in ("1-2", "3-2"):
        served = {o.memory: o.probability * 4.1 for o in model.outcomes((2, 0, 0), action)}
        assert served == pytest.approx({(3, 0, 0): 0.3, (2, 0, 1): 0.3, (1, 1, 0): 2.0, (2, 0, 0): 1.5})


@pytest.mark.parametrize("x", [(0, 0), (1, 0), (0, 1), (1, 1), (1, 5), (2, 0), (2, 1), (7, 3)])
def test_the_n_model_is_that_of_dai_and_gluzman(x):
    """Their equations: action 1 gives class 1 priority at server 2, action 2 gives it to class 2."""
    task, (x1, x2) = n_model(), x
    rate = 1.3 * 0.95 + 0.4 * 0.95 + 1 + 1  # theirs has a server's two rates, 0.5 and 1, where one at a time is enough
    down = {
        "1-1": ((x1 > 0) + 0.5 * (x1 > 1), float(x2 > 0 and x1 <= 1)),
        "1-2": ((x1 > 0) + 0.5 * (x1 > 1 and x2 == 0), float(x2 > 0)),
    }
    for action, (first, second) in down.items():
        chances = {o.memory: o.probability * rate for o in task.model.outcomes(x, action)}
        assert chances.pop((x1 + 1, x2)) == pytest.approx(1.3 * 0.95)
        assert chances.pop((x1, x2 + 1)) == pytest.approx(0.4 * 0.95)
        assert chances.pop((x1 - 1, x2), 0) == pytest.approx(first)
        assert chances.pop((x1, x2 - 1), 0) == pytest.approx(second)


@pytest.mark.parametrize(
    ("make", "routes", "entering"),
    [
        (lambda: six_class(stations=3, seen=1), (3, 4, 5, 6, 7, 8, 1, None, None), (0, 2)),
        (lambda: reentrant_line(stations=3, seen=1), (3, 4, 5, 6, 7, 8, 1, 2, None), (0,)),
    ],
)
def test_lines_are_those_of_the_published_tables(make, routes, entering):
    network = make().network
    assert network.routes == routes
    assert [k for k, rate in enumerate(network.arrivals) if rate] == list(entering)
    assert np.max(network.services, axis=0).tolist() == [1 / 8, 1 / 2, 1 / 4, 1 / 6, 1 / 7, 1.0, 1 / 8, 1 / 2, 1 / 4]
    assert network.load == pytest.approx(0.9)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_is_a_policy(rule):
    task = criss_cross(seen=3)
    policy = el.AleatoricPolicy(task, rule)
    for state, row in zip(task.states[:-1], policy.table[:-1], strict=True):
        assert task.network.choices[int(row.argmax())] == task.network.choose(rule, state)


def test_a_table_is_a_policy_too():
    task = criss_cross(seen=2)
    table = el.AleatoricPolicy(task, "max-weight").table
    assert np.array_equal(el.AleatoricPolicy(task, table).table, table)


def test_outside_the_rule_decides():
    task = n_model(seen=2)
    outcomes = [task.model.outcomes((9, 4), action) for action in task.actions]
    assert outcomes[0] == outcomes[1]
    assert task.model.outcomes((2, 1), "1-1") != task.model.outcomes((2, 1), "1-2")


def test_a_queue_is_unbounded_and_as_long_as_it_should_be():
    task = network_task(Network((0.5,), ((1.0,),), (None,), (1,)), seen=1)
    result = el.run(task, "always", steps=10_000, runs=4, seed=1, engine="reference")
    assert result.final["mean"] == pytest.approx(-1, abs=0.02 + 4 * result.final["standard_error"])


@pytest.mark.parametrize(
    ("argument", "change"),
    [
        ("arrivals", {0: (0.0, 0.0)}),
        ("services", {1: ((1.0, 0.0),)}),
        ("services", {1: ((1.0,), (0.0,))}),
        ("routes", {2: (1, 0)}),
        ("holding", {3: (1, 0.5)}),
    ],
)
def test_a_network_that_cannot_be_is_refused(argument, change):
    given = [change.get(place, value) for place, value in enumerate(TANDEM)]
    with pytest.raises(InputError, check=lambda error: error.argument == argument):
        Network(*given)


def test_lists_and_arrays_make_the_same_network_as_tuples():
    network = Network(*TANDEM)
    as_arrays = [np.array(entry) for entry in (TANDEM[0], TANDEM[1], TANDEM[3])]
    listed = Network(as_arrays[0], as_arrays[1], list(TANDEM[2]), as_arrays[2])
    assert listed == network
    assert hash(listed) == hash(network)
    assert list(listed.events((1, 1), (0, 1))) == list(network.events((1, 1), (0, 1)))


@pytest.mark.parametrize(
    ("make", "check"),
    [
        (lambda: criss_cross(regime="XX"), refusal("regime", "XX")),
        (lambda: criss_cross(seen=200), refusal("seen", 200)),
        (lambda: criss_cross(seen=2.5), refusal("seen", 2.5)),
        (lambda: reentrant_line(stations=7, seen=1), refusal("stations", 7)),
        (lambda: six_class(stations=7, seen=1), refusal("stations", 7)),
        (lambda: criss_cross(outside="agent"), refusal("outside", "agent")),
        (lambda: n_model(load=0.999999), refusal("load of the network", 0.999999)),
        (lambda: n_model(load=1.0), refusal("load", 1.0)),
        (lambda: network_task(Network((1.0,), ((1.0,),), (None,), (1,)), seen=1), refusal("load of the network", 1.0)),
    ],
)
def test_parameters_out_of_range_are_refused(make, check):
    with pytest.raises(InputError, check=check):
        make()


def test_the_fluid_rule_does_not_depend_on_the_solver(monkeypatch):
    # Whichever of two equal classes is served first, the cost is the same.
    equal = Network((0.4, 0.4), ((1, 1),), (None, None), (1, 1))
    shares = []
    for method in ("highs-ds", "highs-ipm"):
        monkeypatch.setattr(scipy.optimize, "linprog", partial(linprog, method=method))
        shares.append([fluid._first_shares.__wrapped__(equal, lengths)[0].tolist() for lengths in ((1, 2), (3, 1))])
    assert shares == [[[1.0, 0.0], [1.0, 0.0]]] * 2


def test_a_fluid_that_never_drains_is_refused():
    with pytest.raises(InputError, check=refusal("load", 1.25)):
        Network((1.25,), ((1,),), (None,), (1,)).choose("fluid", (3,))
