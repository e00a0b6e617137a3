"""The parts of regret add up to it, and each is what it is called."""

from __future__ import annotations

import json

import numpy as np
import pytest

import everlearn as el
from everlearn.agents.optimistic_q import best_horizon
from everlearn.agents.q_learning import q_learning
from everlearn.analysis.diagnosis import PARTS, diagnose
from everlearn.paper.claims.worlds import hidden_bit, trap
from everlearn.tasks.arrays import mdp
from tests.few import few
from tests.worlds import random_mdp


@pytest.mark.parametrize(
    ("task", "agent", "schedule"),
    few(
        [
            ("riverswim", "growing-horizon", "smooth"),
            ("riverswim", "ucrl2", None),
            ("service-station", "growing-horizon", "change-points"),
            ("maintenance", "growing-horizon", "practical"),
            ("tiger", "q-learning", None),
        ],
        [("riverswim", "growing-horizon", "smooth")],
    ),
)
def test_the_parts_add_up_to_the_regret_of_the_run(task, agent, schedule):
    found = diagnose(task, agent, schedule=schedule, steps=500, runs=2, seed=3)
    assert tuple(found.parts) == PARTS
    assert found.residual < 1e-8
    result = el.run(task, agent, schedule=schedule, steps=500, runs=2, seed=3, engine="reference")
    optimum = el.Theory(task).clairvoyant.average_reward
    np.testing.assert_allclose(found.regret[:, -1], 500 * optimum - result.total_reward[:, -1], atol=1e-8)
    assert (found.parts["distortion"] >= -1e-9).all()


def test_without_distortion_no_regret_is_due_to_it():
    found = diagnose(random_mdp(1, states=3, actions=2), schedule="smooth", steps=400, runs=2, seed=1)
    assert np.abs(found.parts["distortion"]).max() < 1e-9
    assert (found.parts["actions"] >= -1e-9).all()


@pytest.mark.parametrize("distortion", [0.1, 0.4])
def test_distortion_takes_at_most_its_share(distortion):
    """At most (1 - 1/A) Delta per step, by the argument of E6."""
    found = diagnose(hidden_bit(distortion), schedule="smooth", steps=2000, runs=2, seed=1)
    share = found.parts["distortion"][:, -1] / 2000
    assert (share <= distortion / 2 + 1e-9).all()
    assert (share > 0.05 * distortion).all()


def test_a_short_horizon_is_blamed_where_it_is_to_blame():
    """In the trap, planning over one step is what loses; its own values are learned well."""
    parameters = {"agent.horizon": 1.0, "agent.duration": 20}
    found = diagnose(trap(), "discounted", parameters=parameters, steps=6000, runs=1, seed=1)
    parts = {name: float(curve[0, -1] - curve[0, -8]) for name, curve in found.parts.items()}
    assert parts["horizon"] > 0.8 * sum(parts.values())


def test_the_horizon_of_every_agent_is_blamed_as_that_of_the_papers_is():
    """At horizon 1 it is best not to swim, and both agents learn that soon."""
    at = {"parameters": {"agent.horizon": 1.0}, "steps": 3000, "runs": 1}
    for agent in ("q-learning", "discounted"):
        found = diagnose("riverswim", agent, **at)
        parts = {name: float(curve[0, -1]) for name, curve in found.parts.items()}
        assert (found.horizons == 1).all()
        assert parts["horizon"] > 0.9 * found.regret[0, -1]
        assert abs(parts["actions"]) < 0.05 * found.regret[0, -1]
        assert found.within == pytest.approx(0.005)
        assert found.residual < 1e-9
    assert found.optimism is not None
    assert diagnose("riverswim", "q-learning", **at).optimism is None


@pytest.mark.parametrize(
    ("agent", "parameters", "horizon"),
    [
        ("q-learning", {}, 10.0),
        pytest.param("q-lambda", {}, 50.0, marks=pytest.mark.soak),
        pytest.param("q-lambda", {"agent.horizon": float("inf")}, np.inf, marks=pytest.mark.soak),
        pytest.param("network", {}, 100.0, marks=pytest.mark.soak),
        ("ucb-h", {"agent.horizon": 3}, 3.0),
        ("optimistic-q", {"agent.horizon": 7.0}, 7.0),
        ("optimistic-q", {}, best_horizon(12, 30, 1.0, 0.05)),
        ("focus", {}, 30.0),
        ("focus", {"agent.horizon": 7.0}, 7.0),
        ("planner", {}, 12.0),
        (q_learning(horizon=4.0), {}, 4.0),
        ("discounted-subroutine", {}, 10.0),
        ("differential-q", {}, np.inf),
        ("ucrl2", {}, np.inf),
    ],
)
def test_the_horizon_is_that_of_the_agent(agent, parameters, horizon):
    found = diagnose("riverswim", agent, parameters=parameters, steps=30, runs=1)
    assert found.horizons[0] == pytest.approx(horizon)
    assert found.residual < 1e-9


def test_the_steps_that_are_done_are_reported():
    done: list[int] = []
    diagnose("riverswim", "always", steps=70, runs=2, progress=done.append)
    assert sum(done) == 140


@pytest.mark.parametrize("distortion", [0.0, 0.4])
def test_values_are_near_optimistic_and_chi_and_xi_are_those_of_the_paper(distortion):
    """Algorithm 3 has chi >= 0, and xi - chi = V_* - Q_* - Delta tau where V is not clipped."""
    parameters = {"agent.horizon": 1.5}
    found = diagnose(hidden_bit(distortion), "discounted-subroutine", parameters=parameters, steps=3000, runs=2, seed=1)
    assert (found.horizons == 1.5).all()
    shortfall, allowed, chi, xi = found.optimism
    np.testing.assert_allclose(allowed, 1.5 * distortion, atol=1e-9)
    assert (shortfall <= allowed + 1e-9).all()
    assert (chi >= -1e-9).all()
    theory = el.Theory(hidden_bit(distortion))
    Q = theory.values(1.5).Q[:, theory.pairs.start]  # both actions are equally likely at first
    np.testing.assert_allclose(xi[:, 0] - chi[:, 0], Q.max() - Q.mean() - 1.5 * distortion, atol=1e-9)


def test_a_shortfall_is_found_in_the_units_of_the_learner():
    """Values begin at 0, where the optimal one is 4 times 1.5 / 2."""
    P, paid = np.ones((1, 1, 1)), [[1.5]]
    task = mdp(P, paid, reward_range=(0, 2), start=0, name="one state")
    parameters = {"agent.horizon": 4.0, "agent.optimism": 0.0, "agent.q_init": 0.0}
    found = diagnose(task, "discounted-subroutine", parameters=parameters, steps=10, runs=1)
    assert found.optimism.shortfall[0, 0] == pytest.approx(3.0)
    assert found.optimism.chi[0, 0] == found.optimism.xi[0, 0] == pytest.approx(-3.0)
    document = found.to_dict()["optimism"]
    assert document["times"][:2] == [1, 2]
    assert document["shortfall"][0] == pytest.approx(3.0)


def test_luck_is_not_systematic():
    found = diagnose(random_mdp(2, states=3, actions=2), "always", steps=200, runs=40, seed=1)
    luck = found.parts["luck"][:, -1]
    assert abs(luck.mean()) < 4 * luck.std(ddof=1) / np.sqrt(len(luck))


def test_parts_add_up_if_an_action_cannot_be_undone():
    """The first action leads to a state that pays 1 forever, or to one that pays nothing forever."""
    moves = [[[0.0, 1, 0], [0, 1, 0], [0, 0, 1]], [[0.0, 0, 1], [0, 1, 0], [0, 0, 1]]]
    fork = mdp(moves, [[0.0, 0], [1, 1], [0, 0]], reward_range=(0, 1), start=0, name="fork")
    found = diagnose(fork, "always", parameters={"agent.policy": "1"}, steps=50, runs=1)
    assert found.regret[0, -1] == pytest.approx(50)
    assert found.residual < 1e-9
    assert found.parts["horizon"][0, -1] == pytest.approx(49)


def test_it_is_json_whose_parts_add_up():
    document = json.loads(json.dumps(diagnose("riverswim", "always", steps=50, runs=2).to_dict(), allow_nan=False))
    first = ["task", "agent", "optimum", "horizon_average_reward", "runs", "times", "horizons"]
    last = ["standard_error", "residual", "optimism"]
    keys = [*first, "parts", "sum", "regret", *last]
    assert list(document) == keys
    assert list(document["parts"]) == list(PARTS)
    np.testing.assert_allclose(document["sum"], document["regret"], atol=1e-9)
    np.testing.assert_allclose(np.sum(list(document["parts"].values()), axis=0), document["sum"], atol=1e-9)
    assert document["horizons"][0] is None
    assert document["optimism"] is None


def test_no_steps_and_no_runs_are_refused():
    for wrong in ({"steps": 0}, {"runs": 0}):
        with pytest.raises(el.EverlearnError):
            diagnose("riverswim", **wrong)
