"""The agents on the board and their settings, each found by a search with the same budget on the training tasks."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from everlearn.errors import InputError, require
from everlearn.experiments.spec import AgentEntry, known_keys, read_spec
from everlearn.experiments.variants import variants

OURS = "growing-horizon, practical"
"""The agent that the others are compared with, in pairs."""

PAPERS = "growing-horizon, the paper's"
"""The agent with the constants of the paper, which stands on the board as it is: nothing was searched for."""

LEFT_OUT = {
    "always": "does not learn",
    "static": "knows the service station and nothing else",
    "gradient": "knows the service station and nothing else",
    "curvature": "knows the service station and nothing else",
    "discounted-subroutine": "is a step of a proof: discounted, begun anywhere",
}
"""The registered agents that are not on the board, and why."""


def resource(name: str) -> dict[str, Any]:
    """Return what a TOML file beside this module holds.

    Examples
    --------
    >>> resource("training.toml")["seed"]
    1

    """
    return tomllib.loads(files("everlearn.leaderboard").joinpath(name).read_text(encoding="utf-8"))


def contenders() -> tuple[AgentEntry, ...]:
    """Return the agents on the board.

    Examples
    --------
    >>> [one.label for one in contenders()][:2]
    ['growing-horizon, practical', 'growing-horizon, smooth']

    """
    return read_settings(resource("settings.toml"))


def read_settings(document: Mapping[str, Any]) -> tuple[AgentEntry, ...]:
    """Check the agents of a board, given as in a spec, and return them; each must have a label and one value of each.

    Examples
    --------
    >>> [entry] = read_settings({"agent": [{"name": "discounted", "label": "one", "parameters": {"horizon": 9}}]})
    >>> entry.given, entry.parameters
    ('discounted', {'horizon': [9]})

    """
    known_keys(document, ("agent",), "")
    spec = read_spec({"steps": 1, "task": "riverswim", **document})
    for entry in spec.agents:
        _check(entry)
    variants(spec)  # refuses parameters that are not the agent's
    return spec.agents


def _check(entry: AgentEntry) -> None:
    require(entry.label is not None, f"{entry.key}.label", None, "is missing; it is what the board calls the agent")
    if entry.given in LEFT_OUT:
        raise InputError(f"{entry.key}.name", entry.given, f"{LEFT_OUT[str(entry.given)]}; leave it out")
    given = {"schedule": entry.schedules}
    given |= {f"parameters.{name}": values for name, values in entry.parameters.items()}
    given |= {f"schedule_parameters.{name}": values for name, values in entry.schedule_parameters.items()}
    for name, values in given.items():
        require(len(values) == 1, f"{entry.key}.{name}", values, "is a grid; a board has one setting of each agent")
