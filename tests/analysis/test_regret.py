"""Realized regret is the definition applied to what was recorded, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

import everlearn as el
from everlearn.analysis.regret import policy_averages
from everlearn.errors import InputError
from tests.refusal import refusal
from tests.worlds import pendulum, random_mdp


@pytest.fixture(scope="module")
def result() -> el.Result:
    return el.run("service-station", steps=3000, runs=5, seed=3)


def test_it_is_the_reference_times_t_less_the_rewards(result):
    found = el.regret(result, 0.5)
    for run in range(5):
        expected = [0.5 * t - total for t, total in zip(result.times, result.total_reward[run], strict=True)]
        assert found.per_run[run].tolist() == pytest.approx(expected, abs=1e-9)
    assert found.mean.tolist() == pytest.approx(found.per_run.mean(axis=0).tolist())


def test_its_uncertainty_is_that_of_the_rewards(result):
    found = el.regret(result, 0.5)
    assert found.standard_error.tolist() == pytest.approx((result.standard_error * result.times).tolist())


def test_it_may_be_negative_and_is_not_clipped(result):
    assert el.regret(result, 0.0).mean[-1] < 0


def test_unless_given_the_reference_is_the_optimum(result):
    assert np.array_equal(el.regret(result).mean, el.regret(result, 0.5).mean)
    assert np.array_equal(el.regret(result, "always fast").mean, el.regret(result, np.float64(0.5)).mean)


@pytest.mark.parametrize("reference", [random_mdp(1), None, True, np.nan, [0.5], "fast"])
def test_what_is_no_reference_is_refused(result, reference):
    with pytest.raises(InputError):
        el.regret(result, reference)


def test_what_is_no_result_is_refused(result):
    with pytest.raises(InputError):
        el.regret(0.5, result)


def test_without_an_optimum_it_asks_for_a_reference():
    single = el.run(pendulum(), "always", steps=5)
    with pytest.raises(InputError):
        el.regret(single)
    assert el.regret(single, 1.0).per_run.shape == (1, 5)


def test_one_run_tells_nothing_of_its_uncertainty():
    single = el.run("service-station", steps=50, runs=1)
    assert np.isnan(el.regret(single, 0.5).standard_error).all()


@pytest.mark.soak
def test_a_fixed_policy_has_no_regret_against_itself_beyond_its_averaging_time():
    station = el.Theory("service-station")
    slow = el.run("service-station", "always", parameters={"agent.policy": "slow"}, steps=5_000, runs=200, seed=1)
    found = el.regret(slow, station.average_reward("slow"))
    within = station.averaging_time("slow").value + 4 * found.standard_error
    assert np.all(np.abs(found.mean) <= within)


def test_recorded_policies_are_evaluated_exactly(result):
    station = el.Theory("service-station")
    averages = policy_averages(result, station.pairs)
    assert averages.shape == result.per_run.shape
    last = result.policies[2, -1]
    assert averages[2, -1] == pytest.approx(station.average_reward(last), abs=1e-12)


def test_policies_that_were_not_recorded_are_asked_for():
    large = el.run(random_mdp(1, states=200), steps=10)
    with pytest.raises(InputError, check=refusal("policies")):
        policy_averages(large, el.Theory("service-station").pairs)
