"""Numbers and tables as text."""

from __future__ import annotations

import numpy as np
import pytest
from docs.losses import UNMEASURED, losses

from everlearn.errors import UserCodeError
from everlearn.leaderboard import board as board_module
from everlearn.leaderboard.board import Board
from everlearn.leaderboard.shipped import NOTHING
from everlearn.leaderboard.tables import Grid, agents_table, coverage_table, details_table, regret_table, share, size
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


@pytest.mark.parametrize(("runs", "said"), [(6, "from 2 rivals; give 7 or more."), (7, "seed 0.")])
def test_the_number_of_runs_that_can_show_a_difference_grows_with_the_number_of_rivals(runs, said, tmp_path):
    """With every sign the same, p is 2 / 2^runs, and twice that after Holm."""
    rates = {"ours": 0.9, "poor": 0.5, "poorer": 0.4}
    arms = [made([rate + 0.001 * run for run in range(runs)], agent=agent) for agent, rate in rates.items()]
    board = Board(made_up(arms), arms, tmp_path)
    assert size(board).endswith(said)
    assert {duel.verdict for duel in board.duels} == ({"not shown"} if runs == 6 else {"better"})


def test_speeds_say_where_they_were_measured(monkeypatch, tmp_path):
    """One agent of the board, one of the user's, and one that was not written for RiverSwim."""

    def measure(entry):
        if entry.label == "picky":
            raise UserCodeError("build raised AssertionError")
        return 2e6

    monkeypatch.setattr(board_module, "steps_per_second", measure)
    monkeypatch.setattr(board_module, "shipped", lambda: NOTHING._replace(speeds={"known": 3e6}))
    arms = [made([0.5, 0.6], agent=agent) for agent in ("known", "mine", "picky")]
    board = Board(made_up(arms), arms, tmp_path)
    assert [row[-1] for row in agents_table(board, "set aside", 1000).rows] == ["3 M", "2 M here", "-"]
    assert [agent["measured_here"] for agent in board.to_dict()["agents"]] == [False, True, True]


def test_an_agent_that_was_not_run_on_all_tasks_is_marked(tmp_path, monkeypatch):
    monkeypatch.setattr(board_module, "steps_per_second", lambda entry: 1e6)
    arms = [made([0.5, 0.6], task=task, agent=agent) for task, agent in (("x", "a"), ("x", "b"), ("y", "a"))]
    rows = agents_table(Board(made_up(arms), arms, tmp_path), "set aside", 1000).rows
    assert [row[:3] for row in rows] == [["a", "0.75", "-"], ["b, on 1 of 2 tasks", "0.50", "-"]]


def test_tasks_are_counted_by_the_number_of_steps(tmp_path, monkeypatch):
    monkeypatch.setattr(board_module, "steps_per_second", lambda entry: 1e6)
    runs = [("x", "a", 10_000), ("y", "a", 10_000), ("z", "a", 10_000), ("x", "b", 10_000), ("y", "b", 1000)]
    arms = [made([0.5, 0.6], task=task, agent=agent, steps=steps) for task, agent, steps in runs]
    table = coverage_table(Board(made_up(arms), arms, tmp_path))
    assert table.columns == ["agent", "10,000 steps", "1,000 steps", "not run"]
    assert table.rows == [["a", "3", "0", "0"], ["b", "1", "1", "1"]]


def test_the_best_rival_that_is_better_stands_in_the_table_of_losses(tmp_path):
    """Two rivals are better on one task, one of them by more: its regret and ours; the cause was not measured.

    A third one that is better still, but was run for a tenth of the steps, comes last.
    """
    luck = np.linspace(0.0, 0.05, 8)
    rates = {"ours": 0.5, "b": 0.7, "c": 0.6}
    arms = [made(rate + luck, task="riverswim", agent=agent, steps=10_000) for agent, rate in rates.items()]
    arms += [made(0.9 + luck, task="riverswim", agent="d", steps=1000)]
    arms += [
        made(rate + luck, task="mall", agent=agent, steps=10_000) for agent, rate in {"ours": 0.5, "b": 0.4}.items()
    ]
    table = losses(Board(made_up(arms), arms, tmp_path), tmp_path / "nothing.json")
    assert table.title == "Tasks on which a rival is shown to be better: 1 of 2 (1 after 10,000 steps)"
    assert table.rows == [["riverswim", "b", "0.275", "0.475", "10,000", "3", UNMEASURED, "`b`, `c`, `d`"]]
