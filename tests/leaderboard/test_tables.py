"""Numbers and tables as text."""

from __future__ import annotations

import pytest

from everlearn.leaderboard.tables import Grid, share


@pytest.mark.parametrize(("value", "text"), [(0.01249, "0.012"), (-0.0001, "0.000"), (None, "-")])
def test_a_share_has_three_decimals_and_no_negative_zero(value, text):
    assert share(value) == text


def test_a_table_in_markdown():
    text = Grid("Shops", ["shop", "price"], [["mall", "3"]]).markdown(level=3)
    assert text == "### Shops\n\n| shop | price |\n|---|--:|\n| mall | 3 |\n"
