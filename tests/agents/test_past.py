"""The features of the past: each is what a reader of the whole history would say."""

from __future__ import annotations

from itertools import combinations, groupby

import numpy as np
from hypothesis import strategies as st

from everlearn.agents.past import AGES, MOST_COUNTED, MOST_LEAD, MOST_LEADS, Sizes, sizes_of, update, value_of
from everlearn.tasks.indexed import IndexedTask
from tests.laws import law
from tests.worlds import random_mdp

SIZES = Sizes(lags=3, changes=2, observations=3, actions=2, timed=5, resets=4)

histories = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2)), max_size=60)


def after(history: list[tuple[int, int]]) -> np.ndarray:
    past = SIZES.begin()
    for action, observation in history:
        update(past, SIZES, action, observation)
    return np.array([value_of(past, SIZES, feature) for feature in range(len(SIZES.kinds))])


def age(happened: list[bool]) -> int:
    """How many of the numbers of steps that clocks tell apart have passed since something last happened."""
    steps = next((ago for ago, true in enumerate(reversed(happened)) if true), AGES[-1])
    return sum(steps >= number for number in AGES)


def last_stretch(history: list[tuple[int, int]], reset: int) -> list[tuple[int, int]]:
    """The last steps with the same action; or those after an observation was last made."""
    if reset == 0:
        return [[*steps] for _, steps in groupby(history, lambda step: step[0])][-1] if history else []
    last = max((place for place, (_, o) in enumerate(history) if o == reset - 1), default=-1)
    return history[last + 1 :]


def lead(history: list[tuple[int, int]], number: int) -> int:
    """By how much an observation leads in the last stretch."""
    reset, label = divmod(number, 3)
    stretch = [observation for _, observation in last_stretch(history, reset)]
    counts = [stretch.count(other) for other in range(3)]
    return counts[label] - max(count for other, count in enumerate(counts) if other != label)


def expected(history: list[tuple[int, int]], kind: str, number: int) -> int:
    actions, observations = [0, 0, 0, 0, *(a for a, _ in history)], [0, 0, 0, 0, *(o for _, o in history)]
    if kind == "observation":
        return observations[-1 - number]
    if kind == "action":
        return actions[-number]
    if kind == "change":
        runs = [0, 0, *(label for label, _ in groupby(observations))]
        return runs[-1 - number]
    if kind == "clock":
        return age([o == number for _, o in history] if number < 3 else [a == number - 3 for a, _ in history])
    if kind == "order":
        first, second = list(combinations(range(5), 2))[number]
        events = [label for a, o in history for label in (3 + a, o)]  # an observation follows its action
        last = {label: place for place, label in enumerate(events)}
        return int(last.get(first, -1) > last.get(second, -1))
    return min(max(lead(history, number), -MOST_LEAD), MOST_LEAD) + MOST_LEAD


@law(300, histories)
def test_features_are_what_the_history_says(history):
    past = after(history)
    for (kind, number), value in zip(SIZES.kinds, past.tolist(), strict=True):
        # A long stretch of equal actions is counted to a bound.
        if kind != "lead" or len(last_stretch(history, number // 3)) <= MOST_COUNTED:
            assert value == expected(history, kind, number), (kind, number)


@law(200, st.lists(st.integers(0, 2), min_size=1, max_size=80))
def test_features_are_bounded(observations):
    past = SIZES.begin()
    for observation in observations:
        update(past, SIZES, 1, observation)
        for feature, number in enumerate(SIZES.values):
            assert 0 <= value_of(past, SIZES, feature) < number
        assert past[SIZES.ordered + SIZES.timed :].max() <= MOST_COUNTED


def test_many_labels_have_neither_clocks_nor_leads():
    sizes = sizes_of(IndexedTask(random_mdp(1, states=40, actions=2)), 3, 3)
    assert (sizes.timed, sizes.resets, len(sizes.kinds)) == (0, 0, 10)
    some = sizes_of(IndexedTask(random_mdp(1, states=12, actions=2)), 3, 3)
    assert some.resets * 12 <= MOST_LEADS < (some.resets + 1) * 12
