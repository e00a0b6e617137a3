"""The command ``everlearn leaderboard``, end to end."""

from __future__ import annotations

from pathlib import Path

import pytest

SHORT = ("--steps", "200", "--runs", "2", "--agent", "tsde", "--agent", "ucrl2", "--task", "riverswim")


@pytest.mark.soak
def test_it_prints_agents_tasks_and_duels_and_says_where_they_are(call, tmp_path):
    text = call("leaderboard", "--out", str(tmp_path / "out"), *SHORT)
    assert text.startswith("2 agents on 2 tasks, 2 runs of 200 steps each, seed 2.")
    for title in ("Agents after 200 steps", "ucrl2, task by task", "ucrl2 against each: tasks on which it is better"):
        assert title in text
    named = [Path(line.removeprefix("written: ")) for line in text.splitlines() if line.startswith("written: ")]
    assert [path.name for path in named] == [
        "leaderboard.md",
        "leaderboard.parquet",
        "leaderboard.csv",
        "duels.csv",
        "regret.png",
        "regret.svg",
    ]
    assert all(path.is_absolute() and path.exists() for path in named)


def test_json_has_everything(call_json, tmp_path):
    document = call_json("leaderboard", "--out", str(tmp_path), "--threads", "1", *SHORT)
    assert set(document) == {"ours", "steps", "runs", "agents", "ratings", "rows", "duels", "files"}
    assert (document["ours"], document["steps"], document["runs"]) == ("ucrl2", 200, 2)
    assert {row["agent"] for row in document["rows"]} == {"tsde", "ucrl2"}
    assert [one["rival"] for one in document["duels"]] == ["tsde", "tsde"]
    assert all(each["steps_per_second"] > 0 for each in document["agents"])
    assert all(Path(path).exists() for path in document["files"])


def test_the_fresh_tasks_have_a_folder_of_their_own(call_json, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chosen = ("--agent", "tsde", "--agent", "psrl", "--task", "garnet, 20 actions")
    call_json("leaderboard", "--fresh", "--steps", "100", "--runs", "2", *chosen)
    assert [path.name for path in tmp_path.iterdir()] == ["board-fresh"]


def test_what_is_wrong_is_one_line_and_nothing_is_written(refused, tmp_path):
    out = ("--out", str(tmp_path / "out"))
    assert refused("leaderboard", *out, "--steps", "0").startswith("--steps: '0'; give")
    assert refused("leaderboard", *out, "--runs", "x") == "--runs: 'x'; give a whole number"
    assert refused("leaderboard", *out, "--agent", "always").startswith("--agent: 'always'; known: 'actor-critic', ")
    assert not (tmp_path / "out").exists()
