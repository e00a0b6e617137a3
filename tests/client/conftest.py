"""The service that clients speak to."""

from tests.service.conftest import service, start

__all__ = ["service", "start"]
