"""What a cluster moves and what it costs: bytes and seconds a leg, and how many cores one client can keep busy."""

from __future__ import annotations

import pickle
import shutil
import tempfile
import time
from pathlib import Path

from everlearn.cluster.legs import Order, walk
from everlearn.cluster.travel import packed_plan, packed_table, with_records_of, without_records
from everlearn.cluster.workforce import LEG, Cluster
from everlearn.engine.checkpoint import Checkpoint
from everlearn.experiments.cells import Tables, agent_identity, cells
from everlearn.experiments.directory import Directory
from everlearn.experiments.spec import read_spec
from everlearn.experiments.variants import variants
from everlearn.experiments.work import Job, commit_cells
from everlearn.results.provenance import arithmetic

LEGS = 40


def sizing() -> list[dict[str, str]]:
    """Send legs that do next to nothing to a cluster here, and weigh what travels, for blocks of several sizes."""
    cluster = Cluster("local:2")
    with cluster.opened():
        return [_sized(cluster, blocks) for blocks in (1, 2, 4, 8)]


def _sized(cluster: Cluster, blocks: int) -> dict[str, str]:
    spec = read_spec({"steps": 1e9, "runs": 25 * blocks, "task": "service-station", "agent": "growing-horizon"})
    chosen, tables = variants(spec), Tables(spec.max_pairs)
    job = Job(tuple(cells(chosen, tables)), "compiled")
    table = tables.of(job.plan.task)
    assert table is not None
    packed = packed_table(table, chosen[0])
    agent = agent_identity(job.plan.design, job.plan.design.build(table.indexed))
    order = Order(packed_plan(chosen[0], None), job.runs, agent, arithmetic(), 0.0)
    sent = cluster.client.submit(dict, packed, key=f"table-{blocks}")
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
        start = None if checkpoint is None else without_records(checkpoint)
        brought = cluster.client.submit(walk, order, table, start, pure=False).result()
        if leg == 0:  # compiles
            checkpoint = brought[0]
            continue
        travelling += time.perf_counter() - began - brought[1]
        out, back = len(pickle.dumps((order, start))), len(pickle.dumps(brought))
        began = time.perf_counter()
        checkpoint = with_records_of(brought[0], checkpoint)
        commit_cells(job, checkpoint, lambda cell, one, _: directory.cells.write(cell.name, one, {}), brought[1])
        committing += time.perf_counter() - began
    each = (travelling + committing) / LEGS
    return {
        "runs a job": str(25 * blocks),
        "table, once a worker": f"{table_bytes / 1e3:.0f} kB",
        "out a leg": f"{out / 1e3:.1f} kB",
        "back a leg": f"{back / 1e3:.1f} kB",
        "travelling a leg": f"{1e3 * travelling / LEGS:.1f} ms",
        "committing a leg": f"{1e3 * committing / LEGS:.1f} ms",
        f"of a leg of {LEG:g} s": f"{each / LEG:.2%}",
        "cores at that, half busy": f"{LEG / (2 * committing / LEGS):,.0f}",
    }
