"""Agent states on disk: one npz file of arrays and a JSON text, with a schema version and no pickle.

Layout: an entry ``agent_state.json`` (as bytes) with ``schema``, ``identity``, ``aleatoric`` and ``algorithmic``, and
one entry ``epistemic/NAME`` for each array.  Floats in the JSON are written so that they read back to the last bit.
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from everlearn.errors import SnapshotError
from everlearn.files import UNREADABLE, replacing
from everlearn.labels import as_label
from everlearn.protocol import AgentState

SCHEMA = 1
_TEXT, _ARRAYS = "agent_state.json", "epistemic/"


def write(path: str | os.PathLike[str], state: AgentState, identity: dict[str, Any]) -> None:
    """Write an agent state, whole or not at all."""
    text = json.dumps(
        {
            "schema": SCHEMA,
            "identity": identity,
            "aleatoric": state.aleatoric,
            "algorithmic": state.algorithmic,
        }
    )
    arrays = {_ARRAYS + name: array for name, array in state.epistemic.items()}
    with replacing(path) as file:
        np.savez(file, allow_pickle=False, **{_TEXT: np.frombuffer(text.encode(), dtype=np.uint8)}, **arrays)


def read(path: str | os.PathLike[str]) -> tuple[AgentState, dict[str, Any]]:
    """Return the agent state in a file, and what it belongs to."""
    name = os.fspath(path)
    try:
        text, arrays = _read(path)
    except FileNotFoundError:
        raise SnapshotError(f"{name}: there is no such file") from None
    except UNREADABLE as error:
        raise SnapshotError(f"{name}: not a whole agent state ({error})") from None
    schema = text.get("schema") if isinstance(text, dict) else None
    if schema != SCHEMA:
        newer = isinstance(schema, int) and schema > SCHEMA
        remedy = "use a newer everlearn" if newer else "it was not saved by everlearn"
        raise SnapshotError(f"{name}: schema version {schema!r}, this everlearn reads {SCHEMA}; {remedy}")
    missing = [key for key in ("identity", "aleatoric", "algorithmic") if key not in text]
    missing += [key for key in _ALGORITHMIC if key not in text.get("algorithmic", {})]
    if missing:
        raise SnapshotError(f"{name}: not a whole agent state ({missing[0]!r} is missing)")
    return AgentState(as_label(text["aleatoric"]), arrays, text["algorithmic"]), text["identity"]


_ALGORITHMIC = ("t", "seed", "run", "pending", "stream", "clock")


def _read(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:  # noqa: PTH123 - closed on any error
        text = json.loads(bytes(archive[_TEXT]))
        return text, {key.removeprefix(_ARRAYS): archive[key] for key in archive.files if key != _TEXT}
