"""Read and write policies over aleatoric states as text.

``0=slow,1=fast`` names an action for each aleatoric state; ``1=fast:0.5`` gives it that probability and shares the rest
equally among the other actions; ``1=fast:0.5+slow:0.2`` gives several.  A state that is left out acts uniformly.  A
bare action is taken in every state.  A label that is not a plain word is written as JSON: ``[0,1]=slow``,
``"a,b"=slow``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from everlearn.errors import EverlearnError, InputError, LabelError
from everlearn.labels import decode, encode, find
from everlearn.protocol import Label, Table
from everlearn.tasks.task import Task

REMEDY = "write state=action or state=action:probability, separated by commas"
NEAR = 1e-9
"""How far the sum of probabilities may be from one."""

_ACTION = "action in the policy"
_PLAIN = re.compile(r"\w([\w .-]*\w)?")


def read(text: str, states: Collection[Label]) -> Iterator[tuple[Any, str]]:
    """Yield each aleatoric state that a policy names, with its text; an unknown state is yielded as text."""
    for part in split(text, ","):
        state, *rest = split(part, "=")
        if not rest:
            raise InputError("policy", part, REMEDY)
        label = named(state.strip(), states)
        yield state.strip() if label is None else label, "=".join(rest).strip()


def split(text: str, mark: str) -> list[str]:
    """Split a text at a mark, except inside brackets or quotation marks."""
    parts, depth, inside = [""], 0, False
    for piece in re.findall(r"\\.|.", text, flags=re.DOTALL):
        inside ^= piece == '"'
        depth += 0 if inside else (piece == "[") - (piece == "]")
        if piece == mark and depth == 0 and not inside:
            parts.append("")
        else:
            parts[-1] += piece
    return parts


def named(text: Any, labels: Collection[Label]) -> Label | None:
    """Return the label that a text stands for, as JSON or literally, or None."""
    try:
        label = decode(text)
    except (LabelError, TypeError, ValueError):
        label = text
    return label if label in labels else text if text in labels else None


def read_row(choice: Any, actions: Sequence[Label]) -> Table:
    """Return the probability of each action from the text of a state: an action, or several with probabilities."""
    row = np.full(len(actions), np.nan)
    for action, probability in _shares(choice, actions):
        if not 0 <= probability <= 1:
            raise InputError("probability in the policy", probability, "give a number from 0 to 1")
        place = actions.index(action)
        if not np.isnan(row[place]):
            raise InputError("policy", choice, f"names the action {encode(action)} twice; name it once")
        row[place] = probability
    given, others = float(np.nansum(row)), np.isnan(row)
    if given > 1 + NEAR or (given < 1 - NEAR and not others.any()):
        raise InputError("policy", choice, f"its probabilities sum to {given:g}; they must sum to one")
    if abs(1 - given) <= NEAR:  # rounding must not give a share to an action that is never taken
        return np.where(others, 0.0, row) / given
    row[others] = (1 - given) / others.sum()
    return row


def _shares(choice: Any, actions: Sequence[Label]) -> list[tuple[Label, float]]:
    """Return the actions that are named, with their probabilities."""
    if (action := named(choice, actions)) is not None:
        return [(action, 1.0)]
    if not isinstance(choice, str) or ":" not in choice:
        return [(find(choice, actions, _ACTION), 1.0)]
    single = named(choice.rpartition(":")[0].strip(), actions) is not None
    return [_share(part, actions) for part in ([choice] if single else split(choice, "+"))]


def _share(text: str, actions: Sequence[Label]) -> tuple[Label, float]:
    name, colon, weight = text.rpartition(":")
    action = named(name.strip(), actions) if colon else None
    try:
        return find(name.strip(), actions, _ACTION) if action is None else action, float(weight)
    except ValueError as error:
        if isinstance(error, EverlearnError) and colon:
            raise
        raise InputError("policy", text.strip(), REMEDY) from None


def write(task: Task, table: Table) -> str:
    """Return a policy as a text that ``policy_table`` reads.

    Examples
    --------
    >>> from everlearn.tasks.service_station import service_station
    >>> write(service_station(), np.array([[0.0, 1.0], [0.75, 0.25]]))
    '0=slow,1=fast:0.75+slow:0.25'

    """
    rows = [_write_row(task, row) for row in table]
    if len(set(rows)) == 1 and ":" not in rows[0]:
        return rows[0]
    uniform = np.ptp(table, axis=1) < 1e-12
    kept = [place for place in range(len(rows)) if not uniform[place] or table.shape[1] == 1] or [0]
    return ",".join(f"{quoted(task.states[place], task.states)}={rows[place]}" for place in kept)


def _write_row(task: Task, row: Table) -> str:
    likely = [place for place in range(len(row)) if row[place] > 1e-12]
    names = [quoted(task.actions[place], task.actions) for place in likely]
    if len(likely) == 1:
        return names[0]
    return "+".join(f"{name}:{row[place]:.12g}" for name, place in zip(names, likely, strict=True))


def quoted(label: Label, labels: Collection[Label]) -> str:
    """Return a label as it is written in a policy: literally, or as JSON if that could be misread."""
    if isinstance(label, str) and _PLAIN.fullmatch(label) and named(label, labels) == label:
        return label
    return json.dumps(label, ensure_ascii=False) if isinstance(label, str) else encode(label)
