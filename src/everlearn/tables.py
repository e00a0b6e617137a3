"""Tables: the reachable pairs of a memory and an aleatoric state of a task, in arrays that compiled code can read.

A row belongs to a pair and an action.  It lists the outcomes with the running sums of their probabilities, so that one
uniform number selects an outcome.  A pair is expanded when a run first visits it: compiled code stops at a pair that is
not expanded, Python expands it, and the compiled code resumes.  So a task may have any number of memories.
"""

from __future__ import annotations

import hashlib
import os
import threading
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from everlearn.environments.model import Outcome, cumulative
from everlearn.errors import InputError, LabelError, TableFull
from everlearn.labels import as_label
from everlearn.machine import available, shown
from everlearn.protocol import Label, Table
from everlearn.tasks.indexed import IndexedTask
from everlearn.tasks.task import Task

OUTCOME = np.dtype(
    [
        ("bound", "f8"),  # the running sum of probabilities; infinite for the last outcome
        ("reward", "f8"),  # in the task's own units
        ("learned", "f8"),  # as the learner sees it
        ("next", "u4"),  # the pair that follows
        ("state", "u4"),  # its aleatoric state
        ("observation", "u4"),
        ("padding", "u4"),
    ],
    align=True,
)

OUTCOME_BYTES = OUTCOME.itemsize + 8
"""The bytes of an outcome in a table, with its probability."""

UNSEEN = np.uint32(0xFFFFFFFF)
"""The value of ``next`` in a row that is not expanded."""

MOST_PAIRS = 1_000_000
"""The largest number of pairs that are expanded by default."""

EAGER = 1 << 14
"""The number of pairs that are expanded beforehand, which completes the tables of small tasks."""

SETTLED = 1 << 17
"""The largest number of pairs of a table that is completed to be identified or sent elsewhere, in a few seconds."""

UNBOUNDED = 1 << 10
"""The number of pairs that are expanded beforehand if it is known that there are infinitely many."""

REMEMBERED = 1 << 14
"""How many rows of a model a table keeps, since a memory comes with many aleatoric states."""

MOST_SHARED = 8
"""How many complete tables a process keeps for further runs."""

_SHARED: dict[tuple[str, bool], PairTable] = {}
_SHARING = threading.Lock()
os.register_at_fork(after_in_child=_SHARING._at_fork_reinit)  # type: ignore[attr-defined]

SMALL = 1 << 24
"""Up to this many bytes are allocated without asking how much memory is available."""


class PairTable:
    """The pairs of a task, expanded when they are first visited.

    Examples
    --------
    >>> from everlearn.tasks.service_station import service_station
    >>> table = PairTable(service_station())
    >>> table.complete()
    >>> table.expanded, table.width
    (10920, 3)

    """

    def __init__(self, task: Task, max_pairs: int = MOST_PAIRS, eager: int = EAGER) -> None:
        if task.model is None:
            remedy = "has no model to tabulate, so that nothing can be computed exactly; run it in the reference engine"
            raise InputError("task", task.name, remedy)
        self.task = task
        self.model = task.model
        self.indexed = IndexedTask(task)
        self.actions = self.indexed.actions
        self.start = 0
        self.max_pairs = max_pairs
        self.expanded = 0
        self.width = 1
        self.labels: list[tuple[Label, Label]] = []
        self._index: dict[tuple[Label, int], int] = {}
        self._states: list[int] = []
        self._model_rows: dict[tuple[Label, Label], tuple[Outcome, ...]] = {}
        self._lock = threading.Lock()
        self.rows = self._blank(1)
        self.probabilities = np.zeros(self.rows.size)
        self._pair(self.model.memory, self.indexed.start)
        done = 0
        while done < (end := min(eager, max_pairs, len(self.labels))):
            self._expand(list(range(done, end)))
            done = end

    @property
    def is_complete(self) -> bool:
        """Whether every pair that can be reached is expanded."""
        return self.expanded >= len(self.labels)

    def forget(self) -> None:
        """Give back what is needed only to expand further pairs."""
        self._model_rows.clear()
        self.indexed = IndexedTask(self.task)

    def expand(self, pair: int) -> None:
        """Expand a pair, unless another thread has."""
        with self._lock:
            if self.rows["next"][pair * self.actions * self.width] == UNSEEN:
                self._refuse_beyond_bound()
                self._expand([pair])

    def complete(self) -> None:
        """Expand every pair that can be reached."""
        with self._lock:
            unseen = self.rows["next"][:: self.actions * self.width][: len(self.labels)] == UNSEEN
            queue = np.flatnonzero(unseen).tolist()
            while queue:
                self._refuse_beyond_bound()
                known = len(self.labels)
                self._expand(queue[:EAGER])
                queue = queue[EAGER:] + list(range(known, len(self.labels)))

    def _refuse_beyond_bound(self) -> None:
        if self.expanded >= self.max_pairs:
            raise TableFull(
                f"more than {self.max_pairs:,} pairs of memory and aleatoric state were visited; "
                "raise max_pairs (--max-pairs), or use --engine reference",
                self.max_pairs,
            )

    def _refuse_beyond_memory(self, outcomes: int) -> None:
        size = OUTCOME_BYTES * outcomes
        if size > SMALL and size > available():
            raise TableFull(
                f"the table of task {self.task.name!r} takes {shown(size)} of memory with {len(self.labels):,} pairs "
                "of memory and aleatoric state, more than this machine has; use --engine reference",
                self.max_pairs,
            )

    def fixed(self) -> FixedTable | None:
        """Return this table as one that cannot be expanded, or None if it is not complete."""
        if not self.is_complete:
            return None
        kept = len(self.labels) * self.actions * self.width
        return FixedTable(self.indexed, self.rows[:kept], self.probabilities[:kept], self.width, self.start)

    def name(self, pair: int) -> list[Any]:
        """Return the memory and the state of a pair, which name it however the pairs were numbered."""
        return list(self.labels[pair])

    def pair(self, name: Any) -> int:
        """Return the pair with a name, which :meth:`name` returned or JSON read."""
        memory, aleatoric_state = (as_label(part) for part in name)
        with self._lock:
            key = memory, self.indexed.state(aleatoric_state)
            if self.is_complete and key not in self._index:
                raise LabelError("pair of memory and aleatoric state", (memory, aleatoric_state), "cannot be reached")
            pair = self._pair(*key)
            self._make_room(len(self.labels), self.width)
            return pair

    def digest(self) -> str:
        """Return a hash of the rows of the pairs that are expanded."""
        return _digest(self.indexed, self.rows[: self.expanded * self.actions * self.width], self.width, self.start)

    def view(self) -> tuple[NDArray[Any], int]:
        """Return the present rows, and how many outcomes each has."""
        with self._lock:
            return self.rows, self.width

    def _blank(self, pairs: int) -> NDArray[Any]:
        rows = np.zeros(pairs * self.actions * self.width, dtype=OUTCOME)
        rows["next"] = UNSEEN
        return rows

    def _pair(self, memory: Label, aleatoric_state: int) -> int:
        key = (memory, aleatoric_state)
        if (pair := self._index.get(key)) is None:
            pair = self._index[key] = len(self.labels)
            self.labels.append((memory, self.task.states[aleatoric_state]))
            self._states.append(aleatoric_state)
        return pair

    def _expand(self, pairs: list[int]) -> None:
        rows_and_chances = [self._outcomes(pair, action) for pair in pairs for action in range(self.actions)]
        self._make_room(len(self.labels), max(len(chances) for _, chances in rows_and_chances))
        probabilities = np.array([chances + [0.0] * (self.width - len(chances)) for _, chances in rows_and_chances])
        padded = [row + [row[-1]] * (self.width - len(row)) for row, _ in rows_and_chances]
        ready = np.array(padded, dtype=OUTCOME).reshape(len(pairs), self.actions * self.width)
        rows = self.rows.reshape(-1, self.actions * self.width)
        # Compiled code on another thread checks the first ``next`` of a pair, so it must be written last.
        following = ready["next"][:, 0].copy()
        ready["next"][:, 0] = UNSEEN
        rows[pairs] = ready
        rows["next"][pairs, 0] = following
        self.probabilities.reshape(rows.shape)[pairs] = probabilities.reshape(ready.shape)
        self.expanded += len(pairs)

    def _outcomes(
        self, pair: int, action: int
    ) -> tuple[list[tuple[float, float, float, int, int, int, int]], list[float]]:
        memory, aleatoric_state = self.labels[pair][0], self._states[pair]
        outcomes = self._model_row(memory, self.task.actions[action])
        bounds = [*cumulative(outcomes)[:-1], np.inf]
        row = []
        for bound, outcome in zip(bounds, outcomes, strict=True):
            observation = self.indexed.observation(outcome.observation)
            following, reward = self.indexed.step(aleatoric_state, action, observation)
            learned = self.task.reward.learned(reward)
            pair_after = self._pair(outcome.memory, following)
            row.append((bound, reward, learned, pair_after, following, observation, 0))
        return row, [outcome.probability for outcome in outcomes]

    def _model_row(self, memory: Label, action: Label) -> tuple[Outcome, ...]:
        if (row := self._model_rows.get((memory, action))) is None:
            row = self.model.outcomes(memory, action)
            if len(self._model_rows) < REMEMBERED:
                self._model_rows[memory, action] = row
        return row

    def _make_room(self, pairs: int, width: int) -> None:
        """Grow the arrays; compiled code that holds the old ones stops at unexpanded pairs, and then gets the new."""
        held = len(self.rows) // (self.actions * self.width)
        if width <= self.width and pairs <= held:
            return
        old, old_width = self.rows, self.width
        self._refuse_beyond_memory(max(held, 2 * pairs) * self.actions * max(width, self.width))
        self.width = max(width, self.width)
        rows = self._blank(max(held, 2 * pairs))
        kept = rows.reshape(-1, self.actions, self.width)[:held]
        kept[:, :, :old_width] = old.reshape(held, self.actions, old_width)
        kept[:, :, old_width:] = kept[:, :, old_width - 1 : old_width]
        probabilities = np.zeros((len(rows) // (self.actions * self.width), self.actions, self.width))
        probabilities[:held, :, :old_width] = self.probabilities.reshape(held, self.actions, old_width)
        self.rows, self.probabilities = rows, probabilities.reshape(-1)


class FixedTable:
    """A complete table, whose pairs are named by their numbers."""

    def __init__(
        self, indexed: IndexedTask, rows: NDArray[Any], probabilities: Table | None, width: int, start: int
    ) -> None:
        self.indexed = indexed
        self.task = indexed.task
        self.actions = indexed.actions
        self.rows, self.width, self.start = rows, width, start
        self.probabilities = np.zeros(0) if probabilities is None else probabilities
        self.expanded = len(rows) // (self.actions * width)

    def expand(self, pair: int) -> None:
        """Do nothing, since every pair is expanded."""

    def complete(self) -> None:
        """Do nothing, since every pair is expanded."""

    def view(self) -> tuple[NDArray[Any], int]:
        """Return the rows and how many outcomes each has."""
        return self.rows, self.width

    def name(self, pair: int) -> int:
        """Return the name of a pair, which is its number; the digest of the table covers the order."""
        return pair

    def pair(self, name: Any) -> int:
        """Return the pair with a name."""
        return int(name)

    def digest(self) -> str:
        """Return a hash of everything in the table."""
        return _digest(self.indexed, self.rows, self.width, self.start)


class ArrayTable(FixedTable):
    """The table of a task that was made from arrays, with one pair per memory."""

    def __init__(self, task: Task) -> None:
        if task.arrays is None:
            raise InputError("task", task.name, "was not made from arrays")
        matrices, rewards, classes = task.arrays
        counts = np.stack([np.diff(matrix.indptr) for matrix in matrices], axis=1)
        rows = np.zeros((*counts.shape, int(counts.max())), dtype=OUTCOME)
        probabilities = np.zeros(rows.shape)
        for action, matrix in enumerate(matrices):
            probabilities[:, action] = _fill(rows[:, action], matrix, rewards[action], counts[:, action])
        rows["state"] = classes[rows["next"]]
        task.reward.check_range(rows["reward"])
        rows["learned"] = task.reward.learned(rows["reward"])  # type: ignore[arg-type]  # the same formula on an array
        start: Any = None if task.model is None else task.model.memory
        super().__init__(IndexedTask(task), rows.reshape(-1), probabilities.reshape(-1), rows.shape[2], start)
        self.states = classes


def _digest(indexed: IndexedTask, rows: NDArray[Any], width: int, start: int) -> str:
    shape = f"{indexed.states} {indexed.actions} {indexed.observations} {width} {start} {indexed.start}"
    return hashlib.sha256(shape.encode() + np.ascontiguousarray(rows).view(np.uint8).tobytes()).hexdigest()


def _fill(rows: NDArray[Any], matrix: Any, rewards: Table, counts: NDArray[np.int64]) -> Table:
    """Fill the rows of one action, and return the probabilities; a row with fewer outcomes repeats its last one."""
    slots = np.minimum(np.arange(rows.shape[1]), counts[:, None] - 1)
    places = matrix.indptr[:-1, None] + slots
    probabilities = np.where(np.arange(rows.shape[1]) < counts[:, None], matrix.data[places], 0.0)
    bounds = np.cumsum(probabilities, axis=1)
    bounds[np.arange(rows.shape[1]) >= counts[:, None] - 1] = np.inf
    rows["bound"] = bounds
    rows["next"] = rows["observation"] = matrix.indices[places]
    rows["reward"] = rewards[places]
    return probabilities


AnyTable: TypeAlias = PairTable | FixedTable


def draw_outcome(table: AnyTable, pair: int, action: int, draw: float) -> Any:
    """Return the outcome of an action that a uniform number selects, as compiled code does."""
    table.expand(pair)
    rows, width = table.view()
    first = (pair * table.actions + action) * width
    return rows[first + int(np.searchsorted(rows["bound"][first : first + width], draw, side="right"))]


def make_table(task: Task, max_pairs: int = MOST_PAIRS, eager: int = EAGER) -> PairTable | ArrayTable:
    """Return the table of a task: from its arrays if it has them, else from its model.

    Tasks with the same identity share a table that is complete, which nothing changes any more.
    """
    if task.arrays is not None:
        return ArrayTable(task)
    if task.identity is None:
        return PairTable(task, max_pairs, eager)
    return _shared(task, task.identity, max_pairs, eager)


def _shared(task: Task, identity: str, max_pairs: int, eager: int) -> PairTable:
    """Return the table of a task that has an identity; if it is complete and not large, it is made once per process."""
    key = identity, task.reward.raw
    table = _SHARED.get(key)
    if table is not None and table.expanded <= min(max_pairs, eager):
        return table
    table = PairTable(task, max_pairs, eager)  # two threads may do so at once, which does no harm
    if table.is_complete and table.expanded <= EAGER:
        table.forget()
        with _SHARING:
            while len(_SHARED) >= MOST_SHARED:
                del _SHARED[next(iter(_SHARED))]
            _SHARED[key] = table
    return table


def settled_table(task: Task, max_pairs: int = MOST_PAIRS) -> AnyTable:
    """Return the complete table of a task if it has at most ``SETTLED`` pairs, else one that expands further.

    Queues that are unbounded have no complete table, so not many pairs are expanded before they are visited.
    """
    table = make_table(task, max_pairs, eager=SETTLED if task.network is None else UNBOUNDED)
    return (table.fixed() or table) if isinstance(table, PairTable) else table
