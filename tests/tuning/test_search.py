"""Ranges and lists: what is drawn from them, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from everlearn.errors import InputError, UnknownName
from everlearn.tuning.search import Choice, Range, read_search
from tests.refusal import refusal


def drawn(searched, number=4_000):
    random = np.random.default_rng(1)
    return [searched.draw(random) for _ in range(number)]


def test_a_linear_range_is_uniform():
    values = np.array(drawn(Range(-2.0, 6.0)))
    assert values.min() >= -2
    assert values.max() <= 6
    # Mean and variance of a uniform: 2 and 64 / 12; five standard errors of the mean of 4,000.
    assert values.mean() == pytest.approx(2, abs=5 * math.sqrt(64 / 12 / 4000))
    assert values.var() == pytest.approx(64 / 12, rel=0.1)


def test_a_logarithmic_range_is_uniform_in_the_logarithm():
    values = np.log10(drawn(Range(0.01, 100.0, "log")))
    assert values.mean() == pytest.approx(0, abs=5 * math.sqrt(16 / 12 / 4000))
    assert values.var() == pytest.approx(16 / 12, rel=0.1)


def test_numbers_have_few_digits():
    assert all(value == float(f"{value:.4g}") for value in drawn(Range(0.01, 100.0, "log"), 200))


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_whole_numbers_reach_both_ends(scale):
    values = drawn(Range(1.0, 4.0, scale, whole=True))
    assert {type(value) for value in values} == {int}
    assert set(values) == {1, 2, 3, 4}


def test_whole_numbers_of_a_linear_range_are_equally_likely():
    counts = np.bincount(drawn(Range(0.0, 3.0, whole=True)))
    assert counts.sum() == 4000
    assert np.all(np.abs(counts - 1000) < 5 * math.sqrt(4000 * 3 / 16))


def test_of_a_list_every_value_is_as_likely():
    values = drawn(Choice(("fast", "slow", "stop")))
    assert all(abs(values.count(one) - 4000 / 3) < 5 * math.sqrt(4000 * 2 / 9) for one in ("fast", "slow", "stop"))


def test_both_ways_to_name_a_parameter_are_the_same():
    assert read_search({"schedule": {"x": [1]}, "agent": {"y": [2]}}) == read_search(
        {"agent.y": [2], "schedule.x": [1]}
    )


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        ({}, ("search", {})),
        (3, ("search", 3)),
        ({"task.window": [1, 2]}, ("key", "search.task.window")),
        ({"agent": 3}, ("search.agent", 3)),
        ({"agent.x": 3}, ("search.agent.x", 3)),
        ({"agent.x": []}, ("search.agent.x", [])),
        ({"agent.x": {"low": 1}}, ("search.agent.x.high", None)),
        ({"agent.x": {"low": True, "high": 2}}, ("search.agent.x.low", True)),
        ({"agent.x": {"low": 1, "high": math.inf}}, ("search.agent.x.high",)),
        ({"agent.x": {"low": 3, "high": 2}}, ("search.agent.x.high", 2)),
        ({"agent.x": {"low": 0, "high": 2, "scale": "log"}}, ("search.agent.x.low", 0)),
        ({"agent.x": {"low": 0, "high": 2, "scale": "root"}}, ("search.agent.x.scale", "root")),
        ({"agent.x": {"low": 0, "high": 2, "whole": 1}}, ("search.agent.x.whole", 1)),
        (
            {"agent.x": {"low": 0.5, "high": 2, "whole": True}},
            ("search.agent.x", {"low": 0.5, "high": 2, "whole": True}),
        ),
    ],
)
def test_what_makes_no_sense_is_refused(given, refused):
    with pytest.raises(InputError, check=refusal(*refused)) as caught:
        read_search(given)
    assert "\n" not in str(caught.value)


def test_an_unknown_key_of_a_range_is_refused_with_the_nearest():
    with pytest.raises(UnknownName, check=refusal("key", "search.agent.x.scales")):
        read_search({"agent.x": {"low": 1, "high": 2, "scales": "log"}})
