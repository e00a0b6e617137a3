"""Export tasks as Gymnasium environments: one endless stream, which neither terminates nor is truncated.

Gymnasium returns an observation before the first action, whereas a stream begins with an action.  So the environment
has one observation more than the task.  It is the last, and means that nothing was observed yet; the aleatoric state is
then S0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from everlearn.adapters.making import gymnasium
from everlearn.errors import require
from everlearn.tasks.registry import make_task
from everlearn.tasks.task import Task

if TYPE_CHECKING:
    from everlearn.adapters.environment import TaskEnvironment

SHOWN = ("observation", "aleatoric")


def to_gymnasium(
    task: object, *, show: str = "observation", parameters: Mapping[str, Any] | None = None
) -> TaskEnvironment:
    """Return a task as a Gymnasium environment over Discrete spaces.

    Actions and Gymnasium observations are numbered in the order of the task's labels; ``info`` contains the labels.
    Rewards are in the task's own units. ``reset(seed=n)`` starts the same random stream as the environment of the first
    run of ``everlearn.run`` with seed n; ``reset()`` starts a new stream.

    Parameters
    ----------
    task:
        a task, or the name of one
    show:
        what ``reset`` and ``step`` return: ``observation`` for the task's observation, with the last index meaning "no
        observation yet"; ``aleatoric`` for the aleatoric state
    parameters:
        parameters of the task, if it is passed by name

    Examples
    --------
    >>> station = to_gymnasium("service-station", parameters={"window": 6})
    >>> station.action_space, station.observation_space
    (Discrete(2), Discrete(5))
    >>> number, info = station.reset(seed=1)
    >>> int(number), info
    (4, {'observation': 'start', 'aleatoric_state': 0})
    >>> number, reward, terminated, truncated, info = station.step(0)
    >>> reward, terminated, truncated, info
    (1.0, False, False, {'observation': 'arrival', 'aleatoric_state': 1})

    """
    require(show in SHOWN, "show", show, f"give one of {', '.join(SHOWN)}")
    exported: Task = make_task(task, parameters)
    gymnasium(exported.name)
    from everlearn.adapters.environment import TaskEnvironment

    recipe = {"task": task, "show": show, "parameters": dict(parameters or {})} if isinstance(task, str) else None
    return TaskEnvironment(exported, show == "aleatoric", recipe)
