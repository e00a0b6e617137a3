"""Save and load results: one npz file of arrays and a JSON text, with a schema version and no pickle.

The entry ``result.json`` (as bytes) holds ``schema`` and every field that is not an array; each array has an entry.
Floats in the JSON are restored exactly.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from everlearn.errors import InputError, StoreError
from everlearn.files import UNREADABLE, expanded, replacing
from everlearn.results.platform import Platform
from everlearn.results.result import ARRAYS, Result

SCHEMA = 1
NAME = "result.npz"
"""The name of a result's file in a folder."""

_TEXT = "result.json"
_KINDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("task", "agent", "engine", "scaling", "version", "label"), (str,)),
    **dict.fromkeys(("parameters", "references", "platform"), (dict,)),
    **dict.fromkeys(("steps", "runs", "seed"), (int,)),
    "schedule": (str, type(None)),
    "pairs": (int, type(None)),
    "seconds": (float, int),
}
"""The type of every field that is not an array."""


def save(result: Result, path: str | os.PathLike[str]) -> Path:
    """Write a result atomically and return its path; its references are computed and saved with it."""
    target = _as_path(path)
    if not target.parent.is_dir():
        raise InputError("path", str(path), f"there is no folder {str(target.parent)!r}; make it first")
    described = {name: getattr(result, name) for name, kinds in _KINDS.items() if kinds != (dict,)}
    mappings = {"parameters": dict(result.parameters), "references": dict(result.references)}
    mappings["platform"] = asdict(result.platform)
    text = json.dumps({"schema": SCHEMA, **described, **mappings}, default=repr).encode()
    arrays = {name: getattr(result, name) for name in ARRAYS if getattr(result, name) is not None}
    try:
        with replacing(target) as file:
            np.savez(file, allow_pickle=False, **{_TEXT: np.frombuffer(text, dtype=np.uint8)}, **arrays)
    except OSError as error:
        raise StoreError(f"{error.strerror or error}", target) from None
    return target


def make_folder_for(out: str, argument: str) -> Path:
    """Return a folder for results, made if it does not exist; raise if it belongs to an experiment."""
    folder = expanded(out)
    if not out:
        raise InputError(argument, out, "give a folder")
    if folder.exists() and not folder.is_dir():
        raise InputError(argument, out, "is a file; give a folder")
    if (folder / "manifest.json").exists():
        raise InputError(argument, out, "is the folder of an experiment; give another")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(argument, out, f"the folder cannot be made ({error.strerror})") from None
    return folder


def keep(result: Result, folder: Path) -> list[Path]:
    """Write a result to a folder: a file for :func:`everlearn.load`, all runs as Parquet, and a summary as JSON."""
    from everlearn.results.tables import encoded

    texts = {
        "runs.parquet": encoded(result.to_arrow(), "parquet"),
        "result.json": json.dumps(result.to_dict(), indent=1, allow_nan=False, default=str).encode(),
    }
    for name, data in texts.items():
        with replacing(folder / name) as file:
            file.write(data)
    return [save(result, folder / NAME), *(folder / name for name in texts)]


def load(path: str | os.PathLike[str]) -> Result:
    """Return the result that :meth:`everlearn.Result.save` or ``everlearn run --out`` wrote.

    Parameters
    ----------
    path:
        a file, or the folder that ``everlearn run --out`` made

    Examples
    --------
    >>> import tempfile
    >>> import everlearn as el
    >>> result = el.run("riverswim", steps=1000, runs=2, seed=1)
    >>> saved = result.save(f"{tempfile.mkdtemp()}/riverswim.npz")
    >>> load(saved) == result
    True

    """
    target = _as_path(path)
    if target.is_dir():
        if not (target / NAME).is_file():
            raise StoreError(f"is a folder without {NAME}; open an experiment with everlearn.Experiment(path)", target)
        target /= NAME
    try:
        with target.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            entries = {name: archive[name] for name in archive.files}
        text = json.loads(entries.pop(_TEXT).tobytes()) if _TEXT in entries else {}
    except FileNotFoundError:
        raise StoreError("there is no such file", target) from None
    except UNREADABLE as error:
        why = "" if "pickle" in str(error) else f" ({error})"  # NumPy's advice would be bad advice
        remedy = "give what Result.save or everlearn run --out wrote"
        raise StoreError(f"not a complete result{why}; {remedy}", target) from None
    return _read(target, text, entries)


def _as_path(path: object) -> Path:
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise InputError("path", path, "give the name of a file")
    return expanded(os.fsdecode(path))


def _read(target: Path, text: Any, entries: dict[str, Any]) -> Result:
    schema = text.get("schema") if isinstance(text, dict) else None
    if not isinstance(schema, int) or isinstance(schema, bool):
        kind = "is the state of an agent; give it to agent.load" if "agent_state.json" in entries else "is no result"
        raise StoreError(f"{kind}; a result is written by Result.save", target)
    if schema > SCHEMA:
        raise StoreError(f"schema version {schema}, this everlearn reads {SCHEMA}; use a newer everlearn", target)
    wrong = [name for name, kinds in _KINDS.items() if not isinstance(text.get(name, ...), kinds)]
    arrays = {name: entries.get(name) for name in ARRAYS}
    if wrong or not _fit(arrays, text):
        what = repr(wrong[0] if wrong else "an array")
        raise StoreError(f"not a complete result ({what} is missing or damaged)", target)
    values: dict[str, Any] = {**{name: text[name] for name in _KINDS}, **arrays}
    return Result(**{**values, "platform": Platform.read(text["platform"])})


def _fit(arrays: dict[str, Any], text: dict[str, Any]) -> bool:
    """Return whether the arrays are there and have the sizes that the text says."""
    times, total, policies = (arrays[name] for name in ARRAYS)
    if times is None or total is None or times.ndim != 1 or times.dtype != np.int64 or not times.size:
        return False
    whole = total.shape == (text["runs"], times.size) and total.dtype == np.float64 and times[-1] == text["steps"]
    return bool(whole and (policies is None or policies.shape[:2] == total.shape))
