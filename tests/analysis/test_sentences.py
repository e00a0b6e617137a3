"""Sentences: how numbers are written, and when a difference is said to be shown."""

from __future__ import annotations

import pytest

from everlearn.analysis.measures import MEASURES
from everlearn.analysis.sentences import Finding, sentence

FINDING = Finding("shop", "fast", "slow", "final", 0.1234, 0.1, 0.15, 20, 0.01)


@pytest.mark.parametrize(
    ("low", "high", "adjusted", "shown"),
    [(0.1, 0.2, 0.01, True), (-0.2, -0.1, 0.05, True), (0.1, 0.2, 0.06, False), (-0.1, 0.2, 0.01, False)],
)
def test_a_difference_is_shown_where_test_and_interval_agree(low, high, adjusted, shown):
    finding = FINDING._replace(low=low, high=high, adjusted=adjusted)
    assert finding.shown(0.95) is shown
    assert ("no difference" in sentence(finding)) is not shown


def test_one_pair_shows_nothing():
    assert not FINDING._replace(adjusted=None).shown(0.95)
    assert "one member shows nothing" in sentence(FINDING._replace(adjusted=None), unit="member")


@pytest.mark.parametrize(
    ("numbers", "written"),
    [
        ((0.1234, 0.1, 0.15), "earned 0.123 more a step than slow (95% interval 0.100 to 0.150"),
        ((-0.1234, -0.15, -0.1), "earned 0.123 less a step than slow (95% interval 0.100 to 0.150"),
        ((123456.7, 120000.4, 130000.1), "earned 123,457 more a step than slow (95% interval 120,000 to 130,000"),
        ((0.5, 0.5, 0.5), "earned 0.5 more a step than slow (95% interval 0.5 to 0.5"),
        ((1 / 3, 1 / 3 - 1e-12, 1 / 3 + 1e-12), "earned 0.3333 more a step than slow (95% interval 0.3333 to 0.3333"),
    ],
)
def test_numbers_have_the_digits_that_their_interval_warrants(numbers, written):
    difference, low, high = numbers
    assert written in sentence(FINDING._replace(difference=difference, low=low, high=high))


def test_zero_has_no_sign():
    finding = FINDING._replace(difference=-0.0001, low=-0.3, high=0.3, adjusted=0.9)
    assert "is shown: 0.00 (95% interval -0.30 to 0.30" in sentence(finding)


def test_confidence_and_units_are_named():
    assert "(99.9% interval" in sentence(FINDING, 0.999)
    assert "20 paired members" in sentence(FINDING, unit="member")


@pytest.mark.parametrize("measure", MEASURES)
def test_every_measure_has_its_words(measure):
    for finding in (FINDING, FINDING._replace(adjusted=0.5), FINDING._replace(adjusted=None)):
        assert "{" not in sentence(finding._replace(measure=measure))
