"""Tables as Parquet and CSV, which pandas, polars, DuckDB and R read with no help."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from everlearn.results.arm import Recorded

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = ("parquet", "csv")


def runs_table(recorded: Sequence[Recorded]) -> pa.Table:
    """Return every run at every recording time, a row each.

    Examples
    --------
    >>> runs, times = np.array([0]), np.array([1, 2])
    >>> one = Recorded("shop", "smooth", {"task.size": 3}, None, runs, times, np.array([[0.0, 1.0]]), 0.5)
    >>> runs_table([one]).to_pylist()[1]
    {'task': 'shop', 'agent': 'smooth', 'task.size': 3, 'member': None, 'run': 0, 't': 2, 'total_reward': 1.0,
     'average_reward': 0.5, 'regret': 0.0}

    """
    import pyarrow as pa

    names = list(dict.fromkeys(name for one in recorded for name in one.settings))
    columns: dict[str, Any] = {
        "task": _repeated(recorded, [one.task for one in recorded]),
        "agent": _repeated(recorded, [one.agent for one in recorded]),
        **{name: _repeated(recorded, _alike([one.settings.get(name) for one in recorded])) for name in names},
        "member": _repeated(recorded, pa.array([one.member for one in recorded], type=pa.int32())),
        "run": _joined([np.repeat(one.runs.astype(np.int32), one.times.size) for one in recorded]),
        "t": _joined([np.tile(one.times, one.runs.size) for one in recorded]),
        "total_reward": _joined([one.total_reward.ravel() for one in recorded]),
        "average_reward": _joined([(one.total_reward / one.times).ravel() for one in recorded]),
        "regret": pa.array(_joined([_regret(one) for one in recorded]), from_pandas=True),  # null where not known
    }
    return pa.table(columns)


def rows_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return rows as a table; what is under ``settings`` in a row has columns of its own.

    Examples
    --------
    >>> rows_table([{"task": "shop", "settings": {"task.size": 3}, "mean": 0.5}]).to_pylist()
    [{'task': 'shop', 'task.size': 3, 'mean': 0.5}]

    """
    import pyarrow as pa

    names = list(dict.fromkeys(name for row in rows for name in row.get("settings", {})))
    columns: dict[str, list[Any]] = {}
    for key in rows[0] if rows else ():
        if key == "settings":
            columns |= {name: _alike([row["settings"].get(name) for row in rows]) for name in names}
        else:
            columns[key] = [row[key] for row in rows]
    return pa.table(columns)


def encoded(table: pa.Table, form: str) -> bytes:
    """Return a table as the bytes of a file; the same table gives the same bytes."""
    import pyarrow.csv
    import pyarrow.parquet

    buffer = io.BytesIO()
    if form == "parquet":
        pyarrow.parquet.write_table(table, buffer, compression="zstd")
    else:
        pyarrow.csv.write_csv(table, buffer)
    return buffer.getvalue()


def _repeated(recorded: Sequence[Recorded], values: Any) -> Any:
    """Return a value for each as a column, as often as each has rows."""
    import pyarrow as pa

    places = np.repeat(np.arange(len(recorded)), [one.total_reward.size for one in recorded])
    return pa.array(values).take(pa.array(places))


def _alike(values: list[Any]) -> list[Any]:
    """Return values that a column can hold: numbers, truths or texts; others are written as JSON."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} and not any(isinstance(value, int) and abs(value) >= 1 << 63 for value in values):
        return [None if value is None else float(value) for value in values] if float in kinds else values
    if kinds <= {bool} or kinds <= {str}:
        return values
    return [None if value is None else value if isinstance(value, str) else json.dumps(value) for value in values]


def _joined(parts: list[Any]) -> Any:
    return np.concatenate(parts) if parts else np.zeros(0)


def _regret(one: Recorded) -> Any:
    if one.optimum is None:
        return np.full(one.total_reward.size, np.nan)
    return (one.optimum * one.times - one.total_reward).ravel()
