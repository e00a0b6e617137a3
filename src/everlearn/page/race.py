"""Races: several agents on one task, in step, on common random numbers; and what all pages share to make them."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from everlearn.agents.design import Design
from everlearn.agents.spec import TaskSpec
from everlearn.blame import blame
from everlearn.engine.plan import Plan
from everlearn.engine.runner import TRIED, choose_engine
from everlearn.errors import CompilationError
from everlearn.machine import cores
from everlearn.page.configuration import Configuration, label
from everlearn.page.facts import Facts, find_facts
from everlearn.page.gallery import write_card, write_gallery
from everlearn.page.offer import DURATION, REGISTERED, Offer
from everlearn.page.run import LAST_STEP, CompiledRun, ReferenceRun, WatchedRun
from everlearn.registry import plain
from everlearn.tables import AnyTable, ArrayTable, PairTable, make_table
from everlearn.tasks.task import Task

Value = TypeVar("Value")

MOST_KEPT = 8
"""How many tasks, tables and facts to keep for all pages, of each."""

RESTS = 4.0
"""While the gallery is prepared before anyone asks for it, rest so many times as long as each card took."""

MOST_PREPARED = 4
"""How many races and facts to prepare at once."""

MOST_PAIRS = 300_000
"""How many pairs of a memory and an aleatoric state a task may be expanded to."""

TRIAL = CompiledRun.few_steps + 2
"""Take this many steps before a race begins, so that everything is compiled and first mistakes are found."""


class Race:
    """Runs that advance together; all have the same seed, and so the same random numbers."""

    def __init__(self, configuration: Configuration, task: Task, runs: Sequence[WatchedRun], remark: str = "") -> None:
        self.configuration, self.task, self.runs = configuration, task, runs
        self.remark = remark
        """Why the race does not run at full speed, if it does not."""
        self._failure: Exception | None = None

    @property
    def t(self) -> int:
        """The number of steps that each run has taken; if one failed, others may have taken more."""
        return min(run.t for run in self.runs)

    @property
    def is_over(self) -> bool:
        """Whether there are no more steps."""
        return self.t >= LAST_STEP

    def advance(self, steps: int) -> None:
        """Take a number of steps in each run.  If one fails, none is advanced again, and the same error is raised."""
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        try:
            for agent, run in zip(self.configuration.agents, self.runs, strict=True):
                with blame(f"{self.configuration.task.given}, {label(agent)}"):  # a user's code may raise anything
                    run.advance(steps)
        except Exception as error:
            self._failure = error
            raise


class Workshop:
    """What all pages share: what can be chosen, what is shown first, threads, and caches of tasks and their tables."""

    def __init__(self, offer: Offer = REGISTERED, start: Configuration | None = None) -> None:
        self.offer, self.start = offer, (start or Configuration()).checked(offer)
        self.engine = ThreadPoolExecutor(cores(), thread_name_prefix="engine")
        self.preparing = ThreadPoolExecutor(MOST_PREPARED, thread_name_prefix="preparing")
        self._tasks, self._tables, self._facts = Cache[Task](), Cache[PairTable | ArrayTable](), Cache[Facts]()
        self._cards = Cache[str](most=len(offer.names("task")))
        self._closing = threading.Event()

    def race(self, configuration: Configuration) -> Race:
        """Return a race from the beginning; raise if it cannot be made, or if its first steps fail."""
        task = self._task(configuration.task)
        designs = [self.offer.agent(agent).make(DURATION) for agent in configuration.agents]
        choices = [(design, *self._choose(configuration.task, task, design)) for design in designs]
        trial, runs = (
            [
                ReferenceRun(task, design, seed)
                if table is None
                else CompiledRun(task, design, seed, table, self.engine)
                for design, table, _ in choices
            ]
            for seed in (0, configuration.seed)
        )
        Race(configuration, task, trial).advance(TRIAL)
        reasons = dict.fromkeys(reason for _, _, reason in choices if reason)
        slow = "it runs in the reference engine, which is slower"
        return Race(configuration, task, runs, "".join(f"{reason}; {slow}. " for reason in reasons))

    def facts(self, spec: TaskSpec) -> Facts:
        """Return what theory says of a task."""
        task = self._task(spec)
        return self._facts.get(_key(spec), lambda: find_facts(task))

    def gallery(self) -> str:
        """Return the page of all tasks; each card is written once."""
        return write_gallery(map(self._card, self.offer.names("task")))

    def warm_up(self) -> None:
        """Prepare what a newcomer sees first, and then the gallery, with rests, so that a race keeps its speed."""
        self.race(self.start).advance(1000)
        self.facts(self.start.task)
        for name in self.offer.names("task"):
            began = time.perf_counter()
            self._card(name)
            if self._closing.wait(RESTS * (time.perf_counter() - began)):
                break

    def close(self) -> None:
        """Give up what has not been prepared yet."""
        self._closing.set()
        self.preparing.shutdown(wait=False, cancel_futures=True)

    def _card(self, name: str) -> str:
        return self._cards.get(name, lambda: write_card(self.offer, name))

    def _task(self, spec: TaskSpec) -> Task:
        return self._tasks.get(_key(spec), lambda: self.offer.task(spec).make())

    def _choose(self, spec: TaskSpec, task: Task, design: Design) -> tuple[AnyTable | None, str]:
        """Return the table with which the compiled engine runs a design, or None and the reason why it cannot."""
        plan = Plan(task, design, TRIED, 1, 0)
        if task.model is None:
            return None, f"the task {task.name!r} has no model"
        with blame(f"task {spec.given!r}"):
            key = f"{_key(spec)} {plan.task.reward.raw}"
            table = self._tables.get(key, lambda: make_table(plan.task, MOST_PAIRS))
        try:
            choose_engine(plan, "compiled", table)
        except CompilationError as error:
            return None, str(error)
        return table, ""


class Cache(Generic[Value]):
    """The values that were used last, by key; each is made once, while others who ask for the same wait."""

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._values: OrderedDict[str, Value] = OrderedDict()
        self._making: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: str, make: Callable[[], Value]) -> Value:
        """Return the value of a key; make it if it is not kept."""
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        with making:
            try:
                value = self._values.get(key)
                return self._keep(key, make() if value is None else value)
            finally:
                with self._lock:
                    self._making.pop(key, None)

    def _keep(self, key: str, value: Value) -> Value:
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            if len(self._values) > (MOST_KEPT if self._most is None else self._most):
                self._values.popitem(last=False)
        return value


def _key(task: TaskSpec) -> str:
    return f"{task.given} {plain(task.parameters)}"
