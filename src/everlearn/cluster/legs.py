"""A leg: what a worker does at a time.  From a checkpoint it advances some runs for some seconds, and returns another.

It is a function of plain data, so that a leg that was lost with its worker can be done again anywhere, and a worker
keeps nothing that anybody would miss.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from everlearn.agents.guard import build_knowledge
from everlearn.cluster.travel import records_after, unpacked_plan, unpacked_table
from everlearn.engine.checkpoint import Checkpoint
from everlearn.engine.compiled import CompiledBatch
from everlearn.experiments.cells import agent_identity
from everlearn.modules import look_in
from everlearn.results.provenance import arithmetic
from everlearn.tables import FixedTable


@dataclass(frozen=True)
class Order:
    """What is asked of a worker."""

    plan: dict[str, Any]
    runs: tuple[int, ...]
    agent: str
    """The hash of the agent and its schedule, as the sender has them."""
    arithmetic: str
    seconds: float
    """For how long to work, about."""


@dataclass(frozen=True)
class Refusal:
    """A worker that would not give the same results, and why."""

    worker: str
    reason: str


def walk(order: Order, table: dict[str, Any], checkpoint: Checkpoint | None) -> tuple[Checkpoint, float] | Refusal:
    """Advance runs from a checkpoint for some seconds; return how far they have come, and the seconds it took."""
    began = time.perf_counter()
    if (here := arithmetic()) != order.arithmetic:
        return Refusal(_worker(), f"its arithmetic differs ({here}, where {order.arithmetic} is needed)")
    if (folder := order.plan["folder"]) is not None:
        look_in(folder)
    whole = _table(table["digest"], _Hidden(table))
    plan = unpacked_plan(order.plan, whole.task, len(order.runs))
    if agent_identity(plan.design, build_knowledge(plan.design, whole.indexed)) != order.agent:
        return Refusal(_worker(), f"its agent {plan.design.name!r} is another version")
    batch = CompiledBatch(plan, whole, order.runs, 1, checkpoint)
    with ThreadPoolExecutor(1) as pool:
        for _ in batch.advance(pool):
            if time.perf_counter() - began >= order.seconds:
                break
    reached = records_after(batch.checkpoint(), 0 if checkpoint is None else checkpoint.t)
    return reached, time.perf_counter() - began


class _Hidden:
    """Holds what a cache must not compare."""

    def __init__(self, value: dict[str, Any]) -> None:
        self.value = value

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Hidden)


@lru_cache(maxsize=16)
def _table(_digest: str, packed: _Hidden) -> FixedTable:
    return unpacked_table(packed.value)


def _worker() -> str:
    from distributed import get_worker

    try:
        return str(get_worker().address)
    except ValueError:
        return "here"
