"""Bearer tokens: read from a file that others cannot read, kept as keyed hashes, and replaced when the file changes."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from everlearn.errors import InputError, require
from everlearn.files import expanded
from everlearn.service.grants import EVERYTHING, Grant, parse

SHORTEST = 16
"""Characters of a token; ``openssl rand -hex 32`` makes 64."""

MOST_BYTES = 1 << 20
"""How long the file may be."""

_Signature = tuple[int, int, int, int]


class Tokens:
    """The tokens that are accepted.  Without any, every request is.

    Tokens are looked up by a hash whose key is drawn when the process starts. Nobody can choose what such a hash begins
    with, so that the time of the comparison reveals nothing, and the number of tokens costs nothing.

    Examples
    --------
    >>> tokens = Tokens(["correct-horse-battery", "staple-of-another-day scope=read"])
    >>> tokens.grant(b"Bearer staple-of-another-day").scope
    <Scope.READ: 1>
    >>> tokens.grant(b"Bearer guess"), tokens.grant(None)
    (None, None)
    >>> Tokens().grant(None)
    Grant(name='', scope=<Scope.ADMIN: 3>, agents=(), expires=inf)

    """

    def __init__(self, lines: list[str] | None = None, path: Path | None = None) -> None:
        self.path = path
        self.valid = True  # whether the file could be used when it was last read
        self._key = secrets.token_bytes(32)
        self._seen: _Signature | None = None
        self._open = path is None and not lines  # an empty file must never open what tokens guard
        self._grants = _granted(dict(enumerate(lines or [], 1)), path, self._digest)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Tokens:
        """Read a file of tokens, one per line; it may have two while one replaces the other.

        Empty lines, and lines that begin with ``#``, are not tokens.
        """
        tokens = cls(path=expanded(path))
        tokens.reread()
        return tokens

    def reread(self) -> None:
        """Read the file again; if it cannot be used, keep the old tokens and raise."""
        if self.path is None:
            return
        self.valid, self._seen = False, _signature(self.path)
        self._grants = _granted(_lines(self.path), self.path, self._digest)
        self.valid = True

    @property
    def changed(self) -> bool:
        """Whether the file is not the one that was last read."""
        return self.path is not None and _signature(self.path) != self._seen

    @property
    def next_expiry(self) -> float:
        """When the next token expires, in seconds since 1970; infinite if none will."""
        now = time.time()
        return min((grant.expires for grant in self._grants.values() if grant.expires > now), default=float("inf"))

    def __len__(self) -> int:
        return len(self._grants)

    def grant(self, authorization: bytes | None) -> Grant | None:
        """Return what the header ``Authorization`` grants; None if its token is unknown or has expired."""
        if self._open:
            return EVERYTHING
        scheme, _, given = (authorization or b"").partition(b" ")
        if scheme.lower() != b"bearer":
            return None
        grant = self._grants.get(self._digest(given.strip()))
        return grant if grant is not None and time.time() < grant.expires else None

    def _digest(self, token: bytes) -> bytes:
        return hashlib.blake2b(token, key=self._key, digest_size=32).digest()


def _granted(lines: dict[int, str], path: Path | None, digest: Callable[[bytes], bytes]) -> dict[bytes, Grant]:
    """Return what each token grants, by its hash; ``lines`` have their numbers in the file."""
    grants: dict[bytes, Grant] = {}
    for number, line in lines.items():
        try:
            token, grant = parse(line)
        except InputError as error:
            raise InputError("--token-file", str(path), f"line {number}: {error}") from None
        remedy = "make a longer one, as with: openssl rand -hex 32"
        short = f"the token in line {number} is shorter than {SHORTEST} characters; {remedy}"
        require(len(token) >= SHORTEST, "--token-file", str(path), short)
        key = digest(token.encode("utf-8", "surrogateescape"))
        twice = f"the token in line {number} is there twice, and grants something else; remove one"
        require(grants.setdefault(key, replace(grant, key=key)) == grant, "--token-file", str(path), twice)
    return grants


def _lines(path: Path) -> dict[int, str]:
    """Return the lines with tokens, by number."""
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            text = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError("--token-file", str(path), f"it cannot be read: {error.strerror}") from None
    require(not mode & stat.S_IRWXO, "--token-file", str(path), f"anybody can read it; chmod 600 {path}")
    require(len(text) <= MOST_BYTES, "--token-file", str(path), f"it is longer than {MOST_BYTES} bytes")
    lines = (line.strip() for line in text.decode("utf-8", "surrogateescape").splitlines())
    tokens = {number: line for number, line in enumerate(lines, 1) if line and not line.startswith("#")}
    require(bool(tokens), "--token-file", str(path), "it has no token; write one per line")
    return tokens


def _signature(path: Path) -> _Signature | None:
    """Return what changes whenever a file does; None if there is no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
