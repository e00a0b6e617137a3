"""Catch and puckworld with the observations of csuite, as environments of Gymnasium: for agents of other libraries."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from everlearn.environments import catch, puckworld
from everlearn.environments.model import ModelEnvironment
from everlearn.randomness import stream


class Catch(gymnasium.Env):  # type: ignore[type-arg]
    """The board as zeros and ones."""

    def __init__(self) -> None:
        self.board = catch.Catch()
        self.actions = tuple(catch.MOVES)
        self.action_space = spaces.Discrete(len(self.actions))
        self.observation_space = spaces.Box(0, 1, (self.board.rows * self.board.columns,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:  # noqa: ARG002
        """Begin with an empty board."""
        super().reset(seed=seed)
        self.environment = ModelEnvironment(self.board.model())
        self.environment.start(stream(seed or 0, 0, 0))
        return self._pixels(self.board.start), {}

    def step(self, action: Any) -> Any:
        """Move the paddle."""
        event, memory = self.environment.step(self.actions[int(action)])  # type: ignore[misc]
        paid = {catch.CAUGHT: 1.0, catch.MISSED: -1.0}.get(str(event), 0.0)
        return self._pixels(memory), paid, False, False, {}

    def _pixels(self, memory: Any) -> Any:
        pixels = np.zeros((self.board.rows, self.board.columns), np.float32)
        for row, column in enumerate(memory):
            if column:
                pixels[row, column - 1] = 1.0
        return pixels.ravel()


class Puckworld(gymnasium.Env):  # type: ignore[type-arg]
    """The six coordinates, in the units of csuite, and the exact distance."""

    def __init__(self) -> None:
        self.actions = tuple(puckworld.PUSHES)
        self.action_space = spaces.Discrete(len(self.actions))
        low = np.array([0, 0, -puckworld.SPEED, -puckworld.SPEED, 0, 0], np.float32)
        high = np.array([puckworld.SIDE] * 2 + [puckworld.SPEED] * 2 + [puckworld.SIDE] * 2, np.float32)
        self.observation_space = spaces.Box(low, high)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:  # noqa: ARG002
        """Put the puck in the middle."""
        super().reset(seed=seed)
        self.world = puckworld.Puckworld()
        self.world.start(stream(seed or 0, 0, 0))
        return self._point(), {}

    def step(self, action: Any) -> Any:
        """Push the puck."""
        self.world.step(self.actions[int(action)])
        distance = float(np.hypot(*np.subtract(self.world.place, self.world.goal)))
        return self._point(), -distance, False, False, {}

    def _point(self) -> Any:
        return np.array([*self.world.place, *self.world.velocity, *self.world.goal], np.float32)
