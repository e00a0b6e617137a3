"""Whatever is given as an agent state is taken whole or refused in a line; nothing is ever half changed."""

from __future__ import annotations

import io
import json
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import strategies as st

import everlearn as el
from everlearn.agents.clock import BLOCK
from everlearn.durable.core import Core
from everlearn.durable.setup import make_setup
from everlearn.errors import EverlearnError, SnapshotError
from tests.durable.worlds import whole
from tests.laws import law
from tests.refusal import has


def worked(design: str = "growing-horizon") -> Core:
    core = Core(make_setup(task="service-station", agent=design, seed=1))
    for observation in ("arrival", "nothing", "departure"):
        core.act()
        core.apply(core.prepare(observation))
    return core


CORE = worked()
STATE = CORE.export_state()
QUICK = worked("q-learning")
"""Without a schedule there is no clock to wind, so that much can be tried."""
BYTES = QUICK.export_state()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=6,
)


def taken_or_refused(data: bytes, like: Core = QUICK) -> None:
    """Import it; then the agent must work, or be as it was."""
    core = like.copy()
    before = whole(core)
    try:
        entry = core.import_state(data)
    except EverlearnError as error:
        refusal = str(error)
    else:
        refusal = None
    assert whole(core) == before
    if refusal is not None:
        assert "\n" not in refusal
        return
    core.apply(entry)
    for observation in ("arrival", "nothing"):
        core.act()
        core.apply(core.prepare(observation))


def packed(document: object, **arrays: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    text = np.frombuffer(json.dumps(document).encode(), dtype=np.uint8)
    np.savez(buffer, **{"agent_state.json": text}, **{f"epistemic/{name}": array for name, array in arrays.items()})
    return buffer.getvalue()


def document(state: bytes = STATE) -> dict:
    with np.load(io.BytesIO(state)) as archive:
        return json.loads(bytes(archive["agent_state.json"]))


CELLS = CORE.agent.snapshot().epistemic["cells"]
QUICK_CELLS = QUICK.agent.snapshot().epistemic["cells"]


def test_what_was_exported_is_taken():
    core = CORE.copy()
    core.act()
    core.apply(core.prepare("arrival"))
    core.apply(core.import_state(STATE))
    assert core.export_state() == STATE
    assert core.step == 4
    assert packed(document(), cells=CELLS) == STATE


@law(20, st.binary(max_size=200))
def test_any_bytes(data):
    taken_or_refused(data)


@law(60, st.integers(0, len(BYTES) - 1), st.binary(min_size=1, max_size=4))
def test_any_change_of_some_bytes(where, patch):
    taken_or_refused(BYTES[:where] + patch + BYTES[where + len(patch) :])


@law(15, st.integers(0, len(BYTES)))
def test_any_part(length):
    taken_or_refused(BYTES[:length])


@law(30, st.sampled_from(["aleatoric", "identity", "algorithmic", "schema"]), JSON)
def test_any_other_part_of_the_document(key, value):
    taken_or_refused(packed({**document(BYTES), key: value}, cells=QUICK_CELLS))


@law(40, st.sampled_from(["t", "seed", "run", "pending", "stream", "clock"]), JSON)
def test_any_other_algorithmic_state(key, value):
    found = document(BYTES)
    found["algorithmic"][key] = value
    taken_or_refused(packed(found, cells=QUICK_CELLS))


@law(15, st.sampled_from(["block", "level", "level_error", "scale", "exponent"]), JSON)
def test_any_other_clock(key, value):
    found = document()
    found["algorithmic"]["clock"][key] = value
    taken_or_refused(packed(found, cells=CELLS), like=CORE)


@pytest.mark.parametrize(
    "cells",
    [
        np.zeros((2, 5)),
        np.zeros(4),
        np.zeros((2, 4), dtype=np.float32),
        np.full((2, 4), np.nan),
        np.array([["x"] * 4] * 2),
    ],
)
def test_other_arrays_are_refused(cells):
    with pytest.raises(SnapshotError):
        CORE.copy().import_state(packed(document(), cells=cells))
    with pytest.raises(SnapshotError):
        CORE.copy().import_state(packed(document()))
    with pytest.raises(SnapshotError):
        CORE.copy().import_state(packed(document(), cells=CELLS, more=CELLS))


def test_a_clock_far_from_its_time_is_refused_at_once():
    """Winding it there would take years."""
    found = document()
    found["algorithmic"]["t"] = 2**50
    with pytest.raises(SnapshotError, check=has(part="clock")):
        CORE.copy().import_state(packed(found, cells=CELLS))
    found["algorithmic"]["t"] = 3
    found["algorithmic"]["clock"]["block"] = 2**40
    with pytest.raises(SnapshotError, check=has(part="clock")):
        CORE.copy().import_state(packed(found, cells=CELLS))


def test_an_agent_that_was_asked_at_the_end_of_a_block_is_saved_so_that_it_can_be_looked_at():
    agent = el.Agent("service-station", seed=1)
    for _ in range(BLOCK):
        agent.observe("nothing", executed="slow")
    agent.act()
    assert agent.snapshot().algorithmic["clock"]["block"] == 0
    other = el.Agent("service-station")
    other.from_bytes(agent.to_bytes())
    assert other.now == agent.now
    assert other.upcoming == agent.upcoming


def test_a_header_that_claims_more_than_there_is_takes_no_memory():
    buffer = io.BytesIO()
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"
    header += b" " * (117 - len(header)) + b"\n"
    member = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(8)
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("agent_state.json.npy", member)
    with pytest.raises(SnapshotError, check=has(part="agent_state.json")):
        CORE.copy().import_state(buffer.getvalue())


def test_what_is_compressed_is_refused():
    buffer = io.BytesIO()
    np.savez_compressed(buffer, x=np.zeros(10**6))
    with pytest.raises(SnapshotError, check=has(part="x")):
        CORE.copy().import_state(buffer.getvalue())


def test_the_state_of_another_task_or_design_is_refused():
    for task, design, part in (("riverswim", "growing-horizon", "task"), ("service-station", "q-learning", "design")):
        with pytest.raises(SnapshotError, check=has(part=part)):
            CORE.copy().import_state(el.Agent(task, design).to_bytes())
