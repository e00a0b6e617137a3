"""What a cluster moves and what it costs: bytes and seconds per leg, and how many cores one client can keep busy."""

from __future__ import annotations

import pickle
import shutil
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from everlearn.cluster.legs import Order, join_curves, make_order, pack_table, run_leg, without_curves
from everlearn.cluster.workforce import LEG, Cluster
from everlearn.engine.checkpoint import Checkpoint
from everlearn.experiments.cells import Tables, make_cells
from everlearn.experiments.directory import Directory
from everlearn.experiments.spec import read_spec
from everlearn.experiments.variants import make_variants
from everlearn.experiments.work import Job

LEGS = 40


def sizing() -> list[dict[str, str]]:
    """Send legs that do next to nothing to a cluster here, and weigh what travels, for blocks of several sizes."""
    cluster = Cluster("local:2")
    with cluster.open():
        return [_sized(cluster, blocks) for blocks in (1, 2, 4, 8)]


def _sized(cluster: Cluster, blocks: int) -> dict[str, str]:
    spec = read_spec({"steps": 1e9, "runs": 25 * blocks, "task": "service-station", "agent": "growing-horizon"})
    chosen, tables = make_variants(spec), Tables(spec.max_pairs)
    job = Job(tuple(make_cells(chosen, tables)), "compiled")
    table = tables.of(job.plan.task)
    assert table is not None
    packed = pack_table(table, chosen[0])
    order = make_order(chosen[0], job.runs, table.indexed, None)
    sent = cluster.client.submit(replace, packed, key=f"table-{blocks}")
    folder = Path(tempfile.mkdtemp(prefix="everlearn-bench-"))
    try:
        return _walked(cluster, job, order, sent, len(pickle.dumps(packed)), Directory(folder), blocks)
    finally:
        shutil.rmtree(folder)


def _walked(
    cluster: Cluster, job: Job, order: Order, table: object, table_bytes: int, directory: Directory, blocks: int
) -> dict[str, str]:
    checkpoint: Checkpoint | None = None
    out = back = 0
    travelling = committing = 0.0
    for leg in range(LEGS + 1):
        began = time.perf_counter()
        start = None if checkpoint is None else without_curves(checkpoint)
        brought = cluster.client.submit(run_leg, order, table, start, pure=False).result()
        if leg == 0:  # compiles
            checkpoint = brought[0]
            continue
        travelling += time.perf_counter() - began - brought[1]
        out, back = len(pickle.dumps((order, start))), len(pickle.dumps(brought))
        began = time.perf_counter()
        checkpoint = join_curves(checkpoint, brought[0])
        job.commit(checkpoint, lambda cell, one, _: directory.cells.write(cell.name, one, {}), brought[1])
        committing += time.perf_counter() - began
    each = (travelling + committing) / LEGS
    return {
        "runs a job": str(25 * blocks),
        "table, once per worker": f"{table_bytes / 1e3:.0f} kB",
        "sent, per leg": f"{out / 1e3:.1f} kB",
        "returned, per leg": f"{back / 1e3:.1f} kB",
        "transfer, per leg": f"{1e3 * travelling / LEGS:.1f} ms",
        "commit, per leg": f"{1e3 * committing / LEGS:.1f} ms",
        f"share of a leg of {LEG:g} s": f"{each / LEG:.2%}",
        "cores at that, half busy": f"{LEG / (2 * committing / LEGS):,.0f}",
    }
