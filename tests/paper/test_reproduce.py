"""The reproduction: every figure, its table, a report that needs nothing else, and the same after anything."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from everlearn.cli.main import app
from everlearn.experiments.execute import Watcher
from everlearn.figures import style
from everlearn.paper import experiments as specs
from everlearn.paper import plates
from everlearn.paper.reproduce import reproduce
from tests.interpreted import interpreting
from tests.killing import killed

NAMES = (
    "arrival-probability",
    "agent-comparison",
    "better-schedules",
    "appendix-b",
    "regret-and-bound",
    "aggregation",
)
STEPS, RUNS = 600, 3
FILES = [f"{name}.{form}" for name in NAMES for form in ("png", "svg")]
TABLES = [f"tables/{name}.parquet" for name in NAMES]


class Made(NamedTuple):
    """A reproduction: where it is, and what the command printed."""

    out: Path
    printed: str

    @property
    def document(self) -> dict[str, Any]:
        return json.loads(self.printed)


def arguments(out: Path) -> list[str]:
    return ["reproduce", "--out", str(out), "--steps", str(STEPS), "--runs", str(RUNS)]


def called(out: Path, *more: str) -> Made:
    result = CliRunner().invoke(app, [*arguments(out), *more], catch_exceptions=False)
    assert (result.exit_code, result.stderr) == (0, "")
    return Made(out, result.stdout)


@pytest.fixture(scope="module", autouse=True)
def few_points():
    """Fewer points on the exact curve of Appendix B, each of which takes a chain to be solved, and in pictures."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(style._SETTINGS, "savefig.dpi", 40)
        patch.setattr(plates, "POINTS", 5)
        patch.setattr(plates, "NEAR_ONE", (0.99,))
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Made:
    """All at once, and told as JSON; interpreted, since eleven agents would be compiled for 20,000 steps."""
    with interpreting():
        return called(tmp_path_factory.mktemp("whole") / "deeper", "--json")


@pytest.fixture(scope="module")
def resumed(tmp_path_factory, runner) -> Made:
    """Killed while runs, tables and figures were being written, and resumed."""
    here = tmp_path_factory.mktemp("resumed")
    killed(runner, here, [2, 7, 20, 12], *arguments(here / "out"))
    return called(here / "out")


def test_every_figure_is_there_as_png_and_svg(whole):
    assert [Path(path).relative_to(whole.out).as_posix() for path in whole.document["figures"]] == FILES
    for name in FILES:
        assert (whole.out / name).read_bytes().startswith(b"\x89PNG" if name.endswith("png") else b"<?xml")


@pytest.mark.soak
@pytest.mark.parametrize("name", [*FILES, *TABLES, "report.html"])
def test_killed_and_resumed_everything_is_the_same_to_the_last_byte(whole, resumed, name):
    assert (whole.out / name).read_bytes() == (resumed.out / name).read_bytes()


def test_json_has_everything(whole):
    document = whole.document
    assert set(document) == {"figures", "tables", "report", "seen", "summary"}
    assert [Path(path) for path in document["tables"]] == [whole.out / name for name in TABLES]
    assert Path(document["report"]) == whole.out / "report.html"
    assert {row["steps"] for row in document["summary"]} == {STEPS}
    assert list(document["seen"]) == list(NAMES)


@pytest.mark.soak
def test_text_says_what_is_to_be_seen_and_where_it_is(whole):
    printed = called(whole.out).printed
    lines = printed.splitlines()
    named = [line.removeprefix("figure: ") for line in lines if line.startswith("figure: ")]
    assert named == [str((whole.out / name).resolve()) for name in FILES]
    assert f"report: {(whole.out / 'report.html').resolve()}" in lines
    said = " ".join(printed.split())
    assert all(" ".join(sentence.split()) in said for sentence in whole.document["seen"].values())


def test_tables_hold_what_is_drawn(whole):
    tables = {name: pyarrow.parquet.read_table(whole.out / "tables" / f"{name}.parquet").to_pylist() for name in NAMES}
    assert tables["arrival-probability"][0] == {"longest_service": 1, "arrival_probability": 1.0}
    assert {row["agent"] for row in tables["agent-comparison"]} == {specs.SMOOTH, specs.SLOW, *specs.BASELINES.values()}
    assert {row["agent"] for row in tables["better-schedules"]} == {specs.SMOOTH, specs.THEOREM}
    assert tables["regret-and-bound"][-1]["t"] == STEPS
    zero, half = tables["appendix-b"][0], tables["appendix-b"][2]
    assert (zero["exact"], zero["closed_form"]) == pytest.approx((0.0909364893, 0.0910917081), abs=1e-9)
    assert (half["exact"], half["closed_form"]) == pytest.approx((0.0667843929, 0.0821640907), abs=1e-9)


def test_the_report_needs_nothing_else_and_says_what_is_to_be_seen(whole):
    text = (whole.out / "report.html").read_text()
    assert text.startswith("<!doctype html>")
    assert text.count("<img ") == text.count("data:image/png;base64,") == len(NAMES)
    assert not re.findall(r"""(?:src|href)=["'](?!data:)""", text)
    for sentence in whole.document["seen"].values():
        assert sentence.split(",")[0] in text
        assert sentence.endswith(".")


class Count(Watcher):
    """Counts steps."""

    taken = 0

    def steps(self, number):
        self.taken += number


@pytest.mark.soak
def test_full_follows_the_schedule_of_the_theorem_further_and_runs_nothing_again(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(specs, "LONG_STEPS", 3000)
    monkeypatch.setattr(specs, "LONG_RUNS", 2)
    shutil.copytree(whole.out, tmp_path / "out")
    count = Count()
    made = reproduce(tmp_path / "out", steps=STEPS, runs=RUNS, full=True, watching=lambda _title: nullcontext(count))
    assert list(made.experiments) == ["station", "bound", "aggregation", "long"]
    assert all(one.status["complete"] for one in made.experiments.values())
    (arm,) = made.experiments["long"].arms
    assert (arm.units, int(arm.times[-1])) == (2, 3000)
    assert count.taken == 2 * 3000
    drawn = pyarrow.parquet.read_table(tmp_path / "out" / "tables" / "better-schedules.parquet").to_pylist()
    assert max(row["t"] for row in drawn) == 3000


def command(out) -> subprocess.Popen:
    code = "from everlearn.cli.main import main; main()"
    sized = ["reproduce", "--steps", "3e5", "--runs", "60", "--out", str(out)]
    return subprocess.Popen([sys.executable, "-c", code, *sized], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def killed_at_random(out, kills: int, seconds: float, seed: int) -> None:
    moments = random.Random(seed)
    for _ in range(kills):
        process = command(out)
        try:
            process.wait(timeout=moments.uniform(0.1, 0.9) * seconds)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    process = command(out)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors


@pytest.mark.soak
@pytest.mark.parametrize("seed", [2, 3])
def test_killed_at_random_and_resumed_it_comes_to_the_same_tables(tmp_path, seed):
    began = time.monotonic()
    killed_at_random(tmp_path / "whole", 0, 0.0, seed)
    killed_at_random(tmp_path / "killed", 10, time.monotonic() - began, seed)
    for name in TABLES:
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "killed" / name).read_bytes(), name


@pytest.mark.soak
def test_the_figure_matches_an_independent_simulator(tmp_path):
    made = reproduce(tmp_path, steps=1_000_000, runs=200)
    arm = next(arm for arm in made.experiments["station"].arms if arm.agent == specs.SMOOTH)
    expected = {1_000: (0.236, 0.096), 10_000: (0.193, 0.067), 100_000: (0.339, 0.047), 1_000_000: (0.365, 0.01)}
    for t, (mean, deviation) in expected.items():
        found = arm.average_reward[:, np.searchsorted(arm.times, t)].mean()
        assert abs(found - mean) < 4 * deviation / np.sqrt(200), t
