"""Legs: a worker advances some runs from a checkpoint for some seconds, and returns the next checkpoint.

A leg is a function of plain data, so that a leg that is lost with its worker can be repeated on another one.  Tables,
names and numbers are sent, never functions.  The worker makes the agent from its name, and compares it with the
sender's by its hash.  Of the task it only has the table and the labels.
"""

from __future__ import annotations

import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np

from everlearn.agents.guard import build_knowledge
from everlearn.agents.spec import AgentSpec
from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.state import AleatoricState
from everlearn.engine.checkpoint import Checkpoint
from everlearn.engine.compiled import CompiledBatch
from everlearn.engine.curves import concatenate
from everlearn.engine.plan import Plan
from everlearn.errors import EverlearnError, InputError
from everlearn.experiments.cells import hash_agent
from everlearn.experiments.variants import Variant
from everlearn.modules import look_in
from everlearn.results.provenance import arithmetic
from everlearn.tables import OUTCOME, AnyTable, FixedTable
from everlearn.tasks.indexed import IndexedTask
from everlearn.tasks.task import Task


class ClusterError(EverlearnError):
    """The workers of a cluster cannot do what was asked; ``worker`` is the address of one, if one is to blame."""

    def __init__(self, message: str, worker: str | None = None) -> None:
        super().__init__(message)
        self.worker = worker


@dataclass(frozen=True, eq=False)
class PackedTable:
    """A complete table as numbers and labels; tables with the same digest are equal."""

    digest: str
    rows: bytes
    width: int
    start: int
    name: str
    actions: tuple[Any, ...]
    observations: tuple[Any, ...]
    states: Any
    first_state: Any
    reward_range: tuple[float, float, bool]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PackedTable) and other.digest == self.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + len(self.rows)  # Dask schedules by size


@dataclass(frozen=True)
class Order:
    """What a worker needs besides the table and the checkpoint."""

    agent: AgentSpec
    agent_hash: str
    """The hash of the agent and its schedule on the sender's side."""
    steps: int
    seed: int
    per_decade: int
    runs: tuple[int, ...]
    folder: str | None
    """The folder of the user's own modules."""
    arithmetic: str
    seconds: float = 0.0
    """The approximate duration of the leg."""


@dataclass(frozen=True)
class Refusal:
    """A worker that would not give the same results, and the reason."""

    worker: str
    reason: str


def pack_table(table: AnyTable | None, variant: Variant) -> PackedTable:
    """Return a table as it is sent; raise if the task has no complete table."""
    if not isinstance(table, FixedTable):
        why = "has no model" if table is None else "is too large to be sent whole"
        raise InputError("--cluster", variant.task.label, f"the task {why}; run it on one machine")
    task = variant.plan.task
    return PackedTable(
        digest=table.digest(),
        rows=zlib.compress(table.rows.tobytes(), 1),
        width=table.width,
        start=table.start,
        name=task.name,
        actions=task.actions,
        observations=task.observations,
        states=task.states,
        first_state=task.aleatoric.start,
        reward_range=(task.reward.low, task.reward.high, task.reward.raw),
    )


def unpack_table(packed: PackedTable) -> FixedTable:
    """Return the table on the worker's side; its task has labels, but no functions."""
    state = AleatoricState(packed.first_state, _raise_missing, packed.states)
    reward = Reward(_raise_missing, *packed.reward_range)
    task = Task(packed.actions, packed.observations, state, reward, name=packed.name)
    # A bytearray, since agents would be compiled once more for rows that cannot be written.
    rows = np.frombuffer(bytearray(zlib.decompress(packed.rows)), dtype=OUTCOME)
    table = FixedTable(IndexedTask(task), rows, None, packed.width, packed.start)
    if table.digest() != packed.digest:
        raise ClusterError(f"the table of {packed.name!r} was altered on the way")
    return table


_unpack_once = lru_cache(maxsize=16)(unpack_table)


def _raise_missing(*_arguments: Any) -> NoReturn:
    raise ClusterError("a worker has the table of a task, but not its functions; use the table")


def make_order(variant: Variant, runs: tuple[int, ...], indexed: IndexedTask, folder: str | None) -> Order:
    """Return the order for some runs; raise if the agent cannot be sent by name."""
    spec, plan = variant.agent.spec, variant.plan
    if not spec.is_named:
        what = "schedule" if isinstance(spec.given, str) else "agent"
        raise InputError(what, variant.agent.label, "functions cannot be sent to workers; name it as module:attribute")
    agent_hash = hash_agent(plan.design, build_knowledge(plan.design, indexed))
    return Order(spec, agent_hash, plan.steps, plan.seed, plan.per_decade, runs, folder, arithmetic())


def run_leg(order: Order, packed: PackedTable, checkpoint: Checkpoint | None) -> tuple[Checkpoint, float] | Refusal:
    """Advance runs from a checkpoint for some seconds; return the next checkpoint, and the seconds it took."""
    began = time.perf_counter()
    if (own_arithmetic := arithmetic()) != order.arithmetic:
        return Refusal(_address(), f"its arithmetic differs ({own_arithmetic}, where {order.arithmetic} is needed)")
    if order.folder is not None:
        look_in(order.folder)
    table = _unpack_once(packed)
    design = order.agent.make(order.steps)
    if hash_agent(design, build_knowledge(design, table.indexed)) != order.agent_hash:
        return Refusal(_address(), f"its agent {design.name!r} is another version")
    plan = Plan(table.task, design, order.steps, len(order.runs), order.seed, order.per_decade)
    batch = CompiledBatch(plan, table, order.runs, 1, checkpoint)
    with ThreadPoolExecutor(1) as pool:
        for _ in batch.advance(pool):
            if time.perf_counter() - began >= order.seconds:
                break
    after = 0 if checkpoint is None else checkpoint.t
    reached = batch.checkpoint()
    reached = replace(reached, curves=reached.curves.columns(reached.curves.times > after))
    return reached, time.perf_counter() - began


def _address() -> str:
    from distributed import get_worker

    try:
        return str(get_worker().address)
    except ValueError:
        return "this process"


def without_curves(checkpoint: Checkpoint) -> Checkpoint:
    """Return a checkpoint without its curves, which a worker does not need."""
    return replace(checkpoint, curves=checkpoint.curves.columns(slice(0, 0)))


def join_curves(earlier: Checkpoint | None, later: Checkpoint) -> Checkpoint:
    """Return the later checkpoint, with the curves of the earlier one before its own."""
    if earlier is None:
        return later
    columns = np.isin(earlier.curves.times, later.curves.times, invert=True)
    return replace(later, curves=concatenate([earlier.curves.columns(columns), later.curves], axis=1))
