"""The arithmetic of the board, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from everlearn.leaderboard.ratings import ratings
from everlearn.leaderboard.shipped import powers_of_ten
from everlearn.leaderboard.standings import Standing, final, standings
from everlearn.results.arm import Arm
from tests.analysis.arms import made
from tests.leaderboard.small import made_up


def example(task: str, agent: str, relative_regret: float) -> Standing:
    return Standing(task, "set aside", agent, 1000, 1, 1.0, 1.0, relative_regret, None, None, relative_regret, None)


def rows_of(arms, **options):
    return standings(arms, made_up(arms, **options))


def test_relative_regret_by_hand():
    """Two runs; after ten steps 4 and 6 of 10 possible, after a hundred 70 and 80 of 100."""
    arm = Arm("shop", "one", {}, np.array([1, 10, 100]), np.array([[0.0, 4, 70], [1, 6, 80]]), np.array([1.0, 1.0]))
    rows = {row.time: row for row in rows_of([arm])}
    assert [rows[t].relative_regret for t in (1, 10, 100)] == pytest.approx([0.5, 0.5, 0.25])
    assert [rows[t].worst_run for t in (1, 10, 100)] == pytest.approx([1.0, 0.6, 0.3])
    half = 12.7062 * 0.05  # Student's t with one degree of freedom, and the standard error of 0.2 and 0.3
    assert (rows[100].low, rows[100].high) == pytest.approx((0.25 - half, 0.25 + half), abs=1e-5)


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


@pytest.mark.parametrize(
    ("steps", "kept"), [(300_000, [1000, 10_000, 100_000, 300_000]), (1000, [1000]), (5, [5]), (1, [1])]
)
def test_times_are_the_powers_of_ten_from_a_thousand_on_and_the_end(steps, kept):
    assert powers_of_ten(made([0.5], steps=300_000), steps).times.tolist() == kept


ARMS = [
    made([rate], task=task, agent=agent)
    for task, rates in {"x": (0.9, 0.8, 0.7), "y": (0.5, 0.6, 0.6), "z": (0.1, 0.2, 0.3)}.items()
    for agent, rate in zip("abc", rates, strict=True)
]


def test_ratings_by_hand():
    """In x: a beats both.  In y: b and c are equal, and beat a.  In z, of another kind: c, b, a."""
    rated = {each.agent: each for each in ratings(final(rows_of(ARMS)), {"x": "k", "y": "k", "z": "l"})}
    assert {name: each.beaten for name, each in rated.items()} == pytest.approx({"a": 1 / 3, "b": 7 / 12, "c": 7 / 12})
    assert {name: each.led for name, each in rated.items()} == {"a": 1, "b": 1, "c": 2}
    assert (rated["c"].least, rated["c"].most) == pytest.approx((3 / 8, 1.0))
    assert (rated["c"].low, rated["c"].high) == (None, None)


def test_the_interval_of_a_rating_draws_five_kinds_or_more():
    """Better on four of five kinds: of five draws, the number of those is binomial, from 2 to 5 with 95%."""
    tasks = "vwxyz"
    rows = [
        example(task, agent, lost) for task in tasks for agent, lost in (("a", 0.1), ("b", 0.3 if task < "z" else 0))
    ]
    first = ratings(rows, dict(zip(tasks, tasks, strict=True)))[0]
    assert (first.agent, first.beaten, first.low, first.high) == ("a", pytest.approx(0.8), 0.4, 1.0)


def test_an_agent_is_rated_by_the_tasks_that_it_was_run_on():
    rows = [example("x", "a", 0.1), example("x", "b", 0.2), example("y", "a", 0.3)]
    first, second = ratings(rows, {"x": "x", "y": "y"})
    assert (first.agent, first.tasks, first.beaten) == ("a", 2, 1.0)
    assert (second.agent, second.tasks, second.beaten, second.least) == ("b", 1, 0.0, 0.0)


def test_an_agent_does_not_lead_by_tasks_that_it_was_spared():
    """Run on one task of three, it is first there; another is first on the two that remain."""
    lost = {"x": {"few": 0.1, "a": 0.2, "b": 0.3}, "y": {"a": 0.1, "b": 0.2}, "z": {"a": 0.1, "b": 0.2}}
    rows = [example(task, agent, value) for task, values in lost.items() for agent, value in values.items()]
    rated = ratings(rows, {"x": "x", "y": "y", "z": "z"})
    assert [(each.agent, each.tasks, each.all_tasks) for each in rated] == [("a", 3, 3), ("few", 1, 3), ("b", 3, 3)]
    assert rated[1].beaten == 1.0 > rated[0].beaten


def test_rows_are_sorted_best_first_at_each_time_in_the_order_of_the_tasks():
    rows = rows_of(ARMS)
    assert [row.agent for row in rows if (row.task, row.time) == ("z", 1000)] == ["c", "b", "a"]
    assert list(dict.fromkeys(row.task for row in rows)) == ["x", "y", "z"]
