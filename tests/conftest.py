"""What all tests share: hypothesis tries the same examples every time, and leaves nothing behind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.boundary.runner import Runner

settings.register_profile("everlearn", deadline=None, derandomize=True, database=None)
settings.load_profile("everlearn")


@pytest.fixture(scope="session")
def runner() -> Iterator[Runner]:
    """One process that forks, for all tests of a worker."""
    with Runner() as made:
        yield made
