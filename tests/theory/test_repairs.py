"""The repaired bounds: against a second computation that adds up epochs one by one, and against runs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import everlearn as el
from everlearn.agents.schedule import change_points
from everlearn.aleatoric.reward import Reward
from everlearn.paper.claims.worlds import turns
from everlearn.tasks.arrays import mdp
from everlearn.theory import bounds, repairs
from everlearn.theory.bounds import says_something_from
from everlearn.theory.ledger import CLASS, FIXED, early_distortion, thresholds
from everlearn.theory.repairs import CONDITIONAL, GAP, OUTSIDE, PROVED, REPAIRED
from everlearn.theory.summary import summary_rows

AT = {"pairs": 4, "averaging_time": 2.0}


def epochs(T: int) -> list[tuple[int, int]]:
    """Return T_k and the length of each epoch from the second on, the last cut off at T."""
    found, point = [], 20
    while point <= T:
        found.append((point, min(point, T - point + 1)))
        point *= 2
    return found


def summed(T: int, pairs: int, tau: float, own: float, sup: float, early: float) -> float:
    """Add the bound of every epoch, or its length if its horizon is at most tau (docs/repairs.md, part 4)."""
    total = 19.0
    for point, length in epochs(T):
        horizon = point**0.2
        if horizon <= tau:
            total += length
            continue
        shortfall = sup + (early + repairs.FAILURES) / horizon
        total += 24 * horizon**1.5 * math.sqrt(pairs * length * math.log(2 * point**2))
        total += (2 * shortfall + own / horizon) * length + (1.5 * pairs + 4) * horizon
        total += pairs * horizon * (1 + 3 * horizon * math.log(point))
    return total


@pytest.mark.parametrize("T", [19, 20, 39, 40, 1000, 123_456, 10**9, 3 * 10**15])
@pytest.mark.parametrize(("tau", "own", "sup", "early"), [(1, 0, 0, 0), (3, 2, 0.1, 0.5), (40, 36, 3.0, 30)])
def test_the_closed_form_is_no_less_than_the_sum_over_epochs(T, tau, own, sup, early):
    at = {"horizon": tau, "averaging_time": own, "distortion_sup": sup, "early_distortion": early}
    closed = repairs.growing_horizon("theorem:main", T, pairs=4, **at).value
    assert summed(T, 4, tau, own, sup, early) <= closed * (1 + 1e-12)


def test_a_last_epoch_that_has_just_begun_shows_that_the_constant_is_needed():
    T = 20 * 2**40 * 2 - 1
    closed = repairs.growing_horizon(
        "theorem:main", T, pairs=4, horizon=1, averaging_time=0, distortion_sup=0, early_distortion=0
    )
    assert summed(T, 4, 1, 0, 0, 0) > 0.45 * closed.value


def test_the_shortfall_of_the_first_epoch_is_below_a_quarter():
    """Values of the first epoch are at least foo2 / sqrt(19) where they were updated, and 1 elsewhere."""
    assert 1 - 4 * math.sqrt(math.log(2)) / math.sqrt(19) < 0.24
    later = sum(point**0.2 * 1e19 * point * 2 * (2 * point**2) ** -8.0 for point in (20 * 2**k for k in range(60)))
    assert later < 0.01


def test_the_repaired_bound_needs_less_time():
    at = {"pairs": 1, "averaging_time": 0.0, "distortion_sup": 0.0}
    before = says_something_from(lambda T: bounds.growing_horizon_regret(T, **at))
    after = says_something_from(
        lambda T: repairs.growing_horizon("theorem:main", T, horizon=1.0, early_distortion=0.0, **at)
    )
    assert after == pytest.approx(1.723e13, rel=1e-3)
    assert before / after == pytest.approx(58.8, rel=1e-2)


def test_at_a_horizon_of_one_nothing_is_counted_twice():
    bound = repairs.fixed_horizon("x", 1e6, pairs=2, horizon=1.0, averaging_time=0.0, distortion=0.3)
    assert bound.terms["recounting"] == 0.0
    assert bound.terms["horizon"] == 3.0
    assert bound.terms["distortion"] == pytest.approx(0.6e6)


@pytest.mark.parametrize("width", [0.5, 2.0])
def test_rewards_of_another_width_scale_the_bound(width):
    scaling = {"averaging_time": 6.0, "distortion_sup": 0.3, "early_distortion": 0.7, "loss": 0.1}
    wide = repairs.growing_horizon("x", 1e7, pairs=4, horizon=7.0, **scaling, width=width)
    plain = {key: value / width for key, value in scaling.items()}
    assert wide.value == pytest.approx(width * repairs.growing_horizon("x", 1e7, pairs=4, horizon=7.0, **plain).value)


def test_change_points_have_the_horizons_of_the_schedule():
    schedule = change_points()
    horizons = sorted({schedule.horizon(t) for t in range(1, 2000)})
    assert repairs.change_horizons(1e9)[: len(horizons)] == pytest.approx(horizons)
    assert repairs.change_horizons(1.0) == []


def test_statuses_say_what_is_proved():
    found = el.Theory("riverswim").repairs(1e16)
    assert {label: repair.status for label, repair in found.items() if repair.status != GAP} == {
        "theorem:average-reward-any-policy": PROVED
    }
    conditional = {label for label, repair in found.items() if repair.repaired_status == CONDITIONAL}
    assert conditional == {"lemma:aleatoric-vs-global"}
    assert {repair.repaired_status for repair in found.values()} == {REPAIRED, CONDITIONAL}
    raw = el.Theory("service-station", {"cap": 3}).repairs(1e16)
    assert raw["theorem:main"].status == raw["theorem:main"].repaired_status == OUTSIDE
    scaled = el.Theory("service-station", {"cap": 3, "raw": False}).repairs(1e16)
    assert scaled["theorem:main"].repaired_status == REPAIRED


def test_it_is_said_if_there_are_no_bounds():
    """The first action leads to a state that pays 1 forever, or to one that pays nothing forever."""
    moves = [[[0.0, 1, 0], [0, 1, 0], [0, 0, 1]], [[0.0, 0, 1], [0, 1, 0], [0, 0, 1]]]
    fork = el.Theory(mdp(moves, [[0.0, 0], [1, 1], [0, 0]], reward_range=(0, 1), start=0, name="fork"))
    assert fork.repairs(1000) == fork.bounds(1000) == {}
    assert summary_rows(fork, steps=[1000])[-1][1].startswith("there are no bounds: the average reward")


def test_a_longer_wait_can_buy_less_distortion():
    """On a clock that pays 1 and 0 in turn, Delta-bar is 1 at 1 and 0.5025 at 100 (E10)."""
    theory = el.Theory(turns())
    short, long = theory.repairs(1e16, 1.0)["theorem:main"], theory.repairs(1e16, 100.0)["theorem:main"]
    assert short.printed == long.printed
    assert short.repaired.terms["distortion"] == pytest.approx(2e16)
    assert long.repaired.terms["distortion"] == pytest.approx(1.005e16, rel=1e-3)
    assert long.repaired.terms["assessment"] == 2e10 > short.repaired.terms["assessment"] == 19
    assert early_distortion(theory, 100.0) > 0 == early_distortion(theory, 1.0)


def paying(most: float) -> el.Theory:
    """Return the theory of a clock that pays ``most`` and 0 in turn, with one aleatoric state."""
    return el.Theory(replace(turns(), reward=Reward(lambda _s, _a, o: most * o)))


def test_the_repaired_bound_takes_the_best_tau():
    """On a clock that pays 0.8 and 0, Delta-bar is 0.8 at 1, so that the bound says nothing with tau = 1."""
    theory = paying(0.8)
    first = thresholds(theory)
    assert math.isinf(first.printed)
    assert first.repaired == pytest.approx(2.41e17, rel=0.01)
    assert first.horizon == pytest.approx(29, rel=0.05)
    steps = 1.01 * first.repaired
    best = theory.repairs(steps)["theorem:main"].repaired
    assert best.value < steps
    for tau in (1.0, 5.0, 10.0, 100.0, 1000.0):
        assert theory.repairs(steps, tau)["theorem:main"].repaired.value > best.value
    assert theory.repairs(steps, best.horizon)["theorem:main"].repaired.value == pytest.approx(best.value)
    assert theory.repairs(1e19, [5.0, 10.0])["theorem:main"].repaired.horizon == 10.0
    never = thresholds(paying(1.0))
    assert math.isinf(never.repaired)
    assert never.hopeless


def test_the_horizon_reaches_the_bounds_for_a_fixed_one_and_the_class():
    theory = el.Theory("riverswim")
    best, given = theory.repairs(1e16), theory.repairs(1e16, 100.0)
    assert best[FIXED].repaired.value < 0.05e16
    assert given[FIXED].repaired.value > best[FIXED].repaired.value
    assert given[FIXED].printed.horizon == given[CLASS].printed.horizon == 100
    assert given[CLASS].printed.value > best[CLASS].printed.value
    for tau in (20.0, 5.36, 2000.0):
        assert theory.repairs(1e16, tau)[FIXED].repaired.value > best[FIXED].repaired.value
    for steps in (1e6, 1e9):
        many = [theory.repairs(steps, tau)[FIXED].repaired.value for tau in np.geomspace(1, 1e3, 200)]
        assert theory.repairs(steps)[FIXED].repaired.value < 1.01 * min(many)


def test_what_is_bounded_and_with_which_tau_is_said():
    rows = [row for _, row in summary_rows(el.Theory("riverswim"), horizons=[100.0], steps=[10**16])]
    (value,) = [row for row in rows if row.startswith("Theorem 9")]
    assert "bounds the sum of V_* - V, not the regret, of Algorithm 3 at horizon tau after 1e+16 steps" in value
    assert "tau = 100" in value
    assert any("relative to every policy that averages within 100 after" in row for row in rows)
    (loss,) = [row for row in rows if row.startswith("Lemma 6")]
    assert "loses per step" in loss
    assert "after" not in loss


def test_thresholds_are_those_of_the_bounds():
    theory = el.Theory("riverswim")
    before, after, _, _ = thresholds(theory)
    assert theory.repairs(before * 1.001)["theorem:main"].printed.value < before * 1.001
    assert theory.repairs(after * 0.999)["theorem:main"].repaired.value > after * 0.999
    assert after < before / 50


@pytest.mark.parametrize("name", ["riverswim", "access-control"])
def test_the_span_is_at_most_twice_the_averaging_time_and_no_less_than_it(name):
    theory = el.Theory(name)
    tau = theory.optimal_averaging_time
    assert theory.clairvoyant.span / 2 - tau.error <= tau.value <= theory.clairvoyant.span + tau.error + 1e-9
