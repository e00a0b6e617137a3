"""Three ways to call the command: inside this process, in a process that is forked, and as a user does."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from everlearn.cli.main import app, main

COMMAND = Path(sys.executable).with_name("everlearn")


@pytest.fixture
def call():
    """Call the command here; return what it printed on standard output, and nothing may be on standard error."""

    def run(*arguments: str) -> str:
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        assert result.stderr == ""
        return result.stdout

    return run


@pytest.fixture
def call_json(call):
    """Call the command here and return the one JSON document it printed."""

    def run(*arguments: str) -> Any:
        return json.loads(call(*arguments, "--json"))

    return run


@pytest.fixture
def refused(monkeypatch, capsys):
    """Call the command here with something wrong; return its one line, after checking all that an error promises."""

    def run(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["everlearn", *arguments])
        with pytest.raises(SystemExit) as caught:
            main()
        printed = capsys.readouterr()
        assert caught.value.code == 2
        assert printed.out == ""
        assert printed.err.count("\n") == 1
        assert printed.err.startswith("everlearn: ")
        return printed.err.removeprefix("everlearn: ").rstrip("\n")

    return run


@pytest.fixture
def command(runner, tmp_path):
    """Call the command in a process of its own, which is forked: see tests/boundary/test_runner.py."""

    def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        done = runner(shlex.join(["everlearn", *arguments]), cwd or tmp_path)
        return subprocess.CompletedProcess(arguments, done.status, done.stdout, done.stderr)

    return run


@pytest.fixture
def installed():
    """Call the command as a user does: the script that was installed, in a process that is started."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, timeout=120, check=False)

    return run
