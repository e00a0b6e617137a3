"""However an experiment comes about, its tables are the same to the last byte, and nothing is done twice."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import everlearn as el
from everlearn.agents.registry import make_design
from everlearn.durable.layout import record
from everlearn.errors import InputError, NoExperiment, StoreError
from everlearn.experiments import cells
from everlearn.experiments.directory import Directory
from everlearn.experiments.execute import Shard, execute, extend
from everlearn.experiments.experiment import Experiment
from everlearn.experiments.merge import merge
from everlearn.experiments.work import Threads
from everlearn.randomness import set_words, words
from everlearn.results.provenance import arithmetic
from everlearn.results.store import DamageWarning
from everlearn.tables import PairTable
from tests.experiments.small import (
    RANDOM,
    SMOOTH,
    STATION,
    Counting,
    described,
    interrupted,
    made,
    tables,
    watched,
    world,
)
from tests.few import few
from tests.refusal import has, refusal
from tests.worlds import Pendulum, pendulum

BRIEF = {"phase": 50}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Two runs in a cell, so that four runs are two cells."""
    monkeypatch.setattr(cells, "BLOCK", 2)


@pytest.fixture
def out(tmp_path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def expected(tmp_path):
    """The tables of an experiment that was done at once, elsewhere."""

    def run(spec) -> dict[str, bytes]:
        return made(spec, tmp_path / "expected", workforce=Threads(1))

    return run


def registered() -> list[dict[str, Any]]:
    """Every agent of the registry that is not told the duration."""
    found = []
    for name in el.AGENTS:
        parameters = {key: value for key, value in BRIEF.items() if name in ("static", "gradient", "curvature")}
        if make_design(name, parameters, duration=10).duration is None:
            found.append({"name": name, "parameters": parameters})
    return found


def cell_files(path: Path) -> list[Path]:
    """The files of the cells, in the order of the manifest."""
    directory = Directory(path)
    entries = directory.read_manifest()["variants"]
    return [directory.cells.path(cell["name"]) for entry in entries for cell in entry["cells"]]


def altered(path: Path, **changes: Any) -> None:
    """Change the manifest, as a newer or another everlearn would have written it."""
    Directory(path).write_manifest({**Directory(path).read_manifest(), **changes})


def contents(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def test_a_run_is_watched(out):
    watcher = watched(described(), out)
    assert (watcher.cells, watcher.done_before, watcher.finished) == (4, 0, 4)
    assert (watcher.steps_in_all, watcher.steps_before, watcher.taken) == (2400, 0, 2400)


def test_run_again_nothing_is_done(out):
    before = made(described(), out)
    stamps = [path.stat().st_mtime_ns for path in cell_files(out)]
    watcher = watched(described(), out)
    assert (watcher.cells, watcher.done_before, watcher.finished, watcher.taken) == (4, 4, 0, 0)
    assert stamps == [path.stat().st_mtime_ns for path in cell_files(out)]
    assert tables(out) == before


@pytest.mark.parametrize(
    ("more", "cells", "fresh"),
    [
        ({"agent": [RANDOM, {"name": "always", "label": "fast", "parameters": {"policy": "fast"}}, SMOOTH]}, 6, 2),
        ({"task": [{"name": world}, STATION]}, 8, 4),
        ({"runs": 6}, 6, 2),
        ({"agent": [{**SMOOTH, "label": "ours"}, RANDOM]}, 4, 0),
        ({"agent": [RANDOM]}, 2, 0),
        ({"seed": 2}, 4, 4),
    ],
    ids=["agent", "task", "runs", "label", "fewer agents", "seed"],
)
def test_only_what_is_new_is_run(out, expected, more, cells, fresh):
    execute(described(), out)
    watcher = watched(described(**more), out)
    assert (watcher.cells, watcher.finished, watcher.taken) == (cells, fresh, fresh * 2 * 300)
    assert tables(out) == expected(described(**more))


def test_the_same_agent_under_two_labels_is_run_once(out):
    watcher = watched(described(agent=[SMOOTH, {**SMOOTH, "label": "again"}]), out)
    assert watcher.finished == 2
    one, other = Experiment(out).arms
    assert one.total_reward.tolist() == other.total_reward.tolist()


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_nothing(out, expected, threads):
    spec = described(steps=3000, runs=5)
    assert made(spec, out, workforce=Threads(threads)) == expected(spec)


def test_engines_give_the_same_table(out, expected):
    spec = described(engine="reference")
    assert made(spec, out) == expected(described(engine="compiled"))


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 1, 2)], ids=str)
def test_shards_in_one_directory(out, expected, order):
    for number in order:
        execute(described(), out, shard=Shard(number, 3))
        assert Experiment(out).status["complete"] == (number == order[-1])
    assert tables(out) == expected(described())


def test_shards_at_once_in_one_directory(out, expected):
    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(execute, described(), out, shard=Shard(number, 3)) for number in (1, 2, 3)]
        for each in waiting:
            each.result()
    assert Experiment(out).status["complete"]
    assert tables(out) == expected(described())


@pytest.mark.soak
def test_shards_in_directories_of_their_own(tmp_path, out, expected):
    parts = [tmp_path / str(number) for number in (1, 2, 3)]
    for number, part in enumerate(parts, start=1):
        execute(described(), part, shard=Shard(number, 3))
    assert tables(merge(parts, out).path) == expected(described())
    assert tables(merge(parts).path) == expected(described())


@pytest.mark.soak
def test_more_shards_than_cells(out, expected):
    for number in (9, 5, 4, 3, 2, 1):
        execute(described(), out, shard=Shard(number, 9))
    assert tables(out) == expected(described())


@pytest.mark.parametrize("patience", few([1, 5000, 20_000], [1, 5000]))
@pytest.mark.parametrize("threads", few([1, 2], [2]))
def test_interrupted_and_begun_again(out, expected, patience, threads):
    spec = described(steps=8000)
    before = interrupted(spec, out, patience, workforce=Threads(threads))
    status = Experiment(out).status
    assert status["steps_done"] == before.taken < 8 * 8000
    assert not status["complete"]
    after = watched(spec, out, workforce=Threads(threads))
    assert after.steps_before == before.taken
    assert after.steps_before + after.taken == 8 * 8000
    assert tables(out) == expected(spec)


@pytest.mark.soak
def test_interrupted_again_and_again(out, expected):
    spec = described(steps=200, engine="reference")
    for _ in range(4):
        interrupted(spec, out, 300, workforce=Threads(1))
    assert made(spec, out) == expected(spec)


def test_asked_to_stop_before_it_began(out, expected):
    watcher = Counting()
    watcher.stop.set()
    execute(described(steps=3000), out, watcher=watcher, stop=watcher.stop)
    assert not (out / "runs.parquet").exists()
    assert made(described(steps=3000), out) == expected(described(steps=3000))


def test_what_was_committed_by_the_other_engine_is_begun_again(out, expected):
    interrupted(described(steps=2000, engine="compiled"), out, 1)
    assert made(described(steps=2000, engine="reference"), out) == expected(described(steps=2000))


def check_extending(out: Path, expected: Any, engine: str, short: int, agents: list[dict[str, Any]]) -> None:
    changes = {"agent": agents, "runs": 2, "engine": engine}
    execute(described(steps=short, **changes), out)
    watcher = Counting()
    extend(out, described(steps=3000, **changes), watcher=watcher)
    assert watcher.taken == (3000 - short) * 2 * len(agents)
    assert tables(out) == expected(described(steps=3000, **changes))


@pytest.mark.soak
def test_extended_is_run_from_the_start(out, expected):
    """Four agents here, all in the soak; tests/engine/test_checkpoint.py resumes each of them every time."""
    names = ("always", "curvature", "growing-horizon", "psrl")
    check_extending(out, expected, "compiled", 1234, [agent for agent in registered() if agent["name"] in names])


@pytest.mark.soak
@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize("short", [1000, 1234])
def test_every_agent_extended_is_run_from_the_start(out, expected, engine, short):
    check_extending(out, expected, engine, short, registered())


def test_extended_by_running_a_longer_spec(out, expected):
    execute(described(steps=250), out)
    assert watched(described(steps=600), out).steps_before == 8 * 250
    assert tables(out) == expected(described(steps=600))


@pytest.mark.soak
def test_extended_twice_and_interrupted_on_the_way(out, expected):
    execute(described(steps=77), out)
    extend(out, described(steps=1234))
    interrupted(described(steps=5000), out, 1)
    assert made(described(steps=5000), out) == expected(described(steps=5000))


def test_an_extension_that_was_interrupted_does_not_pass_off_the_table_of_fewer_steps(out):
    execute(described(steps=300), out)
    interrupted(described(steps=5000), out, 1)
    status = Experiment(out).status
    assert status["cells_done"] == 0
    assert (status["tables_steps"], status["steps_each"]) == (300, 5000)


@pytest.mark.parametrize("agent", ["discounted", "discounted-subroutine"])
def test_who_is_told_the_duration_is_not_extended(out, agent):
    agents = [SMOOTH, {"name": agent, "label": "told"}]
    execute(described(agent=agents), out)
    before = contents(out)
    with pytest.raises(InputError, check=refusal("steps", 400)):
        extend(out, described(steps=400, agent=agents))
    assert contents(out) == before


def test_who_is_told_the_duration_is_run_anew_by_a_longer_spec(out, expected):
    execute(described(agent="discounted"), out)
    watcher = watched(described(agent="discounted", steps=400), out)
    assert (watcher.steps_before, watcher.taken) == (0, 4 * 400)
    assert tables(out) == expected(described(agent="discounted", steps=400))


@pytest.mark.parametrize("steps", [299, 300])
def test_fewer_steps_are_no_extension(out, steps):
    execute(described(), out)
    with pytest.raises(InputError, check=refusal("steps")):
        extend(out, described(steps=steps))


def test_what_is_not_there_is_not_extended(out):
    with pytest.raises(NoExperiment, check=has(path=out)):
        extend(out, described())
    assert not out.exists()


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_fewer_steps_are_those_of_a_run_of_that_length(out, expected, engine):
    execute(described(engine=engine), out)
    before = contents(out / "cells")
    watcher = watched(described(engine=engine, steps=200), out)
    assert (watcher.done_before, watcher.taken, watcher.steps_before) == (4, 0, 8 * 200)
    assert tables(out) == expected(described(steps=200))
    assert contents(out / "cells") == before
    status = Experiment(out).status
    assert (status["complete"], status["steps_each"], status["tables_steps"]) == (True, 200, 200)
    assert [result.steps for result in Experiment(out).results] == [200, 200]


def test_after_fewer_steps_more_are_there_again(out, expected):
    before = made(described(), out)
    execute(described(steps=200), out)
    watcher = Counting()
    extend(out, described(steps=300), watcher=watcher)
    assert watcher.taken == 0
    assert tables(out) == before
    extend(out, described(steps=600))
    assert tables(out) == expected(described(steps=600))


def test_fewer_steps_than_some_runs_have_and_more_than_others(out, expected):
    spec = described(steps=8000)
    interrupted(spec, out, 5000, workforce=Threads(1))
    assert made(described(steps=5012), out) == expected(described(steps=5012))


def test_fewer_steps_of_an_environment_that_cannot_be_saved(out, expected):
    changes = {"task": pendulum().finish(), "agent": RANDOM}
    execute(described(**changes), out)
    assert watched(described(**changes, steps=200), out).taken == 0
    assert tables(out) == expected(described(**changes, steps=200))


def test_fewer_steps_that_were_not_recorded_are_refused(out):
    execute(described(), out)
    before = contents(out)
    with pytest.raises(InputError) as caught:
        execute(described(steps=210), out)
    assert (caught.value.argument, caught.value.value) == ("steps", 210)
    assert "200 and 224" in caught.value.remedy
    assert contents(out) == before


def test_who_is_told_the_duration_is_run_anew_by_a_shorter_spec(out, expected):
    execute(described(agent="discounted"), out)
    assert watched(described(agent="discounted", steps=210), out).taken == 4 * 210
    assert tables(out) == expected(described(agent="discounted", steps=210))


def test_other_arithmetic_is_refused(out):
    execute(described(), out)
    altered(out, provenance={**Directory(out).read_manifest()["provenance"], "arithmetic": "other", "host": "far"})
    before = contents(out)
    with pytest.raises(StoreError, check=has(__class__=StoreError, path=out)) as caught:
        execute(described(), out)
    assert "far" in caught.value.problem
    assert contents(out) == before


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("harm", [damage, lambda path: path.write_bytes(b"")], ids=["flipped", "emptied"])
def test_a_damaged_cell_is_named_and_computed_anew(out, expected, harm):
    before = made(described(), out)
    victim = cell_files(out)[1]
    harm(victim)
    with pytest.warns(DamageWarning) as caught:
        watcher = watched(described(), out)
    assert [warning.message.path for warning in caught] == [victim]
    assert (watcher.finished, watcher.taken) == (1, 600)
    assert tables(out) == before == expected(described())


def test_a_cell_that_was_deleted_is_computed_anew(out):
    before = made(described(), out)
    cell_files(out)[2].unlink()
    assert watched(described(), out).finished == 1
    assert tables(out) == before


def test_a_shard_does_its_part_though_a_cell_of_another_is_damaged(out):
    execute(described(), out, shard=Shard(1, 2))
    victim = cell_files(out)[0]
    damage(victim)
    with pytest.warns(DamageWarning) as caught:
        execute(described(), out, shard=Shard(2, 2))
    assert {warning.message.path for warning in caught} == {victim}
    assert len(Experiment(out).status["damaged"]) == 1


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 1}'], ids=["empty", "torn", "list", "not whole"])
def test_a_damaged_manifest_is_made_anew(out, expected, text):
    execute(described(), out)
    (out / "manifest.json").write_text(text)
    with pytest.warns(DamageWarning) as caught:
        watcher = watched(described(), out)
    assert [warning.message.path for warning in caught] == [out / "manifest.json"]
    assert watcher.taken == 0
    assert tables(out) == expected(described())
    assert Experiment(out).status["complete"]


def test_a_manifest_that_was_lost_is_made_anew(out, expected):
    execute(described(), out)
    (out / "manifest.json").unlink()
    assert watched(described(), out).taken == 0
    assert tables(out) == expected(described())


@pytest.mark.filterwarnings("ignore:.*it is written again")
def test_fewer_steps_after_the_manifest_was_damaged(out, expected):
    execute(described(steps=300), out)
    (out / "manifest.json").write_text("{")
    before = contents(out / "cells")
    with pytest.warns(DamageWarning):
        execute(described(steps=200), out)
    assert tables(out) == expected(described(steps=200))
    assert contents(out / "cells") == before


@pytest.mark.parametrize("table", ["runs.parquet", "summary.parquet"])
@pytest.mark.parametrize("harm", [damage, Path.unlink], ids=["altered", "deleted"])
def test_an_altered_table_is_shown_and_made_anew(out, table, harm):
    before = made(described(), out)
    harm(out / table)
    assert Experiment(out).status["altered_tables"] == [table]
    assert watched(described(), out).taken == 0
    assert tables(out) == before
    assert Experiment(out).status["altered_tables"] == []


@pytest.mark.parametrize("lost", [[], ["optima", "variants"]], ids=["whole", "of another layout"])
def test_a_newer_manifest_is_refused_and_left_alone(out, lost):
    execute(described(), out)
    file = out / "manifest.json"
    newer = {key: value for key, value in json.loads(file.read_text()).items() if key not in lost}
    file.write_text(json.dumps({**newer, "schema": 2}))
    before = contents(out)
    with pytest.raises(StoreError, check=has(__class__=StoreError, path=file)):
        execute(described(), out)
    assert contents(out) == before


def test_a_file_in_the_place_of_the_directory(out):
    out.write_text("mine")
    with pytest.raises(StoreError, check=has(path=out)):
        execute(described(), out)
    assert out.read_text() == "mine"


def test_what_cannot_be_run_leaves_nothing_behind(out):
    with pytest.raises(InputError, check=refusal("engine", "compiled")):
        execute(described(task=pendulum().finish(), agent=RANDOM, engine="compiled"), out)
    assert not out.exists()


SWINGING = {"agent": [SMOOTH, RANDOM], "steps": 200}


def test_an_environment_that_cannot_be_saved_is_run(out):
    spec = described(task=pendulum().finish(), **SWINGING)
    assert watched(spec, out).finished == 4
    alone = el.run(pendulum(), "growing-horizon", steps=200, runs=4, seed=1)
    assert Experiment(out).results[0].total_reward.tolist() == alone.total_reward.tolist()


def test_an_environment_that_cannot_be_saved_begins_again(out, expected):
    spec = described(task=pendulum().finish(), **SWINGING)
    assert 0 < interrupted(spec, out, 1, workforce=Threads(1)).taken < 8 * 200
    assert Experiment(out).status["steps_done"] == 0
    after = watched(spec, out)
    assert (after.steps_before, after.taken) == (0, 8 * 200)
    assert tables(out) == expected(spec)


@pytest.mark.soak
def test_an_environment_that_cannot_be_saved_is_extended_from_the_beginning(out, expected):
    execute(described(task=pendulum().finish(), **SWINGING), out)
    longer = described(task=pendulum().finish(), **{**SWINGING, "steps": 333})
    watcher = Counting()
    extend(out, longer, watcher=watcher)
    assert watcher.taken == 8 * 333
    assert tables(out) == expected(longer)


class Saved(Pendulum):
    """A pendulum that can be put back where it was."""

    def snapshot(self):
        return {"side": self.side, "stream": words(self.rng).tolist()}

    def restore(self, snapshot):
        self.side = snapshot["side"]
        set_words(self.rng, snapshot["stream"])


def saved_pendulum() -> el.Task:
    swing = el.task(actions=["push", "wait"], observations=["left", "right"], name="saved")(Saved)
    swing.reward(lambda s, action, observation: float(observation == "right"))
    return swing.finish()


def test_an_environment_that_can_be_saved_goes_on(out, expected):
    spec = described(task=saved_pendulum(), **SWINGING)
    before = interrupted(spec, out, 1, workforce=Threads(1))
    after = watched(spec, out)
    assert 0 < before.taken == after.steps_before
    assert before.taken + after.taken == 8 * 200
    assert tables(out) == expected(spec)


def test_an_environment_that_can_be_saved_is_extended(out, expected):
    execute(described(task=saved_pendulum(), **SWINGING), out)
    longer = described(task=saved_pendulum(), **{**SWINGING, "steps": 333})
    watcher = Counting()
    extend(out, longer, watcher=watcher)
    assert watcher.taken == 8 * 133
    assert tables(out) == expected(longer)


def test_the_manifest_tells_where_results_come_from(out):
    manifest = execute(described(name="mine"), out).read_manifest()
    assert (manifest["schema"], manifest["name"], manifest["steps"], manifest["runs"]) == (1, "mine", 300, 4)
    assert manifest["provenance"]["arithmetic"] == arithmetic()
    assert manifest["seconds"] > 0
    assert manifest["named"]
    assert [entry["engine"] for entry in manifest["variants"]] == ["compiled", "compiled"]
    _, notes = Directory(out).cells.read(manifest["variants"][0]["cells"][0]["name"])
    assert {"identity", "seconds", "host", "everlearn", "arithmetic", "platform", "written"} == set(notes)


@pytest.mark.parametrize(
    "text", ["0/2", "3/2", "1", "1/", "/2", "a/b", "1/2/3", "-1/2", "1.0/2", ""], ids=lambda text: text or "empty"
)
def test_a_shard_that_is_none(text):
    with pytest.raises(InputError, check=refusal("--shard", text)):
        Shard.read(text)


def test_a_mistaken_extension_that_was_interrupted_can_be_taken_back(out, expected):
    execute(described(steps=300), out)
    interrupted(described(steps=10**9), out, 1)
    reached = max(cell["t"] for cell in cells_of(out))
    again = 10 * reached
    extend(out, described(steps=again))
    assert tables(out) == expected(described(steps=again))


def cells_of(out):
    names = [path.stem for path in cell_files(out)]
    return [{"t": found[0].t} for _, found in Directory(out).read_cells(names)]


def test_a_task_is_tabulated_once_however_many_agents_there_are(out, monkeypatch):
    tabulated = []
    begin = PairTable.__init__

    def counted(table, task, *others, **options):
        tabulated.append(task)
        begin(table, task, *others, **options)

    monkeypatch.setattr(PairTable, "__init__", counted)
    monkeypatch.setattr("everlearn.tables._SHARED", {})
    agents = [{**SMOOTH, "label": str(scale), "schedule_parameters": {"horizon_scale": scale}} for scale in (2, 3, 4)]
    execute(described(agent=agents), out)
    assert len(tabulated) == 1


def test_without_tables_the_cells_hold_everything(out, expected):
    directory = execute(described(), out, gathered=False)
    assert not list(out.glob("*.parquet"))
    assert directory.read_manifest()["tables_steps"] is None
    assert len(Experiment(out).arms) == 2
    assert watched(described(), out).taken == 0
    assert tables(out) == expected(described())


@pytest.mark.parametrize("shards", [0, 2])
def test_a_directory_with_durable_agents_is_refused(tmp_path, shards):
    for store in [tmp_path / f"shard-{number}" for number in range(shards)] or [tmp_path]:
        with el.live(store, task="service-station"):
            pass
    if shards:
        record(tmp_path, shards)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(StoreError, check=has(__class__=StoreError, path=tmp_path)):
        execute(described(), tmp_path)
    assert sorted(tmp_path.rglob("*")) == before


def test_what_is_mixed_already_is_resumed(tmp_path):
    """An agent beside an experiment, as was possible before, keeps neither from going on."""
    with el.live(tmp_path, task="service-station"):
        pass
    (tmp_path / "everlearn.db").rename(tmp_path / "aside")
    execute(described(), tmp_path)
    (tmp_path / "aside").rename(tmp_path / "everlearn.db")
    execute(described(), tmp_path)
    with el.live(tmp_path) as agent:
        assert agent.step == 0
