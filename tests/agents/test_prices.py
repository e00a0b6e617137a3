"""The prices of time and of a cost: what the learner is shown, and what is refused."""

from __future__ import annotations

import itertools
import json
import random

import pytest

from everlearn.agents.prices import LEAST_WEIGHT, Prices, make_prices, measured, restore_prices
from everlearn.aleatoric.reward import Reward
from everlearn.errors import InputError, SnapshotError
from tests.refusal import refusal


def earning(low: float, high: float) -> Reward:
    return Reward(lambda _s, _a, _o: low, low, high)


def shapes() -> list[Prices]:
    return [
        Prices(earning(0, 5), (0.5, 20)),
        Prices(earning(-10, 0), (1, 3)),
        Prices(earning(-1, 2), (0.25, 4), (0, 3), 0.5),
        Prices(earning(7, 9), None, (-2, 2), -1.0),
    ]


@pytest.mark.parametrize("prices", shapes())
def test_a_learner_is_shown_numbers_from_0_to_1(prices: Prices) -> None:
    rng = random.Random(1)
    durations, costs = prices.durations or (1.0, 1.0), prices.cost_range or (0.0, 0.0)
    for _ in range(3000):
        reward = rng.choice([prices._low, prices._high, rng.uniform(prices._low, prices._high)])
        shown = prices.learned(reward, rng.choice(durations), rng.choice(costs))
        assert 0.0 <= shown <= 1.0


def test_the_order_of_what_is_shown_is_that_of_the_net_reward() -> None:
    """With the same prices, a decision that earns more net of the time it takes is shown to be better."""
    prices = Prices(earning(0, 5), (0.5, 20))
    for _ in range(200):
        prices.learned(1.0, 1.0)
        prices.learned(0.0, 0.5)
    kept = prices.snapshot()
    assert prices.rate == pytest.approx(1.0 / 1.5, abs=0.05)
    shown = {}
    for reward, duration in itertools.product((0.0, 1.0, 5.0), (0.5, 1.0, 20.0)):
        prices.restore(kept)
        shown[reward - prices.rate * duration] = prices.learned(reward, duration)
    net = sorted(shown)
    assert [shown[x] for x in net] == sorted(shown.values())


def test_the_price_of_time_is_the_reward_per_unit_of_time_not_the_mean_of_ratios() -> None:
    prices = Prices(earning(0, 10), (1, 10))
    for reward, duration in [(10.0, 1.0), (0.0, 10.0)] * 5000:
        prices.learned(reward, duration)
    assert prices.rate == pytest.approx(10 / 11, abs=0.01)  # the mean of r / d would be 5


def test_the_multiplier_rises_above_the_limit_and_falls_to_zero_below_it() -> None:
    prices = Prices(earning(0, 1), None, (0, 1), 0.25)
    assert prices.multiplier == 0.0
    risen = []
    for _ in range(500):
        prices.learned(1.0, cost=1.0)
        risen.append(prices.multiplier)
    assert risen == sorted(risen)
    assert risen[-1] > 1.0
    for _ in range(20_000):
        prices.learned(1.0, cost=0.0)
    assert prices.multiplier == 0.0


def test_a_limit_that_is_never_met_leaves_the_reward_a_weight() -> None:
    prices = Prices(earning(0, 1), None, (0, 1), 0.0)
    for _ in range(200_000):
        prices.learned(0.5, cost=1.0)
    assert prices._weight == LEAST_WEIGHT


@pytest.mark.parametrize("prices", shapes())
def test_prices_resume_to_the_last_bit_from_json(prices: Prices) -> None:
    other = make_prices(earning(prices._low, prices._high), prices.durations, prices.cost_range, prices.limit)
    assert other is not None
    durations, costs = prices.durations or (1.0, 1.0), prices.cost_range or (0.0, 0.0)
    rng = random.Random(2)
    for number in range(300):
        step = (rng.uniform(prices._low, prices._high), rng.uniform(*durations), rng.uniform(*costs))
        if number in (0, 150):
            other.restore(json.loads(json.dumps(prices.snapshot())))
        assert other.learned(*step) == prices.learned(*step)
        assert other.snapshot() == prices.snapshot()


@pytest.mark.parametrize(
    "snapshot",
    [
        None,
        "prices",
        {},
        [1],
        [1, 0.5, 1, 0, 1, True],
        [1, 0.5, 1, 0, 1, 0.0],  # no weight
        [1, 0.5, 1, 0, 1, 2.0],
        [1, 50, 1, 0, 1, 1.0],  # a mean reward outside the range
        [1, 0.5, 0.0, 0, 1, 1.0],  # a duration of zero
        [1, 0.5, 1, 1, 0, 1.0],  # rates in the wrong order
        [1, 0.5, 1, 0, 1e300, 1.0],
        [-1, 0.5, 1, 0, 1, 1.0],
        [0.5, 0.5, 1, 0, 1, 1.0],
        [1, float("nan"), 1, 0, 1, 1.0],
    ],
)
def test_prices_that_no_agent_has_are_refused_and_change_nothing(snapshot: object) -> None:
    prices = Prices(earning(0, 1), (0.5, 2), (0, 1), 0.5)
    before = prices.snapshot()
    with pytest.raises(SnapshotError):
        prices.restore(snapshot)
    assert prices.snapshot() == before


def test_an_agent_state_with_prices_fits_no_agent_without_and_vice_versa() -> None:
    prices = Prices(earning(0, 1), (1, 2))
    with pytest.raises(SnapshotError):
        restore_prices(prices, {})
    with pytest.raises(SnapshotError):
        restore_prices(None, {"prices": prices.snapshot()})
    restore_prices(None, {})


@pytest.mark.parametrize(
    ("durations", "cost_range", "limit", "argument"),
    [
        ((0, 1), None, None, "durations"),
        ((2, 1), None, None, "durations"),
        ("12", None, None, "durations"),
        ((1e-200, 1e200), None, None, "durations"),
        (None, (0, 1), None, "limit"),
        (None, None, 0.5, "cost_range"),
        (None, (0, 1), -0.5, "limit"),
        (None, (0, 1), True, "limit"),
        (None, (0, 1), float("nan"), "limit"),
        (None, (1, 0), 0.5, "cost_range"),
        ((1, 2), (1, 4), 0.25, "limit"),
        ((1, 10), (0, 1), 1e308, "limit"),
        (None, (0, 1e-310), 0, "limit"),
    ],
)
def test_a_declaration_that_makes_no_sense_is_refused(
    durations: object, cost_range: object, limit: object, argument: str
) -> None:
    with pytest.raises(InputError) as raised:
        make_prices(earning(0, 1e200), durations, cost_range, limit)
    assert raised.value.argument == argument


def test_numbers_that_overflow_relative_to_the_range_of_rewards_are_refused() -> None:
    with pytest.raises(InputError, check=refusal("durations", (1e-300, 1))):
        make_prices(earning(1, 1 + 1e-10), (1e-300, 1), None, None)


@pytest.mark.parametrize(
    ("duration", "cost"), [(None, 1), (1, None), (3, 1), (1, 5), (True, 1), ("1", 1), (float("nan"), 1)]
)
def test_a_measurement_that_is_missing_or_outside_its_range_is_refused(duration: object, cost: object) -> None:
    prices = Prices(earning(0, 1), (0.5, 2), (0, 2), 1.0)
    with pytest.raises(InputError):
        measured(prices, duration, cost)
    assert measured(prices, 1, 2) == {"duration": 1.0, "cost": 2.0}


def test_a_measurement_that_is_not_declared_is_refused() -> None:
    assert measured(None, None, None) == {}
    for duration, cost in ((1, None), (None, 1)):
        with pytest.raises(InputError):
            measured(None, duration, cost)


def test_a_limit_that_never_matters_is_refused():
    reward = Reward(lambda s, a, o: 0.0)
    with pytest.raises(InputError, check=refusal("limit", 3)):
        make_prices(reward, None, (0, 1), 3)
    with pytest.raises(InputError, check=refusal("limit", 3)):
        make_prices(reward, (0.5, 4), (0, 1), 3)
    assert make_prices(reward, (0.25, 4), (0, 1), 3) is not None
    assert make_prices(reward, None, (0, 1), 1) is not None
