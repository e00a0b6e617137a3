"""Few cases of a law in every run of the tests, the others in the soak."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

import pytest


def few(cases: Iterable[Any], chosen: Container[Any]) -> list[Any]:
    """Return cases as parameters, of which those not chosen are left to the soak; a tuple is several arguments."""
    given = list(cases)
    assert any(case in chosen for case in given), "every case would be left to the soak"
    marks = [[] if case in chosen else [pytest.mark.soak] for case in given]
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=mark)
        for case, mark in zip(given, marks, strict=True)
    ]
