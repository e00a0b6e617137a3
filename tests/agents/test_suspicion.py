"""Whether what comes next can be predicted from what was before."""

from __future__ import annotations

import math

import numpy as np
import pytest

from everlearn.agents import suspicion
from everlearn.agents.tabular import records


def deviations(hidden, seed, steps=3000):
    """The evidence for signals that depend on the context, or do not, in a pair among three."""
    random = np.random.default_rng(seed)
    errors, record = suspicion.begin(3, 16), records(1, agreed=1, varied=1)
    for _ in range(steps):
        context, pair = int(random.integers(16)), int(random.integers(3))
        signal = random.random() + hidden * (context % 2)
        suspicion.foresee(errors, record, context, pair, 3, signal)
    return record["agreed"][0, 0] / math.sqrt(record["varied"][0, 0])


def test_what_depends_on_the_context_is_foreseen():
    assert deviations(0.3, seed=1) > 5


def test_what_does_not_is_not():
    """Over many runs, the mean of the evidence is 0; not if the mean of a pair were over its recent visits."""
    evidence = [deviations(0.0, seed) for seed in range(60)]
    assert np.mean(evidence) == pytest.approx(0, abs=0.4)
    assert np.mean(np.array(evidence) > 2.5) < 0.1
