"""Make Gymnasium environments, from an identifier and options or by a function of the user's."""

from __future__ import annotations

import functools
import importlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from everlearn.blame import CAUGHT, blame
from everlearn.errors import InputError, require
from everlearn.modules import look_in
from everlearn.sources import source_of

OWN = "own"
"""Stands for the time limit with which an environment is registered."""

MOST_ACTIONS = 1000

_INSTALL = "needs Gymnasium; install it with: pip install 'everlearn[gymnasium]'"
_WORDS = {"true": True, "yes": True, "false": False, "no": False, "none": None}


def gymnasium(wanted: object) -> ModuleType:
    """Return the package, or say how to install it; ``wanted`` is the name of the task that needs it."""
    try:
        return importlib.import_module("gymnasium")
    except ImportError:
        raise InputError("task", wanted, _INSTALL) from None


def read_options(given: str | Mapping[str, Any] | None) -> dict[str, Any]:
    """Read the options of an environment from a mapping, a text ``name=value,...``, or JSON."""
    if given is None or isinstance(given, Mapping):
        return dict(given or {})
    require(isinstance(given, str), "task.options", given, "write name=value,..., or give a mapping")
    if given.lstrip().startswith("{"):
        try:
            return dict(json.loads(given))
        except json.JSONDecodeError as error:
            raise InputError("task.options", given, f"is not JSON: {error}") from None
    pairs = [part.partition("=") for part in given.split(",") if part.strip()]
    for name, equals, _ in pairs:
        require(bool(name.strip() and equals), "task.options", given, "write name=value,..., or JSON in braces")
    return {name.strip(): _value(text.strip()) for name, _, text in pairs}


def _value(text: str) -> Any:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


@dataclass(frozen=True)
class Maker:
    """Makes copies of an environment, one per run or trial."""

    environment: str | Callable[[], Any]
    options: Mapping[str, Any]
    time_limit: int | str | None
    action_levels: int = 3

    def __post_init__(self) -> None:
        limit = self.time_limit
        whole = isinstance(limit, int | np.integer) and not isinstance(limit, bool)
        fine = limit in (None, OWN) or (whole and int(limit) >= 1)
        require(fine, "task.time_limit", limit, "give a whole number of at least 1, none, or own")
        if isinstance(self.environment, str):
            return
        require(callable(self.environment), "environment", self.environment, "give an identifier, or a function")
        require(not self.options, "task.options", self.options, "a function of yours sets them itself")
        require(limit == OWN, "task.time_limit", limit, "a function of yours sets it itself")

    @property
    def name(self) -> str:
        """The identifier, or the name of the function."""
        if isinstance(self.environment, str):
            return self.environment
        function: Any = self.environment
        while isinstance(function, functools.partial):
            function = function.func
        return getattr(function, "__name__", type(function).__name__)

    def make(self) -> Any:
        """Return a new environment, whose actions are numbered."""
        environment = self._make()
        return with_levels(environment, self.action_levels)

    def _make(self) -> Any:
        package = gymnasium(self.name)
        if not isinstance(self.environment, str):
            with blame(f"environment {self.name!r}: making it"):
                environment = self.environment()
            fine = isinstance(environment, package.Env)
            require(fine, "environment", environment, "the function must return a gymnasium.Env")
            return environment
        if ":" in self.environment:
            look_in(
                Path.cwd()
            )  # the module that registers it may be in the current directory, as with module:attribute
        limit = None if self.time_limit == OWN else -1 if self.time_limit is None else int(self.time_limit)
        chosen = ",".join(f"{name}={value}" for name, value in self.options.items())
        remedy = f"; change task.options={chosen}" if chosen else ""
        with _refusing(self.environment, "Gymnasium cannot make it", remedy):
            # The checker is for authors of environments, and it takes time at every step.
            return package.make(self.environment, max_episode_steps=limit, disable_env_checker=True, **self.options)

    def first(self) -> Any:
        """Return an environment that has been reset once, to find its faults before anything runs."""
        environment = self.make()
        if not isinstance(self.environment, str):
            other = self.make()
            remedy = "it returns the same one again; make a new one at every call, since each run needs its own"
            require(other.unwrapped is not environment.unwrapped, "environment", self.name, remedy)
            other.close()
        with _refusing(self.name, "it cannot be reset"):
            returned = environment.reset(seed=0)
        fine = isinstance(returned, tuple) and len(returned) == 2
        require(fine, "environment", self.name, "its reset must return an observation and a dict, as in Gymnasium")
        return environment


def with_levels(environment: Any, levels: int) -> Any:
    """Return an environment with numbered actions: those of a box are all combinations of levels between its bounds.

    Examples
    --------
    >>> import gymnasium
    >>> pendulum = with_levels(gymnasium.make("Pendulum-v1"), 5)
    >>> pendulum.action_space, pendulum.action(1).tolist()
    (Discrete(5), [-1.0])

    """
    from gymnasium import ActionWrapper, spaces

    space: Any = getattr(environment, "action_space", None)  # what lacks one is refused when it is reset
    if not isinstance(space, spaces.Box):
        return environment
    numbers = "give at least 2 levels per coordinate, and at most 1,000 actions in all"
    remedy = f"{numbers}; every coordinate must be bounded"
    number = levels ** math.prod(space.shape) if 2 <= levels <= MOST_ACTIONS else 0
    bounded = bool(np.isfinite(space.low).all() and np.isfinite(space.high).all())
    require(2 <= number <= MOST_ACTIONS and bounded, "task.action_levels", levels, remedy)

    class Levels(ActionWrapper):
        """Numbers the actions of a box."""

        def __init__(self, inner: Any) -> None:
            super().__init__(inner)
            self.action_space = spaces.Discrete(number)

        def action(self, action: Any) -> Any:
            """Return the action of the environment."""
            shares = np.array(np.unravel_index(int(action), (levels,) * math.prod(space.shape))) / (levels - 1)
            return (space.low + (space.high - space.low) * shares.reshape(space.shape)).astype(space.dtype)

    return Levels(environment)


@contextmanager
def _refusing(environment: str, what: str, remedy: str = "") -> Iterator[None]:
    """Report in one line whatever an environment raises."""
    try:
        yield
    except CAUGHT as error:
        reason = " ".join(str(error).split())
        kind = "" if type(error).__module__.startswith("gymnasium") else f"{type(error).__name__}: "
        raise InputError("environment", environment, f"{what}: {kind}{reason}{remedy}") from error


def identity(environment: Any) -> str:
    """Return a hash of an environment: its source, its wrappers and its entry in the registry of Gymnasium."""
    kinds = [type(layer) for layer in (*wrappers(environment), environment.unwrapped)]
    return " ".join([*map(source_of, kinds), source_of(environment.spec)])


def time_limit(environment: Any) -> int | None:
    """Return after how many steps a wrapper truncates an episode, or None."""
    from gymnasium.wrappers import TimeLimit

    limits = [layer._max_episode_steps for layer in wrappers(environment) if isinstance(layer, TimeLimit)]
    return min(limits, default=None)


def wrappers(environment: Any) -> list[Any]:
    """Return the wrappers around an environment, outermost first."""
    layers = []
    while environment is not environment.unwrapped:
        layers.append(environment)
        environment = environment.env
    return layers
