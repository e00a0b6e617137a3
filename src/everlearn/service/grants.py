"""What the holder of a token may do: a scope, the agents that it concerns, and until when.

A line of the token file has a token and what it grants, as in ``TOKEN scope=act agents=pump-* expires=2027-01-31``.  A
token alone grants everything.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import IntEnum

from everlearn.errors import InputError, UnknownName, require

KEYS = ("name", "scope", "agents", "expires")
_ATTRIBUTE = re.compile(r"\s+([A-Za-z_]+)=(\S*)")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_AGENT = re.compile(r"[a-z0-9_-]{1,64}|[a-z0-9_-]{0,63}\*")


class Scope(IntEnum):
    """How much a request needs; each scope includes those before it.

    Examples
    --------
    >>> Scope.ACT >= Scope.READ, str(Scope.ACT)
    (True, 'act')

    """

    READ = 1
    """Look: agents, policies, states, journals, metrics."""
    ACT = 2
    """Drive agents: act, observe, step and reward."""
    ADMIN = 3
    """Create, change and delete agents."""

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True)
class Grant:
    """What a token grants.

    Examples
    --------
    >>> grant = Grant("pump", Scope.ACT, ("pump-*", "north"))
    >>> grant.covers("pump-1"), grant.covers("north"), grant.covers("south"), grant.covers(None)
    (True, True, False, True)

    """

    name: str = ""
    """What the log calls the token."""
    scope: Scope = Scope.ADMIN
    agents: tuple[str, ...] = ()
    """Names of agents, or beginnings of names, which end with an asterisk; if there are none, all agents are meant."""
    expires: float = math.inf
    """Seconds since 1970."""
    key: bytes = field(default=b"", compare=False, repr=False)
    """The hash of the token, which tells it from others."""

    def covers(self, agent: str | None) -> bool:
        """Return whether the token is for an agent; None is a request that names none."""
        if not self.agents or agent is None:
            return True
        return any(agent.startswith(name[:-1]) if name.endswith("*") else agent == name for name in self.agents)


EVERYTHING = Grant()
"""What a request may do where there are no tokens."""


def parse(line: str) -> tuple[str, Grant]:
    """Return the token of a line, and what it grants.

    Examples
    --------
    >>> parse("0123456789abcdef scope=read name=prometheus")[1].name
    'prometheus'
    >>> parse("0123456789abcdef scope=write")
    Traceback (most recent call last):
    ...
    everlearn.errors.UnknownName: scope: 'write'; known: act, admin, read

    """
    first = _ATTRIBUTE.search(line)
    token, rest = (line, "") if first is None else (line[: first.start()], line[first.start() :])
    given: dict[str, str] = {}
    for key, value in _ATTRIBUTE.findall(rest):
        if key not in KEYS:
            raise UnknownName("key", key, KEYS)
        require(key not in given, key, value, "it is given twice; give it once")
        given[key] = value
    left = _ATTRIBUTE.sub("", rest).strip()
    require(not left, "key", left, "write KEY=VALUE, and several agents with commas between them")
    name = given.get("name", "")
    require(not name or _NAME.fullmatch(name) is not None, "name", name, "use letters, digits, and any of . _ @ -")
    expires = _moment(given["expires"]) if "expires" in given else math.inf
    return token, Grant(name, _scope(given.get("scope", "admin")), _agents(given.get("agents")), expires)


def _scope(text: str) -> Scope:
    known = {str(scope): scope for scope in Scope}
    if text not in known:
        raise UnknownName("scope", text, known)
    return known[text]


def _agents(text: str | None) -> tuple[str, ...]:
    names = () if text is None else tuple(text.split(","))
    for name in names:
        require(_AGENT.fullmatch(name) is not None, "agents", name, "give a name of an agent, or its beginning and *")
    return names


def _moment(text: str) -> float:
    """Return a date, which begins at midnight in UTC, or a time in ISO 8601, as seconds since 1970."""
    try:
        when = datetime.fromisoformat(text)
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise InputError("expires", text, "write a date or a time, as in 2027-01-31 or 2027-01-31T12:00Z") from None
