"""The lattice planner: its planning against exact optima, what it shares, and which states are places."""

from __future__ import annotations

import math

import numpy as np
import pytest

import everlearn as el
from everlearn.agents.lattice import Lattice, back_up, lattice, move_between
from everlearn.aleatoric.places import find_places
from everlearn.errors import InputError
from everlearn.tasks.queueing_network import queueing_network
from tests.refusal import refusal
from tests.worlds import environment_stream

LARGE = 1e6
"""How many visits the exact model counts as; only ratios matter."""


def informed(task: el.Task, design: el.Design) -> Lattice:
    """Return what an agent knows that has seen every outcome as often as it is probable."""
    indexed = el.IndexedTask(design.view(task))
    knowledge = design.build(indexed)
    low, scope = task.reward.low, task.reward.high - task.reward.low
    for s, label in enumerate(task.states):
        for a, action in enumerate(task.actions):
            for observation, probability, _ in task.model.outcomes(s, action):
                following, reward = indexed.step(s, a, indexed.observation(observation))
                cell, weight = knowledge.kinds[s], LARGE * probability
                assert label == task.states[s]
                knowledge.counts[cell, a, move_between(knowledge, s, following)] += weight
                sums, place = knowledge.totals[cell], knowledge.places[following]
                sums["visits"][a] += weight
                sums["reward"][a] += weight * (reward - low) / scope
                sums["place"].reshape(-1, len(place))[a] += weight * place
    return knowledge


@pytest.mark.parametrize("near", [1, 3])
def test_planning_finds_the_optimum(near):
    # With near=1, all lengths between the ends share their moves, and the optimum is the same.
    task = queueing_network(queues=1, capacity=5, window=0, fast_cost=2.0)
    knowledge = informed(task, lattice(near=near))
    assert len(knowledge.totals) == (3 if near == 1 else 6)
    for _ in range(1500):
        for s in range(6):
            back_up(knowledge, s, 0.3)
    low, scope = task.reward.low, task.reward.high - task.reward.low
    best = el.Theory(task).optimum
    assert low + scope * knowledge.run["gain"][0, 0] == pytest.approx(best.average_reward, abs=1e-9)


def test_a_move_is_known_where_it_was_never_seen():
    agent = el.Agent("riverswim", lattice(near=1), seed=1)
    for observation in (1, 2):
        agent.observe(observation, executed="right")
    knowledge = agent.knowledge
    assert knowledge.kinds.tolist() == [2, 1, 1, 1, 1, 0]
    assert knowledge.counts[1].sum() == 1
    knowledge.cells["best"][4] = 7.0
    back_up(knowledge, 3, 0.0)
    assert knowledge.cells["value"][3, 1] > 6.0


def test_the_weights_are_those_of_least_squares():
    agent = el.Agent("criss-cross", lattice(backups=0), parameters={"task.seen": 3}, seed=1)
    environment = agent.task.start(environment_stream(1))
    x, y = [], []
    for _ in range(100):
        earlier = agent.aleatoric_state
        reward = agent.observe(environment.step(agent.act()))
        if "outside" not in (earlier, agent.aleatoric_state):
            x.append([1, *agent.aleatoric_state])
            y.append((reward - agent.task.reward.low) / (agent.task.reward.high - agent.task.reward.low))
    ridge = np.array(x).T @ x + np.eye(4) / 100
    np.testing.assert_allclose(agent.knowledge.weights, np.linalg.solve(ridge, np.array(x).T @ y), rtol=1e-8)


def test_seldom_taken_actions_are_taken():
    agent = el.Agent("riverswim", lattice(trials=3), seed=1)
    environment = agent.task.start(environment_stream(1))
    for _ in range(400):
        agent.observe(environment.step(agent.act()))
    visits = agent.knowledge.totals["trials"]
    met = visits.sum(axis=1) > 100
    assert met.any()
    assert visits[met].min() >= 3 * math.log(301)


def test_every_action_is_tried_where_nothing_can_be_learned():
    # Every step leads to or from a state that is no place.
    @el.task(actions=["a", "b"], observations=["out", *range(5)], memory=0)
    def world(memory, _):
        yield "out" if memory % 2 else memory // 2, 1.0, (memory + 1) % 10

    @world.reward
    def _zero(_, __, ___):
        return 0.0

    agent = el.Agent(world, lattice(trials=2), seed=1)
    environment = agent.task.start(environment_stream(1))
    for _ in range(400):
        agent.observe(environment.step(agent.act()))
    sums = agent.knowledge.totals
    assert sums["visits"].sum() == 0
    assert sums["trials"].min() >= 2 * math.log(151)


def test_every_step_between_states_that_are_no_lattice_is_learned_from():
    # 100 states have 199 differences, and all of them are seen.
    labels = [f"state {k}" for k in range(100)]

    @el.task(actions=["a"], observations=labels, memory=0)
    def world(memory, _):
        for k in range(100):
            yield labels[k], 0.01, k

    @world.reward
    def _half(_, __, ___):
        return 0.5

    agent = el.Agent(world, lattice(backups=0), seed=1)
    environment = agent.task.start(environment_stream(1))
    for _ in range(500):
        agent.observe(environment.step(agent.act()))
    assert len(agent.inspect()["moves"]) > 64
    assert agent.inspect()["seen"].sum() == 500


def test_states_that_are_no_lattice_are_kinds_of_their_own():
    assert find_places(["a", "b", (1, "c")], 1).kinds.tolist() == [0, 1, 2]
    scattered = [(7 * k, -7 * k) for k in range(9)]
    assert len(set(find_places(scattered, 1).kinds.tolist())) == 9


def test_coordinates_may_be_negative_and_places_may_be_missing():
    found = find_places([(-1, 3), (0, 3), (-1, 4)], 1)
    assert found.places.tolist() == [[0, 0], [1, 0], [0, 1]]
    assert found.occupants.tolist() == [0, 2, 1, -1]


def test_coordinates_may_be_of_any_size():
    assert find_places([2**70, 2**70 + 1, 2**70 + 2], 1).places.ravel().tolist() == [0, 1, 2]
    assert len(set(find_places([-(2**63), 0, 2**63 - 1], 1).kinds.tolist())) == 3  # too far apart for a lattice
    assert len(set(find_places([2**63, 1, 2], 1).kinds.tolist())) == 3


@pytest.mark.parametrize("wrong", [{"near": 0}, {"trials": -1}, {"backups": -1}])
def test_wrong_parameters_are_refused(wrong):
    [(name, value)] = wrong.items()
    with pytest.raises(InputError, check=refusal(f"agent.{name}", value)):
        lattice(**wrong)


def test_the_gain_does_not_overshoot():
    # If g moved by the whole error at every visit to the usual state, it would swing by 0.4 here.
    tandem = {"task.topology": "tandem", "task.see_reputation": True}
    agent = el.Agent("queueing-network", lattice(), parameters=tandem, seed=5)
    environment = agent.task.start(environment_stream(5))
    gains = []
    for _ in range(300):
        agent.observe(environment.step(agent.act()))
        gains.append(agent.knowledge.run["gain"][0, 0])
    assert np.ptp(gains[150:]) < 0.2


@pytest.mark.parametrize("seed", [6, 18])
def test_what_was_only_seen_to_stay_does_not_make_values_diverge(seed):
    # Steps to and from "out" are not learned from, so for some time each place was only seen to stay.
    @el.task(actions=["a", "b"], observations=["out", 0, 1, 2], memory="out")
    def world(_, __):
        yield "out", 0.7, "out"
        for place in range(3):
            yield place, 0.1, place

    @world.reward
    def _one(_, __, ___):
        return 1.0

    agent = el.Agent(world, lattice(), seed=seed)
    environment = agent.task.start(environment_stream(seed))
    for _ in range(250):
        agent.observe(environment.step(agent.act()))
        assert 0 <= agent.knowledge.run["gain"][0, 0] <= 1
    assert np.abs(agent.knowledge.cells["best"]).max() < 1000


def test_a_task_whose_moves_would_take_too_much_memory_is_refused():
    task = el.mdp(np.full((1, 4, 4), 0.25), np.zeros((4, 1)), name="small")
    built = lattice().build(el.IndexedTask(task))
    assert built.counts.size > 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("everlearn.agents.lattice.MOST_ENTRIES", built.counts.size)
        with pytest.raises(InputError, check=refusal("agent", "lattice")):
            lattice().build(el.IndexedTask(task))
