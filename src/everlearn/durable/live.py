"""``live(DIR, ...)``: one durable agent in a directory, used like any agent."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from everlearn.agents.agent import whole
from everlearn.durable import audit, views
from everlearn.durable.arguments import check_directory, file_errors, shown
from everlearn.durable.core import Core
from everlearn.durable.database import is_begun
from everlearn.durable.drift import Alarm
from everlearn.durable.entry import Entry
from everlearn.durable.logs import read_log, warmed
from everlearn.durable.setup import Setup, make_setup
from everlearn.durable.store import Store
from everlearn.errors import AgentError, Conflict, EverlearnError, LiveError, StoreFull, UserCodeError, require
from everlearn.files import replacing
from everlearn.labels import as_label
from everlearn.protocol import Label
from everlearn.registry import MOST_STEPS

LOG = logging.getLogger("everlearn.durable")

NAME = "agent"
"""What the one agent of such a directory is called."""


def live(
    directory: str | os.PathLike[str],
    task: object = None,
    *,
    actions: Iterable[Label] | None = None,
    observations: Iterable[Label] | None = None,
    aleatoric: object = None,
    states: Iterable[Label] | None = None,
    start: Label | None = None,
    reward: object = None,
    reward_range: tuple[float, float] | None = None,
    raw: bool | None = None,
    agent: object = None,
    schedule: object = None,
    parameters: Mapping[str, Any] | None = None,
    seed: int | None = None,
    allowed: Mapping[Any, Iterable[Label]] | None = None,
    snapshot_every: int | None = None,
    retain: int | None = None,
    drift: Mapping[str, Any] | None = None,
    accept_changes: bool = False,
) -> Live:
    """Open the durable agent in a directory, or create it there.

    To open one, its directory is enough, except for functions and objects, which must be given again.  If the task, the
    reward, the agent or anything else that is given is not what it was, that is refused, and what changed is named.

    Parameters
    ----------
    directory:
        where it is kept; one process at a time holds it
    task:
        a task, or the name of one; then actions, observations, aleatoric state and reward are those of the task
    actions, observations:
        labels
    aleatoric:
        what it keeps of the past: ``last`` (observation; the default), ``window:3``, ``window:3+actions``, ``given``
        (the caller tells the state that followed), a table {state: {action: {observation: next}}} or rows
        [state, action, observation, next], or an :class:`everlearn.AleatoricState`
    states, start:
        the states that will be given, and the one to begin in
    reward:
        ``given`` with each observation (the default), a table like that of the aleatoric state, or a function of
        (aleatoric state, action, observation)
    reward_range, raw:
        the least and the greatest reward; whether the learner sees rewards as they are, not scaled to [0, 1]
    agent, schedule, parameters, seed:
        as in :class:`everlearn.Agent`
    allowed:
        the actions that are allowed in a state, for states in which not all are
    snapshot_every:
        after how many observations another snapshot is taken; 10,000
    retain:
        how many steps of the journal are kept at the least; all, unless given
    drift:
        ``{"batch": 1000, "rarity": 10000}``, see :mod:`everlearn.durable.drift`
    accept_changes:
        resume although something changed; what changed is then written to the journal

    Examples
    --------
    >>> import tempfile
    >>> directory = tempfile.mkdtemp()
    >>> with live(directory, actions=["slow", "fast"], observations=["idle", "busy"], reward_range=(0, 1)) as agent:
    ...     agent.act() in ("slow", "fast"), agent.observe("busy", reward=0.5)
    (True, 0.5)
    >>> with live(directory) as agent:
    ...     agent.step
    1

    """
    given = dict(locals())
    del given["directory"], given["accept_changes"]
    return Live(directory, accept_changes=accept_changes, **given)


class Live:
    """A durable agent, made by ``everlearn.live``.  Calls from several threads wait for each other.

    Examples
    --------
    >>> import tempfile
    >>> with Live(tempfile.mkdtemp(), task="service-station", seed=1) as agent:
    ...     agent.act(), agent.observe("arrival"), agent.observe("nothing", executed="slow")
    ('fast', 1.0, 0.0)

    """

    def __init__(self, directory: str | os.PathLike[str], *, accept_changes: bool = False, **setup: Any) -> None:
        self._lock = threading.RLock()
        self._setup, self._sure, self._closed = setup, True, False
        check_directory(directory, setup.get("task"))
        require(isinstance(accept_changes, bool), "accept_changes", accept_changes, "give True or False")
        fresh = None if is_begun(Path(directory)) else make_setup(**setup)
        if fresh is not None:
            Core(fresh)  # what cannot be made leaves nothing behind
        self.store = Store(directory)
        try:
            self.core = self._open(accept_changes, fresh)
            made = self.core.setup.objects._asdict()  # the rest is on disk
            self._setup = {**made, "parameters": setup.get("parameters")}
        except BaseException:
            self.store.close()
            raise

    def __repr__(self) -> str:
        """Return one line: the design, the task, the directory and the step."""
        agent = self.core.agent
        where = f"{agent.design.name!r} on {agent.task.name!r} in {str(self.store.directory)!r}"
        return f"Live({where}, step {self.core.step:,}, {self.core.mode})"

    def _open(self, accept: bool = False, fresh: Setup | None = None) -> Core:
        if NAME not in self.store.names():
            return self.store.create(NAME, fresh or make_setup(**self._setup))
        return self.store.open(NAME, self._setup, accept=accept, remedy="to accept this, pass accept_changes=True")

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Let one thread in at a time; what an interruption left half done is read from the disk again."""
        with self._lock:
            if not self._sure:
                self._recover()
            yield

    def _recover(self) -> None:
        if self._closed:
            raise LiveError(f"{self.store.directory}: the agent was closed; open it again with el.live(DIR)")
        self.core, self._sure = self._open(), True

    def _go_back(self, pending: int | None, asked: int | None) -> None:
        """Be again what is on disk, and propose again what was proposed."""
        self._recover()
        if pending is not None and self.core.agent.pending is None:
            self.core.choose(asked)

    def act(self, allowed: Iterable[Label] | None = None) -> Label:
        """Return the action for the step that is due; asked again before ``observe``, it returns the same.

        ``allowed`` narrows this one choice.
        """
        with self._held():
            try:
                return self.core.act(allowed)
            except (AgentError, LiveError, UserCodeError):
                self._recover()  # it may have drawn from its stream before it failed
                raise

    def observe(
        self,
        observation: Label,
        executed: Label | None = None,
        reward: float | None = None,
        state: Label | None = None,
        *,
        step: int | None = None,
    ) -> float:
        """Take in an observation and learn from it; it is on disk when this returns.  Return the reward.

        Parameters
        ----------
        observation:
            what followed the action
        executed:
            the action that was really executed, where it was not the one that ``act`` returned
        reward:
            what it earned, where the setup has rewards given
        state:
            the aleatoric state that followed, where the setup has states given
        step:
            the number of the step that is meant, for callers who repeat what may have been taken in already: the same
            content changes nothing, other content is a :exc:`everlearn.errors.Conflict`

        """
        with self._held():
            if step is not None and whole(step, "step", least=1) != self.core.next_step:
                return self._recorded(step, observation, executed, reward, state)
            entry = self.core.prepare(observation, executed, reward, state)
            self._commit(entry)
            return entry.reward  # type: ignore[return-value]  # an observation has one

    def _recorded(self, step: int, observation: Label, executed: Any, reward: Any, state: Any) -> float:
        due = self.core.next_step
        entry = self.store.recorded(self.core.number, step) if step < due else None
        if entry is None:
            raise Conflict(f"step {step} is not due, and is not recorded; step {due} is due", due)
        row = views.described(self.core.agent.task, entry)
        told = {"observation": observation, "executed": executed, "reward": reward, "next_state": state}
        told["executed"] = row["proposed"] if executed is None else executed
        differs = [name for name, value in told.items() if value is not None and as_label(value) != row[name]]
        if differs or told["executed"] is None:
            name = (differs or ["executed"])[0]
            message = f"step {step} is recorded with {name} {row[name]!r}, and {told[name]!r} is told now"
            raise Conflict(f"{message}; step {due} is due", due, row)
        return entry.reward  # type: ignore[return-value]  # an observation has one

    def _commit(self, entry: Entry) -> None:
        """Do what an entry says, and write it down; if either fails, the agent is what it was, in memory and on disk.

        It is done first, since a design of the user's may fail to learn from it: a row on disk can be learned from.
        """
        core = self.core
        pending, asked, self._sure = core.agent.pending, core.asked, False
        try:
            core.apply(entry)
            self.store.append_one(core.number, entry)
        except Exception:
            with suppress(EverlearnError):  # it is then tried again before anything else is done
                self._go_back(pending, asked)
            raise
        self._sure = True
        if self.core.due:
            self._snapshot_if_there_is_room()

    def _snapshot_if_there_is_room(self) -> None:
        """Take a snapshot; what was observed is safe without it, and the next observation tries again."""
        try:
            self.store.append([], [self.core])
        except StoreFull as error:
            LOG.warning("no snapshot at step %d: %s", self.core.step, error)

    @property
    def step(self) -> int:
        """How many observations were taken in."""
        return self.core.step

    @property
    def t(self) -> int:
        """How many steps were learned from; the clock of the agent, which stands still while it is frozen."""
        return self.core.t

    @property
    def mode(self) -> str:
        """How it acts: ``learn``, ``frozen`` or ``shadow``."""
        return self.core.mode

    @property
    def aleatoric_state(self) -> Label:
        """S_t."""
        return self.core.agent.aleatoric_state

    def learn(self) -> None:
        """Decide and learn, as at the beginning."""
        self._change_mode("learn")

    def freeze(self) -> None:
        """Act greedily from now on, and learn nothing; observations are still written down."""
        self._change_mode("frozen")

    def shadow(self) -> None:
        """Propose and learn from now on, while somebody else decides; ``observe`` must then name what was executed."""
        self._change_mode("shadow")

    def _change_mode(self, mode: str) -> None:
        with self._held():
            if mode != self.core.mode:
                self._commit(self.core.change_mode(mode))

    def warm_start(self, log: Iterable[Any] | str | os.PathLike[str], start: Label | None = None) -> int:
        """Learn from a log of the past, all of it or nothing, and return how many rows it had.

        The log is taken for what happened before now, in order: the agent goes on from the aleatoric state in which it
        ends.

        Parameters
        ----------
        log:
            rows (observation, action) or (observation, action, reward), or a file of such: CSV with a header, or JSON
            lines
        start:
            the aleatoric state in which the log begins; the present one unless given

        """
        with self._held():
            require(
                isinstance(log, str | os.PathLike | Iterable), "log", shown(log), "give rows, or the name of a file"
            )
            rows = read_log(log, self.core) if isinstance(log, str | os.PathLike) else log
            copy, entries = warmed(self.core, rows, start)
            self.store.append([(copy.number, entry) for entry in entries], [copy])
            self.core = copy
            return len(entries)

    def snapshot(self) -> int:
        """Take a snapshot now, and return its step."""
        with self._held():
            self.store.append([], [self.core])
            return self.core.step

    def snapshots(self) -> list[dict[str, Any]]:
        """Return which snapshots there are, the oldest first."""
        with self._held():
            return self.store.snapshots(self.core.number)

    def rollback(self, step: int) -> None:
        """Go back to what was known at the snapshot of a step.

        The aleatoric state stays the present one, since the world has not gone back; steps are counted on.
        """
        with self._held():
            self._commit(self.store.roll_back(self.core, whole(step, "step", most=MOST_STEPS)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the agent state to a file, as :meth:`everlearn.Agent.save` does."""
        with self._held(), file_errors(path), replacing(path) as file:
            file.write(self.core.export_state())

    def load(self, path: str | os.PathLike[str]) -> None:
        """Go on from an agent state in a file, its aleatoric state included; steps are counted on."""
        with file_errors(path):
            data = Path(path).read_bytes()
        with self._held():
            self._commit(self.core.import_state(data))

    def policy(self) -> dict[str, Any]:
        """Return the greedy policy as a table, as JSON can hold it."""
        with self._held():
            return views.policy_table(self.core)

    def inspect(self) -> dict[str, Any]:
        """Return what it is at and what it knows, as JSON can hold it."""
        with self._held():
            return views.inspect(self.core)

    def journal(self, first: int | None = None, last: int | None = None) -> Iterator[dict[str, Any]]:
        """Yield what was written down of steps ``first`` to ``last``, by labels."""
        steps = (None if step is None else whole(step, "step", most=MOST_STEPS) for step in (first, last))
        return audit.export(self.store.directory, NAME, *steps)

    @property
    def alarm(self) -> Alarm | None:
        """The last drift alarm: at which step, the recent average reward and that of the past."""
        return self.core.gauge.last

    def close(self) -> None:
        """Let go of the directory."""
        with self._lock:
            self._closed, self._sure = True, False
            self.store.close()

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
