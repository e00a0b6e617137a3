"""Cells on disk: read back to the last bit, or refused by name."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from everlearn.engine.checkpoint import Checkpoint
from everlearn.engine.curves import Curves
from everlearn.errors import Damaged, StoreError
from everlearn.results.store import SCHEMA, Cells
from tests.refusal import has

TIMES = np.array([1, 5, 10])
NOTES = {"seconds": 0.25, "host": "here", "identity": {"seed": 3}}


def checkpoint(**changes) -> Checkpoint:
    random = np.random.default_rng(0)
    fields = {
        "engine": "compiled",
        "t": 10,
        "runs": (3, 4),
        "curves": Curves(TIMES, random.random((2, 3)), random.random((2, 3, 2, 2))),
        "arrays": {
            "knowledge/cells": random.random((2, 2, 4)),
            "state": np.array([0, 1], dtype=np.uint32),
            "agent": np.array([[1, 2, 3, 2**64 - 1]] * 2, dtype=np.uint64),
        },
        "shared": {"scale": 0.1, "exponent": 3},
        "each": (7, [[0, "busy"], 1]),
    }
    return Checkpoint(**{**fields, **changes})


def same(one: Checkpoint, other: Checkpoint) -> bool:
    """Whether two checkpoints are the same to the last bit; comparing bytes tells -0.0 from 0.0, and nan is itself."""
    plain = ("engine", "t", "runs", "shared", "each")
    return (
        all(getattr(one, name) == getattr(other, name) for name in plain)
        and _same(one.curves.times, other.curves.times)
        and _same(one.curves.total_reward, other.curves.total_reward)
        and (one.curves.policies is None) == (other.curves.policies is None)
        and (one.curves.policies is None or _same(one.curves.policies, other.curves.policies))
        and one.arrays.keys() == other.arrays.keys()
        and all(_same(one.arrays[name], other.arrays[name]) for name in one.arrays)
    )


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())


@pytest.fixture
def cells(tmp_path) -> Cells:
    """A directory with one cell."""
    store = Cells(tmp_path)
    store.write("0f", checkpoint(), NOTES)
    return store


def edited(cells: Cells, change, cell: str = "0f") -> None:
    """Write a cell again with its JSON changed, and with hashes that fit."""
    from everlearn.results import store

    with np.load(cells.path(cell)) as archive:
        entries = dict(archive)
    text = json.dumps(change(json.loads(bytes(entries[store._TEXT])))).encode()
    entries[store._TEXT] = np.frombuffer(text, dtype=np.uint8)
    entries[store._HASH] = np.frombuffer(store._sha(text), dtype=np.uint8)
    with cells.path(cell).open("wb") as file:
        np.savez(file, **entries)


def test_a_cell_is_read_back_to_the_last_bit(cells):
    found, notes = cells.read("0f")
    assert same(found, checkpoint())
    assert notes == NOTES


dtypes = st.sampled_from([np.dtype(name) for name in ("f8", "f4", "i8", "u4", "u8", "?")])
shapes = arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)


@settings(max_examples=60)
@given(
    known=st.dictionaries(
        st.text("abc/é", min_size=1, max_size=5),
        arrays.arrays(dtypes, shapes.map(lambda shape: (2, *shape))),
        max_size=3,
    ),
    total=arrays.arrays(np.float64, (2, 3)),
    shared=st.dictionaries(st.text(max_size=4), st.floats(allow_nan=False) | st.integers(), max_size=3),
    policies=st.none() | arrays.arrays(np.float64, (2, 3, 1, 2)),
    t=st.integers(0, 2**60),
)
def test_whatever_is_written_is_read_back(known, total, shared, policies, t):
    written = checkpoint(arrays=known, curves=Curves(TIMES, total, policies), shared=shared, t=t)
    with tempfile.TemporaryDirectory() as folder:
        Cells(Path(folder)).write("aa", written, {})
        found, notes = Cells(Path(folder)).read("aa")
    assert same(found, written)
    assert notes == {}


def test_there_is_no_cell(cells):
    assert cells.read("10") is None
    assert Cells(cells.directory / "nowhere").read("0f") is None


def test_writing_again_replaces_and_leaves_nothing_else(cells):
    cells.write("0f", checkpoint(t=20), NOTES)
    assert cells.read("0f")[0].t == 20
    assert [path.name for path in cells.directory.iterdir()] == ["0f.npz"]


def test_what_cannot_go_on_is_kept_as_well(cells):
    cells.write("0f", checkpoint(each=(None, None)), NOTES)
    assert not cells.read("0f")[0].resumable


def refused(cells: Cells, cell: str = "0f") -> str:
    with pytest.raises(Damaged) as caught:
        cells.read(cell)
    message = str(caught.value)
    assert message.startswith(f"{cells.path(cell)}: is damaged (")
    assert "\n" not in message
    return message


def test_a_torn_file_is_noticed(cells):
    path = cells.path("0f")
    content = path.read_bytes()
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        refused(cells)


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x05\x06" + bytes(18), b"PK\x03\x04"], ids=repr)
def test_what_is_no_cell_is_noticed(cells, content):
    cells.path("0f").write_bytes(content)
    refused(cells)


def test_one_array_is_no_cell(cells):
    with cells.path("0f").open("wb") as file:
        np.save(file, np.zeros(3))
    refused(cells)


def test_a_directory_in_the_place_of_a_cell(cells):
    cells.path("10").mkdir()
    refused(cells, "10")


def check_flipped_bytes(cells: Cells, every: int) -> None:
    """A changed byte is noticed, or carries no meaning."""
    path = cells.path("0f")
    content = path.read_bytes()
    for place in range(0, len(content), every):
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(bytes(damaged))
        with suppress(StoreError):
            found, notes = cells.read("0f")
            assert same(found, checkpoint())
            assert notes == NOTES


def test_flipped_bytes_are_noticed(cells):
    check_flipped_bytes(cells, every=5)


@pytest.mark.soak
def test_every_flipped_byte_is_noticed(cells):
    check_flipped_bytes(cells, every=1)


def test_every_array_is_covered(cells):
    for name in ("times", "total_reward", "policies", "state"):
        cells.write("0f", checkpoint(), NOTES)
        edited(cells, lambda text, name=name: {**text, "sha256": {**text["sha256"], name: "0" * 64}})
        assert f"the checksum of {name!r} is wrong" in refused(cells)


def test_an_array_that_is_missing_is_noticed(cells):
    edited(cells, lambda text: {**text, "sha256": {**text["sha256"], "more": "0" * 64}})
    refused(cells)


def test_a_cell_under_the_name_of_another_is_noticed(cells):
    cells.path("10").write_bytes(cells.path("0f").read_bytes())
    assert "the checksum of 'its name' is wrong" in refused(cells, "10")


def test_a_newer_schema_is_refused_and_is_no_damage(cells):
    edited(cells, lambda text: {**text, "schema": SCHEMA + 1})
    with pytest.raises(StoreError, check=has(__class__=StoreError, path=cells.path("0f"))):
        cells.read("0f")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG], ids=errno.errorcode.get)
def test_a_full_disk_leaves_the_old_cell_whole(cells, monkeypatch, number):
    def full(_handle):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, check=has(path=cells.path("0f"))) as caught:
        cells.write("0f", checkpoint(t=20), NOTES)
    assert caught.value.__cause__.errno == number
    assert same(cells.read("0f")[0], checkpoint())
    assert [path.name for path in cells.directory.iterdir()] == ["0f.npz"]


def test_another_failure_of_the_disk_is_told_as_it_is(cells, monkeypatch):
    def broken(_handle):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(OSError, check=has(errno=errno.EIO)):
        cells.write("0f", checkpoint(t=20), NOTES)
    assert same(cells.read("0f")[0], checkpoint())
