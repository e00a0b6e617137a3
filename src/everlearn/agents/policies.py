"""Policies over aleatoric states (the class P-tilde of Section 1.4.2), as tables and as text.

``0=slow,1=fast`` names an action for each aleatoric state; ``1=fast:0.5`` gives it that probability and shares the rest
equally among the other actions; ``1=fast:0.5+slow:0.2`` gives several.  In a state that is left out, all actions have
the same probability.  A bare action is taken in every state.  A label that is not a plain word is written as JSON:
``[0,1]=slow``, ``"a,b"=slow``.  For a network of queues, the name of a rule that operators use is a policy too, as in
``max-weight``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from everlearn.environments.network import RULES
from everlearn.errors import EverlearnError, InputError, LabelError
from everlearn.labels import decode, encode, few, find, show
from everlearn.protocol import History, Label, Table
from everlearn.tasks.registry import make_task
from everlearn.tasks.task import Task

REMEDY = "write state=action or state=action:probability, separated by commas"
NEAR = 1e-9
"""How far the sum of probabilities may be from one."""

LISTED = 120
"""The most characters of a policy that are shown."""

_ACTION = "action in the policy"
_PLAIN = re.compile(r"\w([\w .-]*\w)?")


class AleatoricPolicy:
    """A policy that depends on history through the aleatoric state alone.

    Examples
    --------
    >>> from everlearn.tasks.service_station import service_station
    >>> policy = AleatoricPolicy(service_station(), "0=slow,1=fast:0.75")
    >>> policy.table.tolist()
    [[0.0, 1.0], [0.75, 0.25]]
    >>> policy([("slow", "arrival")]).tolist()
    [0.75, 0.25]

    """

    def __init__(self, task: object, given: Any) -> None:
        self.task = task = make_task(task)
        self.table = policy_table(task, given)
        self._row = dict(zip(task.states, self.table, strict=True))

    def __repr__(self) -> str:
        text = policy_text(self.task, self.table)
        shown = text if len(text) <= LISTED else f"{text[:LISTED]}..."
        return f"AleatoricPolicy(on {self.task.name!r}: {shown})"

    def __call__(self, history: History) -> Table:
        """Return the action probabilities after a history."""
        row: Table = self._row[self.task.aleatoric.of(history)]
        return row


def policy_table(task: Task, given: Any) -> Table:
    """Return action probabilities, one row per aleatoric state, from a text, a mapping or a table."""
    shape = (len(task.states), len(task.actions))
    if given is None:
        return np.full(shape, 1 / shape[1])
    if isinstance(given, str) and len(_split(given, "=")) > 1:
        return _table(task, _read_states(given, frozenset(task.states)), shape)
    if isinstance(given, Mapping):
        return _table(task, given.items(), shape)
    if task.network is not None and isinstance(given, str) and given in RULES:
        return _rule(task, given)
    if isinstance(given, str | int | np.integer) and not isinstance(given, bool):
        plain = isinstance(given, str) and ":" not in given
        if task.network is not None and plain and _find_label(given, task.actions) is None:
            remedy = f"known actions: {few(task.actions)}; known rules: {', '.join(RULES)}"
            raise LabelError("policy", given, remedy)
        return np.tile(_read_row(given, task.actions), (shape[0], 1))
    return _checked(given, shape)


def _table(task: Task, rows: Iterable[tuple[Any, Any]], shape: tuple[int, int]) -> Table:
    table, indices = np.full(shape, 1 / shape[1]), {label: index for index, label in enumerate(task.states)}
    seen = set()
    for state, choice in rows:
        label = state if state in indices else find(state, task.states, "aleatoric state in the policy")
        if label in seen:
            remedy = f"the aleatoric state {show(label)} appears twice; name each state once"
            raise InputError("policy", f"{state}={choice}", remedy)
        seen.add(label)
        table[indices[label]] = _read_row(choice, task.actions)
    return table


def _rule(task: Task, rule: str) -> Table:
    """Return the policy of a rule for a network of queues; outside, the network applies its own rule."""
    network: Any = task.network
    label = dict(zip(network.choices, network.actions, strict=True))
    empty = (0,) * network.classes
    lengths = [state if isinstance(state, tuple) else empty for state in task.states]
    chosen = {state: label[network.choose(rule, state)] for state in dict.fromkeys(lengths)}
    places = {action: place for place, action in enumerate(task.actions)}
    return np.eye(len(task.actions))[[places[chosen[state]] for state in lengths]]


def _checked(given: Any, shape: tuple[int, int]) -> Table:
    try:
        table = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("policy", given, REMEDY) from None
    if table.shape != shape or (table < 0).any() or not np.allclose(table.sum(axis=1), 1, rtol=0, atol=1e-9):
        raise InputError("policy", given, f"give probabilities of shape {shape}, each row summing to one")
    return table


def _read_states(text: str, states: Collection[Label]) -> Iterator[tuple[Any, str]]:
    """Yield each aleatoric state that a policy names, with its text; an unknown state is yielded as text."""
    for part in _split(text, ","):
        state, *rest = _split(part, "=")
        if not rest:
            raise InputError("policy", part, REMEDY)
        label = _find_label(state.strip(), states)
        yield state.strip() if label is None else label, "=".join(rest).strip()


def _split(text: str, mark: str) -> list[str]:
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


def _find_label(text: Any, labels: Collection[Label]) -> Label | None:
    """Return the label that a text stands for, as JSON or literally, or None."""
    try:
        label = decode(text)
    except (LabelError, TypeError, ValueError):
        label = text
    return label if label in labels else text if text in labels else None


def _read_row(choice: Any, actions: Sequence[Label]) -> Table:
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
    if (action := _find_label(choice, actions)) is not None:
        return [(action, 1.0)]
    if not isinstance(choice, str) or ":" not in choice:
        return [(find(choice, actions, _ACTION), 1.0)]
    single = _find_label(choice.rpartition(":")[0].strip(), actions) is not None
    return [_share(part, actions) for part in ([choice] if single else _split(choice, "+"))]


def _share(text: str, actions: Sequence[Label]) -> tuple[Label, float]:
    name, colon, weight = text.rpartition(":")
    action = _find_label(name.strip(), actions) if colon else None
    try:
        return find(name.strip(), actions, _ACTION) if action is None else action, float(weight)
    except ValueError as error:
        if isinstance(error, EverlearnError) and colon:
            raise
        raise InputError("policy", text.strip(), REMEDY) from None


def policy_text(task: Task, table: Table) -> str:
    """Return a policy as a text that ``policy_table`` reads.

    Examples
    --------
    >>> from everlearn.tasks.service_station import service_station
    >>> policy_text(service_station(), np.array([[0.0, 1.0], [0.75, 0.25]]))
    '0=slow,1=fast:0.75+slow:0.25'

    """
    rows = [_write_row(task, row) for row in table]
    if len(set(rows)) == 1 and ":" not in rows[0]:
        return rows[0]
    uniform = np.ptp(table, axis=1) < 1e-12
    kept = [place for place in range(len(rows)) if not uniform[place] or table.shape[1] == 1] or [0]
    return ",".join(f"{label_text(task.states[place], task.states)}={rows[place]}" for place in kept)


def _write_row(task: Task, row: Table) -> str:
    likely = [place for place in range(len(row)) if row[place] > 1e-12]
    names = [label_text(task.actions[place], task.actions) for place in likely]
    if len(likely) == 1:
        return names[0]
    return "+".join(f"{name}:{row[place]:.12g}" for name, place in zip(names, likely, strict=True))


def label_text(label: Label, labels: Collection[Label]) -> str:
    """Return a label as it is written in a policy: literally, or as JSON if that could be misread."""
    if isinstance(label, str) and _PLAIN.fullmatch(label) and _find_label(label, labels) == label:
        return label
    return json.dumps(label, ensure_ascii=False) if isinstance(label, str) else encode(label)
