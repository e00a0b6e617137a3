"""Use an agent of the HTTP service from Python, with the standard library alone."""

from everlearn.client.client import Client
from everlearn.client.connection import ServiceError, Unreachable

__all__ = ["Client", "ServiceError", "Unreachable"]
