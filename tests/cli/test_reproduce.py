"""The command ``everlearn reproduce``."""

from __future__ import annotations

from pathlib import Path

SHORT = ("--steps", "200", "--runs", "2")


def test_it_says_what_is_to_be_seen_and_where_it_is(call, tmp_path):
    text = call("reproduce", "--out", str(tmp_path / "out"), *SHORT)
    named = [line.removeprefix("figure: ") for line in text.splitlines() if line.startswith("figure: ")]
    assert len(named) == 12
    assert all(Path(name).is_absolute() and Path(name).exists() for name in named)
    (report,) = [line.removeprefix("report: ") for line in text.splitlines() if line.startswith("report: ")]
    assert Path(report).read_text().startswith("<!doctype html>")


def test_json_has_everything(call_json, tmp_path):
    document = call_json("reproduce", "--out", str(tmp_path), *SHORT)
    assert set(document) == {"figures", "tables", "report", "seen", "summary"}
    assert all(Path(path).exists() for path in [*document["figures"], *document["tables"], document["report"]])
    assert {row["steps"] for row in document["summary"]} == {200}
    assert len(document["seen"]) == 6


def test_wrong_numbers_are_refused_before_anything_is_written(refused, tmp_path):
    assert refused("reproduce", "--steps", "0", "--out", str(tmp_path / "out")).startswith("--steps: '0'; give")
    assert refused("reproduce", "--runs", "x", "--out", str(tmp_path / "out")) == "--runs: 'x'; give a whole number"
    assert not (tmp_path / "out").exists()


def test_a_place_that_cannot_be_written_to_is_refused_in_one_line(refused, tmp_path):
    (tmp_path / "taken").write_text("")
    assert str(tmp_path / "taken") in refused("reproduce", "--out", str(tmp_path / "taken"), *SHORT)
