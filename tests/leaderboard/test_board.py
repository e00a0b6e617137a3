"""A board, run: what it leaves behind, that it is the same after anything, and that its numbers are the runs'."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from docs.board import encoded
from typer.testing import CliRunner

from everlearn.api import experiment
from everlearn.cli.main import app
from everlearn.errors import InputError
from everlearn.experiments.execute import execute
from everlearn.experiments.experiment import Experiment
from everlearn.leaderboard import board as board_module
from everlearn.leaderboard import lineup as lineup_module
from everlearn.leaderboard import speed
from everlearn.leaderboard.board import make_board
from everlearn.leaderboard.lineup import lineup
from everlearn.leaderboard.shipped import decoded, shipped
from everlearn.leaderboard.tables import regret_table
from everlearn.results.arm import Arm
from tests.few import few
from tests.interpreted import interpreting
from tests.killing import killed
from tests.leaderboard.small import AGENTS, TASKS, small
from tests.refusal import refusal

SAME = ("leaderboard.parquet", "leaderboard.csv", "duels.csv", "regret.png", "regret.svg")
"""What is the same to the last byte; the page has what was measured, too."""


@pytest.fixture
def documentation(tmp_path, monkeypatch):
    """The program ``python -m docs.board``, which writes into a temporary folder."""
    spec = importlib.util.spec_from_file_location("docs_board", Path(__file__).parents[2] / "docs" / "board.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    monkeypatch.setattr(program, "DOCS", tmp_path)
    monkeypatch.setattr(program, "PACKAGE", tmp_path)
    return program


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    with interpreting():
        made = make_board(small(), tmp_path_factory.mktemp("board"))
        made.write()
    return made


def files(path) -> dict[str, bytes]:
    return {name: (path / name).read_bytes() for name in SAME}


@pytest.mark.soak
def test_what_two_directories_have_counts_once(board, documentation):
    once = documentation.finished([board.path])
    assert [(arm.agent, arm.task) for arm in documentation.finished([board.path, board.path])] == [
        (arm.agent, arm.task) for arm in once
    ]
    assert len(once) == 10


def test_the_numbers_are_those_of_the_runs(board):
    """From the table of runs, with pandas."""
    runs = Experiment(board.path).to_arrow().to_pandas()
    runs = runs[runs.t == 600]
    optima = {task: reference.optimum for task, reference in board.lineup.references.items()}
    runs["lost"] = 1 - runs.average_reward / runs.task.map(optima)
    expected = runs.groupby(["task", "agent"]).lost.agg(["mean", "max"])
    found = pd.read_csv(board.path / "leaderboard.csv")
    found = found[found.time == 600].set_index(["task", "agent"])
    assert len(found) == len(expected) == 10
    for key, row in expected.iterrows():
        assert found.loc[key, "relative_regret"] == pytest.approx(row["mean"], abs=2e-6)
        assert found.loc[key, "worst_run"] == pytest.approx(row["max"], abs=2e-6)
        assert found.loc[key, "low"] <= row["mean"] <= found.loc[key, "high"]
    against = found.dropna(subset="against_best_aleatoric").loc[["drifting"]]
    shift = against.relative_regret - against.against_best_aleatoric
    assert shift.tolist() == pytest.approx([1 - 0.6066598 / 0.7] * 2, abs=1e-4)


def test_the_page_has_every_task_and_agent(board):
    text = (board.path / "leaderboard.md").read_text()
    assert "2 agents on 5 tasks, 6 runs of 600 steps each, seed 2." in text
    for heading in (
        "Agents after 600 steps, tasks: training",
        "Relative regret after 600 steps",
        "r-learning, task by",
    ):
        assert f"\n## {heading}" in text, heading
    for task in ("riverswim (training)", "riverswim, 9 states", "drifting"):
        assert f"### {task}\n" in text


def test_shipped_results_stand_beside_new_ones(board, interpreted, tmp_path, monkeypatch):
    """As if those of one agent were shipped: the other is run, and the board is the same."""
    monkeypatch.setattr(lineup_module, "RUNS", 6)
    monkeypatch.setattr(lineup_module, "STEPS", 600)
    kept = [arm for arm in board.arms if arm.agent == "q-learning"]
    results = decoded(encoded(kept, {"q-learning": 1e6, "r-learning": 2e6}, 600, seed=2))
    for module in (lineup_module, board_module):
        monkeypatch.setattr(module, "shipped", lambda: results)
    made = make_board(lineup(AGENTS, TASKS), tmp_path)
    assert [entry.label for entry in made.lineup.parts[""].agents] == ["r-learning"]
    assert made.rows == board.rows
    assert made.duels == board.duels
    assert made.speeds == {"r-learning": 2e6, "q-learning": 1e6}
    assert lineup(AGENTS, TASKS, afresh=True).shipped_arms == []


def test_what_is_shipped_is_of_the_agents_and_tasks_of_the_board():
    labels = {(arm.task, arm.agent) for arm in shipped().arms}
    whole = lineup()
    assert (
        {agent for _, agent in labels} == set(whole.agents) == set(shipped().speeds) <= set(lineup(afresh=True).agents)
    )
    assert {task for task, _ in labels} == set(whole.tasks)
    assert whole.known


def test_what_is_shipped_is_of_agents_and_tasks_with_the_parameters_that_they_have_now():
    whole = lineup()
    assert shipped().identities == whole.identities()
    assert len(whole.shipped_arms) == len(shipped().arms)


@pytest.mark.parametrize("agent", few(lineup().agents, {"growing-horizon, practical"}))
def test_what_is_shipped_can_be_computed_again(agent, tmp_path):
    """To the last bit on one platform; others may round otherwise, and then a run may go another way."""
    known = next(each for each in shipped().arms if (each.task, each.agent) == ("riverswim", agent))
    steps = int(known.times[-1])  # all of them, since an agent may depend on their number
    (part,) = lineup([agent], ["riverswim"], afresh=True, steps=steps).parts.values()
    execute(replace(part, tasks=part.tasks[:1]), tmp_path, gathered=False)
    (arm,) = Experiment(tmp_path).arms
    assert arm.times[-1] == steps
    assert np.isclose(known.total_reward[:, -1], arm.total_reward[:, -1]).mean() >= 0.5


def test_the_least_regret_of_a_task_is_marked(board):
    for row in regret_table(board, 600).rows:
        marked = [cell for cell in row[1:] if cell.startswith("**")]
        assert len(marked) == 1
        assert float(marked[0].strip("*")) == min(float(cell.strip("*")) for cell in row[1:])


def test_speed_is_measured_without_compilation(monkeypatch):
    """With a clock that moves by what runs would take: a million steps per second, and a minute for the first."""
    clock, compiled = [0.0], []

    def run(task, agent, *, steps, runs, **_options):
        clock[0] += runs * steps / 1e6 + (0 if agent in compiled else 60)
        compiled.append(agent)

    monkeypatch.setattr(speed, "run", run)
    monkeypatch.setattr(speed.time, "process_time", lambda: clock[0])
    (entry,) = lineup(["discounted"]).spec.agents
    assert speed.steps_per_second(entry) == pytest.approx(1e6)


def test_the_directory_is_that_of_an_experiment(board):
    experiment = Experiment(board.path)
    assert experiment.status["complete"]
    assert len(experiment.arms) == 10


@pytest.mark.soak
def test_parts_done_apart_come_together(board, tmp_path):
    """Elsewhere with other agents first: what is there is not done again, and the whole is the same."""
    for agent in AGENTS:
        make_board(lineup([agent], TASKS, runs=6, steps=600), tmp_path / agent)
        make_board(lineup([agent], TASKS, runs=6, steps=600), tmp_path / "together")
    make_board(small(), tmp_path / "together").write()
    assert files(tmp_path / "together") == files(board.path)


@pytest.mark.soak
def test_an_agent_alone_has_a_board(tmp_path):
    board = make_board(lineup(["tsde"], ["riverswim"], runs=1, steps=50), tmp_path)
    assert "duels.csv" not in {path.name for path in board.write()}
    assert board.to_dict()["duels"] == []


@pytest.mark.soak
def test_killed_and_begun_again_it_comes_to_the_same(board, runner, tmp_path):
    named = [f"--agent={name}" for name in AGENTS] + [f"--task={name}" for name in TASKS]
    command = ["leaderboard", "--out", str(tmp_path / "out"), "--steps", "600", "--runs", "6", *named]
    killed(runner, tmp_path, [2, 5, 9], *command)
    result = CliRunner().invoke(app, command, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert files(tmp_path / "out") == files(board.path)


@pytest.mark.soak
def test_a_board_is_written_into_the_documentation(board, documentation, tmp_path, capsys):
    page, begin, end = tmp_path / "leaderboard.md", documentation.BEGIN, documentation.END
    page.write_text(f"before\n{begin}\nold\n{end}\nafter\n")
    (tmp_path / "practical.md").write_text("\n".join(documentation.LOSSES))
    assert documentation.main([str(board.path)]) == 0
    assert "Tasks on which a rival is shown to be better" in (tmp_path / "practical.md").read_text()
    text = page.read_text()
    assert text.startswith(f"before\n{begin}\n\n2 agents on 5 tasks")
    assert text.endswith(f"{end}\nafter\n")
    assert "old" not in text
    assert (tmp_path / "images" / "leaderboard.png").read_bytes().startswith(b"\x89PNG")
    assert capsys.readouterr().out.count("written: ") == 4
    results = decoded((tmp_path / "results.parquet").read_bytes())
    assert (len(results.arms), results.runs, results.steps) == (10, 6, 600)
    assert set(results.speeds) == set(AGENTS)


def test_shipped_results_that_are_not_computed_again_are_kept(documentation, tmp_path, monkeypatch):
    kept, gone, replaced = ("tsde", "riverswim"), ("an agent that left", "riverswim"), ("always", "riverswim")
    arms = [Arm(task, agent, {}, np.array([200]), np.full((3, 1), 9.0)) for agent, task in (kept, gone, replaced)]
    monkeypatch.setattr(documentation, "shipped", lambda: decoded(encoded(arms, {}, 200, seed=0)))
    agents = [{"name": "always", "label": "always", "parameters": {"policy": "right"}}]
    experiment("riverswim", agents, steps=200, runs=3, out=tmp_path / "new")
    new = {(arm.agent, arm.task): arm.total_reward[0, -1] for arm in documentation.results([tmp_path / "new"])}
    assert list(new) == [replaced, kept]
    assert new[replaced] != 9.0 == new[kept]
    experiment("riverswim", agents, steps=100, runs=3, out=tmp_path / "shorter")
    with pytest.raises(InputError, check=refusal(str(tmp_path / "shorter"), "100 steps")):
        documentation.results([tmp_path / "shorter"])


def test_results_of_other_parameters_are_not_shipped(documentation, tmp_path):
    agents = [{"name": "discounted", "label": "discounted", "parameters": {"horizon": 3.0}}]
    experiment("riverswim", agents, steps=50, runs=1, out=tmp_path / "new")
    with pytest.raises(InputError, check=refusal(str(tmp_path / "new"), "discounted on riverswim")):
        documentation.ship([tmp_path / "new"], tmp_path)


def test_variants_of_a_schedule_are_written_into_a_page_of_their_own(documentation, tmp_path, capsys):
    agents = [{"name": "always", "label": label, "parameters": {"policy": "right"}} for label in ("practical", "other")]
    experiment("riverswim", agents, steps=200, runs=3, out=tmp_path / "variants")
    page = tmp_path / "practical.md"
    page.write_text(f"before\n{documentation.BEGIN}\nold\n{documentation.END}\nafter\n")
    assert documentation.main([str(tmp_path / "variants")]) == 0
    rows = [line.split(" | ")[0] for line in page.read_text().splitlines() if line.startswith("| ")]
    assert rows == ["| variant", "| practical", "| other"]
    assert (tmp_path / "images" / "practical.png").read_bytes().startswith(b"\x89PNG")
    assert capsys.readouterr().out.count("written: ") == 2


def test_variants_have_the_mean_and_the_worst_run(documentation):
    arm = Arm("shop", "practical", {}, np.array([10]), np.array([[9.0], [8.0]]), np.array([1.0, 1.0]))
    assert documentation.variants_table([arm]).rows == [["practical", "0.150 (0.200)"]]


@pytest.mark.soak
def test_a_page_without_comments_is_refused(board, documentation, tmp_path, capsys):
    (tmp_path / "leaderboard.md").write_text("nothing")
    assert documentation.main([str(board.path)]) == 2
    assert capsys.readouterr().err.startswith("everlearn: leaderboard.md: 'no comments'; put <!-- the board begins -->")
    assert documentation.main([]) == 2
