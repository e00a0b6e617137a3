"""The reproduction: every figure, its table, a report that needs nothing else, and the same after anything."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow.parquet
import pytest

from everlearn.experiments.execute import Watcher
from everlearn.paper import experiments as specs
from everlearn.paper.reproduce import reproduce

NAMES = (
    "arrival-probability",
    "agent-comparison",
    "better-schedules",
    "appendix-b",
    "regret-and-bound",
    "aggregation",
)
SMALL = {"steps": 600, "runs": 3}


@pytest.fixture(scope="module")
def twice(tmp_path_factory):
    return [reproduce(tmp_path_factory.mktemp("out") / "deeper", **SMALL) for _ in range(2)]


def test_every_figure_is_there_as_png_and_svg(twice):
    made = twice[0]
    assert [plate.name for plate in made.plates] == list(NAMES)
    assert [path.name for path in made.figures] == [f"{name}.{form}" for name in NAMES for form in ("png", "svg")]
    for path in made.figures:
        assert path.read_bytes().startswith(b"\x89PNG" if path.suffix == ".png" else b"<?xml")


def test_figures_tables_and_report_are_the_same_to_the_last_byte(twice):
    one, other = twice
    for path, same in zip(
        [*one.figures, *one.tables, one.report], [*other.figures, *other.tables, other.report], strict=True
    ):
        assert path.read_bytes() == same.read_bytes(), path


def test_tables_hold_what_is_drawn(twice):
    tables = {path.stem: pyarrow.parquet.read_table(path).to_pylist() for path in twice[0].tables}
    assert list(tables) == list(NAMES)
    assert tables["arrival-probability"][0] == {"longest_service": 1, "arrival_probability": 1.0}
    assert {row["agent"] for row in tables["agent-comparison"]} == {specs.SMOOTH, specs.SLOW, *specs.BASELINES.values()}
    assert {row["agent"] for row in tables["better-schedules"]} == {specs.SMOOTH, specs.THEOREM}
    assert tables["regret-and-bound"][-1]["t"] == SMALL["steps"]
    zero, half = tables["appendix-b"][0], tables["appendix-b"][10]
    assert (zero["exact"], zero["closed_form"]) == pytest.approx((0.0909364893, 0.0910917081), abs=1e-9)
    assert (half["exact"], half["closed_form"]) == pytest.approx((0.0667843929, 0.0821640907), abs=1e-9)


def test_the_report_needs_nothing_else_and_says_what_is_to_be_seen(twice):
    text = twice[0].report.read_text()
    assert text.count("<img ") == text.count("data:image/png;base64,") == len(NAMES)
    assert not re.findall(r"""(?:src|href)=["'](?!data:)""", text)
    for plate in twice[0].plates:
        assert plate.sentence.split(",")[0] in text
        assert plate.sentence.endswith(".")


def test_every_experiment_is_kept(twice):
    assert list(twice[0].experiments) == ["station", "bound", "aggregation"]
    assert all(one.status["complete"] for one in twice[0].experiments.values())


def test_full_follows_the_schedule_of_the_theorem_further(tmp_path, monkeypatch):
    monkeypatch.setattr(specs, "LONG_STEPS", 3000)
    monkeypatch.setattr(specs, "LONG_RUNS", 2)
    made = reproduce(tmp_path, full=True, **SMALL)
    (arm,) = made.experiments["long"].arms
    assert (arm.units, int(arm.times[-1])) == (2, 3000)
    drawn = pyarrow.parquet.read_table(tmp_path / "tables" / "better-schedules.parquet").to_pylist()
    assert max(row["t"] for row in drawn) == 3000


def test_what_is_there_is_not_run_again(tmp_path):
    from contextlib import nullcontext

    class Count(Watcher):
        taken = 0

        def steps(self, number):
            self.taken += number

    first, second = Count(), Count()
    for watcher in (first, second):
        reproduce(tmp_path, steps=40, runs=2, watching=lambda _title, one=watcher: nullcontext(one))
    assert (first.taken, second.taken) == (40 * 2 * (6 + 1 + 4), 0)


def command(out, *more: str) -> subprocess.Popen:
    code = "from everlearn.cli.main import main; main()"
    arguments = ["reproduce", "--steps", "3e5", "--runs", "60", "--out", str(out), *more]
    return subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def killed(out, kills: int, seconds: float, seed: int) -> None:
    moments = random.Random(seed)
    for _ in range(kills):
        process = command(out)
        try:
            process.wait(timeout=moments.uniform(0.1, 0.9) * seconds)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    process = command(out)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors


@pytest.mark.parametrize(
    ("kills", "seed"),
    [(2, 1), pytest.param(10, 2, marks=pytest.mark.soak), pytest.param(10, 3, marks=pytest.mark.soak)],
)
def test_killed_and_begun_again_it_comes_to_the_same_tables(tmp_path, kills, seed):
    began = time.monotonic()
    killed(tmp_path / "whole", 0, 0.0, seed)
    killed(tmp_path / "killed", kills, time.monotonic() - began, seed)
    for name in NAMES:
        one, other = (tmp_path / which / "tables" / f"{name}.parquet" for which in ("whole", "killed"))
        assert one.read_bytes() == other.read_bytes(), name


@pytest.mark.soak
def test_the_figure_matches_an_independent_simulator(tmp_path):
    made = reproduce(tmp_path, steps=1_000_000, runs=200)
    arm = next(arm for arm in made.experiments["station"].arms if arm.agent == specs.SMOOTH)
    expected = {1_000: (0.236, 0.096), 10_000: (0.193, 0.067), 100_000: (0.339, 0.047), 1_000_000: (0.365, 0.01)}
    for t, (mean, deviation) in expected.items():
        found = arm.average_reward[:, np.searchsorted(arm.times, t)].mean()
        assert abs(found - mean) < 4 * deviation / np.sqrt(200), t
