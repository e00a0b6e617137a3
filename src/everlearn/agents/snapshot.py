"""Agent states on disk: one npz file of arrays and a JSON text, with a schema version and no pickle.

Layout: an entry ``agent_state.json`` (as bytes) with ``schema``, ``identity``, ``aleatoric`` and ``algorithmic``, and
one entry ``epistemic/NAME`` for each array.  Floats in the JSON are written so that they read back to the last bit.
"""

from __future__ import annotations

import io
import json
import math
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everlearn.errors import SnapshotError
from everlearn.files import UNREADABLE, as_path, replacing
from everlearn.labels import as_label
from everlearn.protocol import AgentState

SCHEMA = 1
_TEXT, _ARRAYS = "agent_state.json", "epistemic/"


def write(path: str | os.PathLike[str], state: AgentState, identity: dict[str, Any]) -> None:
    """Write an agent state, whole or not at all."""
    with replacing(path) as file:
        file.write(dump(state, identity))


def dump(state: AgentState, identity: dict[str, Any]) -> bytes:
    """Return an agent state as it is written; the same gives the same bytes."""
    text = json.dumps(
        {
            "schema": SCHEMA,
            "identity": identity,
            "aleatoric": state.aleatoric,
            "algorithmic": state.algorithmic,
        }
    )
    arrays = {_ARRAYS + name: array for name, array in state.epistemic.items()}
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **{_TEXT: np.frombuffer(text.encode(), dtype=np.uint8)}, **arrays)
    return buffer.getvalue()


def read(path: str | os.PathLike[str]) -> tuple[AgentState, dict[str, Any]]:
    """Return the agent state in a file, and what it belongs to."""
    name = str(as_path(path))
    try:
        data = Path(name).read_bytes()
    except FileNotFoundError:
        raise SnapshotError(f"{name}: there is no such file") from None
    except OSError as error:
        raise SnapshotError(f"{name}: not a whole agent state ({error})") from None
    return parse(data, name)


def parse(data: bytes, name: str) -> tuple[AgentState, dict[str, Any]]:
    """Return the agent state that :func:`dump` wrote, and what it belongs to; ``name`` is for errors."""
    try:
        text, arrays = _read(data)
    except UNREADABLE as error:
        raise SnapshotError(f"{name}: not a whole agent state ({error})") from None
    schema = text.get("schema") if isinstance(text, dict) else None
    if schema != SCHEMA:
        newer = isinstance(schema, int) and schema > SCHEMA
        remedy = "use a newer everlearn" if newer else "it was not saved by everlearn"
        raise SnapshotError(f"{name}: schema version {schema!r}, this everlearn reads {SCHEMA}; {remedy}")
    missing = [key for key in ("identity", "aleatoric", "algorithmic") if key not in text]
    mappings = [text.get(key, {}) for key in ("identity", "algorithmic")]
    if not all(isinstance(mapping, dict) for mapping in mappings):
        raise SnapshotError(f"{name}: not a whole agent state (a part of it is no mapping)")
    missing += [key for key in _ALGORITHMIC if key not in mappings[1]]
    if missing:
        raise SnapshotError(f"{name}: not a whole agent state ({missing[0]!r} is missing)")
    try:
        aleatoric = as_label(text["aleatoric"])
    except RecursionError:
        raise SnapshotError(f"{name}: not a whole agent state (its aleatoric state is no label)") from None
    return AgentState(aleatoric, arrays, text["algorithmic"]), text["identity"]


_ALGORITHMIC = ("t", "seed", "run", "pending", "stream", "clock")
_CLOCK = {"block", "level", "level_error", "scale", "exponent"}

LATEST = 2**53
"""The latest t at which t + 1 is another number in double precision."""


def check_algorithmic(found: dict[str, Any]) -> None:
    """Refuse what no agent could have as its algorithmic state.

    Examples
    --------
    >>> import everlearn as el
    >>> check_algorithmic(el.Agent("service-station").take().algorithmic)

    """
    numbers = all(_is_whole(found[key]) for key in ("seed", "run")) and _is_whole(found["t"], LATEST)
    four = isinstance(found["stream"], list) and len(found["stream"]) == 4
    words = four and all(_is_whole(word, 2**64) for word in found["stream"])
    clock = found["clock"]
    whole_clock = isinstance(clock, dict) and set(clock) == _CLOCK and _is_whole(clock["block"], LATEST)
    carried = whole_clock and all(_is_finite(clock[key]) for key in _CLOCK - {"block"}) and clock["scale"] != 0
    for key, fine in (("t, seed or run", numbers), ("stream", words), ("clock", carried)):
        if not fine:
            raise SnapshotError(f"the agent state has a {key} that no agent has")


def check_arrays(found: dict[str, NDArray[Any]], wanted: dict[str, NDArray[Any]]) -> None:
    """Refuse arrays of other types than those of a design, and what is no number."""
    for name, array in wanted.items():
        given = found[name]
        if given.dtype != array.dtype:
            raise SnapshotError(f"the agent state has {given.dtype} in {name!r}, the design has {array.dtype}")
        if given.dtype.kind == "f" and np.isnan(given).any():
            raise SnapshotError(f"the agent state has what is no number in {name!r}")


def _is_whole(value: object, below: float = math.inf) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < below


def _is_finite(value: object) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and abs(value) < 2.0**1000  # type: ignore[arg-type]  # a number


def _read(data: bytes) -> tuple[Any, dict[str, Any]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        found = {entry.filename.removesuffix(".npy"): _array(archive, entry) for entry in archive.infolist()}
    text = json.loads(bytes(found.pop(_TEXT)))
    return text, {key.removeprefix(_ARRAYS): array for key, array in found.items()}


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> NDArray[Any]:
    """Read one array, never larger than what was given: nothing is compressed, and a header is not believed."""
    if entry.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"{entry.filename} is compressed")
    buffer = io.BytesIO(archive.read(entry))
    _, _, kind = header = _header(buffer)
    if kind.hasobject or math.prod(header[0]) * kind.itemsize != entry.file_size - buffer.tell():
        raise ValueError(f"{entry.filename} is not as large as its header says")
    buffer.seek(0)
    return np.asarray(np.lib.format.read_array(buffer, allow_pickle=False))


def _header(buffer: io.BytesIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(buffer)
    if version != (1, 0):
        raise ValueError(f"an array in version {version}")
    return np.lib.format.read_array_header_1_0(buffer)
