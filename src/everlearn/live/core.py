"""The durable agent without its disk: what it proposes, what an observation would change, and the change.

``prepare`` checks everything and changes nothing; what it returns is written down; ``apply`` changes memory and cannot
fail.  Replay applies the same entries, so that what is recovered is what there was, to the last bit.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from typing import Any

from everlearn.agents.agent import Agent
from everlearn.errors import Corrupt, InputError, LiveError, RewardError, require
from everlearn.labels import as_label
from everlearn.live.choosing import greedy, mask_of, proposal
from everlearn.live.entry import FROZEN, IMPORT, LEARN, MODE, MODES, OBSERVED, ROLLBACK, SHADOW, WARM, Entry
from everlearn.live.setup import Setup
from everlearn.protocol import Experience, Label


class Core:
    """An agent with modes and allowed actions, which counts what it takes in.

    Examples
    --------
    >>> from everlearn.live.setup import make_setup
    >>> core = Core(make_setup(task="service-station", seed=1))
    >>> core.act()
    'fast'
    >>> core.apply(core.prepare("arrival"))
    >>> core.step, core.t, core.mode
    (1, 1, 'learn')

    """

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.agent: Agent = setup.agent()
        self.number = 0
        """Which agent of its store it is."""
        self.step = 0
        self.seq = 0
        self._snapped = 0
        self._mode = LEARN
        self._asked: int | None = None
        self._every = (1 << self.agent.interface.actions) - 1

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

    def act(self, allowed: Iterable[Label] | None = None) -> Label:
        """Return the action that it proposes for the step that is due; asked again, it returns the same."""
        return self.agent.task.actions[self.propose(allowed)]

    def propose(self, allowed: Iterable[Label] | None = None) -> int:
        """Do as :meth:`act`, and return an index."""
        mask = None if allowed is None else mask_of(self.agent, allowed)
        if self.agent.pending is not None:
            same = mask is None or mask == self._asked
            require(same, "allowed", allowed, "was not so when this step was asked for; observe it first")
            return self.agent.pending
        return self._choose(mask)

    def _choose(self, mask: int | None) -> int:
        agent = self.agent
        may = self.setup.allowed.get(agent.situation, self._every)
        if mask is not None:
            may &= mask
            require(may != 0, "allowed", bin(mask), "leaves no action that the setup allows in this state")
        chosen = greedy(agent, agent.situation, may) if self._mode == FROZEN else proposal(agent, may)
        agent.pending, self._asked = chosen, mask
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
        interface = self.agent.interface
        action = self._executed(executed)
        index = interface.observation(as_label(observation))
        before = self.agent.situation
        following, earned = interface.step(before, action, index)
        if self.setup.gives_state:
            following = self._told_state(observation, state)
        else:
            require(state is None, "state", state, "follows from the setup; leave it out")
        if self.setup.gives_reward:
            earned = self._told_reward(reward)
        else:
            require(reward is None, "reward", reward, "follows from the setup; leave it out")
        return self._entry(kind, self.step + 1, action, index, earned, following, None)

    def _executed(self, executed: Label | None) -> int:
        if executed is not None:
            return self.agent.interface.action(as_label(executed))
        if self._mode == SHADOW:
            raise InputError("executed", None, "in shadow mode somebody else decides; name what was executed")
        if self.agent.pending is None:
            raise InputError("executed", None, "nothing was asked for; call act() first, or name what was executed")
        return self.agent.pending

    def _told_state(self, observation: Label, state: Label | None) -> int:
        same = self.setup.document["observations"] == self.setup.document["states"]
        told = observation if state is None and same else state
        require(told is not None, "state", None, "the setup has states given: name the one that followed")
        return self.agent.interface.state(as_label(told))

    def _told_reward(self, reward: object) -> float:
        fine = isinstance(reward, int | float) and not isinstance(reward, bool)
        if not fine:
            raise RewardError("reward", reward, "the setup has rewards given: tell the reward, a number")
        return self.agent.task.reward.check(reward)

    def change_mode(self, mode: str) -> Entry:
        """Return the entry of a change of mode."""
        require(mode in MODES, "mode", mode, f"known: {', '.join(MODES)}")
        if mode == "frozen":
            greedy(self.agent, self.agent.situation, self._every)  # a design that cannot act so says it now
        return self._event(MODE, mode.encode())

    def _event(self, kind: int, payload: bytes) -> Entry:
        return self._entry(kind, self.step, None, None, None, self.agent.situation, payload)

    def _entry(self, kind: int, step: int, *rest: Any) -> Entry:
        executed, observation, reward, following, payload = rest
        pending = self.agent.pending
        asked = None if pending is None or self._asked is None else _packed(self._asked)
        return Entry(
            self.seq + 1,
            kind,
            step,
            self._mode,
            time.time(),
            self.agent.situation,
            asked,
            pending,
            executed,
            observation,
            reward,
            following,
            payload,
        )

    def apply(self, entry: Entry) -> None:
        """Do what an entry says: one that was just prepared, or one that is read again."""
        self._check(entry)
        if entry.kind in (OBSERVED, WARM):
            self._take_in(entry)
        elif entry.kind == MODE:
            self._mode = MODES.index((entry.payload or b"").decode())
        elif entry.kind in (ROLLBACK, IMPORT):
            self._adopt(entry)
        self.step, self.seq = entry.step, entry.seq

    def _check(self, entry: Entry) -> None:
        """See that an entry follows on what there is, and ask for what it says was asked for."""
        if (entry.seq, entry.mode, entry.state) != (self.seq + 1, self._mode, self.agent.situation):
            raise Corrupt(f"journal row {entry.seq}: it does not follow on the rows before it")
        if entry.proposed is not None and self.agent.pending is None:
            self._choose(None if entry.allowed is None else int.from_bytes(entry.allowed, "little"))
        if entry.proposed is not None and entry.proposed != self.agent.pending:
            raise Corrupt(
                f"journal row {entry.seq}: action {entry.proposed} is recorded as proposed, and replay proposes "
                f"{self.agent.pending}; the design is not the one that wrote it, or the row is damaged"
            )

    def _take_in(self, entry: Entry) -> None:
        action, index, reward = entry.executed, entry.observation, entry.reward
        if action is None or index is None or reward is None or not math.isfinite(reward):
            raise Corrupt(f"journal row {entry.seq}: an observation without its parts")
        learned = self.agent.task.reward.learned(reward)
        if self._mode == FROZEN or not self.setup.allowed.get(entry.state, self._every) >> action & 1:
            self.agent.move(entry.following)
        else:
            self.agent.learn(Experience(entry.state, action, index, learned, entry.following))
        self._asked = None

    def _adopt(self, entry: Entry) -> None:
        raise LiveError("not yet")

    @property
    def due(self) -> bool:
        """Whether so much has happened since the last snapshot that another is due."""
        return self.step - self._snapped >= self.setup.snapshot_every

    def dump(self) -> tuple[dict[str, Any], bytes]:
        """Return the whole state: that of the agent as it is saved, and the rest."""
        self._snapped = self.step
        return {"step": self.step, "mode": self.mode, "asked": self._asked}, self.agent.dump()

    def restore(self, seq: int, more: dict[str, Any], state: bytes) -> None:
        """Go on from what :meth:`dump` returned after row ``seq``."""
        self.agent.restore(state, "snapshot")
        self.seq, self.step, self._snapped = seq, more["step"], more["step"]
        self._mode, self._asked = MODES.index(more["mode"]), more["asked"]


def _packed(mask: int) -> bytes:
    return mask.to_bytes((mask.bit_length() + 7) // 8, "little")
