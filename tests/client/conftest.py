"""The service that clients speak to."""

from tests.service.conftest import start

__all__ = ["start"]
