"""Temporary directories in memory, for tests that commit thousands of times.

A test cannot cut the power, so that it learns nothing from a disk; what a killed process leaves is the same in memory.
A directory is removed at the end of its test.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOM = 1 << 28
"""Bytes that must be free in memory; else the directories are where all others are."""


def place() -> str | None:
    """Return a directory in memory, or None where there is none with enough room."""
    shared = "/dev/shm"
    fine = os.access(shared, os.W_OK) and shutil.disk_usage(shared).free > ROOM
    return shared if fine else None


class Factory:
    """Makes directories that last longer than a test, as pytest's does."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def mktemp(self, name: str) -> Path:
        return Path(tempfile.mkdtemp(prefix=name, dir=self._folder))


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """An empty directory."""
    with tempfile.TemporaryDirectory(prefix="everlearn-", dir=place(), ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def tmp_path_factory() -> Iterator[Factory]:
    """What makes empty directories."""
    with tempfile.TemporaryDirectory(prefix="everlearn-", dir=place(), ignore_cleanup_errors=True) as folder:
        yield Factory(folder)
