"""The command as a whole: help, version, errors, exit codes."""

from __future__ import annotations

import time

import pytest

import everlearn as el


def test_help_is_instant(command):
    took = []
    for _ in range(5):
        began = time.perf_counter()
        assert "Reinforcement learning" in command("--help").stdout
        took.append(time.perf_counter() - began)
    assert min(took) < 0.3


def test_help_names_every_command(call):
    text = call("--help")
    assert all(name in text for name in ("tasks", "agents", "schedules", "run", "reproduce"))


@pytest.mark.parametrize("name", ["tasks", "agents", "schedules", "run", "reproduce"])
def test_every_command_has_help(call, name):
    assert "Usage" in call(name, "--help")
    assert "Usage" in call(name, "-h")


def test_the_version(call, command):
    assert call("--version").strip() == el.__version__
    assert command("--version").stdout.strip() == el.__version__


def test_without_a_command_help_is_shown(command):
    done = command()
    assert "Usage" in done.stdout + done.stderr


def test_an_error_is_one_line_without_a_traceback(command):
    done = command("run", "service-statoin", "--steps", "10")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.strip() == (
        "everlearn: task: 'service-statoin'; known: service-station (did you mean service-station?); "
        "or name your own as module:attribute"
    )


@pytest.mark.parametrize("arguments", [["fly"], ["run"], ["run", "service-station", "--wings", "2"]])
def test_a_wrong_command_line_is_told_on_standard_error(command, arguments):
    done = command(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Usage" in done.stderr
    assert "Traceback" not in done.stderr
