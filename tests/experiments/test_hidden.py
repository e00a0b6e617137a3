"""Experiments on tasks that hide something: the optimum is given by bounds unless they have met, and so is regret."""

from __future__ import annotations

import pytest

import everlearn as el
from everlearn.analysis.names import known_averages
from everlearn.results.references import AT_LEAST, AT_MOST, OPTIMUM
from everlearn.theory import known
from tests.theory.test_beliefs import machine


@pytest.fixture
def rough(monkeypatch) -> None:
    """Leave no time to refine bounds."""
    monkeypatch.setattr(known, "MOST_WORK", 0)


def test_bounds_reach_tables_results_and_figures(rough, interpreted, tmp_path):
    experiment = el.experiment(machine(), "always", steps=100, runs=2, out=tmp_path / "out")
    (arm,) = experiment.arms
    lower, upper = float(arm.optimum[0]), float(arm.optimum_upper[0])
    assert lower < 0.1487 < upper
    text = known_averages(arm)
    assert AT_LEAST in text
    assert AT_MOST in text
    (row,) = experiment.table(["regret"])
    assert row["mean_upper"] - row["mean"] == pytest.approx(100 * (upper - lower))
    rows = experiment.export("csv", tmp_path / "runs.csv").read_text().splitlines()
    assert rows[0].endswith('"regret","regret_upper"')
    assert experiment.plot(tmp_path / "figures", formats=["svg"])


def test_bounds_reach_results(rough, interpreted):
    result = el.run(machine(), "always", steps=100, runs=2, seed=2)
    assert list(result.references)[:2] == [AT_LEAST, AT_MOST]
    regret = el.regret(result)
    width = result.references[AT_MOST] - result.references[AT_LEAST]
    assert (regret.mean_upper - regret.mean).tolist() == pytest.approx((width * result.times).tolist())
    assert " to " in repr(regret)
    frame = result.to_arrow().to_pylist()
    assert frame[-1]["regret_upper"] > frame[-1]["regret"]


@pytest.mark.soak
def test_bounds_that_have_met_are_one_number():
    result = el.run("maze-1d", "always", steps=20)
    assert result.references[OPTIMUM] == pytest.approx(0.5)
    assert AT_MOST not in result.references
    assert el.regret(result).mean_upper is None
