"""Bearer tokens: read from a file that others cannot read, kept as hashes, compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
from pathlib import Path

from everlearn.errors import InputError, require

SHORTEST = 16
"""Characters of a token; ``openssl rand -hex 32`` makes 64."""


class Tokens:
    """The tokens that are accepted.  Without any, every request is accepted.

    Examples
    --------
    >>> tokens = Tokens(["correct-horse-battery", "staple-of-another-day"])
    >>> tokens.accept("Bearer staple-of-another-day"), tokens.accept("Bearer guess"), tokens.accept(None)
    (True, False, False)
    >>> Tokens().accept(None)
    True

    """

    def __init__(self, tokens: list[str] | None = None, path: Path | None = None) -> None:
        self.path = path
        self._digests = tuple(_digest(token) for token in tokens or ())

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Tokens:
        """Read a file of tokens, one per line; it may have two while one replaces the other.

        Empty lines, and lines that begin with ``#``, are not tokens.
        """
        return cls(_read(Path(path)), Path(path))

    def reread(self) -> None:
        """Read the file again; if it cannot be used, keep the old tokens and raise."""
        if self.path is not None:
            self._digests = tuple(_digest(token) for token in _read(self.path))

    def __bool__(self) -> bool:
        return bool(self._digests)

    def accept(self, authorization: str | None) -> bool:
        """Return whether the value of the header ``Authorization`` carries a known token.

        The digest is compared with every known one, in constant time, so that the time reveals nothing about them.
        """
        if not self._digests:
            return True
        scheme, _, given = (authorization or "").partition(" ")
        digest = _digest(given.strip())
        accepted = False
        for known in self._digests:
            accepted |= hmac.compare_digest(known, digest)
        return accepted and scheme.lower() == "bearer"


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def _read(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            text = file.read(1 << 16)
    except OSError as error:
        raise InputError("--token-file", str(path), f"it cannot be read: {error.strerror}") from None
    require(not mode & stat.S_IRWXO, "--token-file", str(path), f"anybody can read it; chmod 600 {path}")
    lines = (line.strip() for line in text.decode("utf-8", "surrogateescape").splitlines())
    tokens = {number: line for number, line in enumerate(lines, 1) if line and not line.startswith("#")}
    require(bool(tokens), "--token-file", str(path), "it has no token; write one per line")
    short = next((number for number, token in tokens.items() if len(token) < SHORTEST), None)
    require(
        short is None, "--token-file", str(path), f"the token in line {short} is shorter than {SHORTEST} characters"
    )
    return list(tokens.values())
