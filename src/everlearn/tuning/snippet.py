"""Write the tuned agent as TOML that can be pasted into the spec of an experiment."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from everlearn.experiments.spec import name_of
from everlearn.tuning.tuned import Tuned


def snippet(tuned: Tuned) -> str:
    """Return an entry ``[[agent]]`` with comments that say where it comes from."""
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
            lines += [f"{key}.{_key(name)} = {toml(entry)}" for name, entry in value.items() if entry is not None]
        else:
            lines.append(f"{key} = {toml(value if isinstance(value, str) else name_of(value))}")
    return "\n".join(lines) + "\n"


def toml(value: Any) -> str:
    """Return a value as TOML."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(name)} = {toml(entry)}" for name, entry in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml(entry) for entry in value) + "]"
    if isinstance(value, bool | int | float):
        return str(value).lower()
    return json.dumps(str(value), ensure_ascii=False)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)
