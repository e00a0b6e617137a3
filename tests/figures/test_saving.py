"""Saved figures: the same bytes for the same data, or no file."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure

from everlearn.errors import InputError
from everlearn.figures.multiples import average_rewards
from everlearn.figures.saving import save_figure
from tests.analysis.arms import made
from tests.few import few
from tests.refusal import refusal


@pytest.mark.parametrize(
    ("suffix", "begin"), few([("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")], [("svg", b"<?xml")])
)
def test_the_same_data_give_the_same_bytes(tmp_path, monkeypatch, suffix, begin):
    saved = []
    for day in (1, 2):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(86_400 * day))  # what a date would be taken from
        figure = average_rewards([made([0.1, 0.2]), made([0.3, 0.5], agent="other")])
        saved.append(save_figure(figure, tmp_path / f"{day}.{suffix}").read_bytes())
    assert saved[0] == saved[1]
    assert saved[0].startswith(begin)


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_no_date_is_written(tmp_path, suffix):
    content = save_figure(Figure(), tmp_path / f"figure.{suffix}").read_bytes()
    assert b"CreationDate" not in content
    assert b"dc:date" not in content
    assert b"tIME" not in content


def test_the_path_may_be_text_in_a_new_folder_and_its_suffix_in_capitals(tmp_path):
    path = save_figure(Figure(), str(tmp_path / "new" / "figure.PNG"))
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["figure.gif", "figure"])
def test_an_unknown_suffix(tmp_path, name):
    with pytest.raises(InputError, check=refusal("path")):
        save_figure(Figure(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_figure_that_cannot_be_drawn_leaves_the_old_one(tmp_path):
    path = save_figure(Figure(), tmp_path / "figure.png")
    before = path.read_bytes()
    broken = Figure()
    broken.text(0.5, 0.5, r"$\no such thing$")
    with pytest.raises(ValueError, check=lambda error: type(error) is ValueError):  # which Matplotlib raises
        save_figure(broken, path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["figure.png"]
