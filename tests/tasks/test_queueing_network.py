"""The queueing network against birth and death chains, product forms and hand computation."""

from __future__ import annotations

import inspect
import math
import tracemalloc
from itertools import product

import numpy as np
import pytest

import everlearn as el
from everlearn.environments.queueing_network import QueueingNetwork
from everlearn.errors import InputError
from everlearn.tasks.queueing_network import queueing_network
from everlearn.theory.pairs import tabulate
from tests.few import few
from tests.refusal import refusal


def stationary(matrix) -> np.ndarray:
    """Solve p = p P by a direct method."""
    balance = (matrix.T.toarray() - np.eye(matrix.shape[0])).copy()
    balance[0] = 1
    return np.linalg.solve(balance, np.eye(matrix.shape[0])[0])


@pytest.mark.parametrize("topology", ["parallel", "tandem"])
@pytest.mark.parametrize("servers", [1, 2])
@pytest.mark.parametrize("control", ["each", "all"])
def test_rows_are_distributions_and_steps_change_one_thing(topology, servers, control):
    network = QueueingNetwork(3, 2, servers, topology, control, window=2, patience=1)
    lengths, level = network.lengths, network.parts[-1]
    for action in range(len(network.actions)):
        matrix = network.transitions(action)
        assert (matrix.data > 0).all()
        np.testing.assert_allclose(matrix.sum(axis=1), 1, atol=1e-14)
        entries = matrix.tocoo()
        change = lengths[:, entries.col] - lengths[:, entries.row]
        moved = np.abs(change).sum(axis=0)
        assert (np.abs(change.sum(axis=0)) <= 1).all()
        assert (moved <= (2 if topology == "tandem" else 1)).all()
        served = (change.sum(axis=0) < 0) | (moved == 2)
        assert (level[entries.col] == level[entries.row])[served].all()  # services are not judged, arrivals are


def test_one_place_by_hand():
    # One place, always fast: a = 1/3 to fill, b = 2/3 to empty.  Full for a / (a + b) of the time.
    task = queueing_network(queues=1, capacity=1, window=0)
    matrix = task.arrays.matrices[task.actions.index("fast")].toarray()
    np.testing.assert_allclose(matrix, [[2 / 3, 1 / 3], [2 / 3, 1 / 3]], atol=1e-15)
    theory = el.Theory(task)
    assert theory.average_reward("fast") == pytest.approx(2 / 3 * 1 / 3 - 1 / 3 * 1.5 / 6, abs=1e-12)
    assert theory.average_reward("slow") == pytest.approx(1 / 3 * 1 / 3, abs=1e-12)
    assert theory.optimal_average_reward == pytest.approx(max(task.references.values()), abs=1e-12)


def test_reputation_by_hand():
    # One place, window 1: in mode slow, a customer who finds it full (rate 2 or 0.5) makes the reputation 0, one who
    # finds it vacant makes it 1.  Memories (0, 0), (0, 1), (1, 0), (1, 1); balance of (vacant | full) by level.
    network = QueueingNetwork(1, 1, window=1, floor=0.5, height=1.5, slow_rate=1.0, fast_rate=2.0)
    expected = np.array([[3.5, 0, 0, 0.5], [0, 2, 0, 2], [1, 0, 3, 0], [0, 1, 2, 1]]) / 4
    np.testing.assert_allclose(network.transitions(0).toarray(), expected, atol=1e-15)


@pytest.mark.parametrize(("queues", "capacity", "servers"), [(1, 6, 1), (1, 5, 3), (2, 3, 1), (3, 2, 2)])
def test_queues_in_parallel_without_reputation_have_a_product_form(queues, capacity, servers):
    # M/M/s/K: weights (a / mu)^n / (n! up to s, then s each), and independent queues multiply.
    network = QueueingNetwork(queues, capacity, servers, control="all", window=0)
    for action, mode in enumerate(("slow", "fast")):
        load = (network.floor + network.height) / queues / (network.slow_rate, network.fast_rate)[action]
        alone = np.array([load**n / np.prod([min(k, servers) for k in range(1, n + 1)]) for n in range(capacity + 1)])
        joint = np.prod((alone / alone.sum())[network.lengths], axis=0)
        np.testing.assert_allclose(stationary(network.transitions(action)), joint, atol=1e-13)
        task = queueing_network(queues=queues, capacity=capacity, servers=servers, control="all", window=0)
        assert el.Theory(task).average_reward(mode) == pytest.approx(task.references[f"always {mode}"], abs=1e-11)


def test_a_tandem_that_is_never_full_has_the_product_form_of_jackson():
    # Jackson (1957): geometric with the load of each queue; at a load of 0.05 a place beyond the eighth is 4e-11.
    network = QueueingNetwork(2, 8, topology="tandem", control="all", window=0, floor=0.2, height=0.0)
    load = 0.2 / network.fast_rate
    joint = np.prod((1 - load) * load**network.lengths, axis=0)
    np.testing.assert_allclose(stationary(network.transitions(1)), joint, atol=1e-9)


@pytest.mark.parametrize("topology", ["parallel", "tandem"])
@pytest.mark.parametrize("seed", few(range(3), range(2)))
def test_as_many_are_served_as_are_admitted(topology, seed):
    pairs = tabulate(queueing_network(topology=topology, servers=2, patience=2))
    random = np.random.default_rng(seed)
    matrix, _ = pairs.under(random.dirichlet(np.ones(4), size=pairs.size))
    flow = matrix.tocoo()
    weight = stationary(matrix)[flow.row] * flow.data
    customers = np.array([sum(state) for _, state in pairs.labels])
    change = customers[flow.col] - customers[flow.row]
    assert weight[change > 0].sum() > 0.05
    assert weight[change > 0].sum() == pytest.approx(weight[change < 0].sum(), abs=1e-13)


def test_profit_is_revenue_on_admission_less_the_cost_of_servers_at_work():
    task = queueing_network(servers=2, fast_cost=3.0, slow_cost=0.5, revenue=2.0)
    network = QueueingNetwork(servers=2)
    lengths, clock = network.lengths.T.tolist(), network.clock
    for memory, (action, modes) in product(range(0, 64, 5), zip(network.actions, network.modes, strict=True)):
        cost = sum(min(n, 2) * (3.0 if mode == "fast" else 0.5) for n, mode in zip(lengths[memory], modes, strict=True))
        for outcome in task.model.outcomes(memory, action):
            admitted = sum(lengths[outcome.memory]) > sum(lengths[memory])
            reward = task.reward(tuple(lengths[memory]), action, outcome.observation)
            assert reward == pytest.approx(2.0 * admitted - cost / clock, abs=1e-14)


def test_a_server_before_a_full_queue_rests():
    network = QueueingNetwork(2, 2, topology="tandem")
    full = network.lengths[1] == 2
    assert (network.busy[0][full] == 0).all()
    assert (network.busy[0][~full] == np.minimum(network.lengths[0], 1)[~full]).all()


def test_reputation_is_what_distorts():
    hidden, seen = el.Theory(queueing_network()), el.Theory(queueing_network(see_reputation=True))
    assert hidden.distortion(10).value > 1
    assert seen.distortion(10).value == 0
    assert el.Theory(queueing_network(window=0)).distortion(10).value == 0
    assert hidden.optimal_average_reward == pytest.approx(seen.optimal_average_reward, abs=1e-12)
    assert hidden.best_deterministic.average_reward < hidden.optimal_average_reward - 1e-4


@pytest.mark.parametrize("arguments", [{}, {"topology": "tandem"}, {"patience": 1, "control": "all"}])
def test_the_optimum_is_that_of_a_linear_program(arguments):
    # The dual of Manne (1960): the greatest reward of a distribution over memories and actions that is in balance.
    from scipy.optimize import linprog
    from scipy.sparse import hstack, identity, vstack

    theory = el.Theory(queueing_network(**arguments))
    pairs = theory.pairs
    balance = hstack([(identity(pairs.size) - transition).T for transition in pairs.transitions])
    total = np.ones((1, pairs.rewards.size))
    found = linprog(
        -pairs.rewards.ravel(),
        A_eq=vstack([balance, total]),
        b_eq=np.append(np.zeros(pairs.size), 1.0),
        method="highs",
    )
    assert theory.optimum.certified
    assert theory.optimal_average_reward == pytest.approx(-found.fun, abs=1e-9)


OTHERWISE = {
    "queues": 1,
    "capacity": 2,
    "servers": 2,
    "topology": "tandem",
    "control": "all",
    "window": 2,
    "patience": 1,
    "see_reputation": True,
    "revenue": 2.0,
    "fast_cost": 1.0,
    "slow_cost": 0.1,
    "arrival_floor": 0.3,
    "arrival_height": 1.0,
    "slow_rate": 0.5,
    "fast_rate": 3.0,
}


def test_every_parameter_is_tried():
    assert set(OTHERWISE) == set(inspect.signature(queueing_network).parameters)


def fingerprint(task: el.Task) -> tuple:
    matrices, rewards, classes = task.arrays
    return [matrix.toarray().tolist() for matrix in matrices], [one.tolist() for one in rewards], classes.tolist()


@pytest.mark.parametrize("name", OTHERWISE)
def test_every_parameter_has_an_effect(name):
    changed = queueing_network(**{name: OTHERWISE[name]})
    assert fingerprint(changed) != fingerprint(queueing_network())
    assert changed.parameters[name] == OTHERWISE[name]


@pytest.mark.parametrize(("queues", "capacity", "window"), [(1, 1, 0), (1, 40, 4), (2, 30, 10), (4, 3, 3)])
def test_it_has_the_size_that_was_asked_for(queues, capacity, window):
    task = queueing_network(queues=queues, capacity=capacity, window=window, control="all")
    assert len(task.observations) == (capacity + 1) ** queues * (window + 1)
    assert len(task.states) == (capacity + 1) ** queues
    assert tabulate(task).size == len(task.observations)


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [
        ({"queues": 0}, ("queues", 0)),
        ({"queues": 10**400}, ("queues",)),
        ({"capacity": 10**200}, ("capacity",)),
        ({"servers": 10**400}, ("servers",)),
        ({"window": -1}, ("window", -1)),
        ({"patience": 0}, ("patience", 0)),
        ({"topology": "ring"}, ("topology", "ring")),
        ({"control": "some"}, ("control", "some")),
        ({"arrival_floor": 0}, ("arrival_floor", 0)),
        ({"fast_rate": 0.5}, ("fast_rate", 0.5)),
        ({"revenue": 0}, ("revenue", 0)),
        ({"revenue": math.inf}, ("revenue",)),
        ({"slow_cost": -1}, ("slow_cost", -1)),
        (
            {"fast_cost": 1e308},
            ("fast_cost", 1e308),
        ),
        (
            {"arrival_floor": 1e308, "arrival_height": 1e308},
            ("arrival and service rates", (1e308, 1e308, 4.0)),
        ),
    ],
)
def test_what_is_refused(arguments, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        queueing_network(**arguments)


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        ({"queues": 12}, (12, 3, 3, "each")),
        ({"queues": 30}, (30, 3, 3, "each")),
        ({"queues": 10**9}, (10**9, 3, 3, "each")),
        ({"queues": 1000, "control": "all"}, (1000, 3, 3, "all")),
        ({"window": 10**6}, (2, 3, 10**6, "each")),
        ({"capacity": 301, "window": 11}, (2, 301, 11, "each")),
    ],
    ids=str,
)
def test_what_is_too_large_is_refused_before_it_is_made(arguments, given):
    with pytest.raises(InputError, check=refusal("queues, capacity, window, control", given)):
        queueing_network(**arguments)


def test_a_million_memories_are_allowed():
    assert QueueingNetwork(queues=2, capacity=300, window=10).memories == 996_611


@pytest.mark.parametrize("see_reputation", [False, True])
def test_a_transition_takes_as_much_memory_as_the_bound_says(see_reputation):
    # 600 kB is what NumPy and Python hold in any case; at the bound of 20,000,000 transitions 150 bytes are 3 GB.
    entries = 2 * 31**2 * 4 * 5
    tracemalloc.start()
    task = queueing_network(capacity=30, window=1, see_reputation=see_reputation)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(task.observations) * 4 * 5 == entries
    assert most < 600_000 + 150 * entries
