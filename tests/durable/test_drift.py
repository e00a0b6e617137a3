"""The drift alarm keeps its promise on stationary streams, and is raised when rewards fall."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

from everlearn.durable.drift import EPOCH, Gauge
from everlearn.errors import InputError
from tests.few import few
from tests.refusal import refusal


def statistic(values) -> float:
    """R after some batches, as the module defines it, computed from all of them at each step."""
    r = 0.0
    for n in range(1, len(values) + 1):
        p = sum(other <= values[n - 1] for other in values[:n]) / n
        r = (1 + r) / (2 * math.sqrt(p))
    return r


def fed(gauge: Gauge, values, first: int = 1) -> Gauge:
    for step, value in enumerate(values, first):
        gauge.add(float(value), step)
    return gauge


@pytest.mark.parametrize("number", range(1, 8))
def test_its_expectation_over_all_orders_is_at_most_the_number_of_batches(number):
    """Exchangeable means: every order equally likely; all of them are tried."""
    orders = [statistic(order) for order in itertools.permutations(range(number))]
    assert math.fsum(orders) / len(orders) <= number
    tied = [statistic(order) for order in itertools.permutations([0, 0, 0, 1, 1, 2, 2][:number])]
    assert math.fsum(tied) / len(tied) <= number


def test_the_gauge_computes_that_statistic():
    values = np.random.default_rng(1).random(60)
    assert fed(Gauge(batch=1, rarity=1e12), values).report()["statistic"] == pytest.approx(statistic(values), rel=1e-12)
    means = values.reshape(20, 3).mean(axis=1)
    assert fed(Gauge(batch=3, rarity=1e12), values).report()["statistic"] == pytest.approx(statistic(means), rel=1e-9)


def test_ranks_go_back_one_epoch_and_no_further():
    values = np.random.default_rng(2).random(2 * EPOCH + 30)
    gauge = fed(Gauge(batch=1, rarity=1e12), values)
    r = 0.0
    for n in range(2 * EPOCH, len(values)):
        past = values[EPOCH : n + 1]
        r = (1 + r) / (2 * math.sqrt(sum(past <= values[n]) / len(past)))
    assert gauge.report()["statistic"] == pytest.approx(r, rel=1e-12)


@pytest.mark.parametrize("kind", few(["uniform", "bernoulli", "heavy", "autocorrelated"], ["bernoulli"]))
def test_on_stationary_streams_false_alarms_are_as_rare_as_promised(kind):
    """The mean number of alarms over 300 streams of 400 batches, at rarity 100, is at most 4, and three errors more."""
    rng, counts = np.random.default_rng(7), []
    for _ in range(150):
        if kind == "autocorrelated":
            noise = rng.standard_normal(100 * 50)
            values = np.empty_like(noise)
            level = 0.0
            for place, shock in enumerate(noise.tolist()):  # a memory of about two steps, in batches of 50
                level = 0.6 * level + shock
                values[place] = level
            counts.append(fed(Gauge(batch=50, rarity=100), values).alarms * 4)
        else:
            draws = {"uniform": rng.random, "bernoulli": lambda n: rng.random(n) < 0.3, "heavy": rng.standard_cauchy}
            counts.append(fed(Gauge(batch=1, rarity=100), draws[kind](400)).alarms)
    margin = 3 * float(np.std(counts)) / math.sqrt(len(counts))
    assert float(np.mean(counts)) <= 400 / 100 + margin


def test_it_is_raised_soon_after_a_fall():
    rng, delays = np.random.default_rng(3), []
    for _ in range(100):
        gauge = fed(Gauge(batch=20), rng.random(20 * 150))
        assert gauge.alarms == 0
        step = 20 * 150
        while gauge.alarms == 0 and step < 20 * 200:
            step += 1
            gauge.add(float(rng.random()) - 0.5, step)
        delays.append((step - 20 * 150) / 20)
        assert gauge.last.recent < gauge.last.past
    assert np.mean(delays) < 15
    assert max(delays) < 25


@pytest.mark.parametrize(("fall", "expected"), [(2, 8.6), (3, 6.0)])
def test_how_soon_depends_on_the_size_of_the_fall(fall, expected):
    """The mean delay over 200 normal streams, in batches; that of one varies by about 3, so that 4 errors are 0.9."""
    rng, delays = np.random.default_rng(5), []
    for _ in range(200):
        gauge = fed(Gauge(batch=1), rng.standard_normal(150))
        before, step = gauge.alarms, 150
        while gauge.alarms == before:
            step += 1
            gauge.add(float(rng.standard_normal()) - fall, step)
        delays.append(step - 150)
    assert np.mean(delays) == pytest.approx(expected, abs=0.9)


def test_rewards_that_rise_raise_no_alarm():
    assert fed(Gauge(batch=1, rarity=50), np.arange(5000.0)).alarms == 0


def test_averages():
    gauge = Gauge(batch=2)
    assert gauge.average is gauge.recent is None
    fed(gauge, [1, 3, 5, 7, 9])
    assert gauge.average == 5.0
    assert gauge.recent == (5 + 7 + 9) / 3


def test_it_goes_on_from_its_condition_in_json_to_the_last_bit():
    values = np.random.default_rng(4).random(700)
    whole = fed(Gauge(batch=3, rarity=5), values)
    half = fed(Gauge(batch=3, rarity=5), values[:401])
    resumed = Gauge(batch=3, rarity=5)
    resumed.restore(json.loads(json.dumps(half.snapshot())))
    fed(resumed, values[401:], 402)
    assert resumed.snapshot() == whole.snapshot()
    assert resumed.last == whole.last
    assert whole.alarms > 0


@pytest.mark.parametrize("wrong", [{"batch": 0}, {"batch": "many"}, {"rarity": 1}, {"rarity": math.inf}])
def test_what_cannot_be_is_refused(wrong):
    [(name, value)] = wrong.items()
    with pytest.raises(InputError, check=refusal(f"drift.{name}", value)):
        Gauge(**wrong)
