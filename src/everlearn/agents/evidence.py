"""Statistics of the agent ``learned``: the errors of each leaf by the value of each feature, and the best question."""

from __future__ import annotations

import math

from everlearn.agents.past import value_of
from everlearn.agents.tree import (
    CODE_SQUARES,
    CODES,
    ERRORS,
    FIRST,
    NUMBER,
    SINCE,
    SPAN,
    SQUARES,
    WHICH,
    WIDTH,
    Tree,
    ordered,
)
from everlearn.protocol import ScheduleValues

WIDEST = 24
"""The most values of a feature that have statistics in a leaf; if there are more, those that occur first have them."""

PRIOR = 10.0
"""The variance of the errors for one answer is estimated as if so many more errors had the variance of all errors."""

LEAST_VARIANCE = 1e-12

FEWEST = 10.0
"""The fewest errors on either side of a question."""


def notice(knowledge: Tree, s: int, a: int, error: float, code: float) -> None:
    """Add an error to the statistics of a leaf and an action, under the value of each feature before the step."""
    totals = knowledge.totals
    totals[s, a, NUMBER] += 1.0
    totals[s, a, ERRORS] += error
    totals[s, a, SQUARES] += error * error
    totals[s, a, CODES] += code
    totals[s, a, CODE_SQUARES] += code * code
    noticed = knowledge.noticed
    for f in range(len(knowledge.slots)):
        slot = slot_of(knowledge, s, a, f, value_of(knowledge.before, knowledge.sizes, f))
        if slot >= 0:
            noticed[s, a, slot, NUMBER] += 1.0
            noticed[s, a, slot, ERRORS] += error
            noticed[s, a, slot, SQUARES] += error * error
            noticed[s, a, slot, CODES] += code
            noticed[s, a, slot, CODE_SQUARES] += code * code


def slot_of(knowledge: Tree, s: int, a: int, f: int, value: int) -> int:
    """Return the slot for a value of a feature; -1 if there is none left."""
    first = knowledge.slots[f, FIRST]
    width = knowledge.slots[f, WIDTH]
    if width < WIDEST:
        knowledge.noticed[s, a, first + value, WHICH] = value
        return first + value  # type: ignore[no-any-return]
    for slot in range(first, first + width):
        if knowledge.noticed[s, a, slot, NUMBER] == 0.0:
            knowledge.noticed[s, a, slot, WHICH] = value
        if knowledge.noticed[s, a, slot, WHICH] == value:
            return slot
    return -1


def best_question(knowledge: Tree, s: int, a: int, signal: int) -> tuple[int, int]:
    """Return the feature and the value of the question that explains most of a signal; -1 if no question passes.

    The signal is ``ERRORS`` or ``CODES``.  Its means for yes and no differ by d, which has the variance v1 / n1 + v0 /
    n0.  The question passes if d^2 is more than threshold + 4 log k times that variance in the k-th review, if it
    explains at least a share of the variance of the signal, and, for errors, if d is more than the least effect.  The
    best of the questions that pass reduces the sum of squares most: by d^2 / (1 / n1 + 1 / n0).
    """
    noticed = knowledge.noticed
    n = knowledge.totals[s, a, NUMBER]
    total = knowledge.totals[s, a, signal]
    squares = knowledge.totals[s, a, signal + 1]
    varied = max(squares - total * total / n, n * LEAST_VARIANCE)
    prior = PRIOR * varied / n
    threshold = knowledge.threshold + 4.0 * math.log(reviews(knowledge, s, a))
    least = knowledge.effect if signal == ERRORS else 0.0
    best = knowledge.share * varied
    feature, value = -1, 0
    for f in range(len(knowledge.slots)):
        kept = 1.0 if f >= ordered(knowledge.sizes) else 0.0  # "at least" includes the greater values
        n1, errors1, squares1 = 0.0, 0.0, 0.0
        first = knowledge.slots[f, FIRST]
        for slot in range(first + knowledge.slots[f, WIDTH] - 1, first - 1, -1):
            n1 = kept * n1 + noticed[s, a, slot, NUMBER]
            errors1 = kept * errors1 + noticed[s, a, slot, signal]
            squares1 = kept * squares1 + noticed[s, a, slot, signal + 1]
            n0 = n - n1
            if n1 >= FEWEST and n0 >= FEWEST and noticed[s, a, slot, NUMBER] > 0.0:
                d = errors1 / n1 - (total - errors1) / n0
                explained = d * d * n1 * n0 / n
                if explained > best and abs(d) > least:
                    spread = spread_of(n1, errors1, squares1, prior)
                    spread += spread_of(n0, total - errors1, squares - squares1, prior)
                    if d * d > threshold * spread:
                        best = explained
                        feature = f
                        value = int(noticed[s, a, slot, WHICH])
    return feature, value


def reviews(knowledge: Tree, s: int, a: int) -> float:
    """Return the number of reviews of a leaf and an action, with the one that is prepared: each takes twice as long."""
    return 1.0 + math.log2(knowledge.totals[s, a, SPAN] / knowledge.window)


def gain_of(knowledge: Tree, s: int, a: int, feature: int, value: int, now: ScheduleValues) -> float:
    """Return how useful a question is: by how much the mean errors differ, times how often the rarer answer comes."""
    n, errors = answered_yes(knowledge, s, a, feature, value)
    n0 = knowledge.totals[s, a, NUMBER] - n
    d = errors / n - (knowledge.totals[s, a, ERRORS] - errors) / n0
    return abs(d) * min(n, n0) / (now.t - knowledge.totals[s, a, SINCE] + 1.0)  # type: ignore[no-any-return]


def answered_yes(knowledge: Tree, s: int, a: int, feature: int, value: int) -> tuple[float, float]:
    """Return the number and the sum of the errors of an action for which the answer to a question was yes."""
    n = 0.0
    errors = 0.0
    first = knowledge.slots[feature, FIRST]
    for slot in range(first, first + knowledge.slots[feature, WIDTH]):
        which = knowledge.noticed[s, a, slot, WHICH]
        if which == value or (which > value and feature >= ordered(knowledge.sizes)):
            n += knowledge.noticed[s, a, slot, NUMBER]
            errors += knowledge.noticed[s, a, slot, ERRORS]
    return n, errors


def spread_of(n: float, total: float, squares: float, prior: float) -> float:
    """Return the variance of a mean error, from the number of errors, their sum and that of their squares."""
    return (max(squares - total * total / n, 0.0) + prior) / (n + PRIOR) / n


def is_outdated(knowledge: Tree, s: int, a: int) -> bool:
    """Return whether the mean error of a leaf and an action differs from 0 by more than chance."""
    n = knowledge.totals[s, a, NUMBER]
    mean = knowledge.totals[s, a, ERRORS] / n
    variance = max(knowledge.totals[s, a, SQUARES] / n - mean * mean, LEAST_VARIANCE)
    return bool(mean * mean * n > variance * (knowledge.threshold + 4.0 * math.log(reviews(knowledge, s, a))))


def forget(knowledge: Tree, s: int, a: int, span: float, now: ScheduleValues) -> None:
    """Begin to notice errors from zero, for a number of them."""
    for slot in range(knowledge.noticed.shape[2]):
        knowledge.noticed[s, a, slot, NUMBER] = 0.0
        knowledge.noticed[s, a, slot, ERRORS] = 0.0
        knowledge.noticed[s, a, slot, SQUARES] = 0.0
        knowledge.noticed[s, a, slot, CODES] = 0.0
        knowledge.noticed[s, a, slot, CODE_SQUARES] = 0.0
    knowledge.totals[s, a, NUMBER] = 0.0
    knowledge.totals[s, a, ERRORS] = 0.0
    knowledge.totals[s, a, SQUARES] = 0.0
    knowledge.totals[s, a, CODES] = 0.0
    knowledge.totals[s, a, CODE_SQUARES] = 0.0
    knowledge.totals[s, a, SPAN] = span
    knowledge.totals[s, a, SINCE] = now.t
