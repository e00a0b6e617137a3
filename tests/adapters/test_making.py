"""Making environments, and saying in one line why one cannot be made."""

from __future__ import annotations

import subprocess
import sys

import gymnasium
import pytest

from everlearn.adapters.making import OWN, Maker, read_options, time_limit
from everlearn.errors import InputError


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, {}),
        ("", {}),
        ({"desc": ["SG"]}, {"desc": ["SG"]}),
        (" is_slippery = False , map_name=8x8", {"is_slippery": False, "map_name": "8x8"}),
        ("n=3,p=0.5,seed=none", {"n": 3, "p": 0.5, "seed": None}),
        ('{"reward_schedule": [1, -1, 0]}', {"reward_schedule": [1, -1, 0]}),
    ],
)
def test_options_are_read(given, expected):
    assert read_options(given) == expected


@pytest.mark.parametrize("given", ["slippery", "=3", "a=1,b", '{"a": }', 7])
def test_options_that_cannot_be_read_are_refused(given):
    with pytest.raises(InputError, match=r"task\.options"):
        read_options(given)


def test_options_reach_the_environment():
    assert Maker("FrozenLake-v1", {"map_name": "8x8"}, OWN).make().observation_space.n == 64


@pytest.mark.parametrize(("asked", "limit"), [(OWN, 100), (None, None), (7, 7)])
def test_time_limits(asked, limit):
    assert time_limit(Maker("FrozenLake-v1", {}, asked).make()) == limit


def test_a_function_makes_one():
    maker = Maker(lambda: gymnasium.make("CliffWalking-v1"), {}, OWN)
    assert maker.make().observation_space.n == 48
    assert maker.make() is not maker.make()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("NoSuchLake-v1", {}, OWN),
            "environment: 'NoSuchLake-v1'; Gymnasium cannot make it: Environment `NoSuchLake`",
        ),
        (("FrozenLake-v1", {"wet": 1}, OWN), "Gymnasium cannot make it: .*wet"),
        (("FrozenLake-v1", {"map_name": "9x9"}, OWN), "Gymnasium cannot make it: '9x9'"),
        (("FrozenLake-v1", {}, 0), "task.time_limit: 0; give a whole number of at least 1, none, or own"),
        (("FrozenLake-v1", {}, "never"), "task.time_limit: 'never'"),
        ((3, {}, OWN), "environment: 3; give an identifier, or a function"),
        ((dict, {"a": 1}, OWN), "task.options: {'a': 1}; a function of yours sets them itself"),
        ((dict, {}, 5), "task.time_limit: 5; a function of yours sets it itself"),
        ((dict, {}, OWN), "environment: {}; the function made no gymnasium.Env"),
    ],
)
def test_what_cannot_be_made_is_refused(arguments, message):
    with pytest.raises(InputError, match=message) as caught:
        Maker(*arguments).make()
    assert "\n" not in str(caught.value)


WITHOUT = "import sys; sys.modules['gymnasium'] = None; "


def without_gymnasium(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", WITHOUT + code], capture_output=True, text=True, check=False)


def test_without_gymnasium_the_command_line_says_how_to_install_it():
    done = without_gymnasium(
        "sys.argv = ['everlearn', 'run', 'gymnasium:FrozenLake-v1']; from everlearn.cli.main import main; main()"
    )
    assert done.returncode == 2
    remedy = "needs Gymnasium; install it with: pip install 'everlearn[gymnasium]'"
    assert done.stderr == f"everlearn: task: 'FrozenLake-v1'; {remedy}\n"


@pytest.mark.parametrize("call", ["from_gymnasium('CartPole-v1')", "to_gymnasium('service-station')"])
def test_without_gymnasium_python_says_how_to_install_it(call):
    done = without_gymnasium(f"import everlearn; everlearn.{call}")
    assert "everlearn.errors.InputError: task:" in done.stderr
    assert "pip install 'everlearn[gymnasium]'" in done.stderr


def test_nothing_else_imports_gymnasium():
    code = (
        "import everlearn; everlearn.run('service-station', steps=10); everlearn.from_gymnasium; everlearn.to_gymnasium"
    )
    assert without_gymnasium(code).returncode == 0
