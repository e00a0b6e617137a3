"""The mode and the promotion rule of any agent in a directory, for an operator who is not its controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from everlearn.durable.core import Core
from everlearn.durable.entry import Entry
from everlearn.durable.promotion import Rule
from everlearn.durable.store import Store
from everlearn.durable.views import promotion


class StoredAgent:
    """A named agent of a directory that this process alone uses."""

    def __init__(self, store: Store, name: str) -> None:
        self._store, self._name = store, name
        self._core: Core = store.open(name)

    def inspect(self) -> dict[str, Any]:
        """Return its name, step, mode and promotion rule."""
        core = self._core
        return {"name": self._name, "step": core.step, "mode": core.mode, "promotion": promotion(core)}

    def learn(self) -> None:
        """Switch to learn mode."""
        self._change("learn")

    def freeze(self) -> None:
        """Switch to frozen mode."""
        self._change("frozen")

    def shadow(self) -> None:
        """Switch to shadow mode."""
        self._change("shadow")

    def _change(self, mode: str) -> None:
        if mode != self._core.mode:
            self._write(self._core.change_mode(mode))

    def demote(self) -> None:
        """Return to shadow mode after a promotion."""
        self._write(self._core.demote())

    def promotion(self, rule: Mapping[str, Any] | None) -> None:
        """Set the promotion rule, or remove it."""
        known = Rule.read(rule)
        entry = self._core.arm(known)
        self._store.arm(self._name, self._core, entry, known)
        self._core.apply(entry)

    def _write(self, entry: Entry) -> None:
        self._store.append_one(self._core.number, entry)
        self._core.apply(entry)
