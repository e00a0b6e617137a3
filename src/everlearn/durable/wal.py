"""Reading SQLite's write-ahead log before SQLite does, since SQLite ignores, silently, all that follows on damage.

The log is a header of 32 bytes and then frames: 24 bytes (page number; size of the database in pages if the frame ends
a commit, else zero; two salts; two checksums) and a page.  A frame counts if its salts are those of the header and
its checksums go on from those before it.  Source: "WAL-mode File Format", https://www.sqlite.org/walformat.html, and
Section 4 of "Database File Format", https://www.sqlite.org/fileformat2.html.

A log whose end was cut off or never arrived looks the same as one that ended there.  But SQLite also keeps an index
beside it, which survives the death of a process; it tells how many frames there were.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.errors import Corrupt

MAGIC = (0x377F0682, 0x377F0683)
"""Of a log whose checksums take words with the least, or with the most significant byte first."""


class Log(NamedTuple):
    """What was found in a log."""

    frames: int
    """Up to the last commit that can be read."""
    lost: int
    """Commits of the same log after that, which cannot be read."""
    missing: int
    """Frames that the index knows of and the log does not have."""


def refuse_damage(path: Path) -> None:
    """Refuse to open a database whose log is damaged: opening it would throw away what was committed since.

    One commit at the end that cannot be read is what a power cut leaves of one that was never acknowledged.
    """
    refuse_truncation(path)
    found = inspect(path)
    if found is None or (found.lost <= 1 and not found.missing):
        return
    what = f"{found.lost} commits after frame {found.frames}" if found.lost else f"{found.missing} frames at its end"
    remedy = f"to go on with what is left: everlearn check {path.parent} --repair"
    raise Corrupt(f"{path}-wal: {what} cannot be read; {remedy}")


def refuse_truncation(path: Path) -> None:
    """Refuse a database that is shorter than its header says, where no log could have the rest."""
    log = path.with_name(path.name + "-wal")
    if not path.exists() or (log.exists() and log.stat().st_size > 0):
        return
    with path.open("rb") as file:
        header, size = file.read(100), path.stat().st_size
    page = int.from_bytes(header[16:18], "big") if len(header) == 100 else 0
    if size < int.from_bytes(header[28:32], "big") * page or 0 < len(header) < 100:
        remedy = f"see what can be saved with: everlearn check {path.parent}"
        raise Corrupt(f"{path}: it is {size:,} bytes long, and was longer; {remedy}")


def inspect(path: Path) -> Log | None:
    """Look at the log of a database; None where there is none and none is known of."""
    log, index = path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")
    data = log.read_bytes() if log.exists() else b""
    known, copied, salts = _index(index.read_bytes()[:136] if index.exists() else b"")
    if len(data) < 32:
        missing = known - copied
        return Log(0, 0, missing) if missing > 0 else None
    frames, good, commits = _frames(data)
    lost = int((commits > good).sum())
    same = salts == data[16:24]
    return Log(good, lost, max(known - frames, 0) if same else 0)


def _index(data: bytes) -> tuple[int, int, bytes]:
    """Return how many frames the index knows, how many of these were copied to the database, and the salts."""
    if len(data) < 136 or data[:48] != data[48:96] or data[12] != 1:
        return 0, 0, b""
    return *struct.unpack_from("=I", data, 16), *struct.unpack_from("=I", data, 96), data[32:40]


def _frames(data: bytes) -> tuple[int, int, NDArray[np.int64]]:
    """Return how many frames there are, the last good commit, and which frames of this log end a commit."""
    magic, _, page = struct.unpack_from(">III", data)
    size = 24 + page
    if magic not in MAGIC or page not in (512 << shift for shift in range(8)):
        page, size = 4096, 24 + 4096
    count = (len(data) - 32) // size
    table = np.frombuffer(data, dtype=np.uint8, count=count * size, offset=32).reshape(count, size)
    head = table[:, :24].copy().view(">u4").astype(np.uint32)
    salts = np.frombuffer(data, dtype=">u4", count=2, offset=16)
    own = (head[:, 2:4] == salts).all(axis=1)
    right = _right(data, table, head, magic) & own
    if count and not _header_is_right(data, magic):
        own = (head[:, 2:4] == head[0, 2:4]).all(axis=1)
    commits = np.flatnonzero(own & (head[:, 1] > 0)) + 1
    run = int(right.argmin()) if count and not right.all() else count
    good = commits[commits <= run]
    return count, int(good[-1]) if len(good) else 0, commits


def _header_is_right(data: bytes, magic: int) -> bool:
    words = np.frombuffer(data, dtype=_order(magic), count=6).astype(np.uint32)
    written = np.frombuffer(data, dtype=">u4", count=2, offset=24)
    return magic in MAGIC and bool((_checksum(words[None, :], np.zeros((1, 2), np.uint32))[0] == written).all())


def _order(magic: int) -> str:
    return ">u4" if magic == MAGIC[1] else "<u4"


def _right(data: bytes, table: NDArray[np.uint8], head: NDArray[np.uint32], magic: int) -> NDArray[np.bool_]:
    """Return for each frame whether its checksum goes on from that of the frame before, as it is written there."""
    if not len(table) or not _header_is_right(data, magic):
        return np.zeros(len(table), dtype=np.bool_)
    words = np.concatenate([table[:, :8], table[:, 24:]], axis=1).view(_order(magic)).astype(np.uint32)
    begun = np.frombuffer(data, dtype=">u4", count=2, offset=24).astype(np.uint32)
    before = np.concatenate([begun[None, :], head[:-1, 4:6]])
    return np.asarray((_checksum(words, before) == head[:, 4:6]).all(axis=1))


def _checksum(words: NDArray[np.uint32], before: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the checksums of rows of words, each going on from its own beginning, modulo 2^32.

    One step takes two words x, y: s0 += x + s1; s1 += y + s0.  That is linear, so that the result is a sum over words
    of each times a coefficient, which is that of the steps that remain after it: Fibonacci numbers.
    """
    pairs = words.shape[1] // 2
    fibonacci = [0, 1]
    while len(fibonacci) < 2 * pairs + 2:
        fibonacci.append((fibonacci[-1] + fibonacci[-2]) & 0xFFFFFFFF)
    f = np.array(fibonacci, dtype=np.uint32)
    left = 2 * np.arange(pairs)[::-1]  # twice the steps that remain after each pair
    x, y = words[:, 0::2], words[:, 1::2]
    zero = x * f[left + 1] + y * f[left]
    one = x * f[left + 2] + y * f[left + 1]
    end = 2 * pairs
    s0, s1 = before[:, 0], before[:, 1]
    first = zero.sum(axis=1, dtype=np.uint32) + s0 * f[end - 1] + s1 * f[end]
    second = one.sum(axis=1, dtype=np.uint32) + s0 * f[end] + s1 * f[end + 1]
    return np.stack([first, second], axis=1)
