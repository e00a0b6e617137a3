"""Tables are read by pandas, polars and DuckDB, and all see the same."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import pyarrow.parquet
import pytest

from everlearn.results.arm import Arm
from everlearn.results.tables import encoded, rows_table, runs_table

TIMES = np.array([1, 10])


def recorded(settings: dict[str, Any] | None = None, optimum: float | None = 0.5, **changes) -> Arm:
    fields = {"task": "shop", "agent": "smooth", "member": None, "numbers": np.array([0, 3]), "times": TIMES}
    rewards = np.array([[0.1, 2.0], [1.0, 1 / 3]])
    optima = None if optimum is None else np.full(2, optimum)
    return Arm(**{**fields, "settings": settings or {}, "total_reward": rewards, "optimum": optima, **changes})


def by_pandas(path: Path) -> list[dict[str, Any]]:
    frame = pandas.read_parquet(path).astype(object)
    return frame.where(frame.notna(), None).to_dict("records")


def by_polars(path: Path) -> list[dict[str, Any]]:
    import polars  # it starts threads, and the tests are forked after they were collected

    return polars.read_parquet(path).to_dicts()


def by_duckdb(path: Path) -> list[dict[str, Any]]:
    with duckdb.connect() as connection:
        found = connection.execute("select * from read_parquet(?)", [str(path)])
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


READERS = {"pandas": by_pandas, "polars": by_polars, "DuckDB": by_duckdb}
readers = pytest.mark.parametrize("read", READERS.values(), ids=READERS)
MIXED = [
    recorded({"task.size": 3, "agent.policy": "fast", "schedule": "smooth", "task.raw": True}),
    recorded({"task.size": 2.5, "agent.policy": [0, 1], "task.raw": False}, optimum=None, agent="fast", member=None),
    recorded({"task.size": 1, "agent.policy": 7}, task="maze", member=4),
]
ROWS = [
    {"task": "shop", "settings": {"task.size": 3}, "measure": "final", "mean": 0.1, "low": None, "units": 2},
    {"task": "shop", "settings": {"task.size": "all"}, "measure": "late", "mean": 1 / 3, "low": 0.2, "units": 2},
    {"task": "maze", "settings": {"agent.phase": 5}, "measure": "late", "mean": -1.0, "low": None, "units": 30},
]


@pytest.fixture
def saved(tmp_path) -> Callable[..., Path]:
    def save(table) -> Path:
        path = tmp_path / "table.parquet"
        path.write_bytes(encoded(table, "parquet"))
        return path

    return save


@readers
def test_runs_are_read_as_they_were_written(saved, read):
    table = runs_table(MIXED)
    assert read(saved(table)) == table.to_pylist()


@readers
def test_rows_are_read_as_they_were_written(saved, read):
    table = rows_table(ROWS)
    assert read(saved(table)) == table.to_pylist()


def test_a_row_for_every_run_and_time():
    rows = runs_table([recorded()]).to_pylist()
    assert [(row["run"], row["t"]) for row in rows] == [(0, 1), (0, 10), (3, 1), (3, 10)]
    assert [row["total_reward"] for row in rows] == [0.1, 2.0, 1.0, 1 / 3]
    assert [row["average_reward"] for row in rows] == [0.1, 0.2, 1.0, 1 / 30]
    assert [row["regret"] for row in rows] == [0.5 - 0.1, 5 - 2.0, 0.5 - 1.0, 5 - 1 / 3]
    assert {row["member"] for row in rows} == {None}


def test_types_of_columns():
    schema = runs_table(MIXED).schema
    found = {name: str(schema.field(name).type) for name in schema.names}
    assert found == {
        "task": "string",
        "agent": "string",
        "task.size": "double",
        "agent.policy": "string",
        "schedule": "string",
        "task.raw": "bool",
        "member": "int32",
        "run": "int32",
        "t": "int64",
        "total_reward": "double",
        "average_reward": "double",
        "regret": "double",
        "regret_upper": "double",
    }


def test_regret_that_is_not_known_is_null():
    rows = runs_table([recorded(optimum=None)]).to_pylist()
    assert {row["regret"] for row in rows} == {None}


@pytest.mark.parametrize(
    ("values", "column"),
    [
        ([1, 2], [1, 2]),
        ([1, 2.5], [1.0, 2.5]),
        ([True, False], [True, False]),
        ([True, 2], ["true", "2"]),
        (["a", 1, None], ["a", "1", None]),
        ([[0, 1], "a"], ["[0, 1]", "a"]),
        ([None, None], [None, None]),
    ],
    ids=str,
)
def test_settings_of_several_kinds_share_a_column(values, column):
    rows = [{"settings": {"x": value}, "mean": 0.0} for value in values]
    assert rows_table(rows)["x"].to_pylist() == column


@pytest.mark.parametrize("value", [2**63, 2**64, -(2**70)], ids=str)
def test_a_setting_may_be_as_large_as_it_likes(value):
    rows = [{"settings": {"task.instance": each}} for each in (value, 3)]
    assert len(rows_table(rows)["task.instance"]) == 2


def test_nothing_makes_an_empty_table():
    assert rows_table([]).num_rows == 0


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_the_same_table_gives_the_same_bytes(form):
    assert encoded(runs_table(MIXED), form) == encoded(runs_table(MIXED), form)


def test_parquet_tells_nothing_of_when_it_was_written():
    metadata = pyarrow.parquet.read_metadata(io.BytesIO(encoded(runs_table(MIXED), "parquet")))
    assert set(metadata.metadata or {}) <= {b"ARROW:schema"}


def test_csv_has_every_digit():
    table = runs_table(MIXED)
    rows = list(csv.DictReader(io.StringIO(encoded(table, "csv").decode())))
    assert list(rows[0]) == table.column_names
    for name in ("total_reward", "average_reward"):
        assert [float(row[name]) for row in rows] == table[name].to_pylist()
    assert [row["regret"] or None for row in rows][4:8] == [None] * 4
    assert math.isclose(float(rows[0]["regret"]), 0.4)
