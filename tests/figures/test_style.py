"""One look for every figure, and none outside it."""

from __future__ import annotations

import matplotlib as mpl
import pytest

from everlearn.figures.style import PALETTE, house_style


def test_the_style_ends_with_its_block():
    before = dict(mpl.rcParams)
    with house_style():
        assert mpl.rcParams["legend.frameon"] is False
        assert mpl.rcParams["svg.hashsalt"] == "everlearn"
    assert dict(mpl.rcParams) == before


def luminance(colour: str) -> float:
    red, green, blue = mpl.colors.to_rgb(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_colours_differ_and_can_be_seen_on_white():
    assert len(set(PALETTE)) == len(PALETTE)
    assert max(luminance(colour) for colour in PALETTE) < 0.75


@pytest.mark.parametrize("colour", PALETTE)
def test_colours_are_colours(colour):
    assert mpl.colors.is_color_like(colour)
