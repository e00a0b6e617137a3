"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from everlearn.files import replacing


def test_a_file_is_written(tmp_path):
    with replacing(tmp_path / "note") as file:
        file.write(b"whole")
    assert (tmp_path / "note").read_bytes() == b"whole"
    assert [path.name for path in tmp_path.iterdir()] == ["note"]


def test_a_file_is_not_there_before_the_end(tmp_path):
    with replacing(tmp_path / "note") as file:
        file.write(b"half")
        file.flush()
        assert not (tmp_path / "note").exists()


def fail_while_writing(path: Path) -> None:
    with replacing(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt


def test_an_error_leaves_what_was_there_and_nothing_else(tmp_path):
    (tmp_path / "note").write_bytes(b"before")
    with pytest.raises(KeyboardInterrupt):
        fail_while_writing(tmp_path / "note")
    assert (tmp_path / "note").read_bytes() == b"before"
    assert [path.name for path in tmp_path.iterdir()] == ["note"]


def test_others_may_read_what_they_may_usually_read(tmp_path):
    (tmp_path / "usual").write_bytes(b"")
    with replacing(tmp_path / "note") as file:
        file.write(b"whole")
    assert (tmp_path / "note").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_path_may_be_a_text(tmp_path):
    with replacing(os.fspath(tmp_path / "note")) as file:
        file.write(b"whole")
    assert (tmp_path / "note").exists()
