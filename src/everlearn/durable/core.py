"""The durable agent without its disk: what it proposes, what an observation would change, and the change.

``prepare`` checks everything and changes nothing; what it returns is written down; ``apply`` then changes memory.
Replay applies the same entries, so that what is recovered is what there was, to the last bit.
"""

from __future__ import annotations

import logging
import math
import numbers
import time
from collections.abc import Iterable
from typing import Any

from everlearn.agents.agent import Agent
from everlearn.agents.snapshot import unpack
from everlearn.durable.choosing import greedy, mask_of, proposal
from everlearn.durable.drift import Gauge
from everlearn.durable.entry import (
    CHANGE,
    FROZEN,
    IMPORT,
    LEARN,
    MODE,
    MODES,
    OBSERVED,
    ROLLBACK,
    SHADOW,
    Accepted,
    Entry,
    checked,
    first_check,
    packed,
    unpacked,
)
from everlearn.durable.setup import Setup
from everlearn.errors import Corrupt, InputError, LiveError, RewardError, require
from everlearn.labels import as_label
from everlearn.protocol import Experience, Label

LOG = logging.getLogger("everlearn.durable")

FAILURES = (ArithmeticError, LookupError, TypeError)
"""What a design of everlearn may raise whose parameters lead to numbers that it cannot compute with.  What a design of
the user's raises is an error of this project, and is not among these."""


class Core:
    """An agent with modes and allowed actions, which counts what it takes in.

    Examples
    --------
    >>> from everlearn.durable.setup import make_setup
    >>> core = Core(make_setup(task="service-station", seed=1))
    >>> core.act()
    'fast'
    >>> core.apply(core.prepare("arrival"))
    >>> core.step, core.t, core.mode
    (1, 1, 'learn')

    """

    def __init__(self, setup: Setup, number: int = 0) -> None:
        self.setup = setup
        self.number = number
        """Which agent of its store it is."""
        self.agent: Agent = setup.agent()
        self.gauge = Gauge(**setup.drift)
        self.step = 0
        """How many observations were taken in."""
        self.seq = 0
        """How many rows its journal has had."""
        self.check = first_check(number)
        self.asked: int | None = None
        """The mask that was given with the pending call of ``act``, if any."""
        self.changed: dict[str, Any] | None = None
        """The last change that was accepted: at which step, and what."""
        self.exact = True
        """Whether replay must come to the agent that there was; not where its functions are known to be others."""
        self._mode = LEARN
        self._prepared: Entry | None = None
        self._snapped = 0
        self._every = (1 << self.agent.indexed.actions) - 1
        self._learned = self.agent.learned

    @property
    def t(self) -> int:
        """How many steps were learned from: the clock of the agent."""
        return self.agent.t

    @property
    def mode(self) -> str:
        """How it acts: learn, frozen or shadow."""
        return MODES[self._mode]

    @property
    def next_step(self) -> int:
        """The number of the step that is due: the one that ``act`` proposes for and the next observation completes."""
        return self.step + 1

    @property
    def due(self) -> bool:
        """Whether so much has happened since the last snapshot that another is due."""
        return self.step - self._snapped >= self.setup.snapshot_every

    def act(self, allowed: Iterable[Label] | None = None) -> Label:
        """Return the action that it proposes for the step that is due; asked again, it returns the same."""
        return self.agent.task.actions[self.propose(allowed)]

    def propose(self, allowed: Iterable[Label] | None = None) -> int:
        """Do as :meth:`act`, and return an index."""
        mask = None if allowed is None else mask_of(self.agent, allowed)
        if self.agent.pending is not None:
            same = mask is None or mask == self.asked
            require(same, "allowed", allowed, "was not so when this step was asked for; observe it first")
            return self.agent.pending
        return self.choose(mask)

    def may(self, aleatoric_state: int) -> int:
        """Return the mask of the actions that the setup allows in a state."""
        return self.setup.allowed.get(aleatoric_state, self._every)

    def choose(self, mask: int | None) -> int:
        """Choose anew, among the actions of a mask if there is one, and return the index of the action."""
        agent = self.agent
        may = self.may(agent.situation)
        if mask is not None:
            may &= mask
            require(may != 0, "allowed", bin(mask), "leaves no action that the setup allows in this state")
        try:
            chosen = greedy(agent, agent.situation, may) if self._mode == FROZEN else proposal(agent, may)
        except FAILURES as error:
            raise LiveError(f"the design {agent.design.name!r} could not act: {error!r}") from error
        agent.pending, self.asked = chosen, mask
        return chosen

    def prepare(
        self,
        observation: Label,
        executed: Label | None = None,
        reward: float | None = None,
        state: Label | None = None,
        *,
        kind: int = OBSERVED,
    ) -> Entry:
        """Return the entry of an observation, checked; nothing is changed."""
        indexed = self.agent.indexed
        action = self._executed(executed)
        index = indexed.observation(as_label(observation))
        following, earned = indexed.step(self.agent.situation, action, index)
        if self.setup.gives_state:
            following = self._told_state(observation, state)
        elif state is not None:
            raise InputError("state", state, "follows from the setup; leave it out")
        if self.setup.gives_reward:
            earned = self._told_reward(reward)
        elif reward is not None:
            raise InputError("reward", reward, "follows from the setup; leave it out")
        self.agent.upcoming  # noqa: B018 - a schedule that leaves its domain says so now, before anything is written
        return self.entry(kind, self.step + 1, action, index, earned + 0.0, following)  # SQLite keeps no -0.0

    def _executed(self, executed: Label | None) -> int:
        if executed is not None:
            return self.agent.indexed.action(as_label(executed))
        if self._mode == SHADOW:
            raise InputError("executed", None, "in shadow mode somebody else decides; name what was executed")
        if self.agent.pending is None:
            raise InputError("executed", None, "nothing was asked for; call act() first, or name what was executed")
        return self.agent.pending

    def _told_state(self, observation: Label, state: Label | None) -> int:
        told = observation if state is None and self.setup.observes_state else state
        require(told is not None, "state", None, "the setup has states given: name the one that followed")
        return self.agent.indexed.state(as_label(told))

    def _told_reward(self, reward: object) -> float:
        if isinstance(reward, bool) or not isinstance(reward, numbers.Real):
            raise RewardError("reward", reward, "the setup has rewards given: tell the reward, a number")
        try:
            return self.agent.task.reward.check(float(reward))
        except OverflowError:
            return self.agent.task.reward.check(math.inf)

    def change_mode(self, mode: str) -> Entry:
        """Return the entry of a change of mode."""
        require(mode in MODES, "mode", mode, f"known: {', '.join(MODES)}")
        if mode == "frozen":
            greedy(self.agent, self.agent.situation, self._every)  # a design that cannot act so says it now
        return self.entry(MODE, self.step, payload=mode.encode())

    def roll_back(self, state: bytes) -> Entry:
        """Return the entry of going back to what was known when a snapshot was taken.

        The aleatoric state stays the present one, since the world has not gone back; and so does what is pending.
        """
        self.copy().agent.from_bytes(state, "snapshot")
        return self.entry(ROLLBACK, self.step, payload=state)

    def import_state(self, state: bytes) -> Entry:
        """Return the entry of putting the agent into a state that was exported, its aleatoric state included."""
        tried = self.copy()
        tried.agent.from_bytes(state, "agent state")
        return self.entry(IMPORT, self.step, following=tried.agent.situation, payload=state)

    def take_over(self, former: Core) -> None:
        """Go on from where another is, which was made with another setup."""
        self.exact = False
        self.restore(former.seq, *former.dump())
        self.exact = True

    def change(self, changes: list[str], relearned_since: int | None) -> Entry:
        """Return the entry of accepting that what it depends on changed."""
        return self.entry(CHANGE, self.step, payload=Accepted(changes, relearned_since, *self.dump()).payload())

    def resume(self, entry: Entry) -> None:
        """Go on from the row of a change; rows before it are not needed."""
        accepted = Accepted.parsed(entry.payload or b"")
        self.restore(entry.seq - 1, accepted.more, accepted.state)
        self.apply(entry)

    def export_state(self) -> bytes:
        """Return the state of the agent, as ``everlearn.Agent.save`` writes it."""
        return self.agent.to_bytes()

    def entry(
        self,
        kind: int,
        step: int,
        executed: int | None = None,
        observation: int | None = None,
        reward: float | None = None,
        following: int | None = None,
        payload: bytes | None = None,
    ) -> Entry:
        """Return the entry that comes next."""
        pending, asked, state = self.agent.pending, self.asked, self.agent.situation
        allowed = None if pending is None or asked is None else packed(asked)
        after = state if following is None else following
        asking = (self._mode, time.time(), state, allowed, pending)
        fields = (self.seq + 1, kind, step, *asking, executed, observation, reward, after, payload)
        made = self._prepared = Entry._make((*fields, checked(self.check, fields)))
        return made

    def apply(self, entry: Entry) -> None:
        """Do what an entry says: one that was just prepared, or one that is read again, which is then verified."""
        if entry is not self._prepared:
            self._verify(entry)
        self._prepared = None
        if entry.is_observation:
            self._take_in(entry)
        elif entry.kind == MODE:
            self._mode = MODES.index((entry.payload or b"").decode())
        elif entry.kind in (ROLLBACK, IMPORT):
            self._adopt(entry)
        elif entry.kind == CHANGE:
            self.changed = {"step": entry.step, "changes": Accepted.parsed(entry.payload or b"").changes}
        self.step, self.seq, self.check = entry.step, entry.seq, entry.check

    def _verify(self, entry: Entry) -> None:
        """See that an entry follows on what there is, and ask for what it says was asked for."""
        if (entry.seq, entry.check) != (self.seq + 1, checked(self.check, entry[:-1])):
            raise Corrupt(f"journal row {entry.seq}: it is damaged, or a row before it is missing")
        agent = self.agent
        if entry.kind == OBSERVED and entry.state != agent.situation:
            raise Corrupt(f"journal row {entry.seq}: it begins in another aleatoric state than the row before ended in")
        if entry.proposed is not None and agent.pending is None:
            self.choose(None if entry.allowed is None else unpacked(entry.allowed))
        if not self.exact:
            agent.pending = entry.proposed
        elif entry.proposed is not None and entry.proposed != agent.pending:
            raise Corrupt(
                f"journal row {entry.seq}: action {entry.proposed} was proposed, and replay proposes {agent.pending}; "
                f"the design {agent.design.name!r} is not the one that wrote it"
            )

    def _take_in(self, entry: Entry) -> None:
        action, index, reward = entry.executed, entry.observation, entry.reward
        if action is None or index is None or reward is None or not math.isfinite(reward):
            raise Corrupt(f"journal row {entry.seq}: an observation without its parts")
        if self._mode == FROZEN or not self.may(entry.state) >> action & 1:
            self.agent.move(entry.following)
        else:
            learned = self._learned(reward)
            self._learn(Experience(entry.state, action, index, learned, entry.following))
        self.asked = None
        if entry.kind == OBSERVED:
            self.gauge.add(reward, entry.step)

    def _learn(self, experience: Experience) -> None:
        try:
            self.agent.learn(experience)
        except FAILURES as error:  # the same again on replay, so that what is recovered is still the same
            LOG.error("step %d: the design %r could not learn: %r", self.step + 1, self.agent.design.name, error)
            self.agent.move(experience.next_aleatoric_state)

    def _adopt(self, entry: Entry) -> None:
        pending = self.agent.pending
        self.agent.from_bytes(entry.payload or b"", f"journal row {entry.seq}")
        self.agent.move(entry.following)
        self.agent.pending = pending
        self._snapped = -self.setup.snapshot_every  # the next snapshot is due: replay need not come by here again

    def dump(self) -> tuple[dict[str, Any], bytes]:
        """Return the whole state: what is not the agent's, and that of the agent as it is saved."""
        more = {"step": self.step, "mode": self.mode, "asked": self.asked, "check": self.check, "changed": self.changed}
        return {**more, "gauge": self.gauge.dump()}, self.agent.to_bytes()

    def snapped(self) -> None:
        """Note that a snapshot of the present state is on disk."""
        self._snapped = self.step

    def restore(self, seq: int, more: dict[str, Any], state: bytes) -> None:
        """Go on from what :meth:`dump` returned after row ``seq``."""
        if self.exact:
            self.agent.from_bytes(state, "snapshot")
        else:
            self.agent.restore(unpack(state, "snapshot")[0])
        self.seq, self.step, self.check = seq, more["step"], more["check"]
        self._mode, self.asked, self.changed = MODES.index(more["mode"]), more["asked"], more.get("changed")
        if more["gauge"] is not None:
            self.gauge.restore(more["gauge"])
        self.snapped()

    def copy(self) -> Core:
        """Return another of the same, on which changes can be tried."""
        other = Core(self.setup, self.number)
        other.restore(self.seq, *self.dump())
        other._snapped = self._snapped
        return other
