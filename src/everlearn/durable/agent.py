"""One durable agent in a directory, used like any agent."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from everlearn.agents.agent import whole
from everlearn.durable import audit, control, views
from everlearn.durable.choice import labels_of, mask_of
from everlearn.durable.core import Core
from everlearn.durable.drift import Alarm
from everlearn.durable.entry import Entry, Outcome
from everlearn.durable.logs import read_log, warmed
from everlearn.durable.looks import Looks
from everlearn.durable.promotion import Rule
from everlearn.durable.setup import Setup, make_setup, simple
from everlearn.durable.store import Store
from everlearn.durable.transitions import step_range
from everlearn.durable.trial import file_errors, try_state
from everlearn.durable.turns import Turn
from everlearn.errors import AgentError, EverlearnError, LiveError, StoreFull, UserCodeError, require
from everlearn.files import expanded, replacing
from everlearn.protocol import Label
from everlearn.registry import MOST_STEPS

if TYPE_CHECKING:
    from everlearn.analysis.shadow import ShadowReport

LOG = logging.getLogger("everlearn.durable")

NAME = "agent"
"""The name of the one agent in such a directory."""


class Live:
    """A durable agent.  Create or open one with ``everlearn.live``, which explains the parameters.

    It is thread-safe: concurrent calls are serialised.  Close it with :meth:`close`, or use it in a ``with`` statement.

    Examples
    --------
    >>> import tempfile
    >>> import everlearn as el
    >>> with el.live(tempfile.mkdtemp(), "service-station", seed=1) as agent:
    ...     agent.act(), agent.observe("arrival"), agent.observe("nothing", executed="slow")
    ('fast', 1.0, 0.0)

    """

    def __init__(self, directory: Path, given: dict[str, Any], fresh: Setup | None, accept: bool) -> None:
        if fresh is not None:
            Core(fresh)  # raises before a directory is made
        self._turn = Turn(self)
        self._lock = self._turn.lock
        self._given, self._current, self._closed, self._looks = given, True, False, Looks()
        self.store = Store(directory)
        try:
            self.core = self._open(accept, fresh)
        except BaseException:
            self.store.close()
            raise
        self._given = {**self.core.setup.objects, "parameters": given.get("parameters")}  # the rest is on disk
        # A crash may have come between an observation and the look that was due after it.
        self._looks.take(self.store, self.core, self._commit)

    def __repr__(self) -> str:
        agent = self.core.agent
        where = f"{agent.design.name!r} on {agent.task.name!r} in {str(self.store.directory)!r}"
        return f"Live({where}, step {self.core.step:,}, {self.core.mode})"

    def _open(self, accept: bool = False, fresh: Setup | None = None) -> Core:
        if NAME not in self.store.names():
            return self.store.create(NAME, fresh or make_setup(**self._given))
        return self.store.open(NAME, self._given, accept=accept, remedy="to accept this, pass accept_changes=True")

    def _recover(self) -> None:
        if self._closed:
            raise LiveError("the agent was closed; open it again with el.live(DIR)", self.store.directory)
        self.core, self._current = self._open(), True

    def act(self, allowed: Iterable[Label] | None = None, *, again: bool = False) -> Label:
        """Return the action for the next step.  A second call before ``observe`` returns the same action.

        ``allowed`` restricts the actions for this call only.  To choose again with other allowed actions, pass
        ``again=True``: the pending action is withdrawn, and the journal records this.
        """
        with self._lock:  # here and in observe without Turn, whose two calls are a part of a step that can be measured
            if not self._current:
                self._recover()
            if again:
                allowed = self._withdraw(allowed)
            try:
                return self.core.act(allowed)
            except (AgentError, LiveError, UserCodeError):
                self._recover()  # it may have drawn from its stream before it failed
                raise

    def _withdraw(self, allowed: Iterable[Label] | None) -> list[Label] | None:
        mask = None if allowed is None else mask_of(self.core.agent, allowed)
        entry = self.core.forget(mask)
        if entry is not None:
            self._commit(entry)
        return None if mask is None else labels_of(self.core.agent, mask)

    def observe(
        self,
        observation: Label,
        executed: Label | None = None,
        reward: float | None = None,
        state: Label | None = None,
        *,
        duration: float | None = None,
        cost: float | None = None,
        step: int | None = None,
    ) -> float | None:
        """Learn from an observation, and return the reward.  The observation is on disk when this method returns.

        Parameters
        ----------
        observation:
            what followed the action: a label; a list of numbers, if ``observations`` is a box; or for a Gymnasium task
            without a discretiser, (point, reward, mark) as the environment returned them
        executed:
            the action that was really executed, if it was not the one that ``act`` returned
        reward:
            the reward, if the agent was created with ``reward="given"``; if it was also created with ``reward_delay``,
            you can omit a reward that is not known yet, and pass it to :meth:`reward` later
        state:
            the next aleatoric state, if the agent was created with ``aleatoric="given"``
        duration:
            how long the decision took, if the agent was created with ``durations``
        cost:
            what the decision cost, if the agent was created with a ``limit``
        step:
            the step number, which makes retries idempotent: if this step is already recorded with the same values,
            nothing changes; with different values, :exc:`everlearn.errors.Conflict` is raised

        """
        with self._lock:
            if not self._current:
                self._recover()
            entry = None
            if step is not None:
                outcome = Outcome(observation, executed, reward, state, duration, cost)
                entry = self.core.recall(whole(step, "step", least=1), outcome, self.store.recorded)
            if entry is None:
                entry = self.core.prepare(observation, executed, reward, state, duration, cost)
                self._commit(entry)
                if self.core.step >= self.core.look_at:
                    self._looks.take(self.store, self.core, self._commit)
            return entry.reward

    def reward(self, step: int, reward: float) -> None:
        """Pass the reward of an earlier step, and learn from that step.  The reward is on disk when this returns.

        If you pass the same reward again, nothing changes.  A different reward for the same step raises
        :exc:`everlearn.errors.Conflict`.  So does a reward that arrives when ``reward_delay`` further steps have been
        observed already.
        """
        with self._turn:
            entry = self.core.pay(whole(step, "step", least=1), reward, self.store.reward_of)
            if entry is not None:
                self._commit(entry)

    def _commit(self, entry: Entry) -> None:
        """Apply an entry, and write it down; if either fails, the agent is as before, in memory and on disk.

        It is applied first, since a user's design may fail to learn from it: every row on disk can be learned from.
        """
        core = self.core
        pending, asked, self._current = core.agent.pending, core.asked, False
        try:
            core.apply(entry)
            self.store.append_one(core.number, entry)
        except Exception:
            self._undo(pending, asked)
            raise
        self._current = True
        if self.core.due:
            try:
                self.store.append([], [self.core])
            except StoreFull as error:  # the observation is safe without it, and the next observation tries again
                LOG.warning("no snapshot at step %d: %s", self.core.step, error)

    def _undo(self, pending: int | None, asked: int | None) -> None:
        """Return to what is on disk, and to the action that was pending, after a call that failed."""
        with suppress(EverlearnError):  # the next call then tries to recover again
            self._recover()
            if pending is not None and self.core.agent.pending is None:
                self.core.choose(asked)

    @property
    def step(self) -> int:
        """The number of observations so far."""
        return self.core.step

    @property
    def t(self) -> int:
        """The number of steps that the agent has learned from; it does not increase in frozen mode."""
        return self.core.t

    @property
    def mode(self) -> str:
        """The mode: ``learn``, ``frozen`` or ``shadow``."""
        return self.core.mode

    @property
    def aleatoric_state(self) -> Label:
        """The aleatoric state, S_t."""
        return self.core.agent.aleatoric_state

    def learn(self) -> None:
        """Switch to learn mode (the initial mode): the agent chooses actions and learns."""
        self._change_mode("learn")

    def freeze(self) -> None:
        """Switch to frozen mode: the agent acts greedily and does not learn; observations are still recorded."""
        self._change_mode("frozen")

    def shadow(self) -> None:
        """Switch to shadow mode: the agent proposes actions and learns, but another controller decides.

        Pass ``executed`` to every ``observe``.
        """
        self._change_mode("shadow")

    def demote(self) -> None:
        """Return to shadow mode after a promotion, and disarm the promotion rule until it is set again.

        If that was done already, nothing changes.  Raises an error if the agent was never promoted; use :meth:`shadow`
        then.
        """
        with self._turn:
            control.demote(self.core, self._commit)

    def set_promotion(self, rule: Mapping[str, Any] | None) -> None:
        """Set the promotion rule and start it.  None removes the rule.

        To restart a rule, set the same rule again.  If the agent is not in shadow mode, the rule starts when the agent
        changes to shadow mode, and a warning is logged.
        """
        with self._turn:
            known, pending, asked = Rule.read(rule), self.core.agent.pending, self.core.asked
            self._current = False
            try:
                control.arm(self.store, NAME, self.core, known, self.core.apply)
            except Exception:
                self._undo(pending, asked)
                raise
            self._current = True
            if known is not None and self.core.mode != "shadow":
                LOG.warning(
                    "the promotion rule is set, and starts when the agent changes to shadow mode, with shadow()"
                )

    def forgetting(self, forgetting: float) -> None:
        """Change the least step size, ``schedule.forgetting``; with 0, all visits count.  What was learned stays.

        The agent must take a schedule that has this parameter, as ``growing-horizon`` does.  A snapshot is taken first,
        and the change is recorded in the journal; the agent can no longer be rolled back to an earlier snapshot.
        """
        with self._turn:
            core, pending, asked = self.core, self.core.agent.pending, self.core.asked
            present = self._given["parameters"] or core.setup.document["parameters"]
            parameters = control.with_forgetting(core, present, forgetting)
            core.require_working()
            self.store.append([], [core])  # so that little is replayed
            given, self._current = {**self._given, "parameters": parameters}, False
            try:
                self.core = self.store.open(NAME, given, accept=True)
            except Exception:
                self._undo(pending, asked)
                raise
            self._given, self._current = given, True
            if pending is not None and self.core.agent.pending is None:
                self.core.choose(asked)

    def explain(self) -> str | None:
        """Return what the agent has learned as text, or None if its design has no ``explain``."""
        with self._turn:
            text: str | None = self.inspect()["explanation"]
            return text

    def report(self, confidence: float = 0.95) -> ShadowReport:
        """Return how the agent in shadow mode compares with the controller in charge.

        :func:`everlearn.shadow_report` returns the same report for the directory.
        """
        from everlearn.analysis.shadow import report_of

        with self._turn:
            return report_of(self.store, NAME, self.core, confidence)

    def _change_mode(self, mode: str) -> None:
        with self._turn:
            control.change_mode(self.core, mode, self._commit)

    def warm_start(self, log: Iterable[Any] | str | os.PathLike[str], start: Label | None = None) -> int:
        """Learn from a log of past steps, and return the number of its rows.  If a row is wrong, nothing is learned.

        The rows must be in order of time.  The aleatoric state after the last row becomes that of the agent.

        Parameters
        ----------
        log:
            rows (observation, action) or (observation, action, reward), where the action led to the observation; or a
            file of such rows, CSV with a header or JSON lines
        start:
            the aleatoric state in which the log begins; by default the present one

        """
        with self._turn:
            fine = isinstance(log, str | os.PathLike | Iterable)
            require(fine, "log", simple(log), "give rows, or the name of a file")
            rows = read_log(log, self.core) if isinstance(log, str | os.PathLike) else log
            copy, entries = warmed(self.core, rows, start)
            self.store.append([(copy.number, entry) for entry in entries], [copy])
            self.core = copy
            return len(entries)

    def snapshot(self) -> int:
        """Take a snapshot now, and return its step."""
        with self._turn:
            self.store.append([], [self.core])
            return self.core.step

    def snapshots(self) -> list[dict[str, Any]]:
        """Return a description of each snapshot, the oldest first."""
        with self._turn:
            return self.store.snapshots(self.core.number)

    def rollback(self, step: int, *, seq: int | None = None) -> None:
        """Roll back what the agent knows to the snapshot of a step.

        The aleatoric state does not change, because the environment is not rolled back, and the step count continues.
        A step can have several snapshots, for example after an import.  ``seq`` selects one of them, as in
        :meth:`snapshots`; by default, it is the latest.
        """
        row = None if seq is None else whole(seq, "seq", most=MOST_STEPS)
        with self._turn:
            self._commit(self.store.roll_back(self.core, whole(step, "step", most=MOST_STEPS), row))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the agent state to a file, as :meth:`everlearn.Agent.save` does."""
        with self._turn, file_errors(path), replacing(path) as file:
            file.write(self.core.export_state())

    def load(self, path: str | os.PathLike[str]) -> None:
        """Resume from an agent state in a file, including its aleatoric state.  The step count is not reset."""
        with file_errors(path):
            data = expanded(path).read_bytes()
        with self._turn:
            try_state(self.core, data)
            self._commit(self.core.import_state(data))

    def policy(self) -> dict[str, Any]:
        """Return the greedy policy as a JSON document, as the client of the service does.

        The table of probabilities is ``agent.core.agent.policy``.
        """
        with self._turn:
            return views.policy_table(self.core)

    def inspect(self) -> dict[str, Any]:
        """Return a JSON document: step, mode, aleatoric state, pending action, action values, counts, averages.

        ``arrays`` contains the arrays that ``inspect`` of your own design returns, by name, as lists.
        """
        with self._turn:
            return views.inspect(self.core)

    def journal(self, first: int | None = None, last: int | None = None) -> Iterator[dict[str, Any]]:
        """Yield the rows of the journal from step ``first`` to step ``last``, each as a dict with labels."""
        return audit.export(self.store.directory, NAME, *step_range(first, last))

    @property
    def alarm(self) -> Alarm | None:
        """The last drift alarm: its step, the recent average reward and the past one; None if there was no alarm."""
        return self.core.gauge.last

    def close(self) -> None:
        """Close the file, and release the directory."""
        with self._turn.lock:
            self._closed, self._current = True, False
            self.store.close()

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
