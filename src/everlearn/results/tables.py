"""Tables as Parquet and CSV, which pandas, polars, DuckDB and R can read."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from everlearn.results.arm import Arm

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = ("parquet", "csv")


def runs_table(recorded: Sequence[Arm]) -> pa.Table:
    """Return one row per run and recording time."""
    import pyarrow as pa

    places = np.repeat(np.arange(len(recorded)), [arm.total_reward.size for arm in recorded])

    def repeat(values: Any) -> Any:
        """Return a column with the value of an arm in each of its rows."""
        return pa.array(values).take(pa.array(places))

    def join(parts: Iterable[Any]) -> Any:
        return np.concatenate(list(parts)) if recorded else np.zeros(0)

    names = list(dict.fromkeys(name for arm in recorded for name in arm.settings))
    columns: dict[str, Any] = {
        "task": repeat([arm.task for arm in recorded]),
        "agent": repeat([arm.agent for arm in recorded]),
        **{name: repeat(_unify([arm.settings.get(name) for arm in recorded])) for name in names},
        "member": repeat(pa.array([arm.member for arm in recorded], type=pa.int32())),
        "run": join(np.repeat(arm.numbered.astype(np.int32), arm.times.size) for arm in recorded),
        "t": join(np.tile(arm.times, arm.units) for arm in recorded),
        "total_reward": join(arm.total_reward.ravel() for arm in recorded),
        "average_reward": join(arm.average_reward.ravel() for arm in recorded),
        "regret": pa.array(join(_regret(arm) for arm in recorded), from_pandas=True),  # null if not known
        "regret_upper": pa.array(join(_regret(arm, upper=True) for arm in recorded), from_pandas=True),
    }
    return pa.table(columns)


def _regret(arm: Arm, upper: bool = False) -> Any:
    """Return the regret of each row; with ``upper``, that against the upper bound of the optimum, if there is one."""
    counted = arm.against_upper if upper else arm
    known = None if counted is None else counted.regret
    return np.full(arm.total_reward.size, np.nan) if known is None else known.ravel()


def rows_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return rows as a table; each setting under ``settings`` becomes a column."""
    import pyarrow as pa

    names = list(dict.fromkeys(name for row in rows for name in row.get("settings", {})))
    columns: dict[str, Any] = {}
    for key in rows[0] if rows else ():
        if key == "settings":
            columns |= {name: _unify([row["settings"].get(name) for row in rows]) for name in names}
        else:
            values = [row[key] for row in rows]
            unknown = all(value is None for value in values)  # a column of nulls needs a type that readers know
            columns[key] = pa.nulls(len(values), pa.float64()) if unknown else values
    return pa.table(columns)


def encoded(table: pa.Table, form: str) -> bytes:
    """Return the bytes of a table as a file; the same table gives the same bytes."""
    import pyarrow.csv
    import pyarrow.parquet

    buffer = io.BytesIO()
    if form == "parquet":
        pyarrow.parquet.write_table(table, buffer, compression="zstd")
    else:
        pyarrow.csv.write_csv(table, buffer)
    return buffer.getvalue()


def _unify(values: list[Any]) -> list[Any]:
    """Return values of one type, as a column needs: numbers, booleans or texts; mixed values become JSON."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} and not any(isinstance(value, int) and abs(value) >= 1 << 63 for value in values):
        return [None if value is None else float(value) for value in values] if float in kinds else values
    if kinds <= {bool} or kinds <= {str}:
        return values
    return [None if value is None else value if isinstance(value, str) else json.dumps(value) for value in values]
