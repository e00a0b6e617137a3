"""What an operator changes about an agent: its mode, its promotion rule, and a promotion that is undone.

These functions decide what is written, in process, in a service and for the commands; ``write`` commits an entry and
applies it; each caller passes its own.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from typing import Any

from everlearn.durable.changes import without_schedule
from everlearn.durable.core import Core
from everlearn.durable.entry import Entry
from everlearn.durable.promotion import Rule
from everlearn.durable.setup import simple
from everlearn.durable.store import Store
from everlearn.durable.views import promotion
from everlearn.errors import require

Write = Callable[[Entry], None]

FORGETTING = "schedule.forgetting"
"""The parameter that an operator may change while an agent is in use."""


def change_mode(core: Core, mode: str, write: Write) -> None:
    """Change the mode of an agent, unless it has that mode already."""
    if mode != core.mode:
        write(core.change_mode(mode))


def demote(core: Core, write: Write) -> None:
    """Undo a promotion, unless that was done already; raise if the agent was never promoted."""
    entry = core.demote()
    if core.mode != "shadow" or core.rule_state.demoted is None:
        write(entry)


def arm(store: Store, name: str, core: Core, rule: Rule | None, apply: Write) -> None:
    """Set the promotion rule of an agent, or the same one again; None removes it.  ``apply`` follows the commit."""
    entry = core.arm(rule)
    store.arm(name, core, entry, rule)
    apply(entry)


def with_forgetting(core: Core, parameters: Mapping[str, Any], forgetting: object) -> dict[str, Any]:
    """Return the parameters of an agent with another :data:`FORGETTING`; raise if its design takes no schedule."""
    if core.agent.design.schedule is None:
        raise without_schedule(core.agent.design.name, "forgetting", simple(forgetting))
    number = not isinstance(forgetting, bool) and isinstance(forgetting, numbers.Real) and 0 <= float(forgetting) <= 1
    require(number, "forgetting", simple(forgetting), "give a number from 0 to 1, as in 0.1")
    return {**parameters, FORGETTING: float(forgetting)}  # type: ignore[arg-type]  # a number


def describe(name: str, core: Core) -> dict[str, Any]:
    """Return the name of an agent, its step, its mode, and its promotion rule."""
    return {"name": name, "step": core.step, "mode": core.mode, "promotion": promotion(core)}


class StoredAgent:
    """A named agent of a directory that this process alone uses."""

    def __init__(self, store: Store, name: str) -> None:
        self._store, self._name = store, name
        self._core: Core = store.open(name)

    def inspect(self) -> dict[str, Any]:
        """Return its name, step, mode and promotion rule."""
        return describe(self._name, self._core)

    def learn(self) -> None:
        """Switch to learn mode."""
        change_mode(self._core, "learn", self._write)

    def freeze(self) -> None:
        """Switch to frozen mode."""
        change_mode(self._core, "frozen", self._write)

    def shadow(self) -> None:
        """Switch to shadow mode."""
        change_mode(self._core, "shadow", self._write)

    def demote(self) -> None:
        """Return to shadow mode after a promotion."""
        demote(self._core, self._write)

    def promotion(self, rule: Mapping[str, Any] | None) -> None:
        """Set the promotion rule, or remove it."""
        arm(self._store, self._name, self._core, Rule.read(rule), self._core.apply)

    def _write(self, entry: Entry) -> None:
        self._store.append_one(self._core.number, entry)
        self._core.apply(entry)
