"""Killed at any moment and begun again, a search finds the same, to the last byte."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from typer.testing import CliRunner

from everlearn.cli.main import app
from tests.killing import ended, killed

SPEC = """
steps = 2_000
runs = 4
seed = 3
candidates = 5
final_runs = 6
[[task]]
name = "service-station"
parameters.window = 2
[agent]
name = "growing-horizon"
schedule = "smooth"
[search.schedule]
horizon_scale = { low = 1, high = 9, scale = "log" }
optimism_scale = { low = 0.05, high = 0.5, scale = "log" }
"""
FILES = ("tried.parquet", "tuned.toml", "tried.png", "tried.svg")


def finish(spec: Path, out: Path) -> str:
    result = CliRunner().invoke(app, ["tune", str(spec), "--out", str(out)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout.partition("the agent:")[0]


def files(directory: Path) -> dict[str, bytes]:
    return {name: (directory / name).read_bytes() for name in FILES}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    spec = folder / "spec.toml"
    spec.write_text(SPEC)
    printed = finish(spec, folder / "out")
    return spec, files(folder / "out"), printed


def check(undisturbed, out):
    spec, expected, printed = undisturbed
    assert finish(spec, out) == printed
    assert files(out) == expected


@pytest.mark.soak
def test_killed_and_begun_again_it_finds_the_same(undisturbed, runner, tmp_path):
    """In the first rung, in the second and in the final."""
    killed(runner, tmp_path, [3, 9, 14, 9], "tune", str(undisturbed[0]), "--out", str(tmp_path / "out"))
    assert (tmp_path / "out" / "final").exists()
    check(undisturbed, tmp_path / "out")


@pytest.mark.soak
@pytest.mark.parametrize("moment", range(1, 40))
def test_killed_at_this_moment_it_finds_the_same(undisturbed, runner, tmp_path, moment):
    out = tmp_path / "out"
    ended(runner, tmp_path, moment, signal.SIGKILL, "tune", str(undisturbed[0]), "--out", str(out))
    check(undisturbed, out)


@pytest.mark.soak
def test_interrupted_it_says_how_to_go_on(undisturbed, runner, tmp_path):
    out = tmp_path / "out"
    done = ended(runner, tmp_path, 4, signal.SIGINT, "tune", str(undisturbed[0]), "--out", str(out))
    assert done.status == 130
    assert done.stderr.startswith(f"everlearn: interrupted; what was done is kept in {out}")
    assert not (out / "tuned.toml").exists()
    check(undisturbed, out)
