"""The commands ``everlearn experiment ...``, end to end."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import everlearn as el
from everlearn.agents.registry import make_design
from everlearn.cli.main import main
from everlearn.experiments import cells

SPEC = """
steps = {steps}
runs = 4
seed = 1
[[task]]
name = "service-station"
parameters.window = 2
[[agent]]
name = "growing-horizon"
label = "smooth"
[[agent]]
name = "always"
label = "random"
"""

SWEEP = """
steps = 60
runs = 2
[[task]]
name = "service-station"
parameters.window = 2
[[agent]]
name = "growing-horizon"
schedule_parameters.horizon_scale = [1.5, 3]
schedule_parameters.optimism_scale = [0.2, 0.4]
"""

STATUS = {
    "name",
    "directory",
    "complete",
    "cells",
    "cells_done",
    "cells_begun",
    "cells_unused",
    "steps",
    "steps_done",
    "seconds_worked",
    "damaged",
    "steps_each",
    "tables_steps",
    "altered_tables",
    "provenance",
    "platforms",
}
ROW = {"task", "agent", "settings", "unit", "units", "steps", "measure", "mean", "standard_error", "low", "high"}
COMPARISON = {
    "task",
    "agent",
    "against",
    "settings",
    "against_settings",
    "measure",
    "units",
    "difference",
    "low",
    "high",
    "p_value",
    "adjusted",
    "better",
    "verdict",
    "sentence",
    "task_name",
    "agent_name",
    "against_name",
}


def patient(*, weights: object = None) -> el.Design:
    """An agent with a parameter that is several numbers."""
    return make_design("always")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(cells, "BLOCK", 2)
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.fixture
def spec(tmp_path) -> str:
    path = tmp_path / "stations.toml"
    path.write_text(SPEC.format(steps=200))
    return str(path)


@pytest.fixture
def out(tmp_path) -> str:
    return str(tmp_path / "out")


@pytest.fixture
def done(spec, out, call) -> str:
    """The directory of an experiment that was run."""
    call("experiment", "run", spec, "--out", out)
    return out


def tables(path: str) -> list[bytes]:
    return [(Path(path) / name).read_bytes() for name in ("runs.parquet", "summary.parquet")]


def test_run(spec, out, call):
    text = call("experiment", "run", spec, "--out", out)
    assert "stations: all 4 cells are finished" in text
    assert f"results: {out}" in text
    assert f"see them with: everlearn experiment table {out}" in text


def test_run_as_json(spec, out, call_json):
    document = call_json("experiment", "run", spec, "--out", out)
    assert set(document) == STATUS
    assert (document["complete"], document["cells"], document["steps_done"]) == (True, 4, 1600)
    again = call_json("experiment", "run", spec, "--out", out)
    measured = {"seconds_worked"}
    assert {key: again[key] for key in STATUS - measured} == {key: document[key] for key in STATUS - measured}


@pytest.mark.parametrize("threads", ["1", "2"])
def test_threads(spec, out, done, call_json, tmp_path, threads):
    other = str(tmp_path / "other")
    assert call_json("experiment", "run", spec, "--out", other, "--threads", threads)["complete"]
    assert tables(other) == tables(done)


def test_shards_are_merged(spec, done, call, call_json, tmp_path):
    parts = [str(tmp_path / number) for number in "12"]
    for number, part in enumerate(parts, start=1):
        text = call("experiment", "run", spec, "--out", part, "--shard", f"{number}/2")
        assert "2 of 4 cells are left" in text
        assert "see them with" not in text
    merged = str(tmp_path / "merged")
    document = call_json("experiment", "merge", *parts, "--out", merged)
    assert set(document) == STATUS
    assert document["complete"]
    assert tables(merged) == tables(done)
    assert "all 4 cells are finished" in call("experiment", "merge", *parts)


def test_extend(done, call, call_json, tmp_path):
    assert "all 4 cells are finished" in call("experiment", "extend", done, "--steps", "2.5e2")
    assert set(document := call_json("experiment", "extend", done, "--steps", "300")) == STATUS
    assert document["steps_done"] == 8 * 300
    longer = tmp_path / "stations.toml"
    longer.write_text(SPEC.format(steps=300))
    call("experiment", "run", str(longer), "--out", str(tmp_path / "longer"))
    assert tables(done) == tables(str(tmp_path / "longer"))


def test_status(done, call, call_json):
    text = call("experiment", "status", done)
    assert f"stations in {done}: complete" in text
    assert "4 of 4 cells finished, 0 begun; 1,600 of 1,600 steps" in text
    assert f"everlearn {el.__version__}" in text
    assert set(call_json("experiment", "status", done)) == STATUS


def test_status_of_what_is_not_complete(spec, out, call, call_json):
    call("experiment", "run", spec, "--out", out, "--shard", "1/4")
    assert "25.0% done" in call("experiment", "status", out)
    document = call_json("experiment", "status", out)
    assert (document["complete"], document["cells_done"], document["steps_done"]) == (False, 1, 400)


def test_status_of_what_is_used_no_more(spec, done, call, call_json):
    Path(spec).write_text(SPEC.format(steps=200).rpartition("[[agent]]")[0])
    call("experiment", "run", spec, "--out", done)
    assert "2 cells belong to no agent or task of the spec any more" in call("experiment", "status", done)
    assert call_json("experiment", "status", done)["cells_unused"] == 2


def test_status_of_what_was_damaged(done, call):
    victim = min((Path(done) / "cells").iterdir())
    victim.write_bytes(b"")
    (Path(done) / "runs.parquet").write_bytes(b"")
    text = call("experiment", "status", done)
    assert f"{victim}: is damaged (" in text
    assert "; run the experiment again to recompute it" in text
    assert "runs.parquet: was changed after it was written; run the experiment again to rewrite it" in text


def test_table(done, call, call_json):
    text = call("experiment", "table", done)
    assert "service-station, 200 steps" in text
    assert "realized regret after so many steps" in text
    assert "Means over 4 runs; below each its 95% interval, by bootstrap." in text
    document = call_json("experiment", "table", done)
    assert set(document) == {"name", "summary", "regret"}
    assert all(set(row) >= ROW for row in document["summary"])
    assert {row["agent"] for row in document["regret"]} == {"smooth", "random"}


def test_table_of_some_measures(done, call_json):
    chosen = ("--measure", "late", "--measure", "final", "--confidence", "0.5")
    rows = call_json("experiment", "table", done, *chosen)["summary"]
    assert [row["measure"] for row in rows] == ["late", "final"] * 2
    assert {row["confidence"] for row in rows} == {0.5}


def test_table_is_what_the_library_returns(done, call_json):
    assert call_json("experiment", "table", done)["summary"] == el.Experiment(done).table()


def test_table_of_a_grid_and_of_one_run(tmp_path, out, call, call_json):
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP.replace("runs = 2", "runs = 1"))
    call("experiment", "run", str(path), "--out", out)
    text = call("experiment", "table", out)
    assert "horizon_scale=1.5" in text
    assert "nan" not in text
    assert {row["low"] for row in call_json("experiment", "table", out)["summary"]} == {None}


def test_compare(done, call, call_json):
    text = call("experiment", "compare", done)
    assert text.startswith("average reward over all steps: agent minus smooth\n")
    assert "service-station" in text.splitlines()[2]
    assert text.splitlines()[3].startswith("random  ")
    sentences = call("experiment", "compare", done, "--sentences")
    assert sentences.startswith("on service-station, ")
    assert sentences.count("\n") == 1
    (document,) = call_json("experiment", "compare", done, "--measure", "regret", "--against", "smooth")
    assert set(document) == COMPARISON
    assert (document["agent"], document["against"], document["units"]) == ("random", "smooth", 4)


def test_several_comparisons_are_adjusted(tmp_path, out, call):
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP)
    call("experiment", "run", str(path), "--out", out)
    assert "p-values are adjusted for 3 comparisons (Holm)" in call("experiment", "compare", out)
    assert "p-values are adjusted for 6 comparisons (Holm)" in call("experiment", "compare", out, "--all-pairs")
    assert "p-values are adjusted for 3 comparisons (Holm)" in call("experiment", "compare", out, "--sentences")


def test_nothing_to_compare(tmp_path, out, call, call_json):
    path = tmp_path / "alone.toml"
    path.write_text(SPEC.format(steps=20).rpartition("[[agent]]")[0])
    call("experiment", "run", str(path), "--out", out)
    text = call("experiment", "compare", out)
    assert text == "there is nothing to compare: no task has two agents with runs in common\n"
    assert call_json("experiment", "compare", out) == []


@pytest.mark.soak
def test_plot(tmp_path, out, call, call_json):
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP)
    call("experiment", "run", str(path), "--out", out)
    document = call_json("experiment", "plot", out, "--format", "svg")
    assert [Path(figure).name for figure in document["figures"]] == [
        "average-reward.svg",
        "regret.svg",
        "sweep-final.svg",
    ]
    elsewhere = str(tmp_path / "elsewhere")
    text = call("experiment", "plot", out, "--out", elsewhere, "--format", "png", "--measure", "late")
    assert f"figure: {elsewhere}/sweep-late.png" in text


def test_export(done, call, call_json, tmp_path):
    assert call_json("experiment", "export", done) == {"tables": [f"{done}/runs.parquet"]}
    assert call("experiment", "export", done, "--format", "csv") == f"table: {done}/runs.csv\n"
    target = tmp_path / "mine.csv"
    call("experiment", "export", done, "--format", "csv", "--out", str(target))
    assert target.read_text().startswith('"task","agent",')


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table", "--confidence", "1"], "--confidence: 1.0; give a number between 0 and 1, as in 0.95"),
        (["table", "--confidence", "nan"], "--confidence: nan; give a number between 0 and 1, as in 0.95"),
        (["compare", "--confidence", "95"], "--confidence: 95.0; give a number between 0 and 1, as in 0.95"),
        (["table", "--measure", "best"], "measure: 'best'; known: "),
        (["compare", "--measure", "best"], "measure: 'best'; known: "),
        (["plot", "--measure", "best", "--format", "svg"], "measure: 'best'; known: "),
        (["compare", "--against", "smoth"], "against: 'smoth'; known: random, smooth (did you mean smooth?)"),
        (["plot", "--format", "gif"], "format: 'gif'; give one of png, svg, pdf"),
        (["export", "--format", "xlsx"], "format: 'xlsx'; give one of parquet, csv"),
        (["extend", "--steps", "200"], "steps: 200; the experiment has 200; give more"),
        (["extend", "--steps", "many"], "--steps: 'many'; give a whole number, such as 10000 or 1e4"),
        (["extend", "--steps", "300", "--threads", "0"], "--threads: '0'; give a whole number of at least 1"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_what_is_refused(done, refused, arguments, message):
    assert message in refused("experiment", arguments[0], done, *arguments[1:])


@pytest.mark.parametrize("shard", ["0/2", "3/2", "half", "1"])
def test_a_shard_that_is_none(spec, out, refused, shard):
    message = refused("experiment", "run", spec, "--out", out, "--shard", shard)
    assert message == f"--shard: {shard!r}; write I/N with I from 1 to N, as in 2/8"
    assert not Path(out).exists()


def test_a_shard_and_a_cluster(spec, out, refused):
    message = refused("experiment", "run", spec, "--out", out, "--shard", "1/2", "--cluster", "local:1")
    assert "give one of --shard and --cluster" in message


COMMANDS = {
    "extend": ["--steps", "10"],
    "merge": [],
    "status": [],
    "table": [],
    "compare": [],
    "plot": [],
    "export": [],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_directory_that_is_not_there(out, refused, command):
    message = refused("experiment", command, out, *COMMANDS[command])
    assert message == f"{out}: there is no experiment here; make one with 'everlearn experiment run'"
    assert not Path(out).exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_for_a_directory(spec, refused, command):
    assert refused("experiment", command, spec, *COMMANDS[command]) == f"{spec}: is a file; give a directory"


def test_a_file_for_the_directory_to_run_in(spec, refused):
    assert spec in refused("experiment", "run", spec, "--out", spec)


def test_another_experiment_is_not_merged(done, spec, tmp_path, call, refused):
    other = str(tmp_path / "other")
    Path(spec).write_text(SPEC.format(steps=100))
    call("experiment", "run", spec, "--out", other)
    assert refused("experiment", "merge", done, other) == (
        f"{other}: its steps differs from that of {done}; merge one experiment"
    )


def test_who_is_told_the_duration_is_not_extended(tmp_path, out, call, refused):
    path = tmp_path / "told.toml"
    path.write_text('steps = 20\n[task]\nname = "service-station"\nparameters.window = 2\n[agent]\nname = "discounted"')
    call("experiment", "run", str(path), "--out", out)
    assert "uses the duration, so that a longer run is another run" in refused(
        "experiment", "extend", out, "--steps", "30"
    )


def test_a_module_beside_the_spec_is_found_from_anywhere(tmp_path, out, call, call_json):
    folder = tmp_path / "beside"
    folder.mkdir()
    (folder / "lies_beside.py").write_text("from everlearn.agents.always import always as mine\n")
    spec = folder / "own.toml"
    spec.write_text(SPEC.format(steps=20).replace('"always"', '"lies_beside:mine"'))
    call("experiment", "run", str(spec), "--out", out)
    assert call_json("experiment", "extend", out, "--steps", "30")["complete"]


@pytest.mark.soak
def test_things_without_a_name_are_not_extended(out, refused):
    from tests.worlds import corridor

    el.experiment(corridor(), "always", steps=20, out=out)
    message = refused("experiment", "extend", out, "--steps", "30")
    assert message == (
        f"directory: {out!r}; its tasks or agents were passed as objects, not by name; "
        "extend it with experiment(..., steps=, out=)"
    )


def test_a_parameter_that_is_a_table_is_no_grid_when_it_is_extended(out, call):
    agent = {"name": "tests.cli.test_experiment:patient", "parameters": {"weights": (0.25, 0.75)}}
    el.experiment({"name": "service-station", "parameters": {"window": 2}}, agent, steps=20, out=out)
    before = el.Experiment(out).manifest["variants"]
    call("experiment", "extend", out, "--steps", "30")
    assert [entry["settings"] for entry in el.Experiment(out).manifest["variants"]] == [{}]
    assert len(before) == 1


@pytest.mark.parametrize("label", ["ours [tuned]", "[/x]", "[bold]"])
def test_labels_are_shown_as_they_are(spec, out, call, label):
    text = SPEC.format(steps=50).replace('"smooth"', json.dumps(label))
    Path(spec).write_text(f"name = {json.dumps(label)}\n{text}")
    assert label in call("experiment", "run", spec, "--out", out)
    assert label in call("experiment", "table", out)
    assert label in call("experiment", "status", out)
    assert label in call("experiment", "compare", out)


def test_an_interrupted_run_says_how_to_go_on(spec, out, monkeypatch, capsys):
    def interrupt(*_arguments, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("everlearn.experiments.execute.execute", interrupt)
    monkeypatch.setattr(sys, "argv", ["everlearn", "experiment", "run", spec, "--out", out])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 130
    assert capsys.readouterr().err == (
        f"everlearn: interrupted; what was done is kept in {out}; run the same command again to resume\n"
    )


@pytest.mark.soak
def test_the_command_as_a_user_calls_it(spec, out, command):
    done = command("experiment", "run", spec, "--out", out, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["complete"]
    victim = min((Path(out) / "cells").iterdir())
    victim.write_bytes(b"")
    again = command("experiment", "run", spec, "--out", out, "--json")
    assert again.returncode == 0
    assert again.stderr.startswith(f"everlearn: warning: {victim}: is damaged (")
    assert again.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["run", *COMMANDS])
def test_help(call, command):
    assert f"everlearn experiment {command}" in call("experiment", command, "--help").replace("root ", "everlearn ")
