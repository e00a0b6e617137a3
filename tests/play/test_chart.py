"""The curve as SVG."""

from __future__ import annotations

import re
from itertools import combinations
from xml.etree import ElementTree

import pytest

from everlearn.figures.style import PALETTE
from everlearn.play.chart import Curve, describe, draw, merge
from everlearn.play.server import _STYLE

LINES = {"optimum": 0.5, "always fast": 0.5, "always slow": 0.0909}


def points(svg: str) -> list[list[tuple[float, float]]]:
    found = re.findall(r'<polyline points="([^"]+)"', svg)
    return [[tuple(map(float, pair.split(","))) for pair in one.split()] for one in found]


def known(svg: str) -> list[float]:
    return [float(y) for y in re.findall(r'class="known" x1="[^"]+" x2="[^"]+" y1="([^"]+)"', svg)]


@pytest.mark.parametrize("width", [260, 390, 720, 1600])
def test_it_is_well_formed_and_nothing_lies_outside(width):
    curve = Curve("a < b & c", [1, 10, 100, 12345], [1.0, 0.2, 0.1, 0.3])
    root = ElementTree.fromstring(draw([curve], LINES, width))
    assert float(root.get("width")) == width
    for element in root.iter():
        for name in ("x", "x1", "x2", "cx"):
            assert 0 <= float(element.get(name, 0)) <= width


def test_time_is_logarithmic_and_reward_linear():
    [drawn] = points(draw([Curve("", [10, 100, 1000], [0.1, 0.2, 0.4])], LINES))
    (x0, y0), (x1, y1), (x2, y2) = drawn
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.2)
    assert 2 * (y0 - y1) == pytest.approx(y1 - y2, abs=0.3)


def test_a_curve_lies_on_a_line_of_its_value():
    svg = draw([Curve("", [100, 1000], [0.5, 0.0909])], LINES)
    [drawn] = points(svg)
    assert [y for _, y in drawn] == pytest.approx(known(svg), abs=0.11)


def boxes(svg: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r'class="name" x="([^"]+)" y="([^"]+)"', svg)]


def test_names_of_lines_do_not_lie_on_each_other():
    found = boxes(draw([], {f"line {k}": 0.1 + 0.001 * k for k in range(5)} | {"far": 0.9}))
    assert len(found) == 6
    for (x, y), (other_x, other_y) in combinations(found, 2):
        assert abs(y - other_y) >= 15.9 or abs(x - other_x) > 100


def test_names_of_lines_stand_where_curves_are_not():
    early = Curve("", list(range(1, 60)), [0.55] * 59)
    [(left, _)] = boxes(draw([Curve("", [1], [0.0])], {"optimum": 0.5}))
    [(right, y)] = boxes(draw([early], {"optimum": 0.5}))
    assert left < 100
    [drawn] = points(draw([early], {"optimum": 0.5}))
    assert all(x < right or not y - 13 <= curve_y <= y + 3 for x, curve_y in drawn)


@pytest.mark.parametrize(("width", "rows"), [(720, 1), (330, 2)])
def test_names_that_do_not_fit_beside_each_other_stand_below_each_other(width, rows):
    found = boxes(draw([], {"optimum over all policies": 0.5, "always fast": 0.5}, width, 270))
    assert len(found) == rows
    assert all(0 < y < 270 and 0 < x < width for x, y in found)
    assert len({y for _, y in found}) == rows


def test_it_says_in_words_what_it_shows():
    assert describe([Curve("smooth", [1, 2000], [1.0, 0.25])], LINES) == (
        "Average reward so far over time. smooth: 0.25 after 2,000 steps. "
        "Known lines: optimum 0.5, always fast 0.5, always slow 0.0909."
    )
    assert "not begun" in draw([Curve("smooth", [], [])], LINES)


def test_it_can_be_drawn_before_anything_is_known():
    assert points(draw([Curve("", [], [])], {})) == []
    assert len(points(draw([Curve("", [1], [0.0])], {}))) == 1


def test_lines_that_coincide_are_told_as_one():
    assert merge(LINES) == [(["optimum", "always fast"], 0.5), (["always slow"], 0.0909)]


def test_the_agents_have_the_colours_of_every_other_figure():
    """All but the fourth, which is darker on light ground than that of Okabe and Ito, to be read."""
    style = _STYLE.read_text()
    assert all(f"--a{number}: {colour.lower()}" in style for number, colour in enumerate(PALETTE[:3]))
