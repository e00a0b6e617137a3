"""The agent that was found as a piece of TOML, ready to be put into the spec of an experiment."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from everlearn.experiments.spec import name_of
from everlearn.tuning.tuned import Tuned


def snippet(tuned: Tuned) -> str:
    """Return an entry ``[[agent]]``, with where it comes from above it."""
    spec = tuned.spec.experiment
    tasks = ", ".join(tuned.final[1].units)
    scores = f"{tuned.score.mean:.4g}, and {tuned.default_score.mean:.4g} by default"
    remarks = [
        f"Found by everlearn tune: {spec.name}, {spec.steps:,} steps on {tasks}.",
        f"Its loss over {tuned.spec.final_runs} fresh runs was {scores}.",
    ]
    lines = [*(f"# {' '.join(remark.split())}" for remark in remarks), "", "[[agent]]"]
    for key, value in tuned.agent.items():
        if isinstance(value, Mapping):
            lines += [f"{key}.{_key(name)} = {toml(one)}" for name, one in value.items() if one is not None]
        else:
            lines.append(f"{key} = {toml(value if isinstance(value, str) else name_of(value))}")
    return "\n".join(lines) + "\n"


def toml(value: Any) -> str:
    """Return a value as TOML writes it.

    Examples
    --------
    >>> toml({"policy": ["fast", 0.5], "raw": True})
    '{ policy = ["fast", 0.5], raw = true }'

    """
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(name)} = {toml(one)}" for name, one in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml(one) for one in value) + "]"
    if isinstance(value, bool | int | float):
        return str(value).lower()
    return json.dumps(str(value), ensure_ascii=False)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)
