"""Directories of durable agents are in memory, where there is room."""

from tests.memory import tmp_path, tmp_path_factory

__all__ = ["tmp_path", "tmp_path_factory"]
