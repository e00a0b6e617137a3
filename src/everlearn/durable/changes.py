"""Changes between the stored setup of a durable agent and the present one, in words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from everlearn.agents.design import UNNAMED
from everlearn.agents.names import DEFAULT_AGENT, SCHEDULED_AGENT
from everlearn.agents.schedule import LATER
from everlearn.agents.spec import split
from everlearn.durable.declaration import OBJECT, is_missing
from everlearn.durable.fingerprint import MOST_VALUES, TIMES, labels_at, labels_of, places
from everlearn.durable.setup import DEFAULTS, KEYS, Setup, make_setup, means_another, simple, with_numbers
from everlearn.errors import Changed, InputError, require
from everlearn.grids import Grid
from everlearn.labels import as_label
from everlearn.registry import settings_text

TOLERANCE = 1e-9
"""Numbers are the same if they differ by no more than this relative error, since processors differ in the last bits.
For rewards it is relative to their range."""

MOST_LABELS = 4
"""The most labels that a message names."""

Fingerprint = dict[str, Any]


class Change(NamedTuple):
    """Something that is not what it was."""

    key: str  # what changed, by name
    words: str
    final: bool = False  # whether it cannot be accepted: what the agent knows, and its journal, would no longer fit
    learning: bool = False  # whether it concerns how the agent acts and learns; replay may then not reproduce it
    task: bool = False  # whether it concerns the dynamics or the reward; earlier steps are then no evidence


class Reopened(NamedTuple):
    """A setup, and how it differs from the stored one."""

    setup: Setup
    changes: list[Change]
    recorded: bool  # whether a fingerprint was stored; if none was, not every change is known


def reopen(stored: str, face: str | None, given: dict[str, Any]) -> Reopened:
    """Return the stored setup with the arguments given now, and what they change."""
    document = json.loads(stored)
    named = {key: value for key, value in given.items() if value is not None}
    for key, value in document.items():
        remedy = "give it again"
        if key in ("task", "agent", "schedule"):
            remedy += ", or a name from the start, as in 'module:attribute'"
        require(not is_missing(value) or key in named, key, OBJECT, remedy)
    if means_another(document, named):
        first = next(iter(split(named.get("parameters") or {})["schedule"]), None)
        argument, value = ("schedule", named["schedule"]) if first is None else ("parameter", f"schedule.{first}")
        raise without_schedule(document["agent"], argument, simple(value))
    has_task = document["task"] is not None or "task" in named
    dropped = {key for key, value in document.items() if is_missing(value) or (has_task and KEYS[key].of_task)}
    kept = {key: value for key, value in document.items() if key not in dropped}
    setup = make_setup(**{**kept, **named}) if named else Setup(document)
    known = with_numbers({**DEFAULTS, **document})
    before = None if face is None else json.loads(face)
    if before is None and setup.document == known:
        return Reopened(setup, [], recorded=setup.is_declared)
    if before is None:
        before = Setup(document).fingerprint
    setup.resemble(before)
    changes = [*_compare_documents(known, setup.document), *compare(before, setup.fingerprint)]
    return Reopened(setup, changes or [*_compare_tables(known, setup.document)], recorded="agent" in before)


def without_schedule(agent: str, argument: str, value: object) -> InputError:
    """Return the error of a schedule, or a parameter of one, for a stored agent that takes none."""
    itself = ", and follows changes by itself" if agent == DEFAULT_AGENT else ""
    remedy = f"the agent is {agent!r}, which takes no schedule{itself}; leave it out, or create another agent"
    return InputError(argument, value, f"{remedy} with agent={SCHEDULED_AGENT!r}")


def refusal(directory: Path, changes: list[Change], remedy: str | None = None) -> Changed:
    """Return the error of an agent that cannot be opened because of changes; those that are final come alone."""
    if final := [change for change in changes if change.final]:
        changes, remedy = final, "what the agent knows does not fit; use a new directory"
    remedy = remedy or f"to accept this: everlearn accept {directory}"
    words, keys = [change.words for change in changes], [change.key for change in changes]
    return Changed(str(directory), words, remedy, keys)


def former_setup(stored: str, face: str | None, present: Setup) -> Setup:
    """Return the setup with which a journal was written; a user's design and schedule are the present ones."""
    document = json.loads(stored)
    values = {key: present.values[key] if is_missing(value) else value for key, value in document.items()}
    setup = Setup(values, None if face is None else json.loads(face))
    if setup.has_own_design:
        setup.design = present.design
    return setup


def _compare_documents(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Change]:
    for name, key in KEYS.items():
        if key.change is not None and before[name] != after[name]:
            yield Change(name, f"{name} {_was(before[name], after[name])}", final=not key.change)


def _compare_tables(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Change]:
    """Yield how a table differs that is too long for a fingerprint to hold all of it."""
    for key, name in (("aleatoric", "the state function changed: f"), ("reward", "the reward changed: r")):
        if all(isinstance(document[key], list) and len(document[key]) > MOST_VALUES for document in (before, after)):
            old, new = ({as_label(row[:3]): row[3] for row in document[key]} for document in (before, after))
            labels = next((labels for labels in old if old[labels] != new.get(labels)), None)
            if labels is not None:
                yield Change(key, f"{name}{labels!r} {_was(old[labels], new.get(labels))}", task=True)


def compare(before: Fingerprint, after: Fingerprint) -> list[Change]:
    """Return the changes between two fingerprints; what was not recorded before is not compared."""
    sets = [*_compare_sets(before, after)]
    if sets:  # values could not be compared: they are recorded by number
        return sets
    changes = [*_compare_start_and_range(before, after)]
    for part, (compare_part, came, went) in _PARTS.items():
        learning = part in ("agent", "schedule")
        old, new = before.get(part), after[part]
        if part not in before or (old is None and new is None):
            continue
        if old is None or new is None:
            changes.append(
                Change(_KEYS.get(part, part), came if old is None else went, learning=learning, task=not learning)
            )
        else:
            differences = compare_part(old, new, after)
            changes += [change._replace(learning=learning, task=not learning) for change in differences]
    return changes


def _compare_sets(before: Fingerprint, after: Fingerprint) -> Iterator[Change]:
    for key in ("actions", "observations", "states"):
        old, new = (labels_of(fingerprint[key]) for fingerprint in (before, after))
        if isinstance(old, Grid) or isinstance(new, Grid):
            if old != new:
                yield Change(key, f"the {key} changed: {_first_difference(before[key], after[key])}", final=True)
            continue
        old_set, new_set = set(old), set(new)
        clauses = [f"{label!r} is gone" for label in old if label not in new_set]
        clauses += [f"{label!r} is new" for label in new if label not in old_set]
        if clauses:
            more = [f"and {len(clauses) - MOST_LABELS} more"] if len(clauses) > MOST_LABELS else []
            yield Change(key, f"the {key} changed: {', '.join([*clauses[:MOST_LABELS], *more])}", final=True)
        elif old != new:
            yield Change(key, f"the {key} come in another order", final=True)


def _first_difference(old: Any, new: Any) -> str:
    """Return in words where two descriptions of a grid first differ."""
    both = [each if isinstance(each, dict) else dict(enumerate(each)) for each in (old, new) if not _is_leaf(each)]
    if len(both) == 2 and both[0].keys() == both[1].keys():
        key = next(key for key in both[0] if both[0][key] != both[1][key])
        words = _first_difference(both[0][key], both[1][key])
        return f"{key} {words}" if isinstance(key, str) and key in ("low", "high") else words
    return _was(old, new)


def _is_leaf(value: object) -> bool:
    return not isinstance(value, dict | list)


def _compare_start_and_range(before: Fingerprint, after: Fingerprint) -> Iterator[Change]:
    if before["start"] != after["start"]:
        yield Change("start", f"the first state {_was(as_label(before['start']), as_label(after['start']))}")
    (low, high, raw), (new_low, new_high, new_raw) = before["reward"], after["reward"]
    if (low, high) != (new_low, new_high):
        words = f"the reward range was {low:g} to {high:g} and is now {new_low:g} to {new_high:g}"
        yield Change("reward_range", words)
    if raw != new_raw:
        words = "rewards are raw now, and were scaled" if new_raw else "rewards are scaled now, and were raw"
        yield Change("raw", words)


def _was(before: object, after: object) -> str:
    return f"was {before!r} and is now {after!r}"


def _and_others(differences: list[Any], noun: str) -> str:
    count = len(differences) - 1
    return "" if count == 0 else f", and {count} other {noun}{'s differ' if count > 1 else ' differs'}"


def _same(value: Any, other: Any, tolerance: float | None = None) -> bool:
    if isinstance(value, float) and isinstance(other, float):
        return abs(value - other) <= (TOLERANCE * abs(value) if tolerance is None else tolerance)
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(map(_same, value, other))
    return bool(value == other)


def _compare_parameters(kind: str, before: dict[str, Any], after: dict[str, Any]) -> Iterator[Change]:
    for name in dict.fromkeys((*before, *after)):
        old = before.get(name, LATER.get(name))
        if not _same(old, after.get(name)):
            yield Change(f"{kind}.{name}", f"{kind}.{name} {_was(old, after.get(name))}")


def _compare_update(before: Any, after: Any, present: Fingerprint) -> Iterator[Change]:
    states = labels_of(present["states"])
    old, new = (
        {**part, "values": [None if index is None else states[index] for index in part["values"]]}
        for part in (before, after)
    )
    return _compare_function("aleatoric", "the state function", old, new, present)


def _compare_function(key: str, what: str, before: Any, after: Any, present: Fingerprint) -> Iterator[Change]:
    sets = [labels_of(present[key]) for key in ("states", "actions", "observations")]
    low, high, _ = present["reward"]
    values = zip(places(sets), before["values"], after["values"], strict=True)
    differ = [(place, old, new) for place, old, new in values if not _same(old, new, TOLERANCE * (high - low))]
    if differ:
        place, old, new = differ[0]
        was = "raised an error" if old is None else f"was {old!r}"
        now = "now raises an error" if new is None else f"is now {new!r}"
        letter = "r" if key == "reward" else "f"
        first = f"{letter}{labels_at(place, *sets)!r} {was} and {now}"
        yield Change(key, f"{what} changed: {first}{_and_others(differ, 'value')}")
    elif before["source"] not in (None, after["source"]):
        yield Change(key, f"the source of {what}, or of something that it uses, changed")


def _compare_dynamics(before: Any, after: Any, _present: Fingerprint) -> Iterator[Change]:
    if before["memory"] != after["memory"]:
        was = _was(as_label(before["memory"]), as_label(after["memory"]))
        yield Change("dynamics", f"the dynamics changed: the first memory {was}")
        return
    rows, others = before["rows"], after["rows"]
    differ = [key for key in rows if key in others and not _same(rows[key], others[key])]
    if differ:
        memory, action = as_label(json.loads(differ[0]))
        where = f"what follows memory {memory!r} and action {action!r}"
        yield Change("dynamics", f"the dynamics changed: {where}{_and_others(differ, 'row')}")
    elif before["source"] not in (None, after["source"]):
        yield Change("dynamics", "the source of the dynamics, or of something that they use, changed")


def _compare_agent(before: Any, after: Any, _present: Fingerprint) -> Iterator[Change]:
    own, still = before["functions"] is not None, after["functions"] is not None
    if own != still or (not own and before["name"] not in (UNNAMED, after["name"])):
        yield Change("agent", f"the agent {_was(before['name'], after['name'])}", final=True)
        return
    if own and bool(before["parameters"]) != bool(after["parameters"]):
        function = f"a function with parameters ({settings_text(before['parameters'] or after['parameters'])})"
        was, now = (function, "a design") if before["parameters"] else ("a design", function)
        words = f"the agent was given as {was} and is now given as {now}; give it as before"
        yield Change("agent", words, learning=True)
    else:
        yield from _compare_parameters("agent", before["parameters"], after["parameters"])
    if own:
        for name in sorted({*before["functions"], *after["functions"]}):
            if before["functions"].get(name) != after["functions"].get(name):
                yield Change(
                    f"agent.{name}", f"the source of {name} of the agent, or of something that it uses, changed"
                )
        yield from _compare_contents(before["begins"], after["begins"])


def _compare_contents(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Change]:
    """Compare what ``build`` returns: for an array a list of its kind and a hash, for anything else a text."""
    if list(before) != list(after):
        words = f"what build returns had {', '.join(before)} and has {', '.join(after)} now"
        yield Change("agent.build", words, final=True)
        return
    for name, old in before.items():
        new = after[name]
        (kind, *values), (new_kind, *new_values) = (part if isinstance(part, list) else [part] for part in (old, new))
        if kind != new_kind or len(values) != len(new_values):
            final = isinstance(old, list) or isinstance(new, list)
            yield Change("agent.build", f"{name} in what build returns was {kind} and is now {new_kind}", final)
        elif values != new_values:
            words = f"{name} in what build returns has other values, which matter to a new agent alone"
            yield Change("agent.build", words)


def _compare_schedule(before: Any, after: Any, _present: Fingerprint) -> Iterator[Change]:
    own, still = before["values"] is not None, after["values"] is not None
    if own != still or (not own and before["name"] != after["name"]):
        yield Change("schedule", f"the schedule {_was(before['name'], after['name'])}")
        return
    yield from _compare_parameters("schedule", before["parameters"], after["parameters"])
    if not own:
        return
    yield from _compare_parameters("schedule", before["settings"], after["settings"])
    differ = [
        (name, t, old, new)
        for name, values in before["values"].items()
        for t, old, new in zip(TIMES, values, after["values"][name], strict=True)
        if not _same(old, new)
    ]
    if differ:
        name, t, old, new = differ[0]
        yield Change("schedule", f"the schedule changed: {name}({t}) {_was(old, new)}{_and_others(differ, 'value')}")
    elif before["sources"] != after["sources"]:
        yield Change("schedule", "the source of the schedule, or of something that it uses, changed")


_KEYS = {"parameters": "task", "update": "aleatoric", "rewards": "reward"}
"""Parts of a fingerprint whose name is not that of their key in the setup."""

_FOLLOWS, _GIVEN = "follows from the setup now, and was not", "is given with each observation now, and was not"

_PARTS: dict[str, tuple[Callable[[Any, Any, Fingerprint], Iterator[Change]], str, str]] = {
    "parameters": (lambda before, after, _present: _compare_parameters("task", before, after), "", ""),
    "update": (_compare_update, f"the state function {_FOLLOWS}", f"the state function {_GIVEN}"),
    "rewards": (partial(_compare_function, "reward", "the reward"), f"the reward {_FOLLOWS}", f"the reward {_GIVEN}"),
    "dynamics": (_compare_dynamics, "the task has dynamics now", "the task has no dynamics now"),
    "agent": (_compare_agent, "", ""),
    "schedule": (_compare_schedule, "the agent takes a schedule now", "the agent takes no schedule now"),
}
"""By the part of a fingerprint: what compares it, and the words for a part that is new or gone."""
