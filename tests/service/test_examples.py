"""The examples that are no Python: the script with curl, and the unit of systemd."""

from __future__ import annotations

import configparser
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import typer

from everlearn.cli.main import app

EXAMPLES = Path(__file__).parents[2] / "examples"


def curl(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    assert shutil.which("curl"), "the example needs curl, and so does its test"
    command = ["sh", str(EXAMPLES / "curl.sh"), *arguments]
    return subprocess.run(
        command, env={**os.environ, **variables}, capture_output=True, text=True, timeout=120, check=False
    )


def test_a_shell_can_drive_an_agent(service):
    done = curl("15", service.url)
    assert done.returncode == 0, done.stderr
    first, table = done.stdout.splitlines()
    assert re.fullmatch(r"-?\d\.\d{3} per step over 15 steps", first)
    assert [row["state"] for row in json.loads(table)["actions"]] == ["start", "dry", "low", "high", "full"]
    assert service.call("GET", "/v1/agents/pump").json["step"] == 15
    assert curl("2", service.url).returncode == 0  # another day it goes on
    assert service.call("GET", "/v1/agents/pump").json["step"] == 17


def test_the_unit_starts_what_there_is():
    """The options that it names are options of the command, and it is confined."""
    unit = configparser.RawConfigParser(strict=False)
    unit.optionxform = str
    unit.read(EXAMPLES / "everlearn.service")
    started = unit["Service"]["ExecStart"]
    known = {
        option
        for parameter in typer.main.get_command(app).get_command(None, "serve").params
        for option in parameter.opts
    }
    assert set(re.findall(r"--[a-z-]+", started)) <= known
    for key, value in {"ProtectSystem": "strict", "NoNewPrivileges": "yes", "DynamicUser": "yes"}.items():
        assert unit["Service"][key] == value


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="NO systemd-analyze HERE: THE UNIT IS NOT VERIFIED")
def test_systemd_understands_the_unit(tmp_path):
    text = (EXAMPLES / "everlearn.service").read_text().replace("/opt/everlearn/bin/everlearn", "/bin/true")
    (tmp_path / "everlearn.service").write_text(text)
    command = ["systemd-analyze", "verify", "--man=no", str(tmp_path / "everlearn.service")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert "everlearn.service" not in done.stderr, done.stderr
