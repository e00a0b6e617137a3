"""The service that clients speak to."""

from tests.memory import tmp_path, tmp_path_factory
from tests.service.conftest import service, start

__all__ = ["service", "start", "tmp_path", "tmp_path_factory"]
