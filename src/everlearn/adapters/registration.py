"""Importing this module registers every built-in task with Gymnasium, as ``everlearn/NAME-v0``.

Gymnasium also imports a module that is named before a colon::

    gymnasium.make("everlearn.adapters.registration:everlearn/service-station-v0")
"""

from __future__ import annotations

from typing import Any

import gymnasium

from everlearn.adapters.environment import TaskEnvironment
from everlearn.adapters.export import to_gymnasium
from everlearn.tasks.registry import TASKS

NAMESPACE = "everlearn"


def make(*, task: str, show: str = "observation", **parameters: Any) -> TaskEnvironment:
    """Return the environment of a task, which ``gymnasium.make`` then wraps; other keywords are its parameters.

    Examples
    --------
    >>> gymnasium.make("everlearn/service-station-v0", window=6, show="aleatoric").observation_space
    Discrete(2)

    """
    return to_gymnasium(task, show=show, parameters=parameters)


def register() -> None:
    """Register every task that is not yet registered."""
    for name in TASKS:
        if (identifier := f"{NAMESPACE}/{name}-v0") not in gymnasium.registry:
            gymnasium.register(identifier, entry_point=f"{__name__}:make", kwargs={"task": name})


register()
