"""Labels: what actions, observations, memories and aleatoric states may be, and how they are written down.

A label is an int, a str, or a tuple of labels.  That is enough for any finite description, it hashes, and it
has one encoding as JSON, in which tuples are lists.  NumPy's integers and strings are converted where they are met.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from everlearn.errors import LabelError
from everlearn.protocol import Label


def check_label(label: object, argument: str) -> Label:
    """Return the label, with what is NumPy's converted, or say what is wrong with its type."""
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
    """Tell whether a value is a label."""
    kind = type(value)
    if kind is not tuple:
        return kind is int or kind is str
    for part in value:  # a loop, since every memory of a table passes through here
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
    checked = in_order(labels, argument)
    if not checked:
        raise LabelError(argument, list(checked), "give at least one label")
    if len(set(checked)) < len(checked):
        twice = next(label for label in checked if checked.count(label) > 1)
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
    """Read what :func:`encode` wrote."""
    return check_label(as_label(json.loads(text)), "label")


def as_label(value: Any) -> Any:
    """Turn the lists of JSON back into tuples."""
    return tuple(as_label(part) for part in value) if isinstance(value, list) else value


def show(label: Label) -> str:
    """Write a label for a person: a str bare, anything else as JSON."""
    return label if isinstance(label, str) else encode(label)


def kind_of(value: object) -> str:
    """Name the type of a value, with its article, for an error message."""
    if value is None:
        return "None"
    name = "array" if type(value).__name__ == "ndarray" else type(value).__name__
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


def few(labels: Sequence[Label], most: int = 12) -> str:
    """Write labels for a person, not too many of them."""
    return ", ".join(show(label) for label in labels[:most]) + (", ..." if len(labels) > most else "")


def counted(number: int, noun: str) -> str:
    """Write how many there are of something."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def find(text: object, labels: Iterable[Label], argument: str) -> Label:
    """Return the label that a person means: the label itself, or one that is shown so."""
    known = list(labels)
    for label in known:
        if text == label or text == show(label):
            return label
    raise LabelError(argument, text, f"known: {few(known)}")
