"""The command as a whole: help, version, errors, exit codes."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

import everlearn as el

INSTANT = 0.3
"""Seconds."""


def time_of_help(command) -> float:
    began = time.perf_counter()
    assert "Reinforcement learning" in command("--help").stdout
    return time.perf_counter() - began


def test_help_is_instant(command):
    best = min(time_of_help(command) for _ in range(5))
    tries = 20  # others may be at work on this machine: what counts is what it can do when they pause
    while best >= INSTANT and tries > 0:
        best, tries = min(best, time_of_help(command)), tries - 1
    assert best < INSTANT


def test_help_imports_nothing_heavy():
    code = """
import sys
from everlearn.cli.main import app
try:
    app(["--help"])
except SystemExit:
    print("loaded:", *sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split("loaded:")[1].split())
    assert not loaded & {"numpy", "scipy", "numba", "matplotlib"}


def test_help_names_every_command(call):
    text = call("--help")
    assert all(name in text for name in ("tasks", "agents", "schedules", "run", "reproduce"))


@pytest.mark.parametrize("name", ["tasks", "agents", "schedules", "run", "reproduce"])
def test_every_command_has_help(call, name):
    assert "Usage" in call(name, "--help")
    assert "Usage" in call(name, "-h")


def test_the_version(call, installed):
    assert call("--version").strip() == el.__version__
    assert installed("--version").stdout.strip() == el.__version__


def test_without_a_command_help_is_shown(command):
    done = command()
    assert "Usage" in done.stdout + done.stderr


def test_an_error_is_one_line_without_a_traceback(command):
    done = command("run", "service-statoin", "--steps", "10")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.strip() == (
        f"everlearn: task: 'service-statoin'; known: {', '.join(sorted(el.TASKS))} "
        "(did you mean service-station?); or name your own as module:attribute"
    )


@pytest.mark.parametrize("arguments", [["fly"], ["run"], ["run", "service-station", "--wings", "2"]])
def test_a_wrong_command_line_is_told_on_standard_error(command, arguments):
    done = command(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Usage" in done.stderr
    assert "Traceback" not in done.stderr
