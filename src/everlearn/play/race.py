"""Several agents on one task, in step, on common random numbers; and what a page needs to make such a race."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias, TypeVar

from everlearn.agents.design import Design
from everlearn.blame import blame
from everlearn.engine.plan import Plan
from everlearn.engine.runner import TRIED, choose_engine
from everlearn.errors import CompilationError
from everlearn.machine import cores
from everlearn.play.configuration import Configuration
from everlearn.play.facts import Facts, find_facts
from everlearn.play.interpreted import Interpreted, Watched
from everlearn.play.offer import REGISTERED, Offer
from everlearn.play.stream import INTERPRETED, LONGEST, Stream
from everlearn.registry import plain
from everlearn.tables import ArrayTable, PairTable, make_table
from everlearn.tasks.task import Task

Found = TypeVar("Found")

MOST_KEPT = 8
"""How many tasks are kept with their tables and what is known of them, for all who look."""

PREPARING = 4
"""How many tasks are made or looked into at once; whoever watches another does not wait for that."""

COMPILED = INTERPRETED + 2
"""So many steps compile an agent, before anybody waits for it to run."""

PAIRS = 300_000
"""How many pairs of a memory and an aleatoric state a task may be expanded to."""


class Race:
    """Streams that advance together.

    All have the same seed, and an environment draws one number per step, so all meet the same luck.

    Examples
    --------
    >>> from everlearn.play.reading import read_query
    >>> race = Workshop().race(read_query("task=riverswim&2.agent=always&2.agent.policy=right"))
    >>> race.advance(1000)
    >>> race.t, [stream.t for stream in race.streams]
    (1000, [1000, 1000])

    """

    def __init__(self, configuration: Configuration, task: Task, streams: list[Watched], remark: str = "") -> None:
        self.configuration, self.task, self.streams = configuration, task, streams
        self.remark = remark
        """Why it does not run at full speed, if it does not."""

    @property
    def t(self) -> int:
        """How many steps each has taken."""
        return self.streams[0].t

    @property
    def is_over(self) -> bool:
        """Whether there are no more steps."""
        return self.t >= LONGEST

    def advance(self, steps: int) -> None:
        """Take so many steps, each of them."""
        for one, stream in zip(self.configuration.contenders, self.streams, strict=True):
            with blame(f"{self.configuration.task}, {one.label}"):  # a user's own code may raise anything
                stream.advance(steps)


Tables: TypeAlias = dict[bool, PairTable | ArrayTable | None]


class Workshop:
    """What all pages share: what can be chosen, threads, and tasks with their tables."""

    def __init__(self, offer: Offer = REGISTERED) -> None:
        self.offer = offer
        self.engine = ThreadPoolExecutor(cores(), thread_name_prefix="engine")
        self.preparing = ThreadPoolExecutor(PREPARING, thread_name_prefix="preparing")
        self._tasks: OrderedDict[Hashable, Any] = OrderedDict()
        self._facts: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock, self._facts_lock = threading.Lock(), threading.Lock()

    def race(self, configuration: Configuration) -> Race:
        """Return a race from the beginning; raise for what cannot be made."""
        task, tables = self._task(configuration)
        designs = [one.design(self.offer) for one in configuration.contenders]
        chosen = [tables[design.view(task).reward.raw] for design in designs]
        reasons = [_not_compiled(task, design, table) for design, table in zip(designs, chosen, strict=True)]
        trials, streams = (
            [
                Stream(task, design, seed, table, self.engine)
                if table is not None and not reason
                else Interpreted(task, design, seed)
                for design, table, reason in zip(designs, chosen, reasons, strict=True)
            ]
            for seed in (0, configuration.seed)
        )
        Race(configuration, task, trials).advance(COMPILED)
        slow = "; it runs in the reference loop, which is slower"
        return Race(configuration, task, streams, "".join(dict.fromkeys(f"{one}{slow}. " for one in reasons if one)))

    def facts(self, configuration: Configuration) -> Facts:
        """Return what is known of the task, computed once for all who ask."""
        task, _ = self._task(configuration)
        with self._facts_lock:
            return _kept(self._facts, _key(configuration), lambda: find_facts(task))

    def _task(self, configuration: Configuration) -> tuple[Task, Tables]:
        with self._lock:
            return _kept(self._tasks, _key(configuration), lambda: _tabulated(configuration, self.offer))


def _tabulated(configuration: Configuration, offer: Offer) -> tuple[Task, Tables]:
    """Return a task, and its tables with raw rewards (True) and with scaled ones (False)."""
    task = configuration.make_task(offer)
    with blame(f"task {configuration.task!r}"):
        views = {view.reward.raw: view for view in (task, task.scaled)}
        return task, {raw: None if view.model is None else make_table(view, PAIRS) for raw, view in views.items()}


def _not_compiled(task: Task, design: Design, table: PairTable | ArrayTable | None) -> str:
    """Return why an agent cannot be compiled for a task, or nothing."""
    if table is None:
        return f"the task {task.name!r} has no model"
    try:
        choose_engine(Plan(task, design, TRIED, 1, 0), "compiled", table)
    except CompilationError as error:
        return str(error)
    return ""


def _key(configuration: Configuration) -> Hashable:
    return configuration.task, str(plain(configuration.task_parameters))


def _kept(kept: OrderedDict[Hashable, Any], key: Hashable, make: Callable[[], Found]) -> Found:
    """Return what is kept under a key, made where it is not; what was not asked for the longest time goes."""
    found: Found = kept[key] if key in kept else make()
    kept[key] = found
    kept.move_to_end(key)
    if len(kept) > MOST_KEPT:
        kept.popitem(last=False)
    return found
