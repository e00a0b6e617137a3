"""Agent states on disk: read back to the last bit, or refused with a word of what is wrong."""

from __future__ import annotations

import copy
import io
import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import everlearn as el
from everlearn.errors import InputError, SnapshotError
from everlearn.registry import locate, parameters
from tests.refusal import has, refusal
from tests.worlds import random_mdp

EARLIER = sorted((Path(__file__).parent / "fixtures" / "version-0.1").glob("*.npz"))
"""A state of each agent of version 0.1, after 300 steps at the service station."""


def worked() -> el.Agent:
    agent = el.Agent("service-station", "growing-horizon", seed=1)
    for observation in ("arrival", "nothing", "departure", "nothing"):
        agent.act()
        agent.observe(observation)
    return agent


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "agent.npz"
    worked().save(path)
    return path


def same(one: el.AgentState, other: el.AgentState) -> bool:
    arrays = one.epistemic.keys() == other.epistemic.keys() and all(
        np.array_equal(one.epistemic[name], other.epistemic[name]) for name in one.epistemic
    )
    return arrays and (one.aleatoric, one.algorithmic) == (other.aleatoric, other.algorithmic)


def edited(path: Path, change: Any) -> None:
    """Write the file again with its JSON changed."""
    with np.load(path) as archive:
        entries = dict(archive)
    text = json.loads(bytes(entries["agent_state.json"]))
    changed = json.dumps(change(text))
    entries["agent_state.json"] = np.frombuffer(changed.encode(), dtype=np.uint8)
    with path.open("wb") as file:
        np.savez(file, **entries)


def refused(path: Path, agent: el.Agent | None = None) -> str:
    """The message with which a file is refused, without its name; the agent is left as it was."""
    agent = agent or el.Agent("service-station", "growing-horizon")
    before = agent.snapshot()
    with pytest.raises(SnapshotError) as caught:
        agent.load(path)
    assert same(agent.snapshot(), before)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


def test_a_file_is_read_back_to_the_last_bit(saved):
    agent = el.Agent("service-station", "growing-horizon")
    agent.load(saved)
    assert same(agent.snapshot(), worked().snapshot())
    assert agent.seed == 1


def test_the_file_is_arrays_and_json_without_pickle(saved):
    with np.load(saved, allow_pickle=False) as archive:
        text = json.loads(bytes(archive["agent_state.json"]))
        assert {archive[name].dtype.kind for name in archive.files} <= set("fiu")
    assert text["schema"] == 1
    assert text["identity"]["task"] == "service-station"
    assert set(text) == {"schema", "identity", "aleatoric", "algorithmic"}


def test_saving_over_a_file_leaves_one_file(saved):
    worked().save(saved)
    assert [path.name for path in saved.parent.iterdir()] == ["agent.npz"]


def test_no_such_file(tmp_path):
    assert refused(tmp_path / "none.npz") == "there is no such file"


def test_a_directory_is_refused(tmp_path):
    assert refused(tmp_path).startswith("not a complete agent state")


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04 and no more", pickle.dumps({"schema": 1})])
def test_what_is_no_archive_is_refused(tmp_path, content):
    path = tmp_path / "agent.npz"
    path.write_bytes(content)
    assert refused(path).startswith("not a complete agent state")


def test_an_array_whose_header_does_not_end_is_refused(tmp_path):
    path = tmp_path / "agent.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("agent_state.json.npy", b"\x93NUMPY\x01\x00v\x00" + b"{".ljust(117) + b"\n")
    assert refused(path).startswith("not a complete agent state")


def test_one_array_is_refused(tmp_path):
    path = tmp_path / "agent.npz"
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(3))
    path.write_bytes(buffer.getvalue())
    assert refused(path).startswith("not a complete agent state")


def test_another_archive_is_refused(tmp_path):
    path = tmp_path / "agent.npz"
    with path.open("wb") as file:
        np.savez(file, weights=np.zeros(3))
    assert refused(path).startswith("not a complete agent state")


def test_a_newer_schema_is_refused(saved):
    edited(saved, lambda text: {**text, "schema": 2})
    assert refused(saved) == "schema version 2, this everlearn reads 1; use a newer everlearn"


@pytest.mark.parametrize("schema", [None, "1", 0])
def test_another_schema_is_refused(saved, schema):
    edited(saved, lambda text: {**text, "schema": schema})
    assert refused(saved) == f"schema version {schema!r}, this everlearn reads 1; it was not saved by everlearn"


def test_json_that_is_no_object_is_refused(saved):
    edited(saved, lambda text: [1, 2])
    assert refused(saved) == "schema version None, this everlearn reads 1; it was not saved by everlearn"


@pytest.mark.parametrize("key", ["identity", "aleatoric", "algorithmic"])
def test_a_file_in_which_something_is_missing_is_refused(saved, key):
    edited(saved, lambda text: {name: value for name, value in text.items() if name != key})
    assert "not a complete agent state" in refused(saved)


@pytest.mark.parametrize("key", ["t", "seed", "run", "pending", "stream", "clock"])
def test_a_file_in_which_part_of_the_algorithmic_state_is_missing_is_refused(saved, key):
    def without(text):
        del text["algorithmic"][key]
        return text

    edited(saved, without)
    assert "not a complete agent state" in refused(saved)


@pytest.mark.parametrize("given", [b"", b"PK", None, "x", 5, {}, (0, {}, {}), worked().to_bytes()])
def test_what_is_no_state_is_refused_and_bytes_are_sent_elsewhere(given):
    agent = worked()
    with pytest.raises(InputError, check=refusal("state", given)) as caught:
        agent.restore(given)
    assert "\n" not in str(caught.value)
    assert same(agent.snapshot(), worked().snapshot())


def malformed() -> list[el.AgentState]:
    whole = worked().snapshot()
    parts = [{name: part for name, part in whole.algorithmic.items() if name != key} for key in whole.algorithmic]
    states = [whole._replace(algorithmic=part) for part in [*parts, None, [], "t"]]
    lists = {name: array.tolist() for name, array in whole.epistemic.items()}
    return [*states, *(whole._replace(epistemic=part) for part in (lists, dict.fromkeys(lists), None, [], {}))]


@pytest.mark.parametrize("state", malformed())
def test_a_malformed_state_is_refused_in_one_line(state):
    agent = worked()
    with pytest.raises(SnapshotError) as caught:
        agent.restore(state)
    assert "\n" not in str(caught.value)
    assert same(agent.snapshot(), worked().snapshot())


def check_a_damaged_file(path: Path, content: bytes) -> None:
    """It is refused, or the damage was in what carries no meaning."""
    path.write_bytes(content)
    agent = el.Agent("service-station")
    try:
        agent.load(path)
    except SnapshotError:
        return
    assert same(agent.snapshot(), worked().snapshot())


def check_flipped_bits(path: Path, every: int) -> None:
    content = path.read_bytes()
    for place in range(8 * len(content))[::every]:
        damaged = bytearray(content)
        damaged[place // 8] ^= 1 << place % 8
        check_a_damaged_file(path, bytes(damaged))


def test_flipped_bits_are_noticed(saved):
    check_flipped_bits(saved, every=59)


@pytest.mark.soak
def test_every_flipped_bit_is_noticed(saved):
    check_flipped_bits(saved, every=1)


def test_a_truncated_file_is_noticed(saved):
    content = saved.read_bytes()
    for length in range(0, len(content), 7):
        saved.write_bytes(content[:length])
        assert refused(saved).startswith("not a complete agent state")


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        (
            lambda: el.Agent(random_mdp(1)),
            "it was saved with task 'service-station'; this agent has 'random-1'",
        ),
        (
            lambda: el.Agent("service-station", "always"),
            "it was saved with design 'growing-horizon'; this agent has 'always'",
        ),
        (
            lambda: el.Agent("service-station", "growing-horizon", parameters={"task.raw": "no"}),
            "it was saved with rewards 'raw rewards, from -0.5 to 1'; "
            "this agent has 'rewards scaled from [-0.5, 1] to [0, 1]'",
        ),
        (
            lambda: el.Agent("service-station", schedule="change-points"),
            "it was saved with schedule 'practical'; this agent has 'change-points'",
        ),
        (
            lambda: el.Agent("service-station", parameters={"schedule.horizon_scale": 2}),
            "it was saved with schedule_parameters {'horizon_scale': 12.0, 'horizon_power': 0.05, "
            "'optimism_scale': 0.1, 'optimism_power': 0.05, 'step_weight': 4.0, 'doubt': 0.02, 'rarity': 0.02, "
            "'persistence': 0.2, 'persistence_most': 50.0}; this agent has {'horizon_scale': 2.0, "
            "'horizon_power': 0.05, 'optimism_scale': 0.1, 'optimism_power': 0.05, 'step_weight': 4.0, 'doubt': 0.02, "
            "'rarity': 0.02, 'persistence': 0.2, 'persistence_most': 50.0}",
        ),
    ],
)
def test_a_file_of_something_else_is_refused(saved, agent, message):
    assert refused(saved, agent()) == message


@pytest.mark.parametrize("parameters", [5, None, "text", [1, 2]], ids=str)
def test_parameters_that_are_no_object_are_refused(saved, parameters):
    edited(saved, lambda text: {**text, "identity": {**text["identity"], "parameters": parameters}})
    assert refused(saved).startswith(f"it was saved with parameters {parameters!r}; this agent has {{")


def test_a_file_of_an_agent_with_other_parameters_is_refused(tmp_path):
    path = tmp_path / "agent.npz"
    el.Agent("service-station", "static", parameters={"agent.phase": 10}).save(path)
    message = refused(path, el.Agent("service-station", "static", parameters={"agent.phase": 20}))
    assert message.startswith("it was saved with parameters {'phase': 10")


def test_arrays_of_another_shape_are_refused():
    agent, other = el.Agent("service-station"), el.Agent(random_mdp(1))
    with pytest.raises(SnapshotError, check=has(part="epistemic")):
        agent.restore(other.snapshot())


@pytest.mark.parametrize("q_init", [[[1.0, 2.0], [3.0, 4.0]], np.array([[1.0, 2.0], [3.0, 4.0]]), 3])
def test_parameters_that_are_arrays_are_recognised(tmp_path, q_init):
    parameters = {"agent.optimism": 1, "agent.q_init": q_init}
    agent = el.Agent("service-station", "discounted-subroutine", parameters=parameters)
    agent.save(tmp_path / "agent.npz")
    other = el.Agent("service-station", "discounted-subroutine", parameters=parameters)
    other.load(tmp_path / "agent.npz")
    assert same(agent.snapshot(), other.snapshot())


def test_labels_that_are_tuples_are_read_back(tmp_path):
    task = el.Task((("go", 1), ("stay", 0)), ("a", "b"), el.window(2), el.Reward(lambda s, a, o: 0.0))
    agent, other = el.Agent(task), el.Agent(task)
    agent.act()
    agent.observe("a")
    asked = agent.act()
    agent.save(tmp_path / "agent.npz")
    other.load(tmp_path / "agent.npz")
    assert other.aleatoric_state == ("a",)
    assert other.act() == asked


@pytest.mark.parametrize("path", EARLIER, ids=lambda path: path.name.partition(".")[0])
def test_a_state_of_version_0_1_is_loaded(path):
    name = path.name.partition(".")[0]
    known = parameters(locate(name, el.AGENTS, "agent"))
    brief = {f"agent.{key}": value for key, value in {"phase": 25, "duration": 2000}.items() if key in known}
    agent = el.Agent("service-station", name, parameters=brief)
    agent.load(path)
    assert agent.t == 300
    agent.act()
    agent.observe("arrival")
    again = copy.deepcopy(agent)
    again.from_bytes(agent.to_bytes())


def test_a_later_parameter_is_left_out_and_may_be_there(tmp_path):
    agent = el.Agent("service-station", "q-learning")
    agent.save(tmp_path / "agent.npz")
    assert "centring" not in agent.identity["parameters"]
    edited(tmp_path / "agent.npz", lambda text: (text["identity"]["parameters"].update(centring=0.0), text)[1])
    agent.load(tmp_path / "agent.npz")
    centred = el.Agent("service-station", "q-learning", parameters={"agent.centring": 0.5})
    assert "centring" in refused(tmp_path / "agent.npz", centred)


def test_a_state_is_not_read_as_weights_of_other_features(tmp_path):
    agent = el.Agent("queueing-network", "linear", parameters={"task.features": "onehot"})
    agent.save(tmp_path / "agent.npz")
    size = len(agent.task.states)
    other = el.Agent("queueing-network", "linear", parameters={"task.features": f"hashed:{size}"})
    assert "it was saved with features" in refused(tmp_path / "agent.npz", other)
    edited(tmp_path / "agent.npz", lambda text: (text["identity"].pop("features"), text)[1])
    agent.load(tmp_path / "agent.npz")  # as before this was recorded
    assert "features" not in el.Agent("service-station").identity
