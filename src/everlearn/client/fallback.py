"""What a controller does while it is alone: an action, a policy table, or a function of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from everlearn.client.connection import as_label
from everlearn.errors import InputError, require

Fallback: TypeAlias = "str | int | tuple[Any, ...] | Mapping[str, Any] | Callable[[Any, Any], Any]"


class Choosing(Protocol):
    """Chooses actions, and follows the aleatoric state as well as it can."""

    def choose(self, state: Any, observation: Any, allowed: Sequence[Any] | None) -> Any:
        """Return an action."""

    def follow(self, state: Any, action: Any, observation: Any, given: Any) -> Any:
        """Return the aleatoric state that follows; None where that is not known."""


def make_fallback(fallback: Fallback) -> Choosing:
    """Return what chooses.

    Examples
    --------
    >>> make_fallback("off").choose(None, None, None)
    'off'
    >>> make_fallback(lambda state, observation: "on" if observation == "low" else "off").choose(None, "low", None)
    'on'

    """
    if isinstance(fallback, Mapping):
        return TablePolicy(fallback)
    if callable(fallback):
        return Function(fallback)
    return Function(lambda _state, _observation: fallback)


class Function:
    """Asks a function of the last aleatoric state that the service told and the last observation."""

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self.function = function

    def choose(self, state: Any, observation: Any, allowed: Sequence[Any] | None) -> Any:
        """Return what the function says; what is not allowed is an error, since nothing here could choose better."""
        action = self.function(state, observation)
        require(allowed is None or action in allowed, "fallback", action, f"it is not among those allowed, {allowed}")
        return action

    def follow(self, state: Any, _action: Any, _observation: Any, given: Any) -> Any:
        """Return the state that was given, or else the last that is known."""
        return state if given is None else given


class TablePolicy:
    """Acts by a policy table, and follows the aleatoric state by itself where the table says how.

    That is so for ``last``, windows, tables, and states that are given.  Where a task defines it, the last state that
    the service told is kept; write a function then.  A state that is not known is taken for the one seen most often.

    Examples
    --------
    >>> rows = [{"state": "low", "action": "on", "count": 7}, {"state": "high", "action": "off", "count": 2}]
    >>> policy = TablePolicy({"aleatoric": "last", "actions": rows})
    >>> policy.choose(policy.follow(None, "on", "high", None), None, None), policy.choose(None, None, None)
    ('off', 'on')

    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        rows = document.get("actions")
        if not isinstance(rows, list) or not rows:
            raise InputError("fallback", document, "give a policy table, as policy() returns it")
        self.actions = {as_label(row["state"]): as_label(row["action"]) for row in rows}
        self.usual = as_label(max(rows, key=lambda row: row.get("count") or 0)["state"])
        aleatoric = document.get("aleatoric")
        self.kind = aleatoric if isinstance(aleatoric, str) else "task"
        table = aleatoric if isinstance(aleatoric, list) else []
        self.next = {tuple(map(as_label, row[:3])): as_label(row[3]) for row in table}

    def choose(self, state: Any, _observation: Any, allowed: Sequence[Any] | None) -> Any:
        """Return the greedy action; where it is not allowed, the first that is, since the table has no other."""
        action = self.actions.get(state, self.actions[self.usual])
        return action if allowed is None or action in allowed else allowed[0]

    def follow(self, state: Any, action: Any, observation: Any, given: Any) -> Any:
        """Return the aleatoric state that follows."""
        if given is not None:
            return given
        if self.kind == "last" or (self.kind == "given" and observation in self.actions):
            return observation
        name, _, rest = self.kind.partition(":")
        if name == "window":
            length, _, actions = rest.partition("+")
            seen = (action, observation) if actions else observation
            return (*(state or ()), seen)[-int(length) :]
        return self.next.get((state, action, observation), state)
