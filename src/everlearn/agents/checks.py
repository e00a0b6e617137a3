"""Check the parameters of agents, so that the same mistake raises the same error in every agent.

Each function takes parameters by keyword and raises :class:`everlearn.errors.InputError` with the argument
``agent.NAME``.
"""

from __future__ import annotations

import math

from everlearn.errors import require
from everlearn.tasks.indexed import IndexedTask

MOST_COUNTED = 10**18
"""The largest number that compiled code has to count to; it fits into 64 bits."""

MOST_ENTRIES = 15_000_000
"""The most entries of a table that grows faster than |S| |A|: 120 MB, and an agent may need two tables."""


def check_at_least(least: float, **parameters: float) -> None:
    """Require finite numbers of at least ``least``."""
    for name, value in parameters.items():
        require(least <= value < math.inf, f"agent.{name}", value, f"give a finite number of at least {least:g}")


def check_positive(**parameters: float) -> None:
    """Require finite numbers above 0."""
    for name, value in parameters.items():
        require(0 < value < math.inf, f"agent.{name}", value, "give a finite number above 0")


def check_finite(**parameters: float) -> None:
    """Require finite numbers."""
    for name, value in parameters.items():
        require(math.isfinite(value), f"agent.{name}", value, "give a finite number")


def check_fraction(most: float = 1.0, **parameters: float) -> None:
    """Require numbers above 0 and at most ``most``, such as step sizes."""
    for name, value in parameters.items():
        require(0 < value <= most, f"agent.{name}", value, f"give a number above 0, at most {most:g}")


def check_probability(**parameters: float) -> None:
    """Require numbers from 0 to 1."""
    for name, value in parameters.items():
        require(0 <= value <= 1, f"agent.{name}", value, "give a probability")


def check_confidence(confidence: float) -> None:
    """Require a probability that is neither 0 nor 1."""
    require(0 < confidence < 1, "agent.confidence", confidence, "give a probability in (0, 1)")


def check_duration(duration: int | None, most: float = math.inf) -> int:
    """Return the duration of an agent; raise if there is none, or if it exceeds ``most`` steps."""
    steps = duration or 0
    require(steps >= 1, "agent.duration", duration, "give the number of steps that the agent will run for")
    require(steps <= most, "agent.duration", steps, f"give at most {most:.0e} steps")
    return steps


def check_sweeps(sweeps: int) -> None:
    """Require a number of sweeps of value iteration that compiled code can count."""
    remedy = f"give a whole number of at least 1, at most {MOST_COUNTED:.0e}"
    require(1 <= sweeps <= MOST_COUNTED, "agent.sweeps", sweeps, remedy)


def check_model_size(indexed: IndexedTask, agent: str, tables: int = 2) -> None:
    """Require a task whose model, with |S|^2 |A| entries in each of so many tables, fits into memory."""
    states, actions = indexed.states, indexed.actions
    entries = 2 * MOST_ENTRIES // tables
    most = int((entries / actions) ** 0.5)
    remedy = (
        f"its model has |S|^2 |A| entries, at most {entries:,}; with {actions} actions that is {most:,} aleatoric "
        f"states, and {indexed.task.name!r} has {states:,}; choose fewer, or an agent without a model, such as "
        "growing-horizon"
    )
    require(states * states * actions <= entries, "agent", agent, remedy)
