"""The arithmetic of the board, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from everlearn.leaderboard.standings import final, overall, ranks, standings, times_shown
from everlearn.results.arm import Arm
from tests.analysis.arms import made
from tests.leaderboard.small import made_up


def rows_of(arms, **options):
    return standings(arms, made_up(arms, **options))


def test_relative_regret_by_hand():
    """Two runs; after ten steps 4 and 6 of 10 possible, after a hundred 70 and 80 of 100."""
    arm = Arm("shop", "one", {}, np.array([1, 10, 100]), np.array([[0.0, 4, 70], [1, 6, 80]]), np.array([1.0, 1.0]))
    rows = {row.time: row for row in rows_of([arm])}
    assert [rows[t].relative_regret for t in (1, 10, 100)] == pytest.approx([0.5, 0.5, 0.25])
    assert [rows[t].worst_run for t in (1, 10, 100)] == pytest.approx([1.0, 0.6, 0.3])
    assert rows[100].low == pytest.approx(0.2)
    assert rows[100].high == pytest.approx(0.3)


def test_a_negative_optimum_is_divided_by_its_size():
    """An inventory that can be run at a cost of 4 a step, and was at 5 and 6: regret 1 and 2, of 4."""
    (row,) = final(rows_of([made([-5.0, -6.0], optimum=-4.0)]))
    assert row.relative_regret == pytest.approx(1.5 / 4)
    assert row.worst_run == pytest.approx(0.5)


def test_against_the_best_policy_over_aleatoric_states():
    """The optimum is 2, the best policy over states earns 1.5, the agent 1.25 and 1.65: short by 0.05, a 40th of 2."""
    arms = [made([1.25, 1.65], optimum=2.0), made([1.0, 1.0], task="mall", optimum=2.0)]
    shop, mall = final(rows_of(arms, best={"shop": 1.5}))
    assert shop.against_best_aleatoric == pytest.approx(0.025)
    assert (shop.optimum, shop.best_aleatoric) == (2.0, 1.5)
    assert mall.against_best_aleatoric is None


def test_one_run_has_no_interval():
    (row,) = final(rows_of([made([0.5])]))
    assert (row.low, row.high, row.runs) == (None, None, 1)


def test_times_are_the_last_powers_of_ten_and_the_end():
    assert times_shown(made([0.5], steps=1_000_000)) == [10_000, 100_000, 1_000_000]
    assert times_shown(made([0.5], steps=300_000)) == [10_000, 100_000, 300_000]
    assert times_shown(made([0.5], steps=5)) == [1, 5]


ARMS = [
    made([rate], task=task, agent=agent)
    for task, rates in {"x": (0.9, 0.8, 0.7), "y": (0.5, 0.6, 0.6), "z": (0.1, 0.2, 0.3)}.items()
    for agent, rate in zip("abc", rates, strict=True)
]


def test_ranks_by_hand():
    assert ranks(rows_of(ARMS)) == {
        "x": {"a": 1.0, "b": 2.0, "c": 3.0},
        "y": {"b": 1.5, "c": 1.5, "a": 3.0},
        "z": {"c": 1.0, "b": 2.0, "a": 3.0},
    }


def test_agents_are_sorted_by_their_mean_rank_on_tasks_that_were_set_aside():
    found = overall(rows_of(ARMS, training=["x"]))
    assert [each["agent"] for each in found] == ["c", "b", "a"]
    assert [each["mean rank, set aside"] for each in found] == [1.25, 1.75, 3.0]
    assert [each["mean rank, training"] for each in found] == [3.0, 2.0, 1.0]
    assert [(each["led, set aside"], each["led, training"]) for each in found] == [(1, 0), (0, 0), (0, 1)]
    assert {(each["tasks, set aside"], each["tasks, training"]) for each in found} == {(2, 1)}


def test_without_tasks_of_a_kind_there_is_no_rank():
    found = overall(rows_of(ARMS, training=["x", "y", "z"]))
    assert [each["mean rank, set aside"] for each in found] == [None] * 3
    assert [each["agent"] for each in found] == ["b", "c", "a"]


def test_rows_are_sorted_best_first_at_each_time_in_the_order_of_the_tasks():
    rows = rows_of(ARMS)
    assert [row.agent for row in rows if (row.task, row.time) == ("z", 1000)] == ["c", "b", "a"]
    assert list(dict.fromkeys(row.task for row in rows)) == ["x", "y", "z"]
