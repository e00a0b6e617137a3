"""Laws that hypothesis tries: a few examples with every change, and many in the soak."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis.strategies import SearchStrategy

TIMES = 20
"""How many times as many examples the soak tries."""


def law(
    examples: int, *strategies: SearchStrategy[Any], **named: SearchStrategy[Any]
) -> Callable[[Callable[..., None]], Callable[[int], None]]:
    """Turn a function of what strategies draw into a test, which is run twice: now, and in the soak."""

    def decorate(function: Callable[..., None]) -> Callable[[int], None]:
        @pytest.mark.parametrize(
            "examples", [examples, pytest.param(TIMES * examples, marks=pytest.mark.soak)], ids=["few", "many"]
        )
        def test(examples: int) -> None:
            settings(max_examples=examples)(given(*strategies, **named)(function))()

        test.__name__, test.__doc__ = function.__name__, function.__doc__
        return test

    return decorate
