"""Who did better, by pairs of runs."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from everlearn.leaderboard.standings import duels
from everlearn.leaderboard.tables import duels_table
from everlearn.results.arm import Arm
from tests.analysis.arms import made
from tests.leaderboard.small import made_up

LUCK = np.linspace(0.0, 0.1, 8)
NUDGE = np.tile([0.04, 0.06], 4)


def fought(arms: list[Arm], **options):
    return duels(arms, made_up(arms, **options))


@pytest.fixture
def arms() -> list[Arm]:
    """Ours, one that always earns about 0.05 less in the same luck, and one that earns about as much."""
    rates = {"ours": 0.5 + LUCK, "poor": 0.5 + LUCK - NUDGE, "same": 0.5 + LUCK + np.tile([0.05, -0.05], 4)}
    return [made(rate, agent=agent, optimum=2.0) for agent, rate in rates.items()]


def test_a_duel_by_hand(arms):
    """The difference is 0.05 of 2; all eight signs agree, so that p = 2 / 2^8, and twice that after Holm."""
    poor, same = fought(arms)
    assert (poor.rival, poor.verdict, poor.difference) == ("poor", "better", pytest.approx(0.025))
    assert poor.low == pytest.approx(0.0225, abs=0.003)
    assert poor.adjusted == pytest.approx(2 * 2 / 2**8)
    assert (same.rival, same.verdict, same.difference) == ("same", "not shown", pytest.approx(0.0))
    assert "poor had 0.0250 more relative regret than ours" in poor.sentence


def test_the_other_way_round(arms):
    (duel,) = fought([arms[1], arms[0]])
    assert (duel.rival, duel.verdict, duel.difference) == ("ours", "worse", pytest.approx(-0.025))


def test_rivals_that_end_at_other_times_are_adjusted_together(arms):
    """Two rivals at 2 / 2^8, one of which ends earlier: both are doubled."""
    late = made(0.5 + LUCK - NUDGE, agent="late", optimum=2.0, steps=10_000)
    ours = made(0.5 + LUCK, agent="ours", optimum=2.0, steps=10_000)
    duels = fought([ours, late, arms[1]])
    assert [duel.rival for duel in duels] == ["late", "poor"]
    assert [duel.adjusted for duel in duels] == pytest.approx([2 * 2 / 2**8] * 2)
    assert "adjusted p = 0.016" in duels[1].sentence


def test_few_runs_show_nothing():
    (duel,) = fought([made([0.5, 0.6], agent="a"), made([0.1, 0.1], agent="b")])
    assert duel.verdict == "not shown"
    (alone,) = fought([made([0.5], agent="a"), made([0.1], agent="b")])
    assert (alone.verdict, alone.low, alone.adjusted) == ("not shown", None, None)


def test_an_agent_alone_has_no_duels():
    assert fought([made([0.5, 0.6])]) == []


def test_verdicts_are_counted_by_kind_of_task(arms):
    more = [made(arm.average_reward[:, -1], task="mall", agent=arm.agent, optimum=2.0) for arm in arms]
    lineup = made_up([*arms, *more], training=["mall"])
    table = duels_table(SimpleNamespace(lineup=lineup, duels=duels([*arms, *more], lineup)))
    assert table.columns == ["against", "set aside", "training", "steps"]
    assert table.rows == [["poor", "1 / 0 / 0", "1 / 0 / 0", "1,000"], ["same", "0 / 0 / 1", "0 / 0 / 1", "1,000"]]


def test_verdicts_after_different_numbers_of_steps_are_not_added_up(arms):
    long = [made(arm.average_reward[:, -1], task="mall", agent=arm.agent, optimum=2.0, steps=10_000) for arm in arms]
    run = [*arms[:2], *long[:2]]
    lineup = made_up(run)
    table = duels_table(SimpleNamespace(lineup=lineup, duels=duels(run, lineup)))
    assert table.rows == [["poor", "1 / 0 / 0", "10,000"], ["poor", "1 / 0 / 0", "1,000"]]
