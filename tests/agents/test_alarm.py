"""Test the alarm against a literal form of its rule, and that it is seldom false."""

from __future__ import annotations

import math

import numpy as np
import pytest

from everlearn.agents.alarm import begin_record, count_window, falls, is_low


def alarms(rewards: np.ndarray, alarm: float = 3.0) -> list[int]:
    """Return the steps at which rewards have fallen; the record begins anew after each."""
    record, steps = begin_record(), []
    for t, reward in enumerate(rewards, start=1):
        if falls(record, float(reward), alarm):
            steps.append(t)
            record[:, :] = 0.0
    return steps


def literal(rewards: np.ndarray, alarm: float = 3.0) -> int | None:
    """Return the first step at which rewards have fallen, from sums over all windows."""
    for t in range(16, len(rewards) + 1, 16):
        for length in (16 * 2**k for k in range(40)):
            if t % length == 0 and literally_low(rewards[:t].reshape(-1, length).mean(axis=1), alarm):
                return t
    return None


def literally_low(means: np.ndarray, alarm: float) -> bool:
    earlier, low = means[:-2], means[-2:].max()
    if not 16 <= len(earlier) <= 64:
        return False
    weights, pairs = (polynomial(number) for number in (len(earlier), len(earlier) - 1))
    mean = weights @ earlier
    drops = []
    for number in range(2, len(earlier) + 1):
        drop = polynomial(number - 1) @ earlier[: number - 1] - earlier[number - 1]
        fading = np.prod([1 - 3 / (later + 2) for later in range(number + 1, len(earlier) + 1)])
        drops.append(drop * fading)
    if mean - low <= 1.5 * max(0.0, *drops):
        return False
    n = len(earlier) * 5 / 9
    variance = weights @ (earlier - mean) ** 2 * n / (n - 1) + (mean - low) ** 2 / n**2
    ratio = min(1.0, max(pairs @ np.diff(earlier) ** 2 / (2 * variance) - 0.5 / math.sqrt(n), 1 / n))
    t_squared = (mean - low) ** 2 / (variance * (2 - ratio) / ratio * (1 + 1 / n))
    df = n - 1
    return (8 * df + 1) / (8 * df + 3) * math.sqrt(df * math.log1p(t_squared / df)) > alarm


def polynomial(number: int) -> np.ndarray:
    """Return the weights of so many windows: j (j + 1) for the j-th, which is about j^2."""
    weights = np.arange(1, number + 1) * np.arange(2, number + 2)
    return weights / weights.sum()


def bernoulli(seed: int, *chances: float, steps: int) -> np.ndarray:
    return (np.random.default_rng(seed).random(steps) < np.repeat(chances, steps // len(chances))).astype(float)


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_rule_that_it_says(seed):
    for rewards in (bernoulli(seed, 0.3, 0.8, 0.8, 0.4, steps=4_096), bernoulli(seed, 0.8, 0.3, steps=4_096)):
        first = literal(rewards)
        assert alarms(rewards)[:1] == ([] if first is None else [first])
    assert first is not None


@pytest.mark.parametrize("earlier", [15, 16, 30, 64, 65])
@pytest.mark.parametrize("alarm", [0.5, 3.0])  # at 0.5 the deepest earlier drop decides
def test_it_draws_the_line_where_it_says(earlier, alarm):
    windows, record = np.random.default_rng(earlier).normal(size=earlier), begin_record()
    for window in windows:
        count_window(record, 0, window)
    for low in np.linspace(0, -12, 241):
        assert is_low(record, 0, low, alarm) == literally_low(np.append(windows, [low, low]), alarm)


@pytest.mark.parametrize("before", [5_000, 20_000])
def test_it_hears_an_abrupt_change(before):
    late = [alarms(bernoulli(seed, 0.8, 0.3, steps=2 * before))[0] - before for seed in range(8)]
    assert all(0 < delay <= before / 8 for delay in late)


def test_it_is_silent_while_nothing_changes():
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(6, 20_000))
    slow = np.zeros_like(noise)
    for t in range(1, noise.shape[1]):
        slow[:, t] = 0.99 * slow[:, t - 1] + noise[:, t]
    learning = noise + np.minimum(np.arange(20_000) / 5_000, 1.0)
    assert [alarms(rewards) for rewards in (*noise, *slow, *learning)] == [[]] * 18


def test_constant_rewards_are_no_error():
    assert alarms(np.ones(5_000)) == []
    assert alarms(np.repeat([1.0, 0.0], 2_000))[0] <= 2_200
