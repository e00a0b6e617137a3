"""What the paper's agent earns on the service station, against numbers from thousands of runs of other code.

Both tests are seeded: they pass or fail for good.  One run of 10,000 steps has a standard deviation of 0.067, the mean
of 40 one of 0.011, so that another seed would pass the first all but once in 20,000 times.  What they say is also in
two claims of the paper (``fig:agent-comparison`` and ``fig:better-schedules``), which are tested with every change.
"""

from __future__ import annotations

import pytest

import everlearn as el

pytestmark = pytest.mark.soak


def mean_after_ten_thousand_steps(schedule: str) -> float:
    return el.run("service-station", "growing-horizon", schedule=schedule, steps=1e4, runs=40, seed=1).final["mean"]


def test_the_smooth_schedule_learns():
    assert abs(mean_after_ten_thousand_steps("smooth") - 0.193) < 0.045


def test_the_schedule_of_the_theorem_does_not_yet():
    assert 0.05 < mean_after_ten_thousand_steps("change-points") < 0.10
