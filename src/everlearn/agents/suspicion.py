"""Suspicion: evidence in the errors of a model that the aleatoric state hides something.

Let e be by how much r + gamma h(s') exceeds what the model predicted.  If the state hides nothing, e is on average 0,
whatever came before.  So the agent keeps the mean of e for each pair of a state and an action, and its mean for each
pair after each context, that is, after what came before, such as the previous pair.  It sums the product of e and the
difference of the two means.  The suspicion rises from 0 to 1 as this sum rises from 1.5 to ``evidence`` standard
deviations above 0.  In an environment that changes, both means follow the change, the second one more slowly, so that a
change alone makes the sum smaller.

The same test works with a number that stands for what came next, in place of e (:func:`foresee`).  It needs no model
and no reward, so it also shows what is hidden while the agent does always the same.
"""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import NDArray

from everlearn.agents.tabular import records

MEMORY = 100.0
"""The mean of the errors of a pair is over about so many visits."""

LEAST_CONTEXTS, CONTEXTS = 8, 1024
"""There is a mean of errors for each context and pair; if these are more than 1024, fewer contexts are told apart, but
at least 8."""

ODD = 2654435761
"""An odd number of 32 bits, near 2^32 divided by the golden ratio: its multiples are spread evenly over 32 bits."""

DOUBTED = 1.5
"""Evidence of fewer standard deviations is no reason for suspicion."""

ONCE = ("agreed", "varied")
"""Fields with one number: the sum of the products, and its variance."""


def begin(pairs: int, most: int) -> NDArray[Any]:
    """Return the means of errors: for each pair, then for each pair after each context, or group of contexts."""
    return records(pairs + pairs * min(most, max(LEAST_CONTEXTS, CONTEXTS // pairs)), mean=1, visits=1)


def suspect(errors: Any, record: Any, before: int, pair: int, pairs: int, error: float) -> None:
    """Test whether the error of a prediction could be predicted from what was before."""
    means = errors["mean"]
    context = place_after(before, pair, pairs, means.shape[0] // pairs - 1)
    weigh(record, error * (means[context, 0] - means[pair, 0]))
    average(errors, pair, error, MEMORY)
    average(errors, context, error, MEMORY)


def foresee(errors: Any, record: Any, before: int, pair: int, pairs: int, signal: float) -> None:
    """Test whether what comes after a pair could be predicted from what was before; the errors are those of signals.

    The mean of a pair is over all its visits.  Then the mean of the product is 0 if nothing can be predicted, since the
    error of that mean varies with the mean of each context as much as it varies by itself.
    """
    means = errors["mean"]
    context = place_after(before, pair, pairs, means.shape[0] // pairs - 1)
    if errors["visits"][context, 0] > 0.0:
        weigh(record, (signal - means[pair, 0]) * (means[context, 0] - means[pair, 0]))
    average(errors, pair, signal, math.inf)
    average(errors, context, signal, MEMORY)


def weigh(record: Any, product: float) -> None:
    """Add a product to the evidence."""
    record["agreed"][0, 0] += product
    record["varied"][0, 0] += product * product


def place_after(before: int, pair: int, pairs: int, contexts: int) -> int:
    """Return the place of a pair after a context; if these are too many, a hash of the two chooses a group."""
    if contexts < pairs:
        before = (((before * pairs + pair) & 0x7FFFFFFF) * ODD & 0xFFFFFFFF) >> 16
    return pairs * (1 + before % contexts) + pair


def average(errors: Any, place: int, error: float, most: float) -> None:
    """Move the mean of the errors in one place, over about so many visits at most."""
    visits = min(errors["visits"][place, 0] + 1.0, most)
    errors["visits"][place, 0] = visits
    errors["mean"][place, 0] += (error - errors["mean"][place, 0]) / visits


def suspicion(record: Any, evidence: float) -> float:
    """Return how much speaks for it that the state hides something, from 0 to 1."""
    agreed = record["agreed"][0, 0]
    if agreed <= 0.0:
        return 0.0
    deviations = agreed / math.sqrt(record["varied"][0, 0])
    return min(max((deviations - DOUBTED) / (evidence - DOUBTED), 0.0), 1.0)  # type: ignore[no-any-return]
