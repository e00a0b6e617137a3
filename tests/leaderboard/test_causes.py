"""Why the default agent loses: what is measured of its phases, and the rules by which a cause is named."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from docs.board import LOSSES
from docs.causes import PARTICIPANTS, VARIANTS, WINDOWS, figure, phases
from docs.losses import FILE, TRIED, Record, causes, is_current, losses, records

import everlearn as el
from everlearn.agents.registry import make_design
from everlearn.engine.plan import Plan
from everlearn.engine.runner import table_for
from everlearn.leaderboard.board import Board
from everlearn.leaderboard.lineup import OURS, lineup
from everlearn.leaderboard.standings import lost_duels
from everlearn.tasks.registry import make_task

PAGE = FILE.with_name("practical.md")

ACTOR, PLANNER = PARTICIPANTS

RECORD = Record(
    task="shop",
    rival="mine",
    steps=10_000,
    difference=-0.1,
    regret=0.3,
    best=0.2,
    parts={ACTOR: [[0.0, 0.0, 0.0], [0.2, 0.1, 0.02]], PLANNER: [[0.1, 0.05, 0.01], [0.7, 0.15, 0.07]]},
    leads=[0.1, 0.1, 0.1],
    alone={ACTOR: 0.4, PLANNER: 0.3},
    variants={},
)
"""The planner acts most, and a fifth of what was lost to the rival fell into the turns of the actor."""


def moved(turns: float) -> dict[str, list[list[float]]]:
    """Return the parts with another share of what was lost in the turns of the actor."""
    lost = turns * RECORD.lead
    return {ACTOR: [[0.2, 0.1, lost]], PLANNER: [[0.8, 0.2, RECORD.lead - lost]]}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, ["not found"]),
        ({"parts": moved(0.6)}, [f"turns of {ACTOR}"]),
        ({"parts": moved(0.4)}, ["not found"]),
        ({"alone": {ACTOR: 0.4, PLANNER: 0.24}}, ["shared steps"]),
        ({"alone": {ACTOR: 0.4, PLANNER: 0.26}}, ["not found"]),
        ({"alone": {ACTOR: 0.2, PLANNER: 0.3}}, [f"choice of {PLANNER}"]),
        ({"parts": moved(0.6), "alone": {ACTOR: 0.2, PLANNER: 0.2}}, [f"turns of {ACTOR}"]),
        ({"leads": [0.0, 0.3, 0.0]}, ["one run in 3"]),
        ({"variants": {"window:2": 0.26, "window:3": 0.24}}, ["short memory"]),
        ({"variants": {"fading 0.003": 0.28, "horizon 1": 0.2}}, ["looks far ahead"]),
        ({"leads": [0.0, 0.3, 0.0], "variants": {"window:2": 0.1}}, ["one run in 3", "short memory"]),
    ],
)
def test_what_accounts_for_half_of_the_loss_is_the_cause(change, expected):
    assert causes(RECORD._replace(**change)) == expected


def test_a_variant_that_regains_the_loss_has_words():
    assert {*VARIANTS, *WINDOWS} == {*TRIED}


def test_phases_are_those_of_the_run_and_end_at_powers_of_ten():
    plan = Plan(make_task("biased-rps"), make_design(OURS), 2500, 2, 3)
    with ThreadPoolExecutor(1) as pool:
        done = list(phases(plan, table_for(plan), 1, pool))
    assert done[0].who == PLANNER  # which acts first
    assert {phase.who for phase in done} == set(PARTICIPANTS)
    assert [phase.first for phase in done] == [1, *(phase.last + 1 for phase in done[:-1])]
    assert {10, 100, 1000, 2500} <= {phase.last for phase in done}
    total = el.run("biased-rps", OURS, steps=2500, runs=2, seed=3).total_reward[1, -1]
    assert sum(phase.earned for phase in done) == pytest.approx(total, abs=1e-6)


def test_a_record_of_other_results_is_not_used(tmp_path):
    part = lineup(tasks=["maze-1d"])
    board = Board(part, part.shipped_arms, tmp_path)
    duel, record = lost_duels(board.duels)["maze-1d"][0], records()["maze-1d"]
    assert is_current(record, duel)
    for change in ({"difference": record.difference + 1e-9}, {"steps": 1}, {"rival": "mine"}):
        old = record._replace(**change)
        assert not is_current(old, duel)
        (tmp_path / "causes.json").write_text(json.dumps([old._asdict()]))
        assert losses(board, tmp_path / "causes.json").rows[0][6] == "not measured"


@pytest.mark.soak  # the duels of the whole board take seconds
def test_the_page_has_the_causes_that_were_measured(tmp_path):
    whole = lineup()
    table = losses(Board(whole, whole.shipped_arms, tmp_path))
    begin, end = LOSSES
    assert table.markdown(level=3).strip() == PAGE.read_text().partition(begin)[2].partition(end)[0].strip()


def test_what_was_lost_is_divided_without_a_rest():
    for record in records().values():
        parts = [decade for decades in record.parts.values() for decade in decades]
        assert sum(part[0] for part in parts) == pytest.approx(1, abs=1e-6)
        assert sum(part[1] for part in parts) == pytest.approx(record.regret, abs=1e-6)
        assert sum(part[2] for part in parts) == pytest.approx(record.lead, abs=1e-6)
        assert sum(record.leads) / len(record.leads) == pytest.approx(record.lead, abs=1e-6)


def test_the_figure_has_a_row_for_each_task():
    drawn = figure([RECORD, RECORD._replace(task="mall", parts=moved(0.6))])
    assert [label.get_text() for label in drawn.axes[0].get_yticklabels()] == ["shop", "mall"]
