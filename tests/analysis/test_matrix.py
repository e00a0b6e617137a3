"""The matrix of comparisons: every number of it is one that was compared, in its place."""

from __future__ import annotations

import numpy as np
import pytest

from everlearn.analysis.comparison import comparisons
from everlearn.analysis.matrix import MARKS, Comparisons
from tests.analysis.arms import made

BASE = np.random.default_rng(1).normal(size=20)
NOISE = 0.01 * np.random.default_rng(2).normal(size=20)


def arms(tasks=("x", "y")) -> list:
    shifts = {"first": 0.0, "ahead": 0.5, "behind": -0.5, "even": 0.0}
    return [
        made(BASE + shift + NOISE * (agent != "first"), agent=agent, task=task)
        for task in tasks
        for agent, shift in shifts.items()
    ]


def compared(measure: str = "final", against: str | None = "first", **options) -> Comparisons:
    return Comparisons(comparisons(arms(**options), measure, against), measure, 0.95)


@pytest.mark.parametrize(("measure", "sign"), [("final", "+"), ("regret", "-")])
def test_marks_say_better_and_worse_whatever_the_sign(measure, sign):
    found = compared(measure)
    verdicts = {one.agent: one.verdict for one in found}
    assert verdicts == {"ahead": "better", "behind": "worse", "even": "unclear"}
    lines = {line.split()[0]: line.split()[1:] for line in str(found).splitlines() if line[:1].isalpha()}
    assert lines["ahead"][0][0] == sign
    assert [lines[agent][1::2] for agent in verdicts] == [[MARKS[verdict]] * 2 for verdict in verdicts.values()]


def test_numbers_stand_in_their_places():
    found = compared()
    header, first, interval = (line.split() for line in str(found).splitlines()[2:5])
    assert header == ["x", "y"]
    assert first[:2] == ["ahead", f"{found[0].difference:+.4f}"]
    low, high = map(float, interval[0].split(".."))
    assert (low, high) == (round(found[0].low, 4), round(found[0].high, 4))


def test_rows_and_sentences_are_of_the_same_comparisons():
    found = compared()
    assert [row["difference"] for row in found.rows] == [one.difference for one in found]
    assert found.sentences == [one.sentence for one in found]


def test_all_pairs_name_both():
    found = compared(against=None, tasks=("x",))
    assert len(found) == 6
    assert "ahead minus first" in str(found)
    assert "even minus behind" in str(found)


def test_a_line_has_no_more_letters_than_there_is_room_for():
    tasks = [f"a task with number {number}" for number in range(6)]
    found = compared(tasks=tasks)
    text = found.text(60)
    body = text.split("\n\n")[1:-1]
    assert len(body) == 3
    assert all(len(line) <= 60 for part in body for line in part.splitlines())
    assert all(task in text for task in tasks)
    assert len(found.text(10).split("\n\n")) == 8  # a task at a time, however little room there is


def test_too_few_pairs_are_said_to_be_too_few():
    few = comparisons([made([0.1, 0.2, 0.3]), made([0.5, 0.6, 0.8], agent="other")], against="smooth")
    assert "3 pairs cannot show a difference" in str(Comparisons(few, "final", 0.95))
    assert "cannot" not in str(compared())


def test_one_pair_has_no_interval():
    found = Comparisons(comparisons([made([0.25]), made([0.5], agent="other")]), "final", 0.95)
    assert "+0.25 ○" in str(found)
    assert "one pair" in str(found)


def test_a_cell_that_was_not_compared_is_empty():
    there = comparisons([*arms(["x"]), *arms(["y"])[:2]], against="first")
    row = next(line for line in str(Comparisons(there, "final", 0.95)).splitlines() if line.startswith("even"))
    assert row.split()[-1] == "-"


def test_nothing_to_compare():
    assert str(Comparisons([], "final", 0.95)).startswith("there is nothing to compare")
    assert "nothing to compare" in Comparisons([], "final", 0.95)._repr_html_()


def test_names_are_escaped_in_a_notebook():
    evil = comparisons([made([1.0, 2.0]), made([2.0, 2.5], agent="<b>x</b>")])
    html = Comparisons(evil, "final", 0.95)._repr_html_()
    assert "&lt;b&gt;x" in html
    assert "<b>" not in html
