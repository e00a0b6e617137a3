"""Logs of the past, to start from: rows of observation, action and reward, from Python, CSV or JSON lines."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from everlearn.blame import blame
from everlearn.durable.core import Core
from everlearn.durable.declaration import finder
from everlearn.durable.entry import Entry, Kind, Outcome
from everlearn.errors import EverlearnError, InputError, LiveError, require
from everlearn.files import as_path
from everlearn.grids import Grid
from everlearn.labels import as_label, counted
from everlearn.protocol import Label

COLUMNS = ("observation", "action", "reward", "state", "duration", "cost")
NUMBERS = ("reward", "duration", "cost")


def warmed(core: Core, log: Iterable[Any], start: Label | None = None) -> tuple[Core, list[Entry]]:
    """Return a copy of an agent that has learned from all rows of a log, and the entries that made it so.

    Rows are (observation, action), (observation, action, reward), or mappings with such keys.  ``start`` is the
    aleatoric state in which the log begins, by default that of the agent.
    """
    if core.agent.pending is not None:
        problem = "an action was asked for and is not yet observed; observe it before a warm start"
        raise LiveError(problem, step=core.next_step)
    if core.mode == "frozen":
        raise LiveError("the agent is frozen and would learn nothing; let it learn before a warm start")
    copy, entries = core.copy(), []
    if start is not None:
        copy.agent.move(copy.agent.indexed.state(as_label(start)))
    with blame("the log"):
        rows = [*log]
    for number, row in enumerate(rows, 1):
        outcome = outcome_of(row, number)
        try:
            entry = copy.prepare(*outcome, kind=Kind.WARM)
        except EverlearnError as error:
            raise InputError(f"row {number} of the log", list(outcome), str(error)) from None
        copy.apply(entry)
        entries.append(entry)
    return copy, entries


def outcome_of(row: Any, number: int) -> Outcome:
    """Return what a row of a log tells, by its number; other columns than those that a log may have are refused."""
    remedy = "give observation, action and, where rewards are given, reward"
    if isinstance(row, Mapping):
        fine = {"observation", "action"} <= set(row) <= set(COLUMNS)
        require(fine, f"row {number} of the log", dict(row), remedy)
        return Outcome(row["observation"], row["action"], *(row.get(name) for name in COLUMNS[2:]))
    fine = isinstance(row, list | tuple) and 2 <= len(row) <= len(COLUMNS)
    require(fine, f"row {number} of the log", row, remedy)
    return Outcome(*row)


def read_log(path: str | os.PathLike[str], core: Core) -> Iterator[dict[str, Any]]:
    """Yield the rows of a log: one JSON object per line in a ``.jsonl`` file, CSV with a header in any other.

    A label in CSV is written as it is shown: a text as it is, any other label as JSON.
    """
    try:
        with as_path(path).open(encoding="utf-8-sig", newline="") as file:  # spreadsheets write a byte order mark
            yield from _lines(file) if str(path).endswith((".jsonl", ".json")) else _table(file, core)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("log", os.fspath(path), f"cannot be read ({error})") from None


def _lines(file: Iterable[str]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(file, 1):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise InputError(f"row {number} of the log", line.strip()[:80], f"is not JSON ({error})") from None
        require(isinstance(row, dict), f"row {number} of the log", row, "give an object")
        yield {key: as_label(value) for key, value in row.items()}


def _table(file: Iterable[str], core: Core) -> Iterator[dict[str, Any]]:
    task = core.agent.task
    sets = {"observation": task.observations, "action": task.actions, "state": task.states}
    finders = {name: _point if isinstance(sets[name], Grid) else finder(labels, name) for name, labels in sets.items()}
    reader = csv.DictReader(file, strict=True)
    header = reader.fieldnames or []
    missing = [name for name in COLUMNS[:2] if name not in header]
    unknown = [name for name in header if name not in COLUMNS]
    remedy = f"a log has the columns observation and action, and if needed {', '.join(COLUMNS[2:])}"
    require(not missing, "header of the log", ",".join(header), f"has no column {' and '.join(missing)}; {remedy}")
    require(not unknown, "header of the log", ",".join(unknown), f"is in no log; {remedy}; remove other columns")
    try:
        for number, row in enumerate(reader, 1):
            every: dict[Any, Any] = row  # what is beyond the header is under None
            cells = [cell for cell in every.values() if isinstance(cell, str)] + every.get(None, [])
            remedy = f"has {counted(len(cells), 'column')}, and the header {len(header)}"
            require(len(cells) == len(header), f"row {number} of the log", ",".join(cells), remedy)
            yield {key: _cell(key, text, finders, number) for key, text in row.items()}
    except csv.Error as error:
        raise InputError("log", f"line {reader.line_num}", f"is not CSV ({error})") from None


def _point(text: str) -> Any:
    try:
        return as_label(json.loads(text))
    except (ValueError, RecursionError):
        raise InputError("point", text, 'give a list of numbers in quotes, as in "[21.5, 0.3]"') from None


def _cell(key: Any, text: Any, finders: dict[str, Any], number: int) -> Any:
    where = f"row {number} of the log, {key}"
    try:
        return float(text) if key in NUMBERS else finders[key](text)
    except InputError as error:
        raise InputError(where, text, error.remedy) from None
    except ValueError:
        raise InputError(where, text, "give a number") from None
