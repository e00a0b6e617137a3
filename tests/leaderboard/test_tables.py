"""Numbers and tables as text."""

from __future__ import annotations

import pytest

from everlearn.leaderboard.board import Board
from everlearn.leaderboard.tables import Grid, details_table, regret_table, share
from tests.analysis.arms import made
from tests.leaderboard.small import made_up


@pytest.mark.parametrize(("value", "text"), [(0.01249, "0.012"), (-0.0001, "0.000"), (None, "-")])
def test_a_share_has_three_decimals_and_no_negative_zero(value, text):
    assert share(value) == text


def test_a_table_in_markdown():
    text = Grid("Shops", ["shop", "price"], [["mall", "3"]]).markdown(level=3)
    assert text == "### Shops\n\n| shop | price |\n|---|--:|\n| mall | 3 |\n"


def test_a_task_on_which_no_agent_was_run_has_a_row_without_numbers(tmp_path):
    arms = [made([0.5, 0.6], task="shop"), made([0.5, 0.6], task="mall")]
    board = Board(made_up(arms), arms[:1], tmp_path)
    assert regret_table(board, 1000).rows == [["shop", "**0.450**"], ["mall", "-"]]
    assert details_table(board, "mall").rows == []
    assert board.figure()
