"""Q-learning: its literal form, the Q* that it converges to, and how its epsilon decays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import everlearn as el
from everlearn.errors import InputError
from tests.agents import rivals
from tests.agents.learned import acted, learned
from tests.agents.literal import exact
from tests.agents.side_by_side import compare
from tests.refusal import refusal
from tests.worlds import corridor, environment_stream, random_mdp


def best_values(P: np.ndarray, R: np.ndarray, discount: float) -> np.ndarray:
    """Q*, from the linear programme: the least v with v >= r + gamma P v for every action."""
    actions, states, _ = P.shape
    above = np.concatenate([discount * P[a] - np.eye(states) for a in range(actions)])
    found = linprog(np.ones(states), above, -R.T.ravel(), bounds=(None, None))
    return R + discount * np.einsum("ast,t->sa", P, found.x)


@pytest.mark.soak
def test_it_converges_to_the_best_values():
    # Steps of n^-0.7 over two million steps: the error left is of order n^-0.35, 0.01, for values between 1 and 1.6.
    random = np.random.default_rng(7)
    P, R = random.dirichlet(np.ones(3), size=(2, 3)), random.random((3, 2))
    task = el.mdp(P, R, reward_range=(0, 1))
    parameters = {"agent.horizon": 4, "agent.step_size": 1, "agent.step_power": 0.7, "agent.epsilon": 1}
    expected = best_values(P, R, 0.75)
    for known in learned(task, "q-learning", steps=2_000_000, runs=3, seed=1, parameters=parameters):
        np.testing.assert_allclose(known["Q"], expected, atol=0.01)
        assert known["N"].sum() == 2_000_000


@pytest.mark.soak
def test_it_solves_a_deterministic_world_exactly():
    # From 0 to 1 for nothing, and back for 1, gamma = 1/2: Q(1) = 1 + Q(0) / 2 and Q(0) = Q(1) / 2 give 4/3 and 2/3.
    parameters = {"agent.horizon": 2, "agent.step_size": 0.5, "agent.epsilon": 0.5}
    (known,) = learned(corridor(), "q-learning", steps=2_000, runs=1, seed=1, parameters=parameters)
    np.testing.assert_allclose(known["Q"], [[2 / 3, 2 / 3], [4 / 3, 4 / 3]], rtol=1e-12)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=60))
def test_looking_no_further_with_steps_of_one_nth_it_averages(moves):
    rewards = np.array([[[0.1, 0.9], [0.4, 0.3]], [[0.0, 1.0], [0.7, 0.2]]])  # by state, action and what follows
    task = el.mdp(np.full((2, 2, 2), 0.5), rewards, reward_range=(0, 1))
    parameters = {"agent.horizon": 1, "agent.step_size": 1, "agent.step_power": 1}
    agent, seen, here = el.Agent(task, "q-learning", parameters=parameters), {}, 0
    for action, following in moves:
        agent.observe(following, executed=action)
        seen.setdefault((here, action), []).append(rewards[here, action, following])
        here = following
    for pair, each in seen.items():
        assert agent.inspect()["Q"][pair] == pytest.approx(np.mean(each), abs=1e-12)
        assert agent.inspect()["N"][pair] == len(each)


@pytest.mark.parametrize(
    ("horizon", "steps", "epsilons"),
    [
        (10, (0.1, 0.0), (0.1, 0.0, 0.0)),
        (2.5, (1.0, 0.6), (1.0, 0.5, 0.05)),
        (1, (0.5, 1.0), (0.3, 0.0, 0.4)),
    ],
)
def test_it_is_the_literal_form(horizon, steps, epsilons):
    names = ("step_size", "step_power", "epsilon", "epsilon_power", "epsilon_floor")
    parameters = {f"agent.{name}": value for name, value in zip(names, (*steps, *epsilons), strict=True)}
    agent = el.Agent(random_mdp(2), "q-learning", parameters={**parameters, "agent.horizon": horizon}, seed=3)
    gamma = 1 - 1 / exact.mpf(horizon)
    compare(agent, rivals.QLearning(3, 3, agent.indexed.start, gamma, steps, epsilons), seed=3, steps=500)


@pytest.mark.parametrize(("power", "floor"), [(0.5, 0.0), (1.0, 0.02), (0.0, 0.0), (0.0, 0.9)])
def test_its_policy_explores_as_much_as_its_next_step_does(power, floor):
    parameters = {"agent.epsilon": 0.6, "agent.epsilon_power": power, "agent.epsilon_floor": floor}
    agent = el.Agent(random_mdp(5), "q-learning", parameters=parameters, seed=2)
    environment = agent.task.start(environment_stream(2))
    for t in range(1, 60):
        epsilon = max(0.6 * t**-power, floor)
        np.testing.assert_allclose(agent.policy.min(axis=1)[agent.policy.max(axis=1) > 0.9], epsilon / 3, atol=1e-12)
        assert agent.policy.min() == pytest.approx(epsilon / 3) or (agent.policy == 1 / 3).all()
        agent.observe(environment.step(agent.act()))


@pytest.mark.soak
def test_policies_of_runs_side_by_side_explore_alike():
    parameters = {"agent.epsilon": 1, "agent.epsilon_power": 0.5}
    result = el.run(random_mdp(5), "q-learning", steps=1_000, runs=4, parameters=parameters, engine="compiled")
    np.testing.assert_allclose(result.policies[:, -1].min(axis=2), 1001**-0.5 / 3, rtol=1e-12)


@pytest.mark.parametrize(
    ("step_power", "epsilon_power"),
    [(0.6, 0.4), *(pytest.param(*powers, marks=pytest.mark.soak) for powers in [(0.0, 0.0), (0.0, 0.4), (0.6, 0.0)])],
)
def test_compiled_powers_are_interpreted_ones(step_power, epsilon_power):
    # Powers of zero leave out the computation of powers, so each combination is compiled code of its own.
    parameters = {"agent.step_power": step_power, "agent.epsilon_power": epsilon_power, "agent.epsilon": 0.8}
    fast, slow = (
        el.run(random_mdp(9), "q-learning", steps=1500, runs=3, seed=4, parameters=parameters, engine=engine)
        for engine in ("compiled", "reference")
    )
    assert fast.total_reward.tolist() == slow.total_reward.tolist()
    assert fast.policies.tolist() == slow.policies.tolist()


def test_it_begins_as_it_is_told():
    agent = el.Agent("service-station", "q-learning", parameters={"agent.initial_value": 12})
    assert agent.inspect()["Q"].tolist() == [[12, 12], [12, 12]]
    assert agent.inspect()["N"].tolist() == [[0, 0], [0, 0]]


def test_optimistic_values_make_it_try_everything_without_epsilon():
    parameters = {"agent.initial_value": 20, "agent.epsilon": 0}
    agent = acted(el.Agent(random_mdp(5), "q-learning", parameters=parameters, seed=1), 300, seed=1)
    assert (agent.inspect()["N"] > 0).all()


def test_it_starts_again_in_each_state_that_it_enters():
    """A state that is not entered again keeps its values; in the one that is, only what was learned since counts."""
    agent = el.Agent(corridor(), "q-learning", parameters={"agent.restart": 6, "agent.initial_value": 3}, seed=1)
    for t in range(5):
        agent.observe(1 - t % 2, executed=0)
    before = agent.inspect()
    assert before["N"][:, 0].tolist() == [3, 2]
    agent.observe(0, executed=0)  # the sixth step enters state 0
    after = agent.inspect()
    assert after["N"].tolist() == [[0, 0], [3, 0]]
    assert after["Q"][0].tolist() == [3, 3]
    assert after["Q"][1, 0] != 3
    agent.observe(1, executed=0)
    assert agent.inspect()["N"].tolist() == [[1, 0], [0, 0]]


@pytest.mark.soak
def test_compiled_restarts_are_interpreted_ones():
    options = {"steps": 1500, "runs": 3, "seed": 4, "parameters": {"agent.restart": 400, "agent.epsilon": 0.3}}
    fast, slow = (el.run(random_mdp(9), "q-learning", engine=name, **options) for name in ("compiled", "reference"))
    assert fast.total_reward.tolist() == slow.total_reward.tolist()


@pytest.mark.parametrize(
    ("parameters", "refused"),
    [
        ({"restart": -1}, ("agent.restart", -1.0)),
        ({"horizon": 0.5}, ("agent.horizon", 0.5)),
        ({"step_size": 2}, ("agent.step_size", 2.0)),
        ({"step_power": -1}, ("agent.step_power", -1.0)),
        ({"epsilon": 2}, ("agent.epsilon", 2.0)),
        ({"epsilon_floor": -1}, ("agent.epsilon_floor", -1.0)),
        ({"epsilon_power": "inf"}, ("agent.epsilon_power",)),
        ({"initial_value": "nan"}, ("agent.initial_value",)),
    ],
)
def test_it_refuses(parameters, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        el.Agent("service-station", "q-learning", parameters={f"agent.{k}": value for k, value in parameters.items()})
