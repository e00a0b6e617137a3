"""The command ``everlearn reproduce``, where something is wrong; the rest is in tests/paper/test_reproduce.py."""

from __future__ import annotations

SHORT = ("--steps", "200", "--runs", "2")


def test_wrong_numbers_are_refused_before_anything_is_written(refused, tmp_path):
    assert refused("reproduce", "--steps", "0", "--out", str(tmp_path / "out")).startswith("--steps: '0'; give")
    assert refused("reproduce", "--runs", "x", "--out", str(tmp_path / "out")) == "--runs: 'x'; give a whole number"
    assert not (tmp_path / "out").exists()


def test_a_place_that_cannot_be_written_to_is_refused_in_one_line(refused, tmp_path):
    (tmp_path / "taken").write_text("")
    assert str(tmp_path / "taken") in refused("reproduce", "--out", str(tmp_path / "taken"), *SHORT)
