"""What durability costs: the paper's experiment for about a minute, with and without snapshots, and on a cluster."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from everlearn.api import workforce
from everlearn.experiments import work
from everlearn.experiments.execute import execute
from everlearn.experiments.spec import read_spec
from everlearn.paper.experiments import experiments

STEPS = 15_000_000
RUNS = 200


class Measured(work.Pacer):
    """Adds up the seconds that commits take, of all jobs."""

    spent = 0.0
    commits = 0

    def committed(self, began: float) -> None:
        """Take in how long a commit took."""
        super().committed(began)
        Measured.spent += self.cost
        Measured.commits += 1


class Never(Measured):
    """Commits nothing before the end."""

    def due(self) -> bool:
        """Return that it is not time."""
        return False


def durability() -> list[dict[str, str]]:
    """Run the same experiment in three ways, and see that the tables are the same."""
    ways = (
        ("two threads, no snapshots", Never, None),
        ("two threads", Measured, None),
        ("local:2", Measured, "local:2"),
    )
    rows: list[dict[str, str]] = []
    tables, baseline = set(), 0.0
    for name, pacer, cluster in ways:
        seconds, committing, size, table = _measure(pacer, cluster)
        tables.add(table)
        baseline = seconds if name == "two threads" else baseline
        rows.append(
            {
                "how": name,
                "seconds, start to tables": f"{seconds:.1f}",
                "relative to two threads": f"{seconds / baseline:.2f}" if baseline else "",
                "committing": committing,
                "on disk": size,
            }
        )
    if len(tables) != 1:
        raise SystemExit("benchmarks: the tables differ")
    return rows


def _measure(pacer: type[Measured], cluster: str | None) -> tuple[float, str, str, bytes]:
    folder = Path(tempfile.mkdtemp(prefix="everlearn-bench-"))
    document: dict[str, Any] = experiments(STEPS, RUNS, full=False)["station"]
    document["agent"] = document["agent"][:3]
    work.Pacer, kept = pacer, work.Pacer  # type: ignore[misc]
    Measured.spent, Measured.commits = 0.0, 0
    try:
        began = time.perf_counter()
        execute(read_spec(document), folder, workforce=workforce(None if cluster else 2, cluster))
        seconds = time.perf_counter() - began
        committing = f"{Measured.spent / seconds:.2%} in {Measured.commits}" if cluster is None else "by the client"
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        return seconds, committing, f"{size / 1e6:.1f} MB", (folder / "runs.parquet").read_bytes()
    finally:
        work.Pacer = kept  # type: ignore[misc]
        shutil.rmtree(folder)
