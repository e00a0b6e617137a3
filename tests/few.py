"""Few cases of a law in every run of the tests, the others in the soak."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

import pytest


def few(cases: Iterable[Any], chosen: Container[Any]) -> list[Any]:
    """Return cases as parameters, of which those not chosen are left to the soak; a tuple is several arguments."""
    arguments = {case: case if isinstance(case, tuple) else (case,) for case in cases}
    return [pytest.param(*given, marks=[pytest.mark.soak] * (case not in chosen)) for case, given in arguments.items()]
