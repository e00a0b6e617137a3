"""Comparisons, against enumeration, definitions and values worked out by hand."""

from __future__ import annotations

from dataclasses import asdict, replace
from itertools import product
from json import dumps

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from everlearn.analysis.comparison import comparisons, holm
from everlearn.errors import InputError, UnknownName
from tests.analysis.arms import made
from tests.refusal import refusal


def test_holm_by_hand():
    assert holm([0.04, 0.01, 0.03, 0.5]) == pytest.approx([0.09, 0.04, 0.09, 0.5])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=8), st.floats(0.001, 0.999))
def test_holm_rejects_as_its_definition_does(p_values, level):
    """From the least p-value on, reject while p <= level / (those left); what is adjusted to level or less is it."""
    order, rejected = sorted(range(len(p_values)), key=p_values.__getitem__), set()
    for rank, place in enumerate(order):
        if p_values[place] * (len(order) - rank) > level:
            break
        rejected.add(place)
    assert {place for place, p in enumerate(holm(p_values)) if p <= level} == rejected


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_lies_between_the_p_value_and_bonferroni(p_values):
    for p, adjusted in zip(p_values, holm(p_values), strict=True):
        assert p <= adjusted <= min(1, len(p_values) * p)


def test_holm_takes_probabilities():
    with pytest.raises(InputError, check=refusal("p_values", 1.5)):
        holm([0.1, 1.5])


def test_few_pairs_are_enumerated():
    differences = np.array([0.3, -0.1, 0.4, 0.2, 0.05])
    base = np.array([0.1, 0.9, 0.2, 0.5, 0.4])
    (found,) = comparisons([made(base), made(base + differences, agent="other")])
    means = [np.dot(signs, differences) for signs in product((1, -1), repeat=5)]
    expected = np.mean([abs(mean) >= abs(differences.sum()) - 1e-12 for mean in means])
    assert found.p_value == pytest.approx(expected)


def test_on_many_normal_pairs_it_agrees_with_student():
    generator = np.random.default_rng(1)
    base, other = generator.normal(size=100), generator.normal(0.25, size=100)
    (found,) = comparisons([made(base), made(other, agent="other")])
    # Four standard errors of a share of 9,999 signs, and a tenth.
    expected = stats.ttest_rel(other, base).pvalue
    assert abs(found.p_value - expected) < 4 * np.sqrt(expected / 9999) + 0.1 * expected


def test_pairs_take_away_what_both_share():
    """Runs that differ widely, but in both arms alike, show a small difference."""
    luck = np.random.default_rng(2).normal(size=50)
    noise = 0.01 * np.random.default_rng(3).normal(size=50)
    (found,) = comparisons([made(luck), made(luck + 0.02 + noise, agent="other")])
    assert found.low > 0
    assert found.p_value == pytest.approx(0.0002)
    assert found.difference == pytest.approx(0.02 + noise.mean())


@pytest.mark.soak
def test_the_test_holds_its_level():
    """Of comparisons of what does not differ, as many have p <= 0.1 as should, give or take four standard errors."""
    generator = np.random.default_rng(4)
    arms = [
        made(generator.normal(size=10), agent=f"agent {number}", task=f"shop {number // 2}") for number in range(800)
    ]
    share = np.mean([found.p_value <= 0.1 for found in comparisons(arms)])
    assert abs(share - 0.1) < 4 * np.sqrt(0.09 / 400)


def test_all_pairs_with_the_first_as_baseline():
    arms = [made([0.1, 0.2, 0.4], agent=name, task=task) for task in ("x", "y") for name in "abc"]
    found = comparisons(arms)
    assert [(each.task, each.agent, each.against) for each in found] == [
        *(("x", *pair) for pair in ("ba", "ca", "cb")),
        *(("y", *pair) for pair in ("ba", "ca", "cb")),
    ]
    assert all(each.p_value == each.adjusted == 1.0 for each in found)


def test_all_others_against_one():
    arms = [
        made([0.1, 0.2], agent=name, task=task) for task, names in {"x": "abc", "y": "ab"}.items() for name in names
    ]
    found = comparisons(arms, against="b")
    assert [(each.task, each.agent, each.against) for each in found] == [("x", *"ab"), ("x", *"cb"), ("y", *"ab")]
    assert [each.agent for each in comparisons(arms, against="c")] == ["a", "b"]


def test_an_arm_may_be_named_with_its_settings():
    arms = [made([0.1, 0.2], settings={"agent.phase": phase}) for phase in (1, 2, 3)]
    found = comparisons(arms, against="smooth (phase=2)")
    assert [each.settings for each in found] == [{"agent.phase": 1}, {"agent.phase": 3}]
    assert {each.against_settings["agent.phase"] for each in found} == {2}
    assert "between smooth (phase=1) and smooth (phase=2)" in found[0].sentence


def test_an_unknown_baseline():
    with pytest.raises(UnknownName, check=refusal("against", "smoth")):
        comparisons([made([1.0]), made([1.0], agent="other")], against="smoth")


def test_tasks_with_other_settings_are_other_tasks():
    arms = [made([0.1, 0.2], agent=name, settings={"task.window": window}) for window in (1, 2) for name in "ab"]
    found = comparisons(arms)
    assert [each.settings["task.window"] for each in found] == [1, 2]
    assert [each.sentence.split(",")[0] for each in found] == ["on shop (window=1)", "on shop (window=2)"]


def test_all_comparisons_are_adjusted_together():
    generator = np.random.default_rng(5)
    arms = [made(generator.normal(size=8) + number, agent=f"agent {number}") for number in range(4)]
    found = comparisons(arms)
    assert [each.adjusted for each in found] == holm([each.p_value for each in found])


def test_one_run_shows_nothing():
    (found,) = comparisons([made([0.25]), made([0.5], agent="other")])
    assert found.p_value is found.adjusted is found.low is found.high is None
    assert (
        found.sentence == "on shop, one run shows nothing of other and smooth: its difference in average reward is 0.25"
    )
    dumps(asdict(found), allow_nan=False)


def test_as_many_units_are_paired_as_both_have():
    (found,) = comparisons([made([0.1, 0.2, 0.3]), made([0.2, 0.3], agent="other")])
    assert (found.units, found.difference) == (2, pytest.approx(0.1))


def test_runs_of_different_lengths_are_not_compared():
    with pytest.raises(InputError, check=refusal("arms", {"other": 50, "smooth": 1000})):
        comparisons([made([0.1, 0.2]), made([0.2, 0.3], agent="other", steps=50)])


def test_times_before_the_last_count_where_they_are_looked_at():
    one = made([0.1, 0.2])
    other = replace(one, agent="other", times=one.times[-1:], total_reward=one.total_reward[:, -1:])
    assert len(comparisons([one, other])) == 1
    with pytest.raises(InputError, check=refusal("arms", {"other": 1000, "smooth": 1000})):
        comparisons([one, other], "late")


def test_what_cannot_be_measured_is_left_out():
    assert comparisons([made([1.0, 2.0]), made([1.0, 2.0], agent="other", optimum=None)], "regret") == []
    assert comparisons([]) == []


def ahead(measure: str) -> str:
    generator = np.random.default_rng(6)
    base = generator.normal(size=200)
    arms = [made(base, agent="change points"), made(base + 0.12 + 0.1 * generator.normal(size=200))]
    (found,) = comparisons(arms, measure)
    assert found.better > 0.8
    return found.sentence


def test_a_sentence_says_how_much_more():
    assert ahead("final") == (
        "on shop, smooth earned 0.114 more per step than change points "
        "(95% interval 0.100 to 0.128, 200 paired runs, adjusted p < 0.001)"
    )


def test_a_sentence_says_that_less_regret_is_better():
    assert ahead("regret") == (
        "on shop, smooth had 114 less regret than change points "
        "(95% interval 100 to 128, 200 paired runs, adjusted p < 0.001; less is better)"
    )


@pytest.mark.parametrize("measure", ["late", "anytime", "relative regret"])
def test_every_measure_has_its_sentence(measure):
    assert ahead(measure).startswith("on shop, smooth ")


def test_a_sentence_does_not_claim_what_is_not_shown():
    generator = np.random.default_rng(7)
    arms = [made(generator.normal(size=30), agent=name) for name in ("A", "B")]
    sentence = comparisons(arms)[0].sentence
    assert sentence.startswith("on shop, no difference in average reward between B and A is shown: ")
    assert not any(word in sentence for word in ("significant", "prove", "equal", "same"))


def test_a_sentence_says_that_runs_are_too_few():
    arms = [made(np.arange(5.0)), made(np.arange(5.0) + 1, agent="other")]
    (found,) = comparisons(arms)
    assert found.p_value == 2 / 2**5
    assert found.sentence.endswith("adjusted p = 0.062; so few runs cannot show one)")


def test_the_same_arms_give_the_same_comparison():
    arms = [made(np.random.default_rng(seed).normal(size=40), agent=f"agent {seed}") for seed in (1, 2)]
    assert comparisons(arms) == comparisons(arms)
