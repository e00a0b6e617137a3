"""The first baseline: it counts arrivals, and believes them fixed."""

from __future__ import annotations

import numpy as np
import pytest

import everlearn as el
from everlearn.agents.static import predicted_average
from tests.agents.baselines import FAST, after_its_phases, check_every_run_stays_slow, check_it_stays_slow


@pytest.mark.parametrize("seed", [1, 2])
def test_it_stays_slow_on_the_station_of_the_paper(seed):
    # It leaves only where its estimate of the arrival probability is 1: never, with any vacant step unfilled.
    check_it_stays_slow("static", phase=5000, seed=seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1, 7))
def test_hundreds_of_runs_stay_slow_with_the_default_phase(seed):
    check_every_run_stays_slow("static", runs=40, seed=seed)


def test_it_goes_fast_where_fast_is_cheap():
    # At an arrival probability of 0.1 fast is predicted to earn 0.098 a step, slow 0.0909.
    agent = after_its_phases("static", 5000, seed=1, task_fast_cost=0.02, agent_fast_cost=0.02)
    assert agent.policy[1, FAST] == 1
    assert agent.policy[0, FAST] == 0


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("arrival", [0.1, 0.7])
def test_predicted_average_is_the_formula_of_appendix_b(arrival, epsilon):
    told = np.array([1.0, 0.0, 0.5, 0.5, 1.0])
    assert predicted_average(told, arrival, epsilon) == pytest.approx(1 / (1 - epsilon + (1 + epsilon) / arrival))


def test_it_counts_arrivals_at_the_vacant_station():
    agent = el.Agent("service-station", "static", parameters={"agent.phase": 6})
    for observation in ("nothing", "nothing", "arrival", "nothing", "departure", "arrival", "departure", "nothing"):
        agent.act()
        agent.observe(observation)
    assert agent.inspect()["gathered"].tolist() == [4, 2]  # the phase is over after six steps


def test_without_an_arrival_it_stays():
    agent = el.Agent("service-station", "static", parameters={"agent.phase": 3, "agent.fast_cost": 0})
    for _ in range(5):
        agent.act()
        agent.observe("nothing")
    assert agent.policy[1].tolist() == [0, 1]
