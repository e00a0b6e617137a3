"""The command ``everlearn reproduce``."""

from __future__ import annotations

from pathlib import Path

from everlearn.paper.reproduce import CURVES

SHORT = ("--steps", "200", "--runs", "2")


def test_it_says_what_was_earned_and_where_the_figures_are(call, tmp_path):
    text = call("reproduce", "--out", str(tmp_path / "out"), *SHORT)
    assert all(label in text for label in CURVES)
    named = [line.removeprefix("figure: ") for line in text.splitlines() if line.startswith("figure: ")]
    assert [Path(name).name for name in named] == ["agent-comparison.png", "agent-comparison.svg"]
    assert all(Path(name).is_absolute() and Path(name).exists() for name in named)


def test_json_has_every_curve(call_json, tmp_path):
    document = call_json("reproduce", "--out", str(tmp_path), *SHORT)
    assert list(document["curves"]) == list(CURVES)
    assert all(Path(figure).exists() for figure in document["figures"])
    assert document["curves"]["always slow"]["steps"] == 200


def test_wrong_numbers_are_refused_before_anything_is_written(refused, tmp_path):
    assert refused("reproduce", "--steps", "0", "--out", str(tmp_path / "out")).startswith("--steps: '0'; give")
    assert refused("reproduce", "--runs", "x", "--out", str(tmp_path / "out")) == "--runs: 'x'; give a whole number"
    assert not (tmp_path / "out").exists()


def test_a_place_that_cannot_be_written_to_is_refused_in_one_line(refused, tmp_path):
    (tmp_path / "taken").write_text("")
    assert str(tmp_path / "taken") in refused("reproduce", "--out", str(tmp_path / "taken"), *SHORT)
