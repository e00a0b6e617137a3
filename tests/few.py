"""Few cases of a law in every run of the tests, the others in the soak."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

import pytest

AGENTS_OF_EVERY_KIND = (
    "always",
    "differential-q",
    "growing-horizon",
    "linear",
    "optimistic-q",
    "q-learning",
    "tsde",
    "ucrl2",
)
"""With tables of values and with a model, optimistic and sampling, differential and linear, and one that never learns.

Compiled code of all of them is shared by the tests of every day."""

TASKS_OF_EVERY_KIND = (
    "access-control",
    "aggregation",
    "alternating",
    "n-model",
    "riverswim",
    "service-station",
    "t-maze",
    "tiger",
)
"""Finite and hidden, periodic and with large rewards, and a queueing network; all are made in no time."""


def few(cases: Iterable[Any], chosen: Container[Any]) -> list[Any]:
    """Return cases as parameters, of which those not chosen are left to the soak; a tuple is several arguments."""
    given = list(cases)
    assert any(case in chosen for case in given), "every case would be left to the soak"
    marks = [[] if case in chosen else [pytest.mark.soak] for case in given]
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=mark)
        for case, mark in zip(given, marks, strict=True)
    ]
