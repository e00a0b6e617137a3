"""The curve as SVG."""

from __future__ import annotations

import re
from itertools import combinations
from xml.etree import ElementTree

import pytest

from everlearn.figures.style import PALETTE
from everlearn.page.chart import Curve, describe, draw, find_span, merge
from everlearn.page.server import _STYLE

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


@pytest.mark.parametrize("width", [330, 720])
def test_names_stand_where_no_curve_can_be(width):
    """To the right of the plot, or above it."""
    curves = [Curve(f"agent, number {k}", [1, 10, 10_000], [0.55, 0.5 - 0.01 * k, 0.3]) for k in range(4)]
    svg = draw(curves, LINES, width)
    plot = {name: float(value) for name, value in re.findall(r'(\w+)="([^"]+)"', re.search("<rect [^>]+>", svg)[0])}
    found = boxes(svg)
    assert len(found) >= 6
    assert all(x > plot["x"] + plot["width"] - 6 or y < plot["y"] for x, y in found)
    assert len({y for _, y in found}) == len(found)


@pytest.mark.parametrize(("width", "rows"), [(720, 3), (330, 2)])
def test_long_names_are_written_in_rows(width, rows):
    found = boxes(draw([], {"optimum over all policies": 0.5, "always fast": 0.5}, width, 270))
    assert len(found) == rows
    assert all(0 < y < 270 and 0 < x < width for x, y in found)


def test_what_is_zero_but_for_rounding_is_written_as_zero():
    svg = draw([Curve("a", [1], [-3e-17])], {"optimum over all policies": 1.77e-18})
    assert "e-1" not in svg
    assert "policies 0<" in svg


def test_the_vertical_axis_stays_as_it_is_while_curves_jump_about():
    """Only what lasts, or is known, moves it; and then by whole ticks, and never back."""
    spans, averages = [], [1.0, 0.2, 0.9, 0.1, 0.4, 0.3]
    for number in range(1, 7):
        curve = Curve("", [3 * k for k in range(1, number + 1)], averages[:number])
        spans.append(find_span([curve], LINES, spans[-1] if spans else None))
    assert set(spans) == {spans[0]}
    higher = find_span([Curve("", [1000], [0.9])], LINES, spans[0])
    assert higher[1] > 0.9
    assert find_span([Curve("", [10_000], [0.5])], LINES, higher) == higher


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


def test_the_name_of_a_users_agent_is_broken_between_its_module_and_itself():
    chart = draw(
        [Curve("own_agent:r_learning", [1, 10], [0.1, 0.2]), Curve("growing-horizon, practical", [1], [0.1])], {}
    )
    names = re.findall(r'<text class="name"[^>]*>([^<]*)</text>', chart)
    assert sorted(names) == ["growing-horizon,", "own_agent:", "practical", "r_learning"]
