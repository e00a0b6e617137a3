"""The settings of the service: where it listens, which tokens it accepts, and its limits."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

from everlearn.errors import InputError, require
from everlearn.hosts import is_loopback
from everlearn.service.tokens import Tokens

MOST_DEPTH = 16
"""How deep JSON may be nested; a label within a table within a setup takes seven."""


@dataclass(frozen=True)
class Limits:
    """The limits of one request, of one agent and of the whole service.

    Parameters
    ----------
    body:
        bytes of a request
    state:
        bytes of a request that brings an agent state
    labels:
        actions or observations of an agent
    states:
        aleatoric states of an agent
    values:
        aleatoric states times actions of an agent, which may hold eight numbers for each
    rows:
        rows of a table
    agents:
        the number of agents
    waiting:
        requests that wait for the disk; further ones get status 503
    connections:
        connections at a time
    rate:
        requests per second of one token, or of one address where there are no tokens; 0 is no limit
    burst:
        how many requests may come at once above that
    patience:
        seconds in which the head of a request must have arrived, then its body, and in which a client must take each
        part of an answer
    trial_seconds:
        processor time that it may take to make an agent, and to let it take some steps
    trial_megabytes:
        memory that this may take

    Examples
    --------
    >>> Limits(agents=0)
    Traceback (most recent call last):
    ...
    everlearn.errors.InputError: --max-agents: 0; give a whole number of at least 1

    """

    body: int = 1 << 20
    state: int = 64 << 20
    labels: int = 10_000
    states: int = 100_000
    values: int = 1_000_000
    rows: int = 100_000
    agents: int = 1_000
    waiting: int = 1_024
    connections: int = 1_000
    rate: int = 0
    burst: int = 100
    patience: float = 10.0
    trial_seconds: float = 20.0
    trial_megabytes: int = 512

    def __post_init__(self) -> None:
        for name in (
            "body",
            "state",
            "labels",
            "states",
            "values",
            "rows",
            "agents",
            "waiting",
            "connections",
            "burst",
        ):
            value = getattr(self, name)
            require(value >= 1, f"--max-{name}", value, "give a whole number of at least 1")
        require(self.rate >= 0, "--max-rate", self.rate, "give a whole number; 0 is no limit")
        require(0 < self.patience < math.inf, "--patience", self.patience, "give a positive number of seconds")


@dataclass(frozen=True)
class Settings:
    """Where the service listens, whom it trusts, and its limits.

    Examples
    --------
    >>> Settings().hosts
    ('127.0.0.1', '::1', 'localhost')
    >>> Settings(host="0.0.0.0")
    Traceback (most recent call last):
    ...
    everlearn.errors.InputError: --host: '0.0.0.0'; others can reach this address: name a file of tokens with
    --token-file

    """

    host: str = "127.0.0.1"
    port: int = 8321
    tokens: Tokens = field(default_factory=Tokens)
    allowed_hosts: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    access_log: bool = False
    """Whether every request is logged."""
    otel: bool = False
    """Whether traces and metrics are sent with OpenTelemetry."""

    def __post_init__(self) -> None:
        require(0 <= self.port < 1 << 16, "--port", self.port, "give a whole number from 0 to 65535")
        if not is_loopback(self.host) and not self.tokens:
            remedy = "others can reach this address: name a file of tokens with --token-file"
            raise InputError("--host", self.host, remedy)

    @cached_property
    def hosts(self) -> tuple[str, ...] | None:
        """The names by which requests may call the service; any, where it has an address of its own.

        On loopback this stops a page in a browser whose name was made to lead here.  Elsewhere a token is needed, which
        such a page does not have.
        """
        if not is_loopback(self.host):
            return self.allowed_hosts or None
        return ("127.0.0.1", "::1", "localhost", *self.allowed_hosts)
