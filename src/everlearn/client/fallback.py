"""How a controller acts while the service cannot be reached: by an action, a policy table or a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from everlearn.client.connection import as_label
from everlearn.client.wire import as_action
from everlearn.errors import InputError, require
from everlearn.windows import Window

Fallback: TypeAlias = "str | int | tuple[Any, ...] | Mapping[str, Any] | Callable[[Any, Any], Any]"


def make_fallback(fallback: Fallback) -> FunctionPolicy | TablePolicy:
    """Return a policy, which chooses actions and follows the aleatoric state as well as it can."""
    if isinstance(fallback, Mapping):
        return TablePolicy(fallback)
    if callable(fallback):
        return FunctionPolicy(fallback)
    action = as_action(fallback, "fallback")
    return FunctionPolicy(lambda _state, _observation: action, [action])


class FunctionPolicy:
    """Calls a function of the last aleatoric state that the service returned and the last observation."""

    def __init__(self, function: Callable[[Any, Any], Any], choices: Sequence[Any] = ()) -> None:
        self.function = function
        self.choices = choices
        """The actions that it is known to choose."""

    def choose(self, state: Any, observation: Any, allowed: Sequence[Any] | None) -> Any:
        """Return the action; raise if it is not allowed, since there is no better one to choose."""
        action = as_action(self.function(state, observation), "fallback")
        require(allowed is None or action in allowed, "fallback", action, f"it is not among those allowed, {allowed}")
        return action

    def follow(self, state: Any, _action: Any, _observation: Any, given: Any) -> Any:
        """Return the state that the caller passed, or else the last known one."""
        return state if given is None else given


class TablePolicy:
    """Acts by a policy table, and follows the aleatoric state if the table says how.

    It does so for ``last``, windows, tables, and states that are given.  If a task defines the state, the last one that
    the service returned is kept; pass a function instead.  An unknown state is replaced by the most frequent one.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        rows = document.get("actions")
        if not isinstance(rows, list) or not rows:
            raise InputError("fallback", document, "give a policy table, as policy() returns it")
        fine = all(isinstance(row, Mapping) and {"state", "action"} <= set(row) for row in rows)
        require(fine, "fallback", document, "give a policy table, as policy() returns it")
        self.actions = {as_label(row["state"]): as_label(row["action"]) for row in rows}
        self.choices = list(dict.fromkeys(self.actions.values()))
        self.usual = as_label(max(rows, key=lambda row: row.get("count") or 0)["state"])
        aleatoric = document.get("aleatoric")
        self.kind = aleatoric if isinstance(aleatoric, str) else "task"
        table = aleatoric if isinstance(aleatoric, list) else []
        self.next = {tuple(map(as_label, row[:3])): as_label(row[3]) for row in table}

    def choose(self, state: Any, _observation: Any, allowed: Sequence[Any] | None) -> Any:
        """Return the greedy action; if it is not allowed, the first that is, since the table has no other."""
        action = self.actions.get(state, self.actions[self.usual])
        return action if allowed is None or action in allowed else allowed[0]

    def follow(self, state: Any, action: Any, observation: Any, given: Any) -> Any:
        """Return the aleatoric state that follows."""
        if given is not None:
            return given
        if self.kind == "last" or (self.kind == "given" and observation in self.actions):
            return observation
        if (window := Window.read(self.kind)) is not None:
            seen = (action, observation) if window.actions else observation
            return (*(state or ()), seen)[-window.length :]
        return self.next.get((state, action, observation), state)
