"""What arms are called where they stand side by side: a label, and the settings in which its like differ.

Settings that begin with ``task.`` belong to the task's name, all others to the agent's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from everlearn.results.arm import Arm
from everlearn.results.references import BEST, FOUND, OPTIMUM


def task_names(arms: Sequence[Arm]) -> list[str]:
    """Return the name of each arm's task: its label, and the ``task.`` settings in which its like differ.

    Examples
    --------
    >>> import numpy as np
    >>> shops = [Arm("shop", "smooth", {"task.window": w}, np.array([1]), np.zeros((1, 1))) for w in (2, 3)]
    >>> task_names(shops)
    ['shop (window=2)', 'shop (window=3)']
    >>> task_names(shops[:1])
    ['shop']

    """
    return _names([arm.task for arm in arms], [task_settings(arm) for arm in arms])


def agent_names(arms: Sequence[Arm]) -> list[str]:
    """Return the name of each arm's agent: its label, and the other settings in which its like differ.

    Examples
    --------
    >>> import numpy as np
    >>> settings = [{"schedule.horizon_scale": scale, "task.window": 2} for scale in (3, 9)]
    >>> agent_names([Arm("shop", "smooth", chosen, np.array([1]), np.zeros((1, 1))) for chosen in settings])
    ['smooth (horizon_scale=3)', 'smooth (horizon_scale=9)']

    """
    return _names([arm.agent for arm in arms], [agent_settings(arm) for arm in arms])


def task_settings(arm: Arm) -> dict[str, Any]:
    """Return those settings of an arm that belong to its task.

    Examples
    --------
    >>> import numpy as np
    >>> settings = {"task.window": 2, "agent.phase": 4}
    >>> task_settings(Arm("shop", "smooth", settings, np.array([1]), np.zeros((1, 1))))
    {'task.window': 2}

    """
    return {name: value for name, value in arm.settings.items() if name.startswith("task.")}


def agent_settings(arm: Arm) -> dict[str, Any]:
    """Return those settings of an arm that do not belong to its task.

    Examples
    --------
    >>> import numpy as np
    >>> settings = {"task.window": 2, "agent.phase": 4}
    >>> agent_settings(Arm("shop", "smooth", settings, np.array([1]), np.zeros((1, 1))))
    {'agent.phase': 4}

    """
    return {name: value for name, value in arm.settings.items() if not name.startswith("task.")}


def varying(settings: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the parameters that do not have the same value everywhere, in the order in which they are met.

    Examples
    --------
    >>> varying([{"window": 2, "phase": 4}, {"window": 3, "phase": 4}])
    ['window']

    """
    met = list(settings)
    names = dict.fromkeys(name for chosen in met for name in chosen)
    return [name for name in names if len({repr(chosen.get(name)) for chosen in met}) > 1]


def described(settings: Mapping[str, Any], parameters: Iterable[str]) -> str:
    """Return ``name=value`` for those of the parameters that are set; without prefix, where that is clear.

    Examples
    --------
    >>> described({"schedule.horizon_scale": 3.0, "agent.phase": 4}, ["schedule.horizon_scale"])
    'horizon_scale=3'

    """
    given = [name for name in parameters if name in settings]
    short = [name.partition(".")[2] or name for name in given]
    shown = short if len(set(short)) == len(short) else given
    return ", ".join(f"{label}={written(settings[name])}" for label, name in zip(shown, given, strict=True))


def written(value: Any) -> str:
    """Return a setting as a reader would write it.

    Examples
    --------
    >>> written(3.0), written(0.1 + 0.2), written("fast")
    ('3', '0.3', 'fast')

    """
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def known_averages(arm: Arm) -> str:
    """Return what the best policies earn on the task of an arm, in words; nothing where that is not known.

    Examples
    --------
    >>> import numpy as np
    >>> known_averages(Arm("shop", "smooth", {}, np.array([1]), np.zeros((1, 1)), np.array([0.5])))
    'optimum over all policies 0.5'

    """
    optimum = {} if arm.optimum is None else {OPTIMUM: float(arm.optimum.mean())}
    best = {name: value for name, value in arm.references.items() if name in (BEST, FOUND)}
    return ", ".join(f"{name} {value:.4g}" for name, value in {**optimum, **best}.items())


def _names(labels: Sequence[str], settings: Sequence[Mapping[str, Any]]) -> list[str]:
    alike: dict[str, list[Mapping[str, Any]]] = {}
    for label, chosen in zip(labels, settings, strict=True):
        alike.setdefault(label, []).append(chosen)
    differing = {label: varying(group) for label, group in alike.items()}
    details = [described(chosen, differing[label]) for label, chosen in zip(labels, settings, strict=True)]
    return [f"{label} ({detail})" if detail else label for label, detail in zip(labels, details, strict=True)]
