"""The durable agent without its disk: its proposals, the entry of an observation, and the change that an entry makes.

``prepare`` checks everything and changes nothing; the entry that it returns is written down; ``apply`` then changes
memory.  Replay applies the same entries, so that recovery restores the agent to the last bit.
"""

from __future__ import annotations

import math
import numbers
import time
from collections.abc import Callable, Iterable
from types import EllipsisType
from typing import Any

import numpy as np

from everlearn.agents.agent import Agent
from everlearn.agents.prices import MEASURES, Measures, measured
from everlearn.agents.snapshot import unpack
from everlearn.durable.choice import explored, greedy, labels_of, mask_of, packed, proposal, unpacked, weights
from everlearn.durable.drift import Gauge
from everlearn.durable.entry import (
    MODES,
    OBSERVATIONS,
    PROPENSITY,
    Accepted,
    Checkpoint,
    Entry,
    Kind,
    Mode,
    Outcome,
    Stored,
    checksum,
    first_check,
    number_of,
    pack_numbers,
    stored,
)
from everlearn.durable.promotion import NEVER, Rule, RuleState, pack_mode
from everlearn.durable.setup import Setup
from everlearn.durable.waiting import Awaited, Waiting
from everlearn.errors import Conflict, Corrupt, EverlearnError, Failed, InputError, LabelError, RewardError, require
from everlearn.grids import MOST_NUMBERED
from everlearn.labels import as_label, few
from everlearn.protocol import Experience, Label

_new = tuple.__new__  # faster than the constructor of a named tuple


class Core:
    """An agent with modes and allowed actions, which counts its observations."""

    def __init__(self, setup: Setup, number: int = 0) -> None:
        self.setup = setup
        self.number = number  # its number in its store
        self.agent: Agent = setup.agent()
        self.gauge = Gauge(**setup.drift)
        self.step = 0  # the number of observations so far
        self.seq = 0  # the number of the last row of its journal
        self.check = first_check(number)  # the check of the last row of its journal
        self.asked: int | None = None  # the mask that was given with the pending call of act, if any
        self.noted: dict[str, float] = {}  # numbers of the pending proposal, for the row of its observation
        self.changed: dict[str, Any] | None = None  # the last change that was accepted: its step, and what changed
        self.failures: dict[int, Failed] = {}  # the rows of the journal from which it is known that it cannot learn
        self.failure: Failed | None = None  # why it does not act or learn, until it is rolled back or imported to
        self.waiting = Waiting()  # the steps whose rewards are to come
        self.exact = True  # whether replay must reproduce the agent; not if its functions are known to have changed
        self.rule_state = RuleState()  # what the promotion rule knows
        self._mode = Mode.LEARN
        self._prepared: Entry | None = None
        self._snapshot_step = 0
        self._every = (1 << self.agent.indexed.actions) - 1
        self._learned = self.agent.learned
        # Most agents have none of what follows, and a step asks for each: so it is looked up once.
        self._gives_state, self._gives_reward, self._delay = setup.gives_state, setup.gives_reward, setup.reward_delay
        self._prices, self._explore, self._allowed = self.agent.prices, setup.explore, setup.allowed
        self._wide = max(self.agent.indexed.states, self.agent.indexed.observations) > MOST_NUMBERED
        self._remembers = self.agent.design.remember is not None
        self._declared = [name for name, ends in zip(MEASURES, setup.measures, strict=True) if ends is not None]
        self.look_at = NEVER  # the step at which the promotion rule looks at its evidence
        if setup.promotion is not None:
            weights(self.agent)  # raises now if the design has no policy to judge
            self._plan_look()

    @property
    def t(self) -> int:
        """The number of steps learned from: the clock of the agent."""
        return self.agent.t

    @property
    def mode(self) -> str:
        """How it acts: learn, frozen or shadow."""
        return MODES[self._mode]

    @property
    def next_step(self) -> int:
        """The number of the step that is due: ``act`` proposes for it, and the next observation completes it."""
        return self.step + 1

    @property
    def due(self) -> bool:
        """Whether another snapshot is due; never of an agent that failed, which may succeed when it is replayed."""
        return self.step - self._snapshot_step >= self.setup.snapshot_every and self.failure is None

    def act(self, allowed: Iterable[Label] | None = None) -> Label:
        """Return the action that it proposes for the step that is due; another call returns the same."""
        return self.agent.task.actions[self.propose(allowed)]

    def propose(self, allowed: Iterable[Label] | None = None) -> int:
        """Do as :meth:`act`, and return an index."""
        mask = None if allowed is None else mask_of(self.agent, allowed)
        if self.agent.pending is None:
            return self.choose(mask)
        same = mask is None or mask == self.asked
        require(
            same,
            "allowed",
            allowed,
            "differs from the call of act that is pending; observe its step first, or pass again",
        )
        return self.agent.pending

    @property
    def asked_labels(self) -> list[Label] | None:
        """The actions among which the pending one was chosen; None if all were allowed."""
        return None if self.asked is None else labels_of(self.agent, self.asked)

    def may(self, aleatoric_state: int) -> int:
        """Return the mask of the actions that the setup allows in a state."""
        return self._allowed.get(aleatoric_state, self._every)

    def choose(self, mask: int | None) -> int:
        """Choose a new action, from a mask if there is one, and return its index."""
        if self.failure is not None:
            self.require_working()
        agent = self.agent
        may = self._allowed.get(agent.situation, self._every)
        if mask is not None:
            may &= mask
            require(may != 0, "allowed", bin(mask), "leaves no action that the setup allows in this state")
        try:
            chosen = greedy(agent, agent.situation, may) if self._mode == Mode.FROZEN else proposal(agent, may)
        except Exception as error:
            raise self._failed("act", self.next_step, error) from error
        self.noted = {}
        if self._explore:
            rate = 0.0 if self._mode == Mode.FROZEN else self._explore
            chosen, propensity = explored(agent, chosen, may, rate) if rate else (chosen, 1.0)
            self.noted = {PROPENSITY: propensity}
        agent.pending, self.asked = chosen, mask
        return chosen

    def _failed(self, what: str, step: int, error: Exception) -> Exception:
        """Return the error of a design that raised one; a user's design raises errors of this project.

        A lack of memory passes, and is no failure of the design.
        """
        if isinstance(error, EverlearnError | MemoryError):
            return error
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        message = f"step {step}: the design {self.agent.design.name!r} could not {what} ({reason})"
        return Failed(message, self.seq + 1, step=step)

    def require_working(self) -> None:
        """Raise if the design has failed to learn from a row of the journal."""
        if self.failure is not None:
            remedy = "roll it back to a snapshot, import an agent state, or delete it"
            message = f"the agent is quarantined since {self.failure}; {remedy}"
            raise Failed(message, self.failure.seq, quarantined=True)

    def recall(
        self,
        step: int,
        outcome: Outcome,
        recorded: Callable[[int, int], Entry | None],
        mask: int | EllipsisType | None = ...,
    ) -> Entry | None:
        """Return the row of a step that is reported again, or None if the step is due; otherwise raise a conflict.

        A repeated report has the content of the row, and changes nothing; what it leaves out is taken from the row.
        ``recorded`` returns the row of an agent and a step.  ``mask`` is compared with that of the row, if given.
        """
        due = self.next_step
        if step == due:
            return None
        if step > due:
            raise Conflict(f"step {step} is not due; step {due} is", due, step=step)
        entry = recorded(self.number, step)
        if entry is None:
            message = f"step {step} is past, and the journal does not reach back so far; step {due} is due"
            raise Conflict(message, due, step=step)
        indexed = self.agent.indexed
        reported: dict[str, Any] = {
            "observation": stored(indexed.observation(as_label(outcome.observation))),
            "executed": entry.proposed if outcome.executed is None else self._executed(outcome.executed),
            "reward": entry.reward if outcome.reward is None else outcome.reward,
            "following": entry.following if outcome.state is None else stored(indexed.state(as_label(outcome.state))),
            "allowed": entry.allowed if mask is ... else None if mask is None else packed(mask),
            "payload": self._payload(entry, outcome),
        }
        if entry.reward is None and step in self.waiting and outcome.reward is not None:
            call = f"call reward({step}, {outcome.reward!r})"
            message = f"step {step} is recorded, and its reward is awaited; {call}; step {due} is due"
            raise Conflict(message, due, step=step, field="reward")
        other = entry._replace(**reported)
        if entry != other:
            row, other_row = (content.described(self.agent.task) for content in (entry, other))
            name = next((name for name in {**row, **other_row} if row.get(name) != other_row.get(name)), "check")
            difference = f"{name} {row.get(name)!r}, not {other_row.get(name)!r}"
            message = f"step {step} is recorded with other content: {difference}; step {due} is due"
            raise Conflict(message, due, row, step=step, field=name)
        return entry

    def _payload(self, entry: Entry, outcome: Outcome) -> bytes | None:
        """Return the payload of a row with the measures that are reported again."""
        numbers, reported = entry.numbers, (outcome.duration, outcome.cost)
        measures = (
            numbers.get(name) if value is None else value for name, value in zip(MEASURES, reported, strict=True)
        )
        return pack_numbers({**numbers, **measured(self.setup.prices, *measures)})

    def prepare(
        self,
        observation: Label,
        executed: Label | None = None,
        reward: float | None = None,
        state: Label | None = None,
        duration: float | None = None,
        cost: float | None = None,
        *,
        kind: int = Kind.OBSERVED,
    ) -> Entry:
        """Return the entry of an observation, checked; nothing is changed."""
        if self.failure is not None:
            self.require_working()
        agent = self.agent
        indexed, pending = agent.indexed, agent.pending
        named = executed is not None or self._mode == Mode.SHADOW
        argument = "executed" if kind == Kind.OBSERVED else "action"
        action = self._executed(executed, argument) if named or pending is None else pending
        index = indexed.observation(as_label(observation))
        earned: float | None
        following, earned = indexed.step(agent.situation, action, index)
        if self._gives_state:
            following = self._given_state(observation, state)
        elif state is not None:
            raise InputError("state", as_label(state), "follows from the setup; leave it out")
        if self._delay and reward is None and kind == Kind.OBSERVED:
            earned = None
        elif self._gives_reward:
            earned = self._given_reward(reward)
        elif reward is not None:
            raise InputError("reward", reward, "follows from the setup; leave it out")
        agent.upcoming  # noqa: B018 - a schedule that leaves its domain raises now, before anything is written
        earned = None if earned is None else earned + 0.0  # SQLite does not store -0.0
        payload = None
        if self.noted or self._prices is not None or duration is not None or cost is not None:
            noted = self.noted if agent.pending is not None else {}
            payload = pack_numbers({**noted, **measured(self._prices, duration, cost)})
        return self.entry(kind, self.step + 1, action, index, earned, following, payload)

    def pay(self, step: int, reward: object, recorded: Callable[[int, int], float | None]) -> Entry | None:
        """Return the entry of a reward that comes late, checked; None if it is recorded already.

        ``recorded`` returns the recorded reward of an agent and a step, if there is one.
        """
        self.require_working()
        earned = self._given_reward(reward) + 0.0
        if step in self.waiting:
            return self.entry(Kind.REWARD, self.step, reward=earned, payload=b"%d" % step)
        if step > self.step:
            message = f"step {step} is not observed yet; step {self.next_step} is due"
            raise Conflict(message, self.next_step, step=step)
        known = recorded(self.number, step)
        if known == earned:
            return None
        delay = f"it was to come within {self.setup.reward_delay} steps"
        late = f"has no reward, and {earned!r} comes too late: {delay}"
        what = late if known is None else f"has the reward {known!r}, not {earned!r}"
        message = f"step {step} {what}; step {self.next_step} is due"
        raise Conflict(message, self.next_step, step=step, field=None if known is None else "reward")

    def _executed(self, executed: Label | None, argument: str = "executed") -> int:
        given: object = executed
        if self.setup.gives_reward and isinstance(given, int | float) and given not in self.agent.task.actions:
            remedy = f"known: {few(self.agent.task.actions)}; a reward is passed by name, as in reward={given!r}"
            raise LabelError(argument, given, remedy)
        if executed is not None:
            return self.agent.indexed.action(as_label(executed), argument)
        if self._mode == Mode.SHADOW:
            raise InputError("executed", None, "in shadow mode somebody else decides; name what was executed")
        if self.agent.pending is None:
            raise InputError("executed", None, "no action is pending; call act() first, or name what was executed")
        return self.agent.pending

    def _given_state(self, observation: Label, state: Label | None) -> int:
        given = observation if state is None and self.setup.observes_state else state
        require(given is not None, "state", None, "the setup has states given: name the one that followed")
        return self.agent.indexed.state(as_label(given))

    def _given_reward(self, reward: object) -> float:
        check = self.agent.task.reward.check
        if type(reward) is float:
            return check(reward)
        if isinstance(reward, np.generic | np.ndarray) and reward.ndim == 0:
            reward = reward.item()
        if isinstance(reward, bool) or not isinstance(reward, numbers.Real):
            raise RewardError("reward", reward, 'the setup has reward="given": pass the reward, a number')
        try:
            return check(float(reward))
        except OverflowError:
            return check(math.inf)

    def change_mode(self, mode: str, note: dict[str, Any] | None = None) -> Entry:
        """Return the entry of a change of mode, with a note if it is one of the promotion rule."""
        require(mode in MODES, "mode", mode, f"known: {', '.join(MODES)}")
        if mode == "frozen":
            greedy(self.agent, self.agent.situation, self._every)  # raises now if the design cannot act so
        return self.entry(Kind.MODE, self.step, payload=pack_mode(mode, note))

    def demote(self) -> Entry:
        """Return the entry that undoes a promotion: back to shadow mode; the rule is disarmed until it is set again."""
        remedy = "the agent was never promoted, so there is nothing to undo; set the mode to shadow, or remove the rule"
        require(self.rule_state.promotions > 0, "mode", self.mode, remedy)
        return self.change_mode("shadow", {"event": "demoted", "reason": "an operator"})

    def arm(self, rule: Rule | None) -> Entry:
        """Return the entry of a promotion rule that is set, or set again."""
        self.setup.check_evidence(rule)
        if self.setup.check_promotion(rule) is not None:
            weights(self.agent)  # raises if the design has no policy to judge
        note = {"event": "armed", "rule": None if rule is None else rule.document()}
        return self.change_mode(self.mode, note)

    def rearm(self) -> None:
        """Let the promotion rule begin again, because it is another one, or judges something else."""
        self.rule_state = self.rule_state.noted(self.mode, self.step, {"event": "armed"})
        self._plan_look()

    def forget(self, mask: int | None) -> Entry | None:
        """Return the entry that withdraws the pending action, so that another can be chosen from a mask.

        Return None if there is none, or if it was chosen from that mask.
        """
        if self.agent.pending is None or mask == self.asked:
            return None
        fine = mask is None or mask & self.may(self.agent.situation) != 0
        require(fine, "allowed", mask, "leaves no action that the setup allows in this state")
        return self.entry(Kind.FORGOTTEN, self.step)

    def roll_back(self, state: bytes) -> Entry:
        """Return the entry of a rollback to the agent state of a snapshot.

        The aleatoric state and the pending action stay as they are, since the world has not gone back.
        """
        self.copy().agent.from_bytes(state, "snapshot")
        return self.entry(Kind.ROLLBACK, self.step, payload=state)

    def import_state(self, state: bytes) -> Entry:
        """Return the entry of an import of an agent state, its aleatoric state included."""
        other = Core(self.setup).agent
        other.from_bytes(state, "agent state")
        return self.entry(Kind.IMPORT, self.step, following=other.situation, payload=state)

    def change(self, changes: list[str], relearned_since: int | None) -> Entry:
        """Return the entry of an accepted change of something that the agent depends on."""
        accepted = Accepted(changes, relearned_since, self.snapshot())
        return self.entry(Kind.CHANGE, self.step, payload=accepted.payload())

    def export_state(self) -> bytes:
        """Return the agent state, as ``everlearn.Agent.save`` writes it."""
        return self.agent.to_bytes()

    def entry(
        self,
        kind: int,
        step: int,
        executed: int | None = None,
        observation: Any = None,
        reward: float | None = None,
        following: Any = None,
        payload: bytes | None = None,
    ) -> Entry:
        """Return the next entry of the journal."""
        agent, asked = self.agent, self.asked
        pending, at = agent.pending, time.time()
        state: Stored = agent.situation
        if self._wide:
            state = stored(agent.situation)
            observation, following = (None if each is None else stored(each) for each in (observation, following))
        allowed = None if pending is None or asked is None else packed(asked)
        after = state if following is None else following
        first = (self.seq + 1, kind, step, self._mode, at, state, allowed, pending)
        fields = (*first, executed, observation, reward, after, payload)
        entry = self._prepared = _new(Entry, (*fields, checksum(self.check, fields)))
        return entry

    def apply(self, entry: Entry) -> None:
        """Make the change that an entry describes: one that was just prepared, or one from the journal."""
        if self.failures:
            self.failure = self.failures.get(entry.seq, self.failure)
        if entry is not self._prepared:
            self._propose_again(entry)
        self._prepared = None
        if self._wide:
            names = ("state", "observation", "following")
            kept = {name: getattr(entry, name) for name in names}
            numbers: dict[str, Any] = {name: each and number_of(each) for name, each in kept.items()}
            entry = entry._replace(**numbers)
        if entry.kind in OBSERVATIONS:
            self._observe(entry)
        elif entry.kind == Kind.MODE:
            self._enter(entry)
        elif entry.kind in (Kind.ROLLBACK, Kind.IMPORT):
            self._adopt(entry)
        elif entry.kind == Kind.REWARD:
            self._complete(entry)
        elif entry.kind == Kind.FORGOTTEN:
            self.agent.pending = self.asked = None
        elif entry.kind == Kind.CHANGE:
            self.changed = {"step": entry.step, "changes": entry.accepted.changes}
        self.step, self.seq, self.check = entry.step, entry.seq, entry.check

    def _enter(self, entry: Entry) -> None:
        mode, note = entry.changed_mode
        self._mode = MODES.index(mode)
        self.rule_state = self.rule_state.noted(mode, entry.step, note)
        self._plan_look()

    def _plan_look(self) -> None:
        rule = self.setup.promotion
        self.look_at = NEVER if rule is None else self.rule_state.next_look(rule, self.mode)

    def _propose_again(self, entry: Entry) -> None:
        """Propose what an entry of the journal says was proposed; raise if that is not what happens.

        The scanner has checked the entry itself.
        """
        agent = self.agent
        if entry.kind == Kind.OBSERVED and number_of(entry.state) != agent.situation:
            raise Corrupt("it begins in another aleatoric state than the row before ended in", row=entry.seq)
        if entry.proposed is not None and agent.pending is None and self.failure is None:
            self.choose(None if entry.allowed is None else unpacked(entry.allowed))
        if not self.exact or self.failure is not None:
            self.noted = self.noted if agent.pending == entry.proposed else {}
            agent.pending = entry.proposed
        elif entry.proposed is not None and entry.proposed != agent.pending:
            raise Corrupt(
                f"action {entry.proposed} was proposed, and replay proposes {agent.pending}; "
                f"the design {agent.design.name!r} is not the one that wrote it",
                row=entry.seq,
            )

    def _observe(self, entry: Entry) -> None:
        _seq, kind, step, _mode, _at, state, _allowed, _proposed, action, index, reward, following, _, _ = entry
        if action is None or index is None or not math.isfinite(reward or 0.0):
            raise Corrupt("an observation without its parts", row=entry.seq)
        measures = self._measures(entry) if self._declared else {}
        if state != self.agent.situation:  # a log that begins in another state
            self.agent.move(state)
        if reward is None:
            memory = self.agent.exchange_memory()
            if memory is not None and memory.ndim == 1:
                memory = np.trim_zeros(memory, "b")  # traces of a large task, while there are none
            kept = memory if memory is not None and memory.any() else None
            self.waiting[step] = Awaited(Experience(state, action, index, math.nan, following), measures, kept)
        if reward is not None and self._learns(state, action):
            self._learn(state, action, index, reward, following, measures)
        else:
            if self._remembers and self.failure is None:
                self.agent.remember(Experience(state, action, index, math.nan, following))
            self.agent.move(following)
        self.asked = None
        if reward is not None and kind == Kind.OBSERVED:
            self.gauge.add(reward, step, **measures) if measures else self.gauge.add(reward, step)
        if self.waiting:
            self.waiting.pop(step - self._delay, None)  # what has not come by now is not learned from

    def _complete(self, entry: Entry) -> None:
        """Learn from a step whose reward has come; the aleatoric state and the pending action stay."""
        waited, reward = self.waiting.pop(entry.rewarded, None), entry.reward
        if waited is None or reward is None or not math.isfinite(reward):
            raise Corrupt("a reward of a step that has one, or that is not there", row=entry.seq)
        experience, measures, memory = waited
        state, action, index, _, following = experience
        if self._learns(state, action):
            pending = self.agent.pending
            present = self.agent.exchange_memory(np.zeros(()) if memory is None else memory)
            self.agent.move(state)  # numbers of the whole run go with it, there and back
            self._learn(state, action, index, reward, following, measures)
            self.agent.exchange_memory(present)
            self.agent.move(entry.following)
            self.agent.pending = pending
        self.gauge.add(reward, entry.rewarded, **measures)

    def _measures(self, entry: Entry) -> Measures:
        """Return the duration and the cost of a step, where the setup declares them."""
        numbers = entry.numbers
        if not all(name in numbers for name in self._declared):
            raise Corrupt("an observation without its parts", row=entry.seq)
        return {name: numbers[name] for name in self._declared}

    def _learns(self, state: int, action: int) -> bool:
        """Return whether it learns now from an action in a state."""
        may = self._allowed.get(state, self._every) >> action & 1
        return may == 1 and self._mode != Mode.FROZEN and self.failure is None

    def _learn(self, state: int, action: int, index: int, reward: float, following: int, measures: Measures) -> None:
        """Learn from a step; what the design is shown of its reward depends on prices, if there are any."""
        prices = self._prices
        shown = self._learned(reward) if prices is None else prices.learned(reward, **measures)
        try:
            self.agent.learn(_new(Experience, (state, action, index, shown, following)))
        except Exception as error:
            raise self._failed("learn", self.next_step, error) from error

    def _adopt(self, entry: Entry) -> None:
        pending, present = self.agent.pending, self.agent.exchange_memory()
        self.agent.from_bytes(entry.payload or b"", f"journal row {entry.seq}")
        if entry.kind == Kind.ROLLBACK:  # the world has not gone back
            self.agent.exchange_memory(present)
        self.agent.move(entry.following)
        self.agent.pending, self.failure = pending, None
        self._snapshot_step = -self.setup.snapshot_every  # the next snapshot is due, so that replay starts after this

    def snapshot(self) -> Checkpoint:
        """Return everything that it is."""
        more = {"step": self.step, "mode": self.mode, "asked": self.asked, "check": self.check, "changed": self.changed}
        more |= self.waiting.document()
        if self.setup.promotion is not None or self.rule_state.promotions:
            more["trial"] = self.rule_state.document()
        if self.noted and self.agent.pending is not None:
            more["noted"] = self.noted
        if self.failure is not None:
            more["failure"] = [str(self.failure), self.failure.seq]
        return Checkpoint(self.seq, {**more, "gauge": self.gauge.snapshot()}, self.agent.to_bytes())

    def note_snapshot(self) -> None:
        """Note that a snapshot of the present state is on disk."""
        self._snapshot_step = self.step

    def restore(self, checkpoint: Checkpoint, exact: bool = True) -> None:
        """Resume from what :meth:`snapshot` returned, here or (if not ``exact``) by a core with another setup."""
        seq, more, state = checkpoint
        if exact:
            self.agent.from_bytes(state, "snapshot")
        else:
            self.agent.restore(unpack(state, "snapshot")[0])
        self.seq, self.step, self.check = seq, more["step"], more["check"]
        self._mode, self.asked, self.changed = MODES.index(more["mode"]), more["asked"], more.get("changed")
        self.failure = Failed(*more["failure"]) if "failure" in more else None
        self.rule_state = RuleState.read(more["trial"]) if "trial" in more else RuleState()
        self._plan_look()
        self.noted, self.waiting = more.get("noted", {}), Waiting.read(more)
        if more["gauge"] is not None:  # a snapshot of an earlier version may have none
            self.gauge.restore(more["gauge"])
        self.note_snapshot()

    def copy(self) -> Core:
        """Return a copy, on which changes can be tried."""
        other = Core(self.setup, self.number)
        other.restore(self.snapshot())
        other._snapshot_step = self._snapshot_step
        return other
