"""Names that tell arms apart: a label, and the settings in which arms of the same label differ.

Settings that begin with ``task.`` belong to the task's name, all others to the agent's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from everlearn.results.arm import Arm, grouped
from everlearn.results.references import AT_LEAST, AT_MOST, BEST, FOUND, OPTIMUM


def task_names(arms: Sequence[Arm]) -> list[str]:
    """Return the name of each arm's task: its label, and the ``task.`` settings in which tasks of that label differ.

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
    """Return the name of each arm's agent: its label or a longer name, and the other settings in which they differ."""
    others = [{name: arm.settings[name] for name in arm.settings if not name.startswith("task.")} for arm in arms]
    return _names([arm.name or arm.agent for arm in arms], others)


def task_settings(arm: Arm) -> dict[str, Any]:
    """Return the settings of an arm that belong to its task."""
    return {name: value for name, value in arm.settings.items() if name.startswith("task.")}


def varying(settings: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the parameters that take more than one value, in the order of their first appearance."""
    listed = list(settings)
    names = dict.fromkeys(name for chosen in listed for name in chosen)
    return [name for name in names if len({repr(chosen.get(name)) for chosen in listed}) > 1]


def described(settings: Mapping[str, Any], parameters: Iterable[str]) -> str:
    """Return ``name=value`` for each parameter that is set, without its prefix if names stay unique.

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
    """Return a setting as text: 3.0 as ``3``, and 0.1 + 0.2 as ``0.3``."""
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def known_averages(arm: Arm) -> str:
    """Return what the best policies earn on an arm's task, as text; empty if that is not known."""
    best = {name: value for name, value in arm.references.items() if name in (BEST, FOUND)}
    return ", ".join(f"{name} {value:.4g}" for name, value in {**optimum_lines(arm), **best}.items())


def optimum_lines(arm: Arm) -> dict[str, float]:
    """Return the optimum of an arm's task by its name, or its bounds by theirs; none if it is not known."""
    if arm.optimum is None:
        return {}
    if arm.optimum_upper is None:
        return {OPTIMUM: float(arm.optimum.mean())}
    return {AT_LEAST: float(arm.optimum.mean()), AT_MOST: float(arm.optimum_upper.mean())}


def _names(labels: Sequence[str], settings: Sequence[Mapping[str, Any]]) -> list[str]:
    groups = grouped(zip(labels, settings, strict=True), lambda pair: pair[0])
    differing = {label: varying(chosen for _, chosen in group) for label, group in groups.items()}
    details = [described(chosen, differing[label]) for label, chosen in zip(labels, settings, strict=True)]
    return [f"{label} ({detail})" if detail else label for label, detail in zip(labels, details, strict=True)]
