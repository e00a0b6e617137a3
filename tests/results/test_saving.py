"""Results on disk: what is read is what was written, and what is no result is refused in a line."""

from __future__ import annotations

import dataclasses
import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

import everlearn as el
from everlearn.errors import InputError, StoreError
from everlearn.results.result import ARRAYS, Result
from everlearn.results.saving import _KINDS, make_folder_for
from tests.refusal import has
from tests.worlds import corridor, random_mdp


@pytest.fixture(scope="module")
def result() -> el.Result:
    parameters = {"agent.policy": [[0.3, 0.3, 0.4]] * 3}
    return el.run(random_mdp(1), "always", parameters=parameters, steps=50, runs=2, seed=2**70, engine="reference")


def test_every_field_is_kept():
    assert {*_KINDS, *ARRAYS} == {one.name for one in dataclasses.fields(Result)}


def test_what_is_read_is_what_was_written(result, tmp_path):
    path = result.save(tmp_path / "result.npz")
    loaded = el.load(path)
    assert loaded == result
    assert dict(loaded.references) == dict(result.references)
    assert (loaded.seconds, loaded.seed, loaded.version) == (result.seconds, 2**70, el.__version__)
    assert loaded.to_dict() == result.to_dict()
    assert loaded.policies is not None


def test_what_is_not_a_number_and_what_is_not_there_are_kept(result, tmp_path):
    total = result.total_reward.copy()
    total[0, 3] = np.nan
    other = dataclasses.replace(result, total_reward=total, policies=None, schedule=None, pairs=None)
    assert el.load(other.save(tmp_path / "result.npz")) == other


def test_references_are_computed_when_it_is_saved(tmp_path):
    saved = el.run(corridor(), "always", steps=9, engine="reference").save(tmp_path / "result.npz")
    text = json.loads(np.load(saved)["result.json"].tobytes())
    assert text["references"]["optimum over all policies"] == pytest.approx(0.5)


def test_nothing_is_left_behind_where_writing_fails(result, tmp_path, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    path = result.save(tmp_path / "result.npz")
    before = path.read_bytes()
    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(StoreError):
        result.save(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["result.npz"]


def rewritten(path: Path, change) -> Path:
    """Change the text of a result on disk."""
    entries = dict(np.load(path))
    text = json.loads(entries["result.json"].tobytes())
    change(text, entries)
    entries["result.json"] = np.frombuffer(json.dumps(text).encode(), dtype=np.uint8)
    np.savez(path, **entries)
    return path


@pytest.mark.parametrize(
    "change",
    [
        lambda text, entries: text.update(schema=2),
        lambda text, entries: text.update(schema="1"),
        lambda text, entries: text.pop("schema"),
        lambda text, entries: text.pop("agent"),
        lambda text, entries: text.update(runs="2"),
        lambda text, entries: text.update(runs=3),
        lambda text, entries: text.update(references=[]),
        lambda text, entries: entries.pop("times"),
        lambda text, entries: entries.update(times=entries["times"].astype(float)),
        lambda text, entries: entries.update(total_reward=entries["total_reward"][:, :-1]),
        lambda text, entries: entries.update(policies=entries["policies"][:1]),
    ],
)
def test_what_does_not_fit_is_refused(change, result, tmp_path):
    path = rewritten(result.save(tmp_path / "result.npz"), change)
    with pytest.raises(StoreError, check=has(path=path)) as caught:
        el.load(path)
    assert "\n" not in str(caught.value)


def test_a_damaged_byte_is_noticed_or_harmless(result, tmp_path):
    path = result.save(tmp_path / "result.npz")
    data, told = path.read_bytes(), []
    for place in range(0, len(data), 97):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :])
        try:
            assert el.load(path) == result
        except StoreError as error:
            told.append(str(error))
    assert len(told) > len(data) // 97 / 2
    assert not any("\n" in message for message in told)


def test_half_a_file_is_refused(result, tmp_path):
    path = result.save(tmp_path / "result.npz")
    path.write_bytes(path.read_bytes()[:900])
    with pytest.raises(StoreError):
        el.load(path)


def bomb() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("note.txt", "nothing")
    return buffer.getvalue()


@pytest.mark.parametrize("data", [b"", b"text", bomb()], ids=["empty", "text", "zip"])
def test_foreign_files_are_refused(data, tmp_path):
    (tmp_path / "other").write_bytes(data)
    with pytest.raises(StoreError):
        el.load(tmp_path / "other")


def test_the_state_of_an_agent_is_no_result(tmp_path):
    el.Agent(corridor()).save(tmp_path / "agent.npz")
    with pytest.raises(StoreError, check=has(path=tmp_path / "agent.npz")):
        el.load(tmp_path / "agent.npz")


@pytest.mark.parametrize("path", [None, 3, "", ["x"]])
def test_what_is_no_path_is_refused(path, result):
    with pytest.raises(InputError):
        result.save(path)
    with pytest.raises(InputError):
        el.load(path)


def test_folders(result, tmp_path):
    with pytest.raises(StoreError):
        el.load(tmp_path)
    with pytest.raises(StoreError):
        el.load(tmp_path / "nothing.npz")
    with pytest.raises(InputError):
        result.save(tmp_path / "nowhere" / "result.npz")
    assert not (tmp_path / "nowhere").exists()
    result.save(tmp_path / "result.npz")
    assert el.load(str(tmp_path)) == result
    with pytest.raises(StoreError):
        result.save(tmp_path)


def test_the_folder_of_an_experiment_is_left_alone(tmp_path):
    (tmp_path / "manifest.json").touch()
    with pytest.raises(InputError):
        make_folder_for(str(tmp_path), "--out")
