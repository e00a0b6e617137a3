"""Labels of actions, observations, memories and aleatoric states: check, encode and show them.

A label is an int, a str, or a tuple of labels; those of a grid may be points with measurements.  That is enough for
any finite description, it is hashable, and it has one encoding as JSON, in which tuples are lists.  Integers and
strings of NumPy are converted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from everlearn.errors import LabelError
from everlearn.grids import Grid, Point
from everlearn.protocol import Label


def check_label(label: object, argument: str) -> Label:
    """Return a label with the values of NumPy converted, or raise if a type is not supported."""
    if is_label(label):
        return label  # type: ignore[return-value]  # checked part by part
    converted = _converted(label)
    if not is_label(converted):
        raise LabelError(argument, label, _complaint(_unsupported_part(converted)))
    return converted  # type: ignore[no-any-return]


def _converted(label: Any) -> Any:
    if type(label) is tuple:
        return tuple(_converted(part) for part in label)
    return label.item() if isinstance(label, np.integer | np.str_) else label


def _complaint(part: object) -> str:
    use = "use an int, a str or a tuple of these"
    if isinstance(part, bool | np.bool_):
        return f"bool is not supported, since True would be the same label as 1; {use}"
    return f"{type(part).__name__} is not supported, {use}"


def is_label(value: Any) -> bool:
    """Return whether a value is a label."""
    kind = type(value)
    if kind is not tuple:
        return kind is int or kind is str or kind is Point
    for part in value:  # a plain loop is fastest, and every memory of a table is checked
        kind = type(part)
        if kind is not int and kind is not str and not is_label(part):
            return False
    return True


def _unsupported_part(label: object) -> object:
    if type(label) is tuple:
        return _unsupported_part(next(part for part in label if not is_label(part)))
    return label


def check_labels(labels: Iterable[object], argument: str) -> tuple[Label, ...]:
    """Return a non-empty set of labels as a tuple, in the order given."""
    if isinstance(labels, Grid):
        return labels  # type: ignore[return-value]  # it is used as a tuple of labels, and never listed
    checked = in_order(labels, argument)
    if not checked:
        raise LabelError(argument, list(checked), "give at least one label")
    counts = Counter(checked)
    if len(counts) < len(checked):
        twice = next(label for label, count in counts.items() if count > 1)
        raise LabelError(argument, twice, "appears twice; labels must be unique", joint=" ")
    return checked


def in_order(labels: object, argument: str) -> tuple[Label, ...]:
    """Return a list of labels, which may repeat, as a tuple."""
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise LabelError(argument, labels, "give a list of labels, such as [0, 1] or ['slow', 'fast']")
    if isinstance(labels, set | frozenset):
        raise LabelError(argument, labels, "give a list: the order of a set differs from process to process")
    return tuple(check_label(label, argument) for label in labels)


def encode(label: Label) -> str:
    """Write a label as JSON; equal labels give equal text."""
    return json.dumps(label, separators=(",", ":"), ensure_ascii=False)


def decode(text: str) -> Label:
    """Read a label that :func:`encode` wrote."""
    return check_label(as_label(json.loads(text)), "label")


def as_label(value: Any) -> Any:
    """Turn the lists of JSON back into tuples."""
    return tuple(as_label(part) for part in value) if isinstance(value, list) else value


def show(label: Label) -> str:
    """Write a label for a person: a str bare, anything else as JSON."""
    return label if isinstance(label, str) else encode(label)


def kind_of(value: object) -> str:
    """Return the type of a value with an article, for messages."""
    if value is None:
        return "None"
    name = "array" if type(value).__name__ == "ndarray" else type(value).__name__
    return f"an {name}" if name[0] in "aeioAEIO" else f"a {name}"


def few(labels: Sequence[Label], most: int = 12) -> str:
    """Write at most ``most`` labels for a person."""
    return ", ".join(show(label) for label in labels[:most]) + (", ..." if len(labels) > most else "")


def counted(number: int, noun: str) -> str:
    """Return a number with a noun, in the plural unless it is 1."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def find(text: object, labels: Iterable[Label], argument: str) -> Label:
    """Return the label that a person means: the label itself, or the one that :func:`show` writes so."""
    known = list(labels)
    for label in known:
        if text == label or text == show(label):
            return label
    raise LabelError(argument, text, f"known: {few(known)}")
