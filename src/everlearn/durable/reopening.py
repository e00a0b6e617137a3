"""Opening a durable agent again: the setup that is stored, with objects given again, and what is not what it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from everlearn.durable.changes import Change, changes
from everlearn.durable.fingerprint import MOST_VALUES
from everlearn.durable.making import FUNCTION, OF_TASK
from everlearn.durable.setup import DEFAULTS, Setup, make_setup
from everlearn.errors import require
from everlearn.labels import as_label

FIXED = ("seed", "allowed", "drift")
"""Keys of a document that cannot change: what follows from them is part of what the agent knows."""
FREE = ("snapshot_every", "retain")
"""Keys of a document that change nothing of what the agent does."""


class Reopened(NamedTuple):
    """A setup, and how it differs from the stored one."""

    setup: Setup
    changes: list[Change]
    recorded: bool
    """Whether a fingerprint was stored; where none was, nothing is known of what changed."""


def stored_setup(document: str, face: str | None) -> Setup:
    """Return the setup that is stored, for those who look and will not learn: no function and no object is needed."""
    return Setup(json.loads(document), None, None if face is None else json.loads(face))


def reopened(stored: str, face: str | None, given: dict[str, Any]) -> Reopened:
    """Return the setup that is stored with objects given again, and what differs from what is stored.

    Examples
    --------
    >>> setup = make_setup(actions=["slow", "fast"], observations=["idle", "busy"], reward_range=(0, 1))
    >>> reopened(setup.encoded(), setup.face(), {"reward_range": (0, 2)}).changes[0].words
    'the reward range was 0 to 1 and is now 0 to 2'

    """
    document = json.loads(stored)
    named = {key: value for key, value in given.items() if value is not None}
    for key, value in document.items():
        require(value != FUNCTION or key in named, key, None, "was given as a function or an object; give it again")
    setup = make_setup(**{**_declared(document, named), **named}) if named else Setup(document)
    before = None if face is None else json.loads(face)
    if before is None and setup.document == {**DEFAULTS, **document}:
        return Reopened(setup, [], recorded=setup.is_declared)
    if before is None:
        before = Setup(document).fingerprint
    setup.resemble(before)
    found = [*_of_documents({**DEFAULTS, **document}, setup.document), *changes(before, setup.fingerprint)]
    found = found or [*_of_tables(document, setup.document)]
    return Reopened(setup, found, recorded="agent" in before)


def _declared(document: dict[str, Any], named: dict[str, Any]) -> dict[str, Any]:
    """Return what a document says, but for what comes from a task or is given again."""
    left_out = OF_TASK if document["task"] is not None or "task" in named else ()
    return {key: value for key, value in document.items() if value != FUNCTION and key not in left_out}


def _of_documents(before: dict[str, Any], after: dict[str, Any]) -> list[Change]:
    differ = [key for key in (*FIXED, *FREE) if before[key] != after[key]]
    return [Change(f"{key} was {before[key]!r} and is now {after[key]!r}", final=key in FIXED) for key in differ]


def _of_tables(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Change]:
    """Yield how a table differs that is too long for a fingerprint to hold all of it."""
    for key, name in (("aleatoric", "the state function changed: f"), ("reward", "the reward changed: r")):
        if all(isinstance(document[key], list) and len(document[key]) > MOST_VALUES for document in (before, after)):
            old, new = ({as_label(row[:3]): row[3] for row in document[key]} for document in (before, after))
            for labels in [labels for labels in old if old[labels] != new.get(labels)][:1]:
                yield Change(f"{name}{labels!r} was {old[labels]!r} and is now {new.get(labels)!r}")


def earlier(document: str, face: str | None, present: Setup) -> Setup:
    """Return the setup with which the rows of a journal were written; of a design of the user's, the present one."""
    setup = Setup(json.loads(document), present.objects, None if face is None else json.loads(face))
    if setup.has_own_design:
        setup.design = present.design
    return setup
