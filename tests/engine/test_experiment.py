"""The paper's experiment at its size, against an independent simulator written in C, and its use of memory."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import everlearn as el
from tests.few import few

# Cumulative averages over thousands of runs of an independent C simulator, given to three digits.
MEASURED = {1_000: 0.236, 10_000: 0.193, 100_000: 0.339, 1_000_000: 0.365}


@pytest.fixture(scope="module", params=few([100, 200], [100]))
def experiment(request) -> el.Result:
    return el.run("service-station", schedule="smooth", steps=1e6, runs=request.param, seed=1)


@pytest.mark.parametrize("t", MEASURED)
def test_it_is_what_an_independent_simulator_measured(experiment, t):
    # Four standard errors of these runs, one of which the other's thousands add to little, and half its last digit.
    column = int(np.flatnonzero(experiment.times == t)[0])
    within = 4 * experiment.standard_error[column] * 1.1 + 0.0005
    assert abs(experiment.average_reward[column] - MEASURED[t]) <= within


MEMORY = """
import resource, sys
import everlearn as el
el.run("service-station", schedule="smooth", steps=float(sys.argv[1]))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def most_memory(steps: str) -> int:
    """Kilobytes."""
    done = subprocess.run([sys.executable, "-c", MEMORY, steps], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.soak
def test_memory_does_not_grow_with_the_length_of_a_run():
    assert most_memory("1e9") < most_memory("1e6") + 20_000


@pytest.mark.soak
def test_the_schedule_of_the_theorem_improves_in_the_end():
    result = el.run("service-station", schedule="change-points", steps=1e9, runs=4, seed=1)
    early = int(np.searchsorted(result.times, 10**8))
    assert result.per_run[:, early].max() < 0.1
    assert result.per_run[:, -1].min() > 0.15
