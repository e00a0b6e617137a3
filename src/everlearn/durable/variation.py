"""Another setup made from that of a durable agent by changing some keys, as for a replay of its journal."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import Any

from everlearn.durable.declaration import GIVEN, OBJECT, is_missing
from everlearn.durable.setup import KEYS, Setup, make_setup, means_another
from everlearn.errors import InputError, require
from everlearn.files import expanded
from everlearn.tasks.task import Task

MEASURED = ("durations", "limit", "cost_range")
"""The keys for what comes with an observation, besides the reward; None removes them."""


def varied(document: Mapping[str, Any], task: Task, changes: Mapping[str, Any]) -> Setup:
    """Return a stored setup with other values of some keys; ``task`` is the task of the stored one.

    What no longer fits is left out: another agent begins without the parameters and the schedule of the former, another
    aleatoric state without its start.  None for durations, a limit or a range of costs removes it.  If a task from the
    registry gets another aleatoric state or reward, what remains of the task are its labels, the range of its rewards,
    and the rewards that are recorded.

    Examples
    --------
    >>> from everlearn.durable.setup import Setup
    >>> stored = Setup({"task": "service-station"})
    >>> varied(stored.document, stored.task, {"aleatoric": "window:2"}).document["actions"]
    ['fast', 'slow']

    """
    given = {key: value for key, value in changes.items() if value is not None}
    removed = {key for key in MEASURED if key in changes} - set(given)
    for key in given:
        require(key in KEYS, "setup", key, f"known: {', '.join(KEYS)}")
    kept = {
        key: value
        for key, value in document.items()
        if value is not None and key not in _dropped(document, given) | removed
    }
    if document["task"] is not None and "task" not in kept and "task" not in given:
        low, high = task.reward.low, task.reward.high
        labels = {"actions": task.actions, "observations": task.observations}
        kept |= {**labels, "reward": GIVEN, "reward_range": (low, high), "raw": task.reward.raw}
        kept.pop("parameters", None)
    values = {**kept, **given}
    for key, value in values.items():
        require(not is_missing(value), key, OBJECT, "give it again, or another")
    return make_setup(**values)


def _dropped(document: Mapping[str, Any], given: Mapping[str, Any]) -> set[str]:
    """Return the keys of a stored setup that changes replace."""
    of_task = {name for name, key in KEYS.items() if key.of_task}
    dropped = set(given)
    if document["task"] is not None and of_task & set(given):
        dropped |= {"task", *of_task}
    elif document["task"] is not None or "task" in given:
        dropped |= of_task
    if "aleatoric" in given:
        dropped |= {"states", "start"}
    if "agent" in given or means_another(document, given):
        dropped |= {"agent", "schedule", "parameters"}
    if "schedule" in given:
        dropped |= {"parameters"}
    return dropped


def read_changes(text: str) -> dict[str, Any]:
    """Return the keys of a setup that a text gives: the name of a TOML file, or KEY=VALUE pairs with commas between.

    Examples
    --------
    >>> read_changes("schedule=smooth,schedule.horizon_scale=3")
    {'schedule': 'smooth', 'parameters': {'schedule.horizon_scale': 3}}

    """
    if text.endswith(".toml"):
        return _read_file(text)
    changes: dict[str, Any] = {}
    for pair in text.split(",") if text != AS_IT_IS else ():
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not key or not value:
            remedy = f"give {AS_IT_IS}, KEY=VALUE pairs such as schedule=smooth,aleatoric=window:2, or a TOML file"
            raise InputError("setup", text, remedy)
        place = changes.setdefault("parameters", {}) if "." in key else changes
        require(key not in place, "setup", text, f"gives {key} twice")
        place[key] = _value(value)
    return changes


AS_IT_IS = "present"
"""The text of a setup without changes."""


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _read_file(name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(expanded(name).read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError("setup", name, f"cannot be read ({error})") from None
