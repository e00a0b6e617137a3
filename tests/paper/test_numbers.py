"""The numbers that docs/paper.md and docs/repairs.md print, computed again; claims that take longer are in the soak."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import everlearn as el
from everlearn.paper import appendix_b
from everlearn.paper.claims import approximation, station, subroutine
from everlearn.paper.claims import bounds as claimed
from everlearn.paper.claims.station import exact_average
from everlearn.paper.claims.values import hidden_world
from everlearn.paper.claims.worlds import coins, pulses, turns
from everlearn.theory import bounds, repairs
from everlearn.theory.bounds import says_something_from
from everlearn.theory.ledger import early_distortion
from tests.paper.test_claims import VERDICT

PAGE, REPAIRS, REPRODUCE, THEORY = (
    (Path(__file__).parents[2] / "docs" / f"{name}.md").read_text()
    for name in ("paper", "repairs", "reproduce", "theory")
)


def averaging_time_of_misled() -> float:
    example = approximation._example(0.6)
    return example.averaging_time(example.misled(), 2000)


def lumped(delta: float, slip: float) -> float:
    return approximation.Lumped(150, 1 - approximation.GAMMA, slip, delta).ratio()


def slow(printed: str, computed: Callable[[], float]) -> Any:
    """Leave a number to the soak."""
    return pytest.param(printed, computed, marks=pytest.mark.soak)


def test_the_summary_counts_the_verdicts():
    words = re.search(
        r"checks (\d+) statements.*Of the \d+, (\d+) hold, (\d+) hold with a correction, (\d+) are false as\s"
        r"printed and repaired, (\d+) fail, and (\d+) cannot",
        PAGE,
        flags=re.DOTALL,
    )
    counts = Counter(VERDICT.values())
    order = ("holds", "holds with correction", "false as printed, repaired", "fails", "not checkable")
    assert list(map(int, words.groups())) == [len(VERDICT), *(counts[verdict] for verdict in order)]


@pytest.mark.parametrize(
    ("printed", "computed"),
    [
        ("0.0909364893", lambda: exact_average(0.0)),
        ("0.0841110", lambda: exact_average(0.1)),
        ("0.0667843929", lambda: exact_average(0.5)),
        ("0.106", lambda: exact_average(0.9)),
        ("0.0910917", lambda: float(appendix_b.closed_form_average(0.0))),
        ("0.0845711", lambda: float(appendix_b.closed_form_average(0.1))),
        ("0.0821641", lambda: float(appendix_b.closed_form_average(0.5))),
        ("0.299", lambda: float(appendix_b.closed_form_average(0.9))),
        ("-0.0723096", appendix_b.closed_form_derivative),
        ("0.1430719", lambda: 2 * appendix_b.closed_form_half_second_derivative()),
        ("18384.7", lambda: 1 / station._laws(0.0)[1][0]),
        ("-0.0741", lambda: station._derivatives()[0]),
        ("0.0623", lambda: station._derivatives()[1]),
        ("4.09", lambda: 2**1.6 / (2**0.8 - 1)),
        ("8.88", lambda: 2**0.4 / (2**0.2 - 1)),
        ("98.2", lambda: 24 * 2**1.6 / (2**0.8 - 1)),
        ("1.22", lambda: 1 + 20**-0.8 / (1 - 2**-0.8)),
        ("2.06", lambda: averaging_time_of_misled()),
        ("0.5025", lambda: el.Theory(turns()).distortion_sup(100.0).value),
        ("0.853", lambda: approximation._example(1.0).penalty),
        ("0.1195", lambda: el.Theory(pulses()).distortion_sup(40**0.2).value * 40**0.2),
        ("56.4", lambda: 24 * repairs.doubling(0.8)),
        ("0.25", lambda: early_distortion(el.Theory(pulses()), 40**0.2)),
        ("2.5", lambda: subroutine.index_weights(1500, 2.0)[0].max()),
        ("1.25", lambda: subroutine.index_weights(1500, 2.0)[1].max()),
        ("21", lambda: 100 * float((subroutine.index_weights(1500, 2.0)[0] > 1.25 + 1e-9).mean())),
        ("0.382", lambda: (3 - 5**0.5) / 2),
        ("0.0008", lambda: -appendix_b.closed_form_derivative() - appendix_b.closed_form_half_second_derivative()),
        ("671,088,640", lambda: next(20 * 2**k for k in range(60) if 20 * 2**k > 630_957_344)),
        ("0.111", lambda: lumped(1.0, 0.01)),
        ("0.186", lambda: lumped(1.0, 0.1)),
        ("0.431", lambda: lumped(1.0, 0.5)),
        ("1.111", lambda: lumped(0.1, 0.01)),
        ("1.862", lambda: lumped(0.1, 0.1)),
        ("4.309", lambda: lumped(0.1, 0.5)),
        ("0.740", approximation.largest_crossing),
        ("0.2066", lambda: approximation.stronger_losses()[1e-2]),
        ("0.0224", lambda: approximation.stronger_losses()[1e-3]),
        ("0.0023", lambda: approximation.stronger_losses()[1e-4]),
        ("0.64", lambda: -claimed._fallen(clipped=True)[40]),
        ("11.9", lambda: -claimed._fallen(clipped=False)[40]),
        slow("3.2", lambda: 100 * float(subroutine.simulated(4.0).unclipped.max())),
        slow("185", lambda: sum(fall > 0 for fall in subroutine.falls(clipped=True))),
        slow("92.5", lambda: 100 * float(np.mean([fall > 0 for fall in subroutine.falls(clipped=True)]))),
        slow("1.9", lambda: 100 * float(np.std([fall > 0 for fall in subroutine.falls(clipped=True)])) / 200**0.5),
        slow("6.3", lambda: 1e4 * max(subroutine.falls(clipped=True))),
        slow("0.0255", lambda: -max(subroutine.falls(clipped=False))),
        slow(
            "1.2", lambda: 1e9 * (el.Theory("service-station", {"cap": 3}).average_reward("slow") - exact_average(0.0))
        ),
    ],
)
def test_a_number_of_the_page_is_what_is_computed(printed, computed):
    assert re.search(rf"(?<![\d.]){re.escape(printed.lstrip('-'))}(?!\d)", PAGE), f"{printed} is no longer on the page"
    digits = len(printed.partition(".")[2])
    assert computed() == pytest.approx(float(printed.replace(",", "")), abs=0.75 * 10**-digits)


@pytest.mark.parametrize(("start", "exponent"), [(1e20, "0.672"), (1e40, "0.670"), (1e80, "0.668")])
def test_a_known_duration_gives_two_thirds(start, exponent):
    """Part 5 of docs/repairs.md: exponents of the bound at its best horizon; as printed it is 4/5."""
    assert f"$T^{{{exponent}}}$" in REPAIRS
    assert claimed.known_duration_exponent(claimed.with_known_span, start) == pytest.approx(float(exponent), abs=6e-4)
    assert claimed.known_duration_exponent(bounds.discounted_regret, start) > 0.8


def test_optimal_values_have_at_most_twice_the_span_of_the_bias():
    """Part 5: on random worlds with hidden state, at several horizons."""
    for seed in range(8):
        theory = hidden_world(seed)
        for tau in (1.5, 5.0, 50.0):
            best = theory.values(tau).Q.max(axis=0)
            assert best.max() - best.min() <= 2 * theory.clairvoyant.span + 1e-6


def test_the_span_on_the_station_is_what_the_page_says():
    theory = el.Theory("service-station")
    assert "54.95 and 54.45" in THEORY
    assert theory.clairvoyant.span == pytest.approx(54.95, abs=6e-3)
    assert theory.optimal_averaging_time.value == pytest.approx(54.45, abs=6e-3)


def test_constants_are_rounded_upwards():
    long, middle, short = map(repairs.doubling, (0.8, 0.4, 0.2))
    constants = {"56.4": 24 * long, "2.35": long, "4.7": 2 * long, "1.2": 2 * long * repairs.FAILURES}
    constants |= {"12.4": 3 * middle, "19.4": 2.5 * short, "31": 4 * short}
    for printed, computed in constants.items():
        assert f"{printed} " in PAGE.partition("**The repaired theorem.**")[2].replace("]", " ").replace(")", " ")
        assert 0 <= float(printed) - computed < 0.1


def test_thresholds_are_those_that_are_printed():
    at = {"pairs": 1, "averaging_time": 0.0, "distortion_sup": 0.0}
    assert says_something_from(partial(bounds.growing_horizon_regret, **at)) == pytest.approx(1.01e15, rel=5e-3)
    mended = partial(repairs.growing_horizon, "", horizon=1.0, early_distortion=0.0, **at)
    assert says_something_from(mended) == pytest.approx(1.72e13, rel=5e-3)
    assert "1.01 × 10¹⁵" in REPAIRS
    assert "1.72 × 10¹³" in REPAIRS
    coin = partial(bounds.discounted_regret, pairs=2, horizon=1.0, averaging_time=0.0, distortion=0.0)
    assert el.Theory(coins()).averaging_time("right").value == 0.0
    assert round(says_something_from(coin)) == 24100
    assert "24,100" in REPRODUCE


@pytest.mark.soak
def test_the_tightest_case_is_what_the_page_says():
    """Theorem 3 on a trap for short horizons."""
    make, horizon = claimed.FIXED["a trap"]
    assert "1.56 million after four million steps, the bound 2.54 million" in PAGE
    assert claimed._realized(make, horizon) == pytest.approx(1.56e6, abs=5e3)
    assert claimed._bound(el.Theory(make()), horizon)(claimed.LONGER).value == pytest.approx(2.54e6, abs=5e3)
