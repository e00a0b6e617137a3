"""The Gymnasium environment of a task; importing this module needs Gymnasium."""

from __future__ import annotations

import copy
import functools
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete

from everlearn.aleatoric.state import START
from everlearn.errors import require
from everlearn.protocol import Environment, Label
from everlearn.randomness import ENVIRONMENT, stream
from everlearn.tasks.indexed import IndexedTask
from everlearn.tasks.task import Task


class TaskEnvironment(gymnasium.Env[np.int64, np.int64]):
    """A task as a Gymnasium environment, made by :func:`everlearn.to_gymnasium`."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - as Gymnasium declares it

    def __init__(self, task: Task, aleatoric: bool, recipe: dict[str, Any] | None = None) -> None:
        self.task = task
        self._recipe = recipe
        self.indexed = IndexedTask(task)
        self._aleatoric = aleatoric
        self.action_space = Discrete(self.indexed.actions)
        self.observation_space = Discrete(self.indexed.states if aleatoric else self.indexed.observations + 1)
        self._world: Environment | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.int64, dict[str, Any]]:
        """Begin a stream."""
        super().reset(seed=seed, options=options)
        number = int(self.np_random.integers(2**63)) if seed is None else seed
        self._world = self.task.start(stream(number, 0, ENVIRONMENT))
        self._aleatoric_state = self.indexed.start
        return self._shown(self.indexed.observations, START)

    def step(self, action: np.int64) -> tuple[np.int64, float, bool, bool, dict[str, Any]]:
        """Execute an action."""
        fine = bool(self.action_space.contains(action))
        require(fine, "action", action, f"give a number from 0 to {self.indexed.actions - 1}")
        require(self._world is not None, "step", action, "call reset first")
        observation = self.task.step(self._world, self.task.actions[int(action)])  # type: ignore[arg-type]  # begun
        number = self.indexed.observation(observation)
        self._aleatoric_state, reward = self.indexed.step(self._aleatoric_state, int(action), number)
        shown, labels = self._shown(number, observation)
        return shown, reward, False, False, labels

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the name of the task, to start again in another process; a task without a name cannot be pickled."""
        from everlearn.adapters.export import to_gymnasium

        remedy = "only an environment of a task that has a name can be pickled; pass a function that makes it"
        require(self._recipe is not None, "environment", self.task.name, remedy)
        return functools.partial(to_gymnasium, **self._recipe or {}), ()

    def __deepcopy__(self, memo: dict[int, Any]) -> TaskEnvironment:
        """Return a copy that continues from the present step."""
        other = TaskEnvironment.__new__(TaskEnvironment)
        memo[id(self)] = other
        for name, value in vars(self).items():
            setattr(other, name, copy.deepcopy(value, memo))
        return other

    def _shown(self, number: int, observation: Label) -> tuple[np.int64, dict[str, Any]]:
        labels = {"observation": observation, "aleatoric_state": self.task.states[self._aleatoric_state]}
        return np.int64(self._aleatoric_state if self._aleatoric else number), labels
