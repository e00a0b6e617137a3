"""The trial of a durable agent: a copy acts, learns, is saved and resumed, before a setup or a state is accepted."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager

from everlearn.durable import views
from everlearn.durable.core import Core
from everlearn.durable.entry import Outcome
from everlearn.errors import EverlearnError, Failed, LiveError, SnapshotError
from everlearn.files import as_path
from everlearn.grids import Grid

STEPS = 24
"""The number of steps that an agent must be able to take."""


def try_out(core: Core) -> None:
    """Let an agent take some steps, resume from a snapshot, and show what it knows; raise if it cannot.

    Only pass an agent that is not needed afterwards.

    Examples
    --------
    >>> from everlearn.durable.setup import make_setup
    >>> try_out(Core(make_setup(task="service-station", agent="tsde")))

    """
    try:
        for number in range(STEPS):
            _take_step(core, number)
        other = Core(core.setup, core.number)
        other.restore(core.snapshot())
        tables = [] if isinstance(core.agent.task.states, Grid) else [views.policy_table]
        for view in (views.inspect, *tables, views.gauges):
            json.dumps(view(other), allow_nan=False)
    except (EverlearnError, MemoryError):
        raise
    except Exception as error:
        raise Failed(f"the design {core.agent.design.name!r} cannot be shown or saved ({error!r})") from error


def try_state(core: Core, state: bytes) -> None:
    """Let a copy of an agent take some steps from an agent state, which is not yet accepted; raise if it cannot."""
    copy = core.copy()
    copy.agent.from_bytes(state, "agent state")
    copy.failure = None
    try:
        try_out(copy)
    except Failed as error:
        raise SnapshotError(f"it cannot be used: {error}", "agent state") from error


def _take_step(core: Core, number: int) -> None:
    task, setup = core.agent.task, core.setup
    core.propose()
    outcome = Outcome(
        task.observations[number % len(task.observations)],
        task.actions[number % len(task.actions)],
        task.reward.low if setup.gives_reward else None,
        task.states[number % len(task.states)] if setup.gives_state else None,
        *(None if ends is None else ends[number % 2] for ends in setup.measures),
    )
    try:
        entry = core.prepare(*outcome)
    except Failed:
        raise
    except EverlearnError:  # a table need not have every combination
        return
    core.apply(entry)


@contextmanager
def file_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Raise an error of the system as one line that names the file."""
    as_path(path)
    try:
        yield
    except OSError as error:
        raise LiveError(f"{error.strerror}", path) from None
