"""One flipped bit, wherever it is, never lets an agent begin anew or earlier: all is the same, or it is refused."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from everlearn.errors import Corrupt
from tests.durable.flips import HEADER, PAGE, WAYS, Answers, closed, flip, inspected, killed, listed, outcomes

JOURNAL, AGENTS_INDEX, HEADS = 5, 4, 8
"""The numbers of the pages of tables, which lie in the same places in every file."""


@pytest.fixture(scope="module")
def in_one_file(tmp_path_factory) -> Path:
    return closed(tmp_path_factory.mktemp("flips") / "closed")


@pytest.fixture(scope="module")
def with_log(tmp_path_factory) -> Path:
    return killed(tmp_path_factory.mktemp("flips") / "killed")


def start(page: int) -> int:
    """Return where a page begins; the first has the header of the file before its own."""
    return (page - 1) * PAGE + (100 if page == 1 else 0)


def cell(data: bytes, page: int, number: int) -> int:
    """Return where an entry of a leaf lies, counted from the end if its number is negative."""
    count = int.from_bytes(data[start(page) + 3 : start(page) + 5], "big")
    pointer = start(page) + 8 + 2 * (number % count)
    return (page - 1) * PAGE + int.from_bytes(data[pointer : pointer + 2], "big")


def chosen(path: Path) -> list[int]:
    """Return the bytes that decide what is read: headers of pages, places of entries, and the last entries."""
    data = path.read_bytes()
    bytes_ = [*range(16, 32, 3), *range(40, 60, 3)]
    for page in range(1, len(data) // PAGE + 1):
        bytes_ += [start(page) + place for place in (0, 4, 8, 9)]
    bytes_ += [byte for page in (AGENTS_INDEX, HEADS) for entry in (0, -1) for byte in _entry(data, page, entry, 8)]
    return bytes_ + [byte for entry in (-1, -2, 16, 25) for byte in _entry(data, JOURNAL, entry, 10)]


def _entry(data: bytes, page: int, number: int, length: int) -> range:
    return range(cell(data, page, number), cell(data, page, number) + length)


def test_a_bit_that_decides_what_is_read(in_one_file, tmp_path):
    flips = [(byte, (byte + byte // 8) % 8) for byte in chosen(in_one_file / "everlearn.db")]
    found = outcomes(in_one_file, tmp_path / "copy", "everlearn.db", flips)
    assert set(found) == {"same", "refused"}
    assert len(found["refused"]) > 40


@pytest.mark.parametrize("bit", [0, 1, 2, 3])
def test_the_type_of_the_page_of_the_journal_and_the_index_of_names(in_one_file, tmp_path, bit):
    """These bits made an agent begin at step 0."""
    data = (in_one_file / "everlearn.db").read_bytes()
    flips = [(start(page), bit) for page in (JOURNAL, AGENTS_INDEX)]
    flips += [(byte, bit) for byte in _entry(data, AGENTS_INDEX, 0, 8)]
    assert set(outcomes(in_one_file, tmp_path / "copy", "everlearn.db", flips)) <= {"same", "refused"}


def test_a_name_of_the_index_that_finds_the_row_of_another_agent_is_refused(in_one_file, tmp_path):
    data = (in_one_file / "everlearn.db").read_bytes()
    byte = data.index(b"other", (AGENTS_INDEX - 1) * PAGE)
    shutil.copytree(in_one_file, tmp_path / "copy")
    (tmp_path / "copy" / "everlearn.db").write_bytes(flip(data, byte, 5))
    with pytest.raises(Corrupt):
        listed(tmp_path / "copy")


def test_a_bit_of_the_log(with_log, tmp_path):
    """With its index, SQLite's log shows all damage."""
    size = (with_log / "everlearn.db-wal").stat().st_size
    flips = [(byte, byte % 8) for byte in [*range(32), *range(32, size, 499), *range(size - 4120, size, 67)]]
    found = outcomes(with_log, tmp_path / "copy", "everlearn.db-wal", flips)
    assert set(found) == {"refused"}
    flips = [(byte, byte % 8) for byte in range(0, 136, 5)]
    assert set(outcomes(with_log, tmp_path / "copy", "everlearn.db-shm", flips)) == {"same"}


def test_damage_at_the_end_of_a_log_without_its_index_is_reported(with_log, tmp_path):
    """It cannot be told from a commit that a power cut interrupted."""
    base = tmp_path / "base"
    base.mkdir()
    for name in ("everlearn.db", "everlearn.db-wal"):
        (base / name).write_bytes((with_log / name).read_bytes())
    size = (base / "everlearn.db-wal").stat().st_size
    last = size - 4120
    flips = [(byte, byte % 8) for byte in [*range(last - 4120, last, 201), *range(last, size, 201)]]
    found = outcomes(base, tmp_path / "copy", "everlearn.db-wal", flips)
    assert set(found) == {"refused", "reported"}
    assert min(found["reported"]) >= (last - 4120, 0)
    assert max(found["refused"]) < (last, 0)


@pytest.fixture(params=["in_one_file", "with_log"])
def base(request) -> Path:
    return request.getfixturevalue(request.param)


@pytest.fixture
def answers(base, tmp_path) -> Iterator[Answers]:
    known = Answers(base, tmp_path / "traced", WAYS)
    yield known
    known.close()


def test_the_same_answers_mean_the_same_outcome(base, answers, tmp_path):
    data = (base / "everlearn.db").read_bytes()
    flips = [(byte, byte % 8) for byte in range(HEADER, len(data), 1499)]
    found = outcomes(base, tmp_path / "copy", "everlearn.db", flips)
    same = [place for place in flips if len(answers(flip(data, *place), place[0])) == len(WAYS)]
    assert set(same) <= set(found["same"])
    assert len(same) > len(flips) / 2


@pytest.mark.soak
@pytest.mark.parametrize("bit", range(8))
def test_every_bit(base, answers, tmp_path, bit):
    flips = [(byte, bit) for byte in range((base / "everlearn.db").stat().st_size)]
    found = outcomes(base, tmp_path / "copy", "everlearn.db", flips, answers, WAYS)
    assert set(found) == {"same", "refused"}


@pytest.mark.soak
@pytest.mark.parametrize("bit", range(8))
def test_every_bit_of_the_log(with_log, tmp_path, bit):
    flips = [(byte, bit) for byte in range((with_log / "everlearn.db-wal").stat().st_size)]
    foresee = partial(inspected, shutil.copytree(with_log, tmp_path / "inspected"))
    assert set(outcomes(with_log, tmp_path / "copy", "everlearn.db-wal", flips, foresee, WAYS)) == {"refused"}
