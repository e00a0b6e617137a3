"""The C program of optimistic.c: compiled here, run on the tables of everlearn."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np

from everlearn.randomness import AGENT, ENVIRONMENT, stream, words
from everlearn.tables import ArrayTable, PairTable

SOURCE = Path(__file__).with_name("optimistic.c")
BUILD = Path("build/benchmarks")
FLAGS = ["-O3", "-march=native", "-fno-math-errno", "-ffp-contract=off", "-shared", "-fPIC"]
ROW = np.dtype([("bound", "f8", 2), ("reward", "f8", 3), ("next", "u4", 3), ("state", "u4", 3)])


class CProgram:
    """Runs the paper's agent with the smooth schedule on a table with two actions and at most three outcomes a row."""

    def __init__(self, table: PairTable | ArrayTable) -> None:
        table.complete()
        outcomes = table.rows.reshape(-1, table.width)[: 2 * table.expanded]
        wide = np.minimum(np.arange(3), table.width - 1)
        self.rows = np.zeros(len(outcomes), dtype=ROW)
        self.rows["bound"] = np.where(np.arange(2) < table.width, outcomes["bound"][:, wide[:2]], np.inf)
        for name, column in (("reward", "learned"), ("next", "next"), ("state", "state")):
            self.rows[name] = outcomes[column][:, wide]
        self.table = table
        self.library = ctypes.CDLL(str(build()))

    def seconds(self, steps: int, runs: int, seed: int) -> tuple[float, np.ndarray]:
        """Run, and return how long it took and the sum of rewards of each run."""
        return self.seconds_of(steps, range(runs), seed)

    def seconds_of(self, steps: int, runs: range, seed: int) -> tuple[float, np.ndarray]:
        """Do some of the runs."""
        return self._call(self.library.run, [ctypes.c_int64(len(runs)), ctypes.c_int64(steps)], runs, seed)

    def literal_seconds(self, steps: int, seed: int) -> float:
        """Run the algorithm line by line, once, and return how long it took."""
        return self._call(self.library.literal, [ctypes.c_int64(steps)], range(1), seed)[0]

    def _call(self, function: Any, lengths: list[Any], runs: range, seed: int) -> tuple[float, np.ndarray]:
        streams = [np.array([words(stream(seed, run, whose)) for run in runs]) for whose in (ENVIRONMENT, AGENT)]
        total = np.zeros(len(runs))
        start = [ctypes.c_uint32(place) for place in (self.table.start, self.table.indexed.start)]
        numbers = [ctypes.c_int64(self.table.indexed.states), *start, *lengths]
        pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (self.rows, *streams, total)]
        began = time.perf_counter()
        failed = function(pointers[0], *numbers, *pointers[1:])
        took = time.perf_counter() - began
        if failed:
            raise MemoryError("the C program found no memory")
        return took, total


def build() -> Path:
    """Compile the program, and return the library."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise SystemExit("the benchmark needs a C compiler, gcc or cc")
    BUILD.mkdir(parents=True, exist_ok=True)
    library = BUILD / "optimistic.so"
    subprocess.run([compiler, *FLAGS, "-o", str(library), str(SOURCE), "-lm"], check=True)
    return library.resolve()
