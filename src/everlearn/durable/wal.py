"""The write-ahead log, read before SQLite reads it, since SQLite silently ignores everything after damage.

The log is a header of 32 bytes and then frames: 24 bytes (page number; size of the database in pages if the frame ends
a commit, else zero; two salts; two checksums) and a page.  A frame counts if its salts are those of the header and
its checksums continue those before it.  Source: "WAL-mode File Format", https://www.sqlite.org/walformat.html, and
Section 4 of "Database File Format", https://www.sqlite.org/fileformat2.html.

A log whose end was cut off or never arrived looks the same as one that ended there.  But SQLite also keeps an index
beside it, which survives the death of a process; it has the number of frames.  Without the index, damage in the last
commit looks the same as a commit that a power cut interrupted: then the rows that it may have had are counted.
"""

from __future__ import annotations

import logging
import os
import struct
from bisect import bisect_left
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.durable.database import how_to_repair
from everlearn.durable.descriptors import reading
from everlearn.errors import Corrupt

MAGIC = (0x377F0682, 0x377F0683)
"""The first word of a log whose checksums take words with the least, or with the most significant byte first."""

BEGINNING = b"SQLite format 3\0"
"""How every database begins."""

CHUNK = 1000
"""How many frames are read at a time, so that a long log takes no more memory than a short one."""

LOG = logging.getLogger("everlearn.durable")


class Log(NamedTuple):
    """The condition of a log."""

    frames: int  # the number of frames up to the last commit that can be read
    lost: int = 0  # the number of commits after that, which cannot be read
    missing: int = 0  # the number of frames that the index knows of and that cannot be read
    torn: bool = False  # whether the end looks like a commit that a power cut interrupted
    rows: int = 0  # about how many rows that commit would have added

    @property
    def damage(self) -> str | None:
        """What was committed and cannot be read, if anything."""
        if self.lost:
            return f"{self.lost} commits after frame {self.frames} cannot be read"
        return f"{self.missing} frames at its end cannot be read" if self.missing else None

    @property
    def warning(self) -> str | None:
        """What may have been committed and cannot be read, if anything."""
        if self.damage or not self.torn:
            return None
        rows = f"about {self.rows} rows" if self.rows > 1 else "a row" if self.rows else "a snapshot"
        return f"the last commit is incomplete: {rows} may be missing, if it was not a power cut that interrupted it"


def refuse_damage(path: Path) -> None:
    """Raise if the log of a database is damaged: opening it would discard what was committed since.

    One unreadable commit at the end is what a power cut leaves of a commit that was never acknowledged.
    """
    refuse_truncation(path)
    log = inspect(path)
    if log is not None and log.damage:
        remedy = f"to resume from what is left: everlearn check {path.parent} --repair"
        raise Corrupt(f"{log.damage}; {remedy}", f"{path}-wal")
    if log is not None and log.warning:
        LOG.warning("%s-wal: %s", path, log.warning)


def refuse_truncation(path: Path) -> None:
    """Raise if a database is shorter than its header says, and no log could have the rest."""
    log = path.with_name(path.name + "-wal")
    if not path.exists() or (log.exists() and log.stat().st_size > 0):
        return
    with reading(path) as file:
        header, size = file.read(100), path.stat().st_size
    if not BEGINNING.startswith(header[: len(BEGINNING)]):
        raise Corrupt(f"file is not a database; {how_to_repair(path)}", path)
    page = int.from_bytes(header[16:18], "big") if len(header) == 100 else 0
    if size < int.from_bytes(header[28:32], "big") * page or 0 < len(header) < 100:
        raise Corrupt(f"it is {size:,} bytes long, and was longer; {how_to_repair(path)}", path)


def frames_in_use(path: Path) -> int:
    """Return at least the number of frames in use in the log of a database that is open; its file may be longer.

    The frames that are in use come first, and have the salts of the header, as have those of a transaction that was
    rolled back.  SQLite's index has the exact number, but a descriptor of it would have to stay open
    (:mod:`everlearn.durable.descriptors`).
    """
    try:
        file = os.open(f"{path}-wal", os.O_RDONLY)
    except FileNotFoundError:
        return 0
    try:
        start = os.pread(file, 32, 0)
        size = 24 + int.from_bytes(start[8:12], "big")
        count = (os.fstat(file).st_size - 32) // size
        other = lambda place: os.pread(file, 8, 40 + place * size) != start[16:24]  # noqa: E731 - a key
        return bisect_left(range(count), True, key=other)
    finally:
        os.close(file)


def cut(path: Path, frames: int, page: int) -> None:
    """Cut a log after some frames; no more than these may be in use."""
    log = path.with_name(path.name + "-wal")
    size = 32 + frames * (24 + page)
    if log.exists() and log.stat().st_size > size:
        os.truncate(log, size)


def inspect(path: Path) -> Log | None:
    """Return the condition of the log of a database; None if there is no log, and the index knows of none."""
    log, index = path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")
    known, copied, salts = _index(_beginning(path, "-shm") if index.exists() else b"")
    if not log.exists() or log.stat().st_size < 32:
        missing = known - copied
        return Log(0, missing=missing) if missing > 0 else None
    with log.open("rb") as file:
        return _condition(_Frames(file), path, known, salts)


def _beginning(path: Path, suffix: str) -> bytes:
    with reading(path, suffix) as file:
        return file.read(136)


def _condition(frames: _Frames, path: Path, known: int, salts: bytes) -> Log:
    """Return the condition of a log, given the number of its frames and its salts by the index."""
    if not frames.sound:  # a header is synced before the frames that follow it
        return Log(0, lost=max(len(frames.commits), 1) if frames.count else 0)
    later = int((frames.commits > frames.good).sum())
    missing = max(known - frames.good, 0) if salts == frames.salts else 0
    if later > 1 or missing:
        return Log(frames.good, later if later > 1 else 0, missing)
    complete = salts == frames.salts and known == frames.good  # what follows was never committed
    torn = not complete and bool(frames.own[frames.good :].any())
    return Log(frames.good, torn=torn, rows=frames.rows_after(frames.good, path) if torn else 0)


def _index(data: bytes) -> tuple[int, int, bytes]:
    """Return the number of frames in the index, how many of them were copied to the database, and the salts."""
    if len(data) < 136 or data[:48] != data[48:96] or data[12] != 1:
        return 0, 0, b""
    return *struct.unpack_from("=I", data, 16), *struct.unpack_from("=I", data, 96), data[32:40]


class _Frames:
    """The frames of a log."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, start = file, file.read(32)
        magic, _, page = struct.unpack_from(">III", start)
        self.page = page if page in (512 << shift for shift in range(8)) else 4096
        self.salts = start[16:24]
        salts, written = np.frombuffer(start, dtype=">u4", count=4, offset=16).astype(np.uint32).reshape(2, 2)
        order = ">u4" if magic == MAGIC[1] else "<u4"
        words = np.frombuffer(start, dtype=order, count=6).astype(np.uint32)
        self.sound = magic in MAGIC and bool((_checksum(words[None, :], np.zeros((1, 2), np.uint32)) == written).all())
        head, right = self._read(order, written)
        self.count, self.pages = len(head), head[:, 0]
        salted = (head[:, 2:4] == (salts if self.sound or not self.count else head[0, 2:4])).all(axis=1)
        self.own = salted | (right & np.concatenate([[True], salted[:-1]])[: self.count])  # or damaged in their salts
        self.commits = np.flatnonzero(self.own & (head[:, 1] > 0)) + 1
        fine = salted & right
        good = self.commits[self.commits <= (self.count if fine.all() else int(fine.argmin()))]
        self.good = int(good[-1]) if len(good) else 0  # the last commit that SQLite reads

    def _read(self, order: str, before: NDArray[np.uint32]) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
        """Return the first words of each frame, and whether its checksums continue those of the frame before it."""
        size = 24 + self.page
        heads, rights = [np.empty((0, 6), np.uint32)], [np.empty(0, np.bool_)]
        while len(data := self.file.read(CHUNK * size)) >= size:
            table = np.frombuffer(data, dtype=np.uint8, count=len(data) // size * size).reshape(-1, size)
            head = table[:, :24].copy().view(">u4").astype(np.uint32)
            words = np.concatenate([table[:, :8], table[:, 24:]], axis=1).view(order).astype(np.uint32)
            computed = _checksum(words, np.concatenate([before[None, :], head[:-1, 4:6]]))
            rights.append((computed == head[:, 4:6]).all(axis=1))
            heads.append(head)
            before = head[-1, 4:6]
        return np.concatenate(heads), np.concatenate(rights)

    def rows_after(self, good: int, path: Path) -> int:
        """Return about how many rows the pages after a frame have more than the same pages had before."""
        added = 0
        for place in map(int, np.flatnonzero(self.own[good:]) + good):
            number = int(self.pages[place])
            earlier = np.flatnonzero(self.pages[:good] == number)
            before = self._contents(int(earlier[-1])) if len(earlier) else _page(path, number, self.page)
            added += _entries(self._contents(place)) - _entries(before)
        return max(added, 0)

    def _contents(self, place: int) -> bytes:
        self.file.seek(32 + place * (24 + self.page) + 24)
        return self.file.read(self.page)


def _page(path: Path, number: int, size: int) -> bytes:
    with reading(path) as file:
        file.seek((number - 1) * size)
        return file.read(size)


def _entries(page: bytes) -> int:
    """Return the number of entries on a page of a journal, zero for other kinds of pages."""
    entries = int.from_bytes(page[3:5], "big")
    return entries if page[:1] in (b"\x02", b"\x0a") and entries < len(page) // 4 else 0


def _checksum(words: NDArray[np.uint32], before: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the checksums of rows of words, each continuing from its own start, modulo 2^32.

    A step takes two words x, y: s0 += x + s1; s1 += y + s0.  That is linear, so that the result is a sum of words, each
    times a coefficient that depends on the number of steps after it: a Fibonacci number.
    """
    pairs = words.shape[1] // 2
    fibonacci = [0, 1]
    while len(fibonacci) < 2 * pairs + 2:
        fibonacci.append((fibonacci[-1] + fibonacci[-2]) & 0xFFFFFFFF)
    f = np.array(fibonacci, dtype=np.uint32)
    left = 2 * np.arange(pairs)[::-1]  # twice the number of steps after each pair
    x, y = words[:, 0::2], words[:, 1::2]
    terms0 = x * f[left + 1] + y * f[left]
    terms1 = x * f[left + 2] + y * f[left + 1]
    end = 2 * pairs
    s0, s1 = before[:, 0], before[:, 1]
    first = terms0.sum(axis=1, dtype=np.uint32) + s0 * f[end - 1] + s1 * f[end]
    second = terms1.sum(axis=1, dtype=np.uint32) + s0 * f[end] + s1 * f[end + 1]
    return np.stack([first, second], axis=1)
