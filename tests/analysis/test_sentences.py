"""Sentences: how numbers are written, and when a difference is said to be shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from everlearn.analysis.measures import MEASURES
from everlearn.analysis.sentences import Comparison, rounded, sentence, too_few

FINDING = Comparison(
    *("shop", "fast", "slow", {}, {}, "final", 20, 0.1234, 0.1, 0.15, 0.01, 0.01, 1.0, "", ""),
    *("shop", "fast", "slow"),
)


@pytest.mark.parametrize(
    ("low", "high", "adjusted", "shown"),
    [(0.1, 0.2, 0.01, True), (-0.2, -0.1, 0.05, True), (0.1, 0.2, 0.06, False), (-0.1, 0.2, 0.01, False)],
)
def test_a_difference_is_shown_where_test_and_interval_agree(low, high, adjusted, shown):
    finding = replace(FINDING, low=low, high=high, adjusted=adjusted)
    assert finding.shown(0.95) is shown
    assert ("no difference" in sentence(finding)) is not shown


def test_one_pair_shows_nothing():
    assert not replace(FINDING, adjusted=None).shown(0.95)
    assert "one member shows nothing" in sentence(replace(FINDING, adjusted=None), unit="member")


@pytest.mark.parametrize(
    ("numbers", "written"),
    [
        ((0.1234, 0.1, 0.15), "earned 0.123 more per step than slow (95% interval 0.100 to 0.150"),
        ((-0.1234, -0.15, -0.1), "earned 0.123 less per step than slow (95% interval 0.100 to 0.150"),
        ((123456.7, 120000.4, 130000.1), "earned 123,457 more per step than slow (95% interval 120,000 to 130,000"),
        ((0.5, 0.5, 0.5), "earned 0.5 more per step than slow (95% interval 0.5 to 0.5"),
        ((1 / 3, 1 / 3 - 1e-12, 1 / 3 + 1e-12), "earned 0.3333 more per step than slow (95% interval 0.3333 to 0.3333"),
    ],
)
def test_numbers_have_the_digits_that_their_interval_warrants(numbers, written):
    difference, low, high = numbers
    assert written in sentence(replace(FINDING, difference=difference, low=low, high=high))


def test_zero_has_no_sign():
    finding = replace(FINDING, difference=-0.0001, low=-0.3, high=0.3, adjusted=0.9)
    assert "is shown: 0.00 (95% interval -0.30 to 0.30" in sentence(finding)


def test_confidence_and_units_are_named():
    assert "(99.9% interval" in sentence(FINDING, 0.999)
    assert "20 paired members" in sentence(FINDING, unit="member")


@pytest.mark.parametrize("measure", MEASURES)
def test_every_measure_has_its_words(measure):
    for finding in (FINDING, replace(FINDING, adjusted=0.5), replace(FINDING, adjusted=None)):
        assert "{" not in sentence(replace(finding, measure=measure))


def test_so_few_pairs_show_nothing_among_so_many_comparisons():
    assert [too_few(5, 1, 0.95), too_few(10, 1, 0.95), too_few(10, 36, 0.95)] == [True, False, True]


def test_digits_beyond_the_width_of_an_interval_are_not_written():
    assert [rounded(0.123456, 0.11, 0.14), rounded(1234.5, 900, 1500, "+"), rounded(0.25, 0.25, 0.25)] == [
        "0.123",
        "+1,234",
        "0.25",
    ]


def test_less_regret_is_less_in_words():
    finding = replace(FINDING, measure="regret", difference=-12.3, low=-15.1, high=-9.2, adjusted=0.0002)
    assert sentence(finding) == (
        "on shop, fast had 12.3 less regret than slow "
        "(95% interval 9.2 to 15.1, 20 paired runs, adjusted p < 0.001; less is better)"
    )
    assert sentence(replace(finding, low=-27.0, high=3.0, adjusted=0.19)) == (
        "on shop, no difference in regret between fast and slow is shown: -12 "
        "(95% interval -27 to 3, 20 paired runs, adjusted p = 0.19; less is better)"
    )
