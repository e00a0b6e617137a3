"""The constrained optimum: certified, and the same as by other ways."""

from __future__ import annotations

import numpy as np
import pytest

import everlearn as el
from everlearn.errors import InputError
from tests.durable import jobs
from tests.few import few
from tests.refusal import refusal
from tests.worlds import random_mdp


def test_without_a_limit_it_is_the_optimum():
    theory = el.Theory(jobs.server)
    found = theory.constrained()
    assert found.average_reward == pytest.approx(theory.optimal_average_reward)
    assert (found.average_cost, found.multiplier) == (None, 0.0)


@pytest.mark.parametrize("limit", [0.15, 0.3, 0.4, 0.9])
def test_the_bound_closes_and_the_policy_earns_and_costs_what_it_says(limit):
    theory = el.Theory(jobs.server)
    found = theory.constrained(jobs.power, limit)
    assert abs(found.gap) < 1e-9
    assert found.average_cost <= limit + 1e-9
    chain = theory.policy_over_pairs(found.policy).chain
    assert chain.gain[theory.pairs.start] == pytest.approx(found.average_reward)
    assert found.multiplier >= 0
    assert found.multiplier == pytest.approx(0, abs=1e-12) or found.average_cost == pytest.approx(limit)


@pytest.mark.parametrize("seed", few(range(4), range(2)))
def test_a_policy_that_meets_the_limit_never_earns_more(seed):
    """Random policies of random tasks, against the certified bound; their averages come from another solver."""
    task = random_mdp(seed, 4, 2)
    theory = el.Theory(task)
    rng = np.random.default_rng(seed)
    costs = rng.random(len(task.actions))

    def cost(_s, action, _o) -> float:
        return float(costs[task.actions.index(action)])

    limit = float(0.7 * costs.min() + 0.3 * costs.max())
    found = theory.constrained(cost, limit)
    assert found.average_cost <= limit + 1e-9
    for _ in range(50):
        policy = rng.dirichlet(np.full(len(task.actions), 0.5), size=theory.pairs.size)
        known = theory.policy_over_pairs(policy)
        P = known.chain.matrix.toarray()
        stationary = np.linalg.matrix_power(0.5 * (np.eye(theory.pairs.size) + P), 2**14)[theory.pairs.start]
        if stationary @ (policy @ costs) <= limit:
            assert known.average_reward <= found.upper + 1e-9


def test_durations_and_a_limit_together():
    """A cost of 1 per unit of time is no constraint if every decision costs what it takes."""
    theory = el.Theory(jobs.shop)
    free = theory.constrained(duration=jobs.expected_duration)
    same = theory.constrained(jobs.expected_duration, 1.0, jobs.expected_duration)
    assert same.average_reward == pytest.approx(free.average_reward)
    assert (same.occupancy * 1.0).sum() == pytest.approx(1 / 0.75)  # decisions per unit of time
    half = theory.constrained(lambda _s, action, _o: float(action == "take"), 0.1, jobs.expected_duration)
    assert abs(half.gap) < 1e-9
    assert half.average_cost == pytest.approx(0.1)


def test_what_makes_no_sense_is_refused():
    theory = el.Theory(jobs.server)
    with pytest.raises(InputError, check=refusal("limit", 0.05)):
        theory.constrained(jobs.power, 0.05)
    with pytest.raises(InputError, check=refusal("limit", None)):
        theory.constrained(jobs.power)
    with pytest.raises(InputError, check=refusal("duration")):
        theory.constrained(duration=lambda _s, _a, _o: 0.0)
