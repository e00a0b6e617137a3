"""One process that forks, for all tests of a worker."""

from __future__ import annotations

import pytest

from tests.boundary.runner import Runner


@pytest.fixture(scope="session")
def runner():
    with Runner() as made:
        yield made
