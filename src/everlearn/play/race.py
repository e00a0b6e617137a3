"""Several agents on one task, in step, on common random numbers; and what a page needs to make such a race."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from everlearn.engine.compiled import cores
from everlearn.engine.table import ArrayTable, PairTable, make_table
from everlearn.play.configuration import Configuration
from everlearn.play.facts import Facts, find_facts
from everlearn.play.stream import INTERPRETED, LONGEST, Stream
from everlearn.registry import plain
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

    All have the same seed, and an environment draws one number a step: they meet the same luck.

    Examples
    --------
    >>> from everlearn.play.reading import read_query
    >>> race = Workshop().race(read_query("task=riverswim&2.agent=always&2.agent.policy=right"))
    >>> race.advance(1000)
    >>> race.t, [stream.t for stream in race.streams]
    (1000, [1000, 1000])

    """

    def __init__(self, configuration: Configuration, task: Task, streams: list[Stream]) -> None:
        self.configuration, self.task, self.streams = configuration, task, streams

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
        for stream in self.streams:
            stream.advance(steps)


class Workshop:
    """What all pages share: threads, and tasks with their tables."""

    def __init__(self) -> None:
        self.engine = ThreadPoolExecutor(cores(), thread_name_prefix="engine")
        self.preparing = ThreadPoolExecutor(PREPARING, thread_name_prefix="preparing")
        self._tasks: OrderedDict[Hashable, Any] = OrderedDict()
        self._facts: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock, self._facts_lock = threading.Lock(), threading.Lock()

    def race(self, configuration: Configuration) -> Race:
        """Return a race from the beginning; what cannot be made is refused."""
        task, table = self._task(configuration)
        designs = [one.design() for one in configuration.contenders]
        for design in designs:
            Stream(task, design, 0, table, self.engine).advance(COMPILED)
        streams = [Stream(task, design, configuration.seed, table, self.engine) for design in designs]
        return Race(configuration, task, streams)

    def facts(self, configuration: Configuration) -> Facts:
        """Return what is known of the task, computed once for all who ask."""
        task, _ = self._task(configuration)
        with self._facts_lock:
            return _kept(self._facts, _key(configuration), lambda: find_facts(task))

    def _task(self, configuration: Configuration) -> tuple[Task, PairTable | ArrayTable]:
        with self._lock:
            return _kept(self._tasks, _key(configuration), lambda: _tabulated(configuration))


def _tabulated(configuration: Configuration) -> tuple[Task, PairTable | ArrayTable]:
    task = configuration.make_task()
    return task, make_table(task, PAIRS)


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
