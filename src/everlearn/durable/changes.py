"""What changed between two fingerprints of a durable agent, in words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from everlearn.durable.fingerprint import TIMES, places
from everlearn.labels import as_label

TOLERANCE = 1e-9
"""Numbers that differ by no more than this part of them are the same: processors differ in the last bits.  For rewards
it is a part of their range."""

Fingerprint = dict[str, Any]


class Change(NamedTuple):
    """Something that is not what it was."""

    words: str
    final: bool = False
    """Whether it cannot be accepted: what the agent knows, and its journal, would no longer fit."""
    learning: bool = False
    """Whether it concerns how the agent acts and learns, so that rows of its journal may be learned from otherwise."""


def changes(before: Fingerprint, after: Fingerprint) -> list[Change]:
    """Return what changed; of what was not recorded before, nothing is said.

    Examples
    --------
    >>> from everlearn.durable.setup import make_setup
    >>> setup = {"actions": ["slow", "fast"], "observations": ["idle", "busy"]}
    >>> before = make_setup(**setup, reward_range=(0, 1)).fingerprint
    >>> changes(before, make_setup(**setup, reward_range=(0, 2)).fingerprint)
    [Change(words='the reward range was 0 to 1 and is now 0 to 2', final=False, learning=False)]

    """
    sets = [*_sets(before, after)]
    if sets:  # values could not be compared: they are recorded by number
        return sets
    found = [*_start_and_range(before, after)]
    for key, compare in _PARTS.items():
        if key in before:
            learning = key in ("agent", "schedule")
            found += [change._replace(learning=learning) for change in compare(before[key], after[key], after)]
    return found


def _sets(before: Fingerprint, after: Fingerprint) -> Iterator[Change]:
    for key in ("actions", "observations", "states"):
        old, new = (as_label(face[key]) for face in (before, after))
        before_set, after_set = set(old), set(new)
        gone = [f"{label!r} is gone" for label in old if label not in after_set]
        fresh = [f"{label!r} is new" for label in new if label not in before_set]
        if gone or fresh:
            yield Change(f"the {key} changed: {_few([*gone, *fresh])}", final=True)
        elif old != new:
            yield Change(f"the {key} come in another order", final=True)


def _few(clauses: list[str], most: int = 4) -> str:
    more = [f"and {len(clauses) - most} more"] if len(clauses) > most else []
    return ", ".join([*clauses[:most], *more])


def _start_and_range(before: Fingerprint, after: Fingerprint) -> Iterator[Change]:
    if before["start"] != after["start"]:
        yield Change(f"the first state {_was(as_label(before['start']), as_label(after['start']))}")
    (low, high, raw), (new_low, new_high, new_raw) = before["reward"], after["reward"]
    if (low, high) != (new_low, new_high):
        yield Change(f"the reward range was {low:g} to {high:g} and is now {new_low:g} to {new_high:g}")
    if raw != new_raw:
        yield Change("rewards are raw now, and were scaled" if new_raw else "rewards are scaled now, and were raw")


def _was(before: object, after: object) -> str:
    return f"was {before!r} and is now {after!r}"


def _update(before: Any, after: Any, face: Fingerprint) -> Iterator[Change]:
    states = [as_label(label) for label in face["states"]]
    yield from _function("the state function", "f", before, after, face, lambda index: repr(states[index]))


def _rewards(before: Any, after: Any, face: Fingerprint) -> Iterator[Change]:
    yield from _function("the reward", "r", before, after, face, repr)


def _function(
    what: str, letter: str, before: Any, after: Any, face: Fingerprint, show: Callable[[Any], str]
) -> Iterator[Change]:
    if before is None or after is None:
        if before != after:
            ways = ("is told with each observation", "follows from the setup")
            yield Change(f"{what} {ways[after is not None]} now, and was not")
        return
    listed = places(len(face[key]) for key in ("states", "actions", "observations"))
    low, high, _ = face["reward"]
    pairs = zip(listed, before["values"], after["values"], strict=True)
    differ = [(place, old, new) for place, old, new in pairs if not _same(old, new, TOLERANCE * (high - low))]
    if differ:
        place, old, new = differ[0]
        was = "raised an error" if old is None else f"was {show(old)}"
        now = "now raises an error" if new is None else f"is now {show(new)}"
        first = f"{letter}{_at(place, face)!r} {was} and {now}"
        yield Change(f"{what} changed: {first}{_others(len(differ) - 1, 'value')}")
    elif before["source"] not in (None, after["source"]):
        yield Change(f"the source of {what}, or of something that it uses, changed")


def _at(place: int, face: Fingerprint) -> tuple[Any, ...]:
    rest, observation = divmod(place, len(face["observations"]))
    state, action = divmod(rest, len(face["actions"]))
    return tuple(as_label(face[key][index]) for key, index in
                 (("states", state), ("actions", action), ("observations", observation)))  # fmt: skip


def _others(count: int, noun: str) -> str:
    return "" if count == 0 else f", and {count} other {noun}{'s differ' if count > 1 else ' differs'}"


def _same(one: Any, other: Any, room: float | None = None) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= (TOLERANCE * abs(one) if room is None else room)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def _dynamics(before: Any, after: Any, _face: Fingerprint) -> Iterator[Change]:
    if before is None or after is None:
        if before != after:
            yield Change(f"the task {'has dynamics' if before is None else 'has no dynamics'} now")
        return
    if before["memory"] != after["memory"]:
        began = _was(as_label(before["memory"]), as_label(after["memory"]))
        yield Change(f"the dynamics changed: the first memory {began}")
        return
    rows, others = before["rows"], after["rows"]
    differ = [key for key in rows if key in others and not _same(rows[key], others[key])]
    if differ:
        memory, action = as_label(json.loads(differ[0]))
        where = f"what follows memory {memory!r} and action {action!r}"
        yield Change(f"the dynamics changed: {where}{_others(len(differ) - 1, 'row')}")
    elif before["source"] not in (None, after["source"]):
        yield Change("the source of the dynamics, or of something that they use, changed")


def _agent(before: Any, after: Any, _face: Fingerprint) -> Iterator[Change]:
    own, still = before["functions"] is not None, after["functions"] is not None
    if own != still or (not own and before["name"] != after["name"]):
        yield Change(f"the agent {_was(before['name'], after['name'])}", final=True)
        return
    yield from _parameters("agent", before["parameters"], after["parameters"])
    for name in sorted({*(before["functions"] or ()), *(after["functions"] or ())}):
        if before["functions"].get(name) != after["functions"].get(name):
            yield Change(f"the source of {name} of the agent, or of something that it uses, changed")
    yield from _begins(before["begins"] or {}, after["begins"] or {})


def _begins(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Change]:
    if list(before) != list(after):
        yield Change(f"what build returns had {', '.join(before)} and has {', '.join(after)} now", final=True)
        return
    for name, old in before.items():
        new = after[name]
        if isinstance(old, list) and isinstance(new, list):
            if old[0] != new[0]:
                yield Change(f"{name} in what build returns was {old[0]} and is now {new[0]}", final=True)
            elif old[1] != new[1]:
                yield Change(f"{name} in what build returns has other values, which matter to a new agent alone")
        elif old != new:
            final = isinstance(old, list) or isinstance(new, list)
            yield Change(f"{name} in what build returns was {_shown(old)} and is now {_shown(new)}", final)


def _shown(begun: Any) -> str:
    return str(begun[0] if isinstance(begun, list) else begun)


def _parameters(kind: str, before: dict[str, Any], after: dict[str, Any]) -> Iterator[Change]:
    for name in dict.fromkeys((*before, *after)):
        if not _same(before.get(name), after.get(name)):
            yield Change(f"{kind}.{name} {_was(before.get(name), after.get(name))}")


def _task_parameters(before: Any, after: Any, _face: Fingerprint) -> Iterator[Change]:
    yield from _parameters("task", before, after)


def _schedule(before: Any, after: Any, _face: Fingerprint) -> Iterator[Change]:
    if before is None or after is None:
        if before != after:
            yield Change(f"the agent {'takes a schedule' if before is None else 'takes no schedule'} now")
        return
    own, still = before["values"] is not None, after["values"] is not None
    if own != still or (not own and before["name"] != after["name"]):
        yield Change(f"the schedule {_was(before['name'], after['name'])}")
        return
    yield from _parameters("schedule", before["parameters"], after["parameters"])
    if own:
        yield from _own_schedule(before, after)


def _own_schedule(before: Any, after: Any) -> Iterator[Change]:
    differ = [
        (name, t, old, new)
        for name, values in before["values"].items()
        for t, old, new in zip(TIMES, values, after["values"][name], strict=True)
        if not _same(old, new)
    ]
    yield from _parameters("schedule", before["settings"], after["settings"])
    if differ:
        name, t, old, new = differ[0]
        others = _others(len(differ) - 1, "value")
        yield Change(f"the schedule changed: {name}({t}) {_was(old, new)}{others}")
    elif before["sources"] != after["sources"]:
        yield Change("the source of the schedule, or of something that it uses, changed")


_PARTS: dict[str, Callable[[Any, Any, Fingerprint], Iterator[Change]]] = {
    "parameters": _task_parameters,
    "update": _update,
    "rewards": _rewards,
    "dynamics": _dynamics,
    "agent": _agent,
    "schedule": _schedule,
}
