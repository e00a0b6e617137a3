"""Combine the answers of all shards to one: the list of agents, health, readiness and metrics."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from starlette.types import Message

LEAST = tuple(
    f"everlearn_{name}"
    for name in ("ready", "start_time_seconds", "tokens", "token_file_valid", "token_expiry_time_seconds")
)
"""The metrics of which the least of all shards counts; of all others, the sum."""


class Reply(NamedTuple):
    """The answer of one shard."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes

    @classmethod
    def of(cls, messages: Sequence[Message]) -> Reply:
        """Return the answer that an application has sent."""
        head, *parts = messages
        return cls(head["status"], list(head["headers"]), b"".join(part.get("body", b"") for part in parts))

    def with_body(self, body: bytes) -> Reply:
        """Return it with another body."""
        headers = [(name, value) for name, value in self.headers if name != b"content-length"]
        return Reply(self.status, [*headers, (b"content-length", b"%d" % len(body))], body)


def worst(replies: Sequence[Reply]) -> Reply:
    """Return the answer with the greatest status."""
    return max(replies, key=lambda reply: reply.status)


def _unless_refused(combine: Callable[[Sequence[Reply]], bytes]) -> Callable[[Sequence[Reply]], Reply]:
    """Return a function that combines answers; if a shard refuses, its answer is that of all."""

    def combined(replies: Sequence[Reply]) -> Reply:
        refusal = worst(replies)
        return refusal if refusal.status != 200 else replies[0].with_body(combine(replies))

    return combined


def _agents(replies: Sequence[Reply]) -> bytes:
    """Combine lists; an agent whose move is not complete is in two of them, and its owner is the further one."""
    agents = [agent for reply in replies for agent in json.loads(reply.body)["agents"]]
    listed = {agent["name"]: agent for agent in sorted(agents, key=lambda agent: int(agent["step"] or 0))}
    return _compact({"agents": [listed[name] for name in sorted(listed)]})


def _status(replies: Sequence[Reply]) -> bytes:
    """Combine documents: numbers are added, and what else they have is that of the first."""
    first, *others = (json.loads(reply.body) for reply in replies)
    for other in others:
        for key, value in other.items():
            if isinstance(value, int):
                first[key] = first.get(key, 0) + value
    return _compact(first)


def _compact(document: object) -> bytes:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()


def metrics(pages: Sequence[str]) -> str:
    r"""Return one page of metrics in which those of all shards are added.

    Examples
    --------
    >>> page = "# TYPE everlearn_rows_total counter\neverlearn_rows_total {}\n"
    >>> print(metrics([page.format(2), page.format(3)]), end="")
    # TYPE everlearn_rows_total counter
    everlearn_rows_total 5

    """
    families: dict[str, dict[str, float | None]] = {}  # by name: comments, and the values of samples
    for page in pages:
        family = families.setdefault("", {})
        for line in page.splitlines():
            if line.startswith("#"):
                family = families.setdefault(line.split()[2], {})
                family.setdefault(line)
                continue
            name, _, text = line.rpartition(" ")
            before, value = family.get(name), float(text)
            both = value if before is None else min(before, value) if name in LEAST else before + value
            family[name] = both
    samples = (sample for family in families.values() for sample in family.items())
    return "".join(f"{name}\n" if value is None else f"{name} {_number(value)}\n" for name, value in samples)


def _number(value: float) -> str:
    return "+Inf" if value == math.inf else str(int(value)) if value.is_integer() else repr(value)


def _metrics(replies: Sequence[Reply]) -> bytes:
    return metrics([reply.body.decode() for reply in replies]).encode()


COMBINED = {
    ("GET", "/v1/agents"): _unless_refused(_agents),
    ("GET", "/healthz"): _unless_refused(_status),
    ("GET", "/readyz"): _unless_refused(_status),
    ("GET", "/metrics"): _unless_refused(_metrics),
}
"""The questions that concern all shards, and the functions that combine the answers."""
