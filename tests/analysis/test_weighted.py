"""Estimates by logged propensities, where the aleatoric state is not a Markov state, against the exact truth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest

from everlearn.analysis.off_policy import estimate
from everlearn.analysis.weighted import weighted
from everlearn.durable.transitions import Transitions
from everlearn.protocol import Table
from everlearn.tasks.registry import make_task
from tests.analysis.logged import World

FIRST = np.array([[0.9, 0.94], [0.15, 0.49]])
"""Of the hidden mode 0 and 1 and each action, the probability that mode 0 follows."""

SIGNAL = np.array([0.8, 0.2])
"""Of each hidden mode, the probability that signal 0 is observed: the aleatoric state is the last signal."""

PAID = np.array([[0.2, 0.0], [1.0, 0.5]])
"""By mode and action."""

ALIKE, STAY, MIXED = np.eye(2), np.eye(2)[[0, 0]], np.array([[0.7, 0.3], [0.2, 0.8]])


def truth(policy: Table) -> float:
    """The average reward of a policy over signals, from the chain of mode and signal."""
    after = np.stack([FIRST, 1 - FIRST], axis=2)  # mode, action, next mode
    seen = np.stack([SIGNAL, 1 - SIGNAL], axis=1)  # mode, signal
    chain = np.einsum("oa,mak,ks->moks", policy, after, seen).reshape(4, 4)
    system = np.vstack([chain.T - np.eye(4), np.ones(4)])
    stationary = np.linalg.lstsq(system, np.array([0, 0, 0, 0, 1.0]), rcond=None)[0]
    return float(stationary @ np.einsum("oa,ma->mo", policy, PAID).ravel())


def logged(chosen: tuple[int, int] | None, explore: float, steps: int, runs: int, seed: int) -> Iterator[Transitions]:
    """Yield data sets of a deterministic policy, or of a bandit that learns, with logged exploration."""
    random, every = np.random.default_rng(seed), np.arange(runs)
    mode, signal = np.zeros(runs, dtype=int), np.zeros(runs, dtype=int)
    states, actions, following = (np.zeros((steps, runs), dtype=np.int64) for _ in range(3))
    rewards, propensities = np.zeros((steps, runs)), np.zeros((steps, runs))
    sums, counts = np.zeros((runs, 2, 2)), np.full((runs, 2, 2), 1e-9)
    for step in range(steps):
        index = sums[every, signal] / counts[every, signal] + 0.3 / np.sqrt(counts[every, signal] + 1)
        wanted = index.argmax(axis=1) if chosen is None else np.array(chosen)[signal]
        action = np.where(random.random(runs) < explore, random.integers(2, size=runs), wanted)
        states[step], actions[step], rewards[step] = signal, action, PAID[mode, action]
        propensities[step] = explore / 2 + (1 - explore) * (action == wanted)
        sums[every, signal, action] += rewards[step]
        counts[every, signal, action] += 1
        mode = (random.random(runs) >= FIRST[mode, action]).astype(int)
        signal = following[step] = (random.random(runs) >= SIGNAL[mode]).astype(int)
    for run in range(runs):
        s, a, y = (column[:, run] for column in (states, actions, following))
        yield Transitions(s, a, y, rewards[:, run], y, None, {"propensity": propensities[:, run]})


class Score(NamedTuple):
    """How often intervals cover the truth, of those that there are."""

    model: float
    weights: float
    answers: int


def score(policy: Table, data: Iterator[Transitions], true: float) -> Score:
    by_model, by_weights = [], []
    for rows in data:
        found = estimate(rows, policy, 0.95, 1.0)
        by_model.append(abs(found.average - true) <= found.half_width)
        if (other := weighted(rows, policy, found)) is not None:
            by_weights.append(abs(other.average - true) <= other.half_width)
    return Score(float(np.mean(by_model)), float(np.mean(by_weights or [0.0])), len(by_weights))


CASES = {
    "near": ((0, 1), 0.1, ALIKE),
    "mixed": ((0, 1), 0.3, MIXED),
    "learned": (None, 0.3, STAY),
    "uniform": ((0, 1), 1.0, MIXED),
}


def test_it_covers_where_the_model_does_not():
    """Of 60 data sets each, 0.95 are to be covered; the tolerance is three standard deviations."""
    for chosen, explore, policy in (CASES["near"], CASES["uniform"]):
        found = score(policy, logged(chosen, explore, 3000, 60, 5), truth(policy))
        assert found.model < 0.87 <= found.weights
        assert found.answers >= 45


@pytest.mark.soak
@pytest.mark.parametrize("case", CASES)
def test_coverage(case):
    chosen, explore, policy = CASES[case]
    found = score(policy, logged(chosen, explore, 4000, 1000, 7), truth(policy))
    assert 0.93 <= found.weights <= 0.98
    assert found.model < 0.85
    assert found.answers >= 800


def test_it_abstains_where_histories_are_too_few():
    """To stay in the first action is rare in these data, and its memory is long: a short history would be wrong."""
    found = score(STAY, logged((1, 0), 0.1, 3000, 30, 5), truth(STAY))
    assert found.answers == 0


RIVER = World(make_task("riverswim"))


def explored(steps: int, runs: int, explore: float) -> Iterator[Transitions]:
    """Yield data of the policy that swims right, with exploration, in a Markov state."""
    behaviour = RIVER.policy("right") * (1 - explore) + explore / 2
    for rows in RIVER.followed(behaviour, steps, runs, 3):
        yield rows._replace(numbers={"propensity": behaviour[rows.states, rows.actions]})


@pytest.mark.parametrize("runs", [40, pytest.param(1000, marks=pytest.mark.soak)])
def test_a_markov_state(runs):
    """Both estimates cover; three standard deviations below 0.95 for 40 data sets is 0.85."""
    policy = RIVER.policy("right:0.9")
    found = score(policy, explored(2000, runs, 0.3), RIVER.theory.average_reward(policy))
    assert found.answers >= 0.9 * runs
    assert min(found.weights, found.model) >= (0.85 if runs < 1000 else 0.93)


def test_steps_that_were_not_logged_are_left_out():
    (rows,) = logged((0, 1), 0.3, 4000, 1, 1)
    found = estimate(rows, MIXED, 0.95, 1.0)
    assert weighted(rows._replace(numbers={}), MIXED, found) is None
    half = rows.numbers["propensity"].copy()
    half[::2] = np.nan
    assert weighted(rows._replace(numbers={"propensity": half}), MIXED, found) is None  # no history is complete
    half[:] = np.where(np.arange(4000) < 400, np.nan, rows.numbers["propensity"])
    some, every = weighted(rows._replace(numbers={"propensity": half}), MIXED, found), weighted(rows, MIXED, found)
    assert some != every
    assert None not in (some, every)
