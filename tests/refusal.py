"""Check an error by its data, not by its wording: which argument was refused, and which value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def refusal(argument: str, *value: object) -> Callable[[Any], bool]:
    """Return a check for ``pytest.raises``: the error names this argument, and this value if one is given."""

    def check(error: Any) -> bool:
        return error.argument == argument and (not value or bool(error.value == value[0]))

    return check


def hides(*secrets: str) -> Callable[[Any], bool]:
    """Return a check for ``pytest.raises``: the message has none of these texts, which nobody may read in it."""
    return lambda error: not any(secret in f"{error}" for secret in secrets)


def has(**data: object) -> Callable[[Any], bool]:
    """Return a check for ``pytest.raises``: the error has these attributes with these values."""

    def check(error: Any) -> bool:
        return {name: getattr(error, name) for name in data} == data

    return check
