"""Agent states on disk: one npz file of arrays and a JSON text, with a schema version and no pickle.

The entry ``agent_state.json`` (as bytes) has ``schema``, ``identity``, ``aleatoric`` and ``algorithmic``; one entry
``epistemic/NAME`` has each array.  Floats in the JSON are written so that they read back to the last bit.
"""

from __future__ import annotations

import io
import json
import math
import os
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everlearn.errors import SnapshotError
from everlearn.files import UNREADABLE, as_path, expanded
from everlearn.labels import as_label
from everlearn.protocol import AgentState
from everlearn.registry import MOST_STEPS

SCHEMA = 1
_TEXT, _ARRAYS = "agent_state.json", "epistemic/"
_ALGORITHMIC = ("t", "seed", "run", "pending", "stream", "clock")
_CLOCK = {"block", "level", "level_error", "scale", "exponent"}


def pack(state: AgentState, identity: dict[str, Any]) -> bytes:
    """Return an agent state and its identity as bytes; equal states give equal bytes."""
    text = json.dumps(
        {"schema": SCHEMA, "identity": identity, "aleatoric": state.aleatoric, "algorithmic": state.algorithmic}
    )
    arrays = {_ARRAYS + name: array for name, array in state.epistemic.items()}
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **{_TEXT: np.frombuffer(text.encode(), dtype=np.uint8)}, **arrays)
    return buffer.getvalue()


def unpack(data: bytes, name: str) -> tuple[AgentState, dict[str, Any]]:
    """Return the agent state and the identity that :func:`pack` wrote; errors call the data ``name``."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = {
                entry.filename.removesuffix(".npy"): _array(archive, entry, name) for entry in archive.infolist()
            }
        text = json.loads(bytes(entries.pop(_TEXT)))
    except UNREADABLE as error:
        raise SnapshotError(f"not a complete agent state ({error})", name) from None
    schema = text.get("schema") if isinstance(text, dict) else None
    if schema != SCHEMA:
        newer = isinstance(schema, int) and schema > SCHEMA
        remedy = "use a newer everlearn" if newer else "it was not saved by everlearn"
        raise SnapshotError(f"schema version {schema!r}, this everlearn reads {SCHEMA}; {remedy}", name, part="schema")
    if not all(isinstance(text.get(key, {}), dict) for key in ("identity", "algorithmic")):
        raise SnapshotError("not a complete agent state (a part of it is no mapping)", name)
    missing = [key for key in ("identity", "aleatoric", "algorithmic") if key not in text]
    missing += [key for key in _ALGORITHMIC if key not in text.get("algorithmic", {})]
    if missing:
        raise SnapshotError(f"not a complete agent state ({missing[0]!r} is missing)", name, part=missing[0])
    try:
        aleatoric = as_label(text["aleatoric"])
    except RecursionError:
        raise SnapshotError(
            "not a complete agent state (its aleatoric state is no label)", name, part="aleatoric"
        ) from None
    arrays = {key.removeprefix(_ARRAYS): array for key, array in entries.items()}
    return AgentState(aleatoric, arrays, text["algorithmic"]), text["identity"]


def read_file(path: str | os.PathLike[str]) -> bytes:
    """Return the contents of a saved agent."""
    name = str(as_path(path))
    try:
        return expanded(name).read_bytes()
    except FileNotFoundError:
        raise SnapshotError("there is no such file", name) from None
    except OSError as error:
        raise SnapshotError(f"not a complete agent state ({error})", name) from None


def check_parts(state: AgentState) -> None:
    """Raise unless an agent state has arrays by name, and every part of an algorithmic state."""
    epistemic: object = state.epistemic
    if not (isinstance(epistemic, Mapping) and all(isinstance(array, np.ndarray) for array in epistemic.values())):
        raise SnapshotError("not a complete agent state (its epistemic state is not arrays by name)", part="epistemic")
    algorithmic: object = state.algorithmic
    if not isinstance(algorithmic, Mapping):
        raise SnapshotError("not a complete agent state (its algorithmic state is no mapping)", part="algorithmic")
    for key in _ALGORITHMIC:
        if key not in algorithmic:
            raise SnapshotError(f"not a complete agent state ({key!r} is missing)", part=key)


def check_algorithmic(state: dict[str, Any]) -> None:
    """Raise if no agent could have this algorithmic state."""
    numbers = all(_is_whole(state[key]) for key in ("seed", "run")) and _is_whole(state["t"], MOST_STEPS)
    four = isinstance(state["stream"], list) and len(state["stream"]) == 4
    words = four and all(_is_whole(word, 2**64) for word in state["stream"])
    clock = state["clock"]
    whole_clock = isinstance(clock, dict) and set(clock) == _CLOCK and _is_whole(clock["block"], MOST_STEPS)
    carried = whole_clock and all(_is_finite(clock[key]) for key in _CLOCK - {"block"}) and clock["scale"] != 0
    for key, valid in (("t, seed or run", numbers), ("stream", words), ("clock", carried)):
        if not valid:
            raise SnapshotError(f"the agent state has a {key} that no agent has", part=key)


def check_arrays(given: dict[str, NDArray[Any]], wanted: dict[str, NDArray[Any]]) -> None:
    """Raise if arrays have other types than those of a design, or contain NaN."""
    for name, array in wanted.items():
        if given[name].dtype != array.dtype:
            problem = f"the agent state has {given[name].dtype} in {name!r}, the design has {array.dtype}"
            raise SnapshotError(problem, part=name)
        if array.dtype.kind == "f" and np.isnan(given[name]).any():
            raise SnapshotError(f"the agent state contains NaN in {name!r}", part=name)


def _is_whole(value: object, below: float = math.inf) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < below


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2.0**1000


def _part(entry: zipfile.ZipInfo) -> str:
    return entry.filename.removesuffix(".npy")


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str) -> NDArray[Any]:
    """Read one array, never larger than the data: nothing is compressed, and the header is checked first."""
    part = _part(entry)
    if entry.compress_type != zipfile.ZIP_STORED:
        raise SnapshotError(f"not a complete agent state ({entry.filename} is compressed)", name, part=part)
    buffer = io.BytesIO(archive.read(entry))
    version = np.lib.format.read_magic(buffer)
    if version != (1, 0):
        raise ValueError(f"an array in version {version}")
    shape, _, kind = np.lib.format.read_array_header_1_0(buffer)
    if kind.hasobject or math.prod(shape) * kind.itemsize != entry.file_size - buffer.tell():
        problem = f"not a complete agent state ({entry.filename} is not as large as its header says)"
        raise SnapshotError(problem, name, part=part)
    buffer.seek(0)
    return np.asarray(np.lib.format.read_array(buffer, allow_pickle=False))
