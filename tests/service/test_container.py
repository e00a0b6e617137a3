"""The Containerfile of the examples: what it says, and its steps, executed without a container engine."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.service import container

ROOT = Path(__file__).parents[2]
FILE = ROOT / "examples" / "Containerfile"
STEPS = container.instructions(FILE.read_text())


def test_it_runs_as_a_user_of_its_own_with_a_volume_and_a_health_check():
    last = STEPS[max(number for number, (name, _) in enumerate(STEPS) if name == "FROM") :]
    said = dict(last)
    assert said["USER"] != "0"
    assert said["VOLUME"] == "/data"
    assert "/readyz" in said["HEALTHCHECK"]
    assert json.loads(said["CMD"]) == ["everlearn", "serve"]
    assert {argument.partition(" ")[0] for name, argument in STEPS if name == "FROM"} == {"python:3.12-slim"}


def test_it_installs_all_that_the_service_needs():
    """The list there is that of the extra, and what the command itself needs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {
        re.split(r"\W", text)[0] for text in [*project["optional-dependencies"]["service"], "numpy", "rich", "typer"]
    }
    (installed,) = [argument for name, argument in STEPS if name == "RUN" and "numpy" in argument]
    listed = re.search(r"constraints.txt\s+(.*?)&&", installed)[1].split()
    assert {*listed} == needed


def test_its_variables_are_settings(runner, tmp_path):
    variables = dict(argument.split("=", 1) for name, argument in STEPS if name == "ENV")
    ours = {name: value for name, value in variables.items() if name.startswith("EVERLEARN_")}
    (tmp_path / "tokens").write_text("0123456789abcdef")
    (tmp_path / "tokens").chmod(0o600)
    done = runner("everlearn serve --show-config --json", tmp_path, **{**ours, "EVERLEARN_SERVE_TOKEN_FILE": "tokens"})
    settings = json.loads(done.stdout)
    assert {name for name, setting in settings.items() if setting["source"] != "default"} == {
        "data",
        "host",
        "token-file",
    }


can_unshare = os.geteuid() == 0 and shutil.which("unshare") is not None


@pytest.mark.soak
@pytest.mark.skipif(not can_unshare, reason="OVERLAYS NEED ROOT AND UNSHARE")
def test_its_steps_make_a_service_that_works(tmp_path_factory):
    """Build, start, check, use, stop; and again, with what is in the volume."""
    folder = tmp_path_factory.mktemp("container")
    script = [sys.executable, container.__file__, FILE, ROOT, folder / "layers"]
    layers = f"mkdir {folder}/layers && mount -t tmpfs tmpfs {folder}/layers"
    keep = f"cp {folder}/layers/report.json {folder}/report.json"
    code = f'{layers} && "$@" && umount -l {folder}/layers/root* ; {keep}'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", code, "sh", *map(str, script)], capture_output=True, text=True, check=False
    )
    if "overlay" in done.stderr and "permission denied" in done.stderr.lower():
        pytest.skip("THIS MACHINE DOES NOT ALLOW OVERLAYS")
    assert (folder / "report.json").exists(), done.stdout + done.stderr
    report = json.loads((folder / "report.json").read_text())
    assert report["steps"] == [1, 2]
    assert (report["owner"], report["user"]) == (10001, "10001")
    assert report["megabytes"] < 250
