"""Settings of ``everlearn serve`` from a file and from the environment."""

from __future__ import annotations

import inspect
import json

import pytest

from everlearn.cli.configuration import ABOUT
from everlearn.cli.serve import serve

FILE = 'data = "agents"\nport = 9000\nmax-agents = 5\nallow_host = ["a.example", "b.example"]\npatience = 2.5\n'


@pytest.fixture
def shown(runner, tmp_path):
    """Return the settings that a call would serve with."""

    def show(options="", file=FILE, **environment):
        done = runner(
            f"everlearn serve --config service.toml --show-config --json {options}",
            tmp_path,
            {"service.toml": file},
            **environment,
        )
        assert done.status == 0, done.stderr
        return json.loads(done.stdout)

    return show


@pytest.fixture
def refused(runner, tmp_path):
    """Return the one line with which a call is refused."""

    def refuse(call, file=FILE, **environment):
        done = runner(call, tmp_path, {"service.toml": file}, **environment)
        assert (done.status, done.stdout) == (2, "")
        (line,) = done.stderr.splitlines()
        return line.removeprefix("everlearn: ")

    return refuse


def test_the_command_line_wins_over_the_environment_and_that_over_the_file(shown):
    variables = {"EVERLEARN_SERVE_PORT": "9100", "EVERLEARN_SERVE_MAX_AGENTS": "6"}
    settings = shown("--port 9200", **variables)
    assert settings["port"] == {"value": 9200, "source": "command line"}
    assert settings["max-agents"] == {"value": 6, "source": "environment: EVERLEARN_SERVE_MAX_AGENTS"}
    assert settings["patience"] == {"value": 2.5, "source": "file: service.toml"}
    assert settings["max-rows"] == {"value": 100_000, "source": "default"}
    assert settings["allow-host"]["value"] == ["a.example", "b.example"]


def test_every_option_is_a_setting(shown):
    """There is no second list: whatever option is added can be set in the file and in the environment."""
    options = [name for name in inspect.signature(serve).parameters if name not in ("context", *ABOUT)]
    assert [*shown()] == [name.replace("_", "-") for name in options]


def test_the_environment_may_name_the_file_and_several_hosts(runner, tmp_path):
    variables = {"EVERLEARN_SERVE_CONFIG": "service.toml", "EVERLEARN_SERVE_ALLOW_HOST": "c.example d.example"}
    done = runner("everlearn serve --show-config", tmp_path, {"service.toml": FILE}, **variables)
    lines = {line.split()[0]: line.split(None, 1)[1] for line in done.stdout.splitlines()}
    assert lines["data"].split(None, 1) == ["agents", "file: service.toml"]
    assert lines["allow-host"].startswith("c.example, d.example ")


def test_a_variable_that_is_unknown(refused):
    line = refused("everlearn serve --data agents", EVERLEARN_SERVE_PROT="9000")
    assert line.startswith("environment: 'EVERLEARN_SERVE_PROT'; known: EVERLEARN_SERVE_A")
    assert line.endswith(" (did you mean EVERLEARN_SERVE_PORT?)")


def test_variables_of_others_are_ignored(shown):
    """An orchestrator announces a service of the name everlearn in variables that begin with that name."""
    assert shown(EVERLEARN_PORT="tcp://10.0.0.1:8321", EVERLEARN_SERVICE_HOST="10.0.0.1")["port"]["value"] == 9000


@pytest.mark.parametrize(
    "file",
    ["port = true", "port = [1]", "port = 2027-01-31", "[port]\na = 1", 'allow-host = "a"', "allow-host = [1]",
     "show-config = true", "config = 'a'", "max-agents = 1\nmax_agents = 2", "port", "port = \xff"],
)  # fmt: skip
def test_a_file_that_cannot_be_used(refused, file):
    line = refused("everlearn serve --data agents --config service.toml", file)
    assert line.startswith(("service.toml: ", "--config: 'service.toml'; it is not TOML: "))


def test_settings_are_checked_before_they_are_shown(refused):
    assert refused("everlearn serve --config service.toml --show-config", FILE + "max-body = 0\n").startswith(
        "--max-body: 0;"
    )
    assert refused("everlearn serve --config none.toml").startswith("--config: 'none.toml'; it cannot be read")
