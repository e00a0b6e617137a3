"""Benchmarks that compare agents run what they say."""

from __future__ import annotations

import pytest

import everlearn as el
from benchmarks.control import EVERY, compute


def test_a_run_of_the_control_benchmark_is_that_of_its_seed():
    found = {seed: compute("catch", "linear", seed, EVERY)["sums"][-1] for seed in (2, 3)}
    result = {seed: el.run("catch", "linear", steps=EVERY, seed=seed, engine="reference") for seed in found}
    assert found == {seed: pytest.approx(EVERY * float(result[seed].average_reward[-1])) for seed in found}
    assert found[2] != found[3]
