"""The paper's bounds against a second transcription in 40 digits, term by term and as sums."""

from __future__ import annotations

import math

import mpmath
import pytest

from everlearn.errors import InputError
from everlearn.theory import bounds
from everlearn.theory.bounds import says_something_from
from tests.refusal import refusal

mp = mpmath.mp.clone()
mp.dps = 40

CASES = [
    (1, 1, 1, 0, 0),
    (2, 4, 1.5, 0.25, 0.01),
    (1e6, 4, 10, 54.45, 4.5),
    (1e9, 12, 300, 7.5, 0.0),
    (3e15, 1, 2, 1, 1),
]
IDS = ["one", "two", "million", "billion", "long"]
cases = pytest.mark.parametrize(("steps", "pairs", "horizon", "tau", "delta"), CASES, ids=IDS)


def numbers(*given):
    return [mp.mpf(one) for one in given]


def log(T):
    return mp.log(2 * T**2)


def close(found, expected):
    return found.value == pytest.approx(float(expected), rel=1e-13)


def main(T, n, tau, slope):
    first = (120 * mp.sqrt(n * log(T)) + 5 * tau) * T ** (mp.mpf(4) / 5) + slope * T
    return first + (54 * n + 18 * mp.log(T)) * T ** (mp.mpf(1) / 5) + 2 * tau**5


@cases
def test_the_regret_of_discounted_learning(steps, pairs, horizon, tau, delta):
    T, n, H, t, d = numbers(steps, pairs, horizon, tau, delta)
    expected = 24 * H**1.5 * mp.sqrt(n * T * log(T)) + (3 * d + t / H) * T + (n + 5 + 2 * mp.log(T)) * H
    found = bounds.discounted_regret(steps, pairs=pairs, horizon=horizon, averaging_time=tau, distortion=delta)
    assert close(found, expected)
    assert found.label == "theorem:average-reward-discounted-algorithm"


@pytest.mark.parametrize("iota", [0.0, 0.1, 9.0])
@cases
def test_the_regret_from_any_history(steps, pairs, horizon, tau, delta, iota):
    T, n, H, t, d = numbers(steps, pairs, horizon, tau, max(delta, iota))
    expected = 24 * H**1.5 * mp.sqrt(n * T * log(T)) + 3 * (d + t / H) * T + (n + 5 + 2 * mp.log(T)) * H
    found = bounds.discounted_regret_any_history(
        steps, pairs=pairs, horizon=horizon, averaging_time=tau, distortion=delta, shortfall=iota
    )
    assert close(found, expected)
    assert found.label == "theorem:average-reward-any-policy"


@pytest.mark.parametrize("iota", [0.0, 0.1, 9.0])
@cases
def test_the_loss_of_value(steps, pairs, horizon, tau, delta, iota):
    T, n, d = numbers(steps, pairs, max(delta, iota))
    gap = 1 / mp.mpf(horizon)
    expected = 24 / gap**2.5 * mp.sqrt(n * T * log(T)) + 3 * d * T / gap + (n + 3) / gap**2
    found = bounds.discounted_value_loss(steps, pairs=pairs, horizon=horizon, distortion=delta, shortfall=iota)
    assert close(found, expected)
    assert found.label == "theorem:discounted"


@cases
def test_the_regret_of_the_growing_horizon(steps, pairs, horizon, tau, delta):
    T, n, t, d = numbers(steps, pairs, tau, delta)
    found = bounds.growing_horizon_regret(steps, pairs=pairs, averaging_time=tau, distortion_sup=delta)
    assert close(found, main(T, n, t, 3 * d))
    assert found.label == "theorem:main"


@cases
def test_the_regret_relative_to_a_class(steps, pairs, horizon, tau, delta):
    T, n, H, d = numbers(steps, pairs, horizon, delta)
    found = bounds.class_regret(steps, pairs=pairs, horizon=horizon, distortion_sup=delta)
    assert close(found, main(T, n, H, 3 * d))
    assert found.label == "cor:avg-time-upper-bound"


@cases
def test_the_regret_relative_to_the_optimum(steps, pairs, horizon, tau, delta):
    T, n, t, d = numbers(steps, pairs, tau, delta)
    found = bounds.optimum_regret(steps, pairs=pairs, averaging_time=tau, distortion_sup=delta)
    assert close(found, main(T, n, t, 4 * d))
    assert found.label == "cor:global-optimum"


def test_the_loss_of_aleatoric_policies():
    assert bounds.aleatoric_loss(0.3) == ("lemma:aleatoric-vs-global", {"distortion": 0.3}, None)


TAU, DELTA = 6.0, 0.3
BOUNDS = {
    "discounted": (bounds.discounted_regret, {"horizon": 20.0}, {"averaging_time": TAU, "distortion": DELTA}),
    "any-history": (
        bounds.discounted_regret_any_history,
        {"horizon": 20.0},
        {"averaging_time": TAU, "distortion": DELTA},
    ),
    "value-loss": (bounds.discounted_value_loss, {"horizon": 20.0}, {"distortion": DELTA}),
    "main": (bounds.growing_horizon_regret, {}, {"averaging_time": TAU, "distortion_sup": DELTA}),
    "class": (bounds.class_regret, {}, {"horizon": TAU, "distortion_sup": DELTA}),
    "optimum": (bounds.optimum_regret, {}, {"averaging_time": TAU, "distortion_sup": DELTA}),
}


@pytest.mark.parametrize("width", [0.5, 1.0, 1.5, 5.0])
@pytest.mark.parametrize("name", BOUNDS)
def test_rewards_of_another_width_scale_the_bound(name, width):
    bound, fixed, scaling = BOUNDS[name]
    wide = bound(1e7, pairs=4, **fixed, **scaling, width=width)
    plain = bound(1e7, pairs=4, **fixed, **{key: value / width for key, value in scaling.items()})
    assert wide.value == pytest.approx(width * plain.value, rel=1e-13)
    assert set(wide.terms) == set(plain.terms)


@pytest.mark.parametrize("name", BOUNDS)
def test_the_value_is_the_sum_of_terms_none_of_which_is_negative(name):
    bound, fixed, scaling = BOUNDS[name]
    found = bound(1e7, pairs=4, **fixed, **scaling)
    assert found.value == pytest.approx(sum(found.terms.values()), rel=1e-15)
    assert min(found.terms.values()) >= 0


@pytest.mark.parametrize("name", BOUNDS)
def test_each_bound_increases_in_steps_pairs_and_what_scales(name):
    bound, fixed, scaling = BOUNDS[name]
    base = bound(1e7, pairs=4, **fixed, **scaling).value
    assert bound(2e7, pairs=4, **fixed, **scaling).value > base
    assert bound(1e7, pairs=5, **fixed, **scaling).value > base
    for key in scaling:
        assert bound(1e7, pairs=4, **fixed, **{**scaling, key: 2 * scaling[key]}).value > base


@pytest.mark.parametrize("name", BOUNDS)
def test_an_infinite_averaging_time_or_distortion_gives_an_infinite_bound(name):
    bound, fixed, scaling = BOUNDS[name]
    for key in scaling:
        assert bound(1e7, pairs=4, **fixed, **{**scaling, key: math.inf}).value == math.inf


@pytest.mark.parametrize("name", BOUNDS)
def test_fewer_than_one_step_is_refused(name):
    bound, fixed, scaling = BOUNDS[name]
    with pytest.raises(InputError, check=refusal("steps", 0.5)):
        bound(0.5, pairs=4, **fixed, **scaling)


def test_a_horizon_of_less_than_one_is_refused():
    with pytest.raises(InputError, check=refusal("horizon", 0.9)):
        bounds.class_regret(10, pairs=1, horizon=0.9, distortion_sup=0)


@pytest.mark.parametrize(("pairs", "audited"), [(1, 1.0e15), (2, 6.5e15)], ids=["one-pair", "two-pairs"])
def test_the_main_theorem_says_something_only_after_very_long(pairs, audited):
    found = says_something_from(
        lambda T: bounds.growing_horizon_regret(T, pairs=pairs, averaging_time=0, distortion_sup=0)
    )
    assert found == pytest.approx(audited, rel=0.02)
    assert main(mp.mpf(found), pairs, 0, 0) < found
    below = mp.mpf(found) * (1 - mp.mpf(10) ** -11)
    assert main(below, pairs, 0, 0) >= below


def test_too_much_distortion_never_says_anything():
    never = says_something_from(
        lambda T: bounds.growing_horizon_regret(T, pairs=1, averaging_time=1, distortion_sup=0.34)
    )
    assert never == math.inf


def test_a_wider_range_says_something_at_the_same_time_if_what_scales_does():
    plain = says_something_from(lambda T: bounds.optimum_regret(T, pairs=2, averaging_time=3, distortion_sup=0.1))
    wide = says_something_from(
        lambda T: bounds.optimum_regret(T, pairs=2, averaging_time=6, distortion_sup=0.2, width=2), width=2
    )
    assert plain == pytest.approx(wide, rel=1e-11)
    assert wide < math.inf
