"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

import everlearn as el
from everlearn.durable.audit import export
from everlearn.durable.backup import backup
from everlearn.durable.checking import check
from everlearn.durable.following import Follower
from everlearn.durable.store import Store
from everlearn.errors import StoreError
from everlearn.experiments.spec import load_spec
from everlearn.figures.saving import save_figure
from everlearn.files import FULL, make_folder, refuse_unwritable, remove_leftovers, replacing
from tests.refusal import has


def test_a_file_is_written(tmp_path):
    with replacing(tmp_path / "note") as file:
        file.write(b"whole")
    assert (tmp_path / "note").read_bytes() == b"whole"
    assert [path.name for path in tmp_path.iterdir()] == ["note"]


def test_a_file_is_not_there_before_the_end(tmp_path):
    with replacing(tmp_path / "note") as file:
        file.write(b"half")
        file.flush()
        assert not (tmp_path / "note").exists()


def fail_while_writing(path: Path) -> None:
    with replacing(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt


def test_an_error_leaves_what_was_there_and_nothing_else(tmp_path):
    (tmp_path / "note").write_bytes(b"before")
    with pytest.raises(KeyboardInterrupt):
        fail_while_writing(tmp_path / "note")
    assert (tmp_path / "note").read_bytes() == b"before"
    assert [path.name for path in tmp_path.iterdir()] == ["note"]


def test_others_may_read_what_they_may_usually_read(tmp_path):
    (tmp_path / "usual").write_bytes(b"")
    with replacing(tmp_path / "note") as file:
        file.write(b"whole")
    assert (tmp_path / "note").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_path_may_be_a_text(tmp_path):
    with replacing(os.fspath(tmp_path / "note")) as file:
        file.write(b"whole")
    assert (tmp_path / "note").exists()


@pytest.mark.parametrize("name", ["file/note", "file/deeper/note", "folder", "", "/proc/nowhere/note"])
def test_what_cannot_be_written_is_refused_by_name(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_bytes(b"mine")
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError), replacing(name) as file:
        file.write(b"")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder"]


@pytest.mark.parametrize("name", ["file", "file/deeper", "/proc/nowhere/deeper", ""])
def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_bytes(b"mine")
    with pytest.raises(StoreError):
        refuse_unwritable(name)


def test_a_folder_that_can_be_made_is_not_made_yet(tmp_path):
    refuse_unwritable(tmp_path)
    refuse_unwritable(tmp_path / "deeper" / "still")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", FULL)
def test_a_full_disk_is_left_to_those_who_know_what_it_means(tmp_path, monkeypatch, number):
    def full(*_, **__):
        raise OSError(number, "no room")

    monkeypatch.setattr(Path, "mkdir", full)
    with pytest.raises(OSError, check=has(errno=number)):
        make_folder(tmp_path / "new")
    monkeypatch.setattr(tempfile, "mkdtemp", full)
    refuse_unwritable(tmp_path)


def test_a_folder_that_may_not_be_written_to(tmp_path, monkeypatch):
    def refused(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "mkdtemp", refused)
    with pytest.raises(StoreError, check=has(path=tmp_path)):
        refuse_unwritable(tmp_path)


def test_temporary_files_of_killed_processes_are_removed_and_nothing_else(tmp_path):
    (tmp_path / ".note.0123456789abcdef").touch()
    (tmp_path / ".lock").touch()
    remove_leftovers(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_every_path_may_begin_at_home(tmp_path, monkeypatch):
    """Whoever forgets to expand one leaves a folder that is called ``~``, or does not find what is there."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with el.live("~/live", task="riverswim", seed=1) as agent:
        agent.observe(0, executed="left")
        agent.save("~/agent.npz")
        agent.load("~/agent.npz")
    made = el.Agent("riverswim", seed=1)
    made.save("~/own.npz")
    made.load("~/own.npz")
    el.evaluate("~/live", "left")
    check("~/live")
    Store("~/other").close()
    assert [*export("~/live")]
    assert Follower("~/live").look("agent").document["step"] == 1
    backup("~/live", "~/copy.db")
    result = el.run("riverswim", "always", steps=10, engine="reference")
    result.save("~/result")
    assert el.load("~/result") == result
    save_figure(result.plot().figure, "~/figure.png")
    experiment = el.experiment("riverswim", ["always"], steps=10, runs=1, out="~/experiment", engine="reference")
    assert el.Experiment("~/experiment").directory.path == tmp_path / "experiment"
    assert experiment.export("csv", "~/tables").is_relative_to(tmp_path)
    (tmp_path / "spec.toml").write_text('steps = 10\n[[task]]\nname = "riverswim"\n[[agent]]\nname = "always"\n')
    assert load_spec("~/spec.toml").steps == 10
    assert [path.name for path in Path().iterdir()] == []
