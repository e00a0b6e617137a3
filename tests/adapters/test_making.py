"""Making environments, and saying in one line why one cannot be made."""

from __future__ import annotations

import importlib
import linecache
import shutil
import subprocess
import sys

import gymnasium
import numpy as np
import pytest

from everlearn.adapters.making import OWN, Maker, identity, read_options, time_limit
from everlearn.errors import InputError
from tests.refusal import refusal


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, {}),
        ("", {}),
        ({"desc": ["SG"]}, {"desc": ["SG"]}),
        ("is_slippery=no,sab=Yes", {"is_slippery": False, "sab": True}),
        (" is_slippery = False , map_name=8x8", {"is_slippery": False, "map_name": "8x8"}),
        ("n=3,p=0.5,seed=none", {"n": 3, "p": 0.5, "seed": None}),
        ('{"reward_schedule": [1, -1, 0]}', {"reward_schedule": [1, -1, 0]}),
    ],
)
def test_options_are_read(given, expected):
    assert read_options(given) == expected


@pytest.mark.parametrize("given", ["slippery", "=3", "a=1,b", '{"a": }', 7])
def test_options_that_cannot_be_read_are_refused(given):
    with pytest.raises(InputError, check=refusal("task.options")):
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
    ("arguments", "refused"),
    [
        (
            ("NoSuchLake-v1", {}, OWN),
            ("environment", "NoSuchLake-v1"),
        ),
        (("FrozenLake-v1", {"wet": 1}, OWN), ("environment", "FrozenLake-v1")),
        (("FrozenLake-v1", {"map_name": "9x9"}, OWN), ("environment", "FrozenLake-v1")),
        (("FrozenLake-v1", {}, 0), ("task.time_limit", 0)),
        (("FrozenLake-v1", {}, "never"), ("task.time_limit", "never")),
        (("FrozenLake-v1", {}, True), ("task.time_limit", True)),
        (("no_such_module:Coin-v0", {}, OWN), ("environment", "no_such_module:Coin-v0")),
        ((3, {}, OWN), ("environment", 3)),
        ((dict, {"a": 1}, OWN), ("task.options", {"a": 1})),
        ((dict, {}, 5), ("task.time_limit", 5)),
        ((dict, {}, OWN), ("environment", {})),
    ],
)
def test_what_cannot_be_made_is_refused(arguments, refused):
    with pytest.raises(InputError, check=refusal(*refused)) as caught:
        Maker(*arguments).make()
    assert "\n" not in str(caught.value)


class Lacking(gymnasium.Env):
    """Notices when it is reset that something is not installed."""

    def reset(self, *, seed=None, options=None):
        raise gymnasium.error.DependencyNotInstalled("pygame is not installed,\nrun pip install pygame")


class Old(gymnasium.Env):
    def reset(self, *, seed=None, options=None):
        return 0


def test_what_a_first_reset_raises_is_one_line():
    with pytest.raises(InputError, check=refusal("environment", "Lacking")) as caught:
        Maker(Lacking, {}, OWN).first()
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, check=refusal("environment", "Old")):
        Maker(Old, {}, OWN).first()


def test_a_function_that_returns_the_same_environment_again_is_refused():
    shared = gymnasium.make("CliffWalking-v1")
    with pytest.raises(InputError, check=refusal("environment", "<lambda>")):
        Maker(lambda: shared, {}, OWN).first()


def test_a_time_limit_may_be_a_number_of_numpy():
    assert time_limit(Maker("FrozenLake-v1", {}, np.int64(7)).make()) == 7


COIN = """
import gymnasium

class Coin(gymnasium.Env):
    observation_space = action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return 0, float(self.np_random.random() < 0.5), False, False, {}

gymnasium.register("kept/Coin-v0", entry_point=Coin)
"""


@pytest.fixture
def coin(tmp_path, monkeypatch):
    """Writes a module that registers a coin, with a change, and returns the environment that is made of it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def make(old="", new=""):
        (tmp_path / "kept_coin.py").write_text(COIN.replace(old, new))
        for known in (sys.modules, gymnasium.registry):
            known.pop("kept_coin", None)
            known.pop("kept/Coin-v0", None)
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
        importlib.invalidate_caches()
        linecache.clearcache()
        return Maker("kept_coin:kept/Coin-v0", {}, OWN).make()

    yield make
    gymnasium.registry.pop("kept/Coin-v0", None)


def test_the_module_that_registers_it_is_found_where_the_user_is(coin):
    assert coin().observation_space.n == 2


def test_an_edited_environment_of_the_same_name_is_another(coin):
    first, again, edited = identity(coin()), identity(coin()), identity(coin("< 0.5", "< 0.8"))
    other = identity(coin("entry_point=Coin", "entry_point=Coin, max_episode_steps=9"))
    assert first == again
    assert len({first, edited, other}) == 3


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


@pytest.mark.soak
def test_nothing_else_imports_gymnasium():
    code = (
        "import everlearn; everlearn.run('service-station', steps=10); everlearn.from_gymnasium; everlearn.to_gymnasium"
    )
    assert without_gymnasium(code).returncode == 0
