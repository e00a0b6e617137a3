"""The command as a whole: help, version, errors, exit codes."""

from __future__ import annotations

import dataclasses
import inspect
import os
import re
import subprocess
import sys

import pytest
from typer.main import get_command

import everlearn as el
from everlearn.cli.main import app, main
from everlearn.cli.serve import serve
from everlearn.errors import EverlearnError, UserCodeError
from everlearn.service.settings import Limits

HEAVY = {"numpy", "scipy", "numba", "matplotlib", "pyarrow", "pandas", "distributed", "fastapi", "nicegui", "sqlite3"}
"""What the help and completion must not import, since they must answer at once."""

NUMBERS = {
    **dict.fromkeys(("steps", "runs", "seed", "threads", "max_pairs", "port", "first", "last", "since"), "<int>"),
    **{f"max_{name}": "<int>" for name in ("agents", "body", "state", "labels", "states", "values", "rows")},
    **dict.fromkeys(("max_waiting", "max_connections", "max_rate", "max_burst", "shards", "to_shard"), "<int>"),
    **dict.fromkeys(("budget", "confidence", "horizon"), "<float>"),
}


def imported(*arguments: str, **environment: str) -> set[str]:
    """Return the packages that the command has imported at its end."""
    printing = "import atexit, sys; atexit.register(lambda: sys.stderr.write(' '.join(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", f"{printing}\nfrom everlearn.cli.main import main; main()", *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    return {name.partition(".")[0] for name in done.stderr.split()}


@pytest.mark.parametrize("arguments", [["--help"], ["experiment", "--help"]])
def test_help_imports_nothing_heavy(arguments):
    assert not imported(*arguments) & HEAVY


def test_completion_imports_nothing_heavy():
    asked = {"COMP_WORDS": "everlearn run riverswim --agent gr", "COMP_CWORD": "4"}
    assert not imported(_EVERLEARN_COMPLETE="complete_bash", **asked) & HEAVY


def test_help_names_every_command(call):
    text = call("--help")
    assert all(name in text for name in ("tasks", "agents", "schedules", "run", "reproduce"))


@pytest.mark.parametrize("name", ["tasks", "agents", "schedules", "run", "reproduce"])
def test_every_command_has_help(call, name):
    assert "Usage" in call(name, "--help")
    assert "Usage" in call(name, "-h")


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["experiment", "--help"]])
def test_help_shows_flags_without_a_type(call, arguments):
    assert "bool" not in call(*arguments)


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
def test_a_wrong_command_line_is_one_line(refused, arguments):
    assert refused(*arguments)


class TestMain:
    """How a command ends when it raises."""

    @pytest.fixture
    def ended(self, monkeypatch, capsys):
        """Return the exit code, and what is on standard error, of a command that raises."""

        def run(error: BaseException) -> tuple[int, str]:
            def raising(*_: object) -> None:
                raise error

            monkeypatch.setattr("everlearn.cli.lists.list_factories", raising)
            monkeypatch.setattr(sys, "argv", ["everlearn", "tasks"])
            with pytest.raises(SystemExit) as caught:
                main()
            return caught.value.code, capsys.readouterr().err

        return run

    def test_what_a_user_wrote_is_shown_with_their_own_frames(self, ended):
        assert ended(UserCodeError("act raised", "Traceback\n  mine.py\n")) == (
            2,
            "everlearn: act raised\nTraceback\n  mine.py\n",
        )

    @pytest.mark.parametrize("error", [EverlearnError("no"), MemoryError(), PermissionError(13, "no", "file")])
    def test_what_a_user_can_mend_is_one_line(self, ended, error):
        code, printed = ended(error)
        line, _, frames = printed.partition("\n")
        assert code == 2
        assert line.startswith("everlearn: ")
        assert frames.startswith("Traceback") == isinstance(error, EverlearnError)  # raised in this file

    def test_interrupted(self, ended):
        assert ended(KeyboardInterrupt()) == (130, "everlearn: interrupted\n")

    @pytest.mark.parametrize("error", [ZeroDivisionError("ours"), RecursionError("ours"), AssertionError("ours")])
    def test_a_bug_of_ours_is_not_hidden(self, ended, error):
        code, printed = ended(error)
        assert code == 1
        assert printed.startswith("Traceback (most recent call last):\n")
        assert f"{type(error).__name__}: ours\neverlearn: this is a bug in everlearn" in printed


class TestCompletion:
    """The protocol by which a shell asks: variables of the environment in, words out."""

    @pytest.fixture
    def completed(self, monkeypatch, capsys):
        def run(shell: str, *words: str) -> list[str]:
            asked = {
                "_EVERLEARN_COMPLETE": f"complete_{shell}",
                "COMP_WORDS": " ".join(("everlearn", *words)),
                "COMP_CWORD": str(len(words)),
                "_TYPER_COMPLETE_ARGS": " ".join(("everlearn", *words)),
                "_TYPER_COMPLETE_FISH_ACTION": "get-args",
            }
            for name, value in asked.items():
                monkeypatch.setenv(name, value)
            monkeypatch.setattr(sys, "argv", ["everlearn"])
            with pytest.raises(SystemExit) as caught:
                main()
            assert caught.value.code == 0
            return re.findall(r"[\w:-]+", capsys.readouterr().out.replace("_arguments '*: :", ""))

        return run

    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    @pytest.mark.parametrize(
        ("words", "names"),
        [
            (["run", "ri"], ["riverswim", "riverswim-12"]),
            (
                ["run", "riverswim", "--agent", "d"],
                ["discounted", "discounted-subroutine", "differential-q", "differential-sarsa"],
            ),
            (["run", "riverswim", "--steps", "wrong", "--schedule", "s"], ["smooth"]),
            (["run", "riverswim", "--engine", "c"], ["compiled"]),
            (["leaderboard", "--task", "t-"], ["t-maze"]),
            (["theory", "acc"], ["access-control"]),
        ],
    )
    def test_names_of_the_registries(self, completed, shell, words, names):
        assert completed(shell, *words) == names

    def test_commands_and_options(self, completed):
        assert completed("bash", "ru") == ["run"]
        assert completed("bash", "run", "riverswim", "--st") == ["--steps"]

    def test_after_a_command_that_there_is_not(self, completed):
        assert completed("bash", "fly", "ag") == ["agents"]

    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_the_script_for_a_shell(self, monkeypatch, capsys, shell):
        monkeypatch.setenv("_EVERLEARN_COMPLETE", f"source_{shell}")
        monkeypatch.setattr(sys, "argv", ["everlearn"])
        with pytest.raises(SystemExit):
            main()
        assert f"_EVERLEARN_COMPLETE=complete_{shell}" in capsys.readouterr().out


def test_numbers_are_shown_as_numbers():
    """Every option that takes a number says so in the help, and reads 1e3 as a person means it."""
    root = get_command(app)
    groups = (root, root.get_command(None, "experiment"))
    for command in [group.get_command(None, name) for group in groups for name in group.list_commands(None)]:
        for parameter in command.params:
            if parameter.name in NUMBERS:
                assert parameter.metavar == NUMBERS[parameter.name], (command.name, parameter.name)
            else:
                assert parameter.metavar not in ("<int>", "<float>"), (command.name, parameter.name)


def test_the_limits_of_serve_are_those_of_the_service():
    defaults = {name: parameter.default for name, parameter in inspect.signature(serve).parameters.items()}
    limits = dataclasses.asdict(Limits())
    for name in ("patience", "trial_seconds", "trial_megabytes"):
        del limits[name]
    assert {f"max_{name}": limit for name, limit in limits.items()}.items() <= defaults.items()


def test_what_is_an_option_elsewhere_is_pointed_out(refused):
    assert refused("frontier", "riverswim") == "command: 'frontier'; write everlearn theory TASK --frontier"
