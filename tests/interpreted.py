"""Experiments that are interpreted: for few steps, that takes a tenth of the time that compiling their agents takes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from everlearn.engine import runner
from everlearn.engine.plan import Plan
from everlearn.experiments import execute
from everlearn.tables import AnyTable


@contextmanager
def interpreting() -> Iterator[None]:
    """Let the reference engine run what says nothing of engines; tests/conformance has that both give the same."""
    choose = runner.choose_engine

    def chosen(plan: Plan, engine: str, table: AnyTable | None) -> str:
        return choose(plan, "reference" if engine == "auto" else engine, table)

    with pytest.MonkeyPatch.context() as patch:
        for module in (runner, execute):
            patch.setattr(module, "choose_engine", chosen)
        yield
