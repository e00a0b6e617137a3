"""The promotion rule of an agent in shadow mode: what it demands, when it looks at the evidence, and what it knows.

The agent learns, so its policy changes.  A policy looks better than it is on the steps that it was learned from.  So
the rule fixes a *candidate*, the greedy policy of the agent at one step, and only later steps count as evidence
for it.  The rule looks at the evidence again and again.  Look i at candidate j uses a lower bound that is wrong with
probability at most

    error / (j (j + 1) i (i + 1)).

The sum over all looks at all candidates is at most ``error``.  So the probability of a wrong promotion is at most
``error``, no matter how long the rule waits and when candidates are replaced.

Every event is a journal row of kind mode with a note.  It changes the :class:`RuleState`, which is part of every
snapshot.  If a crash interrupts a look, the look is taken again with the same number, so it counts only once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from operator import itemgetter
from typing import Any

from everlearn.aleatoric.reward import LARGEST
from everlearn.environments.pure import as_number
from everlearn.errors import Corrupt, InputError, SnapshotError, UnknownName, require
from everlearn.registry import MOST_STEPS, whole

MOST_EVIDENCE = 1_000_000
"""How many steps are looked at, the last ones, so that no look takes longer than about ten seconds."""

MOST_LOOKS = 1_000
"""More looks at a candidate than there can be, since the steps between them grow."""

NEVER = 2**62
"""The step of a look that does not come."""

GROWTH = 10
"""After the first looks, the next one comes when the evidence has grown by one tenth."""

MOST_CHANGED = 0.05
"""The largest share of the steps since the candidate was fixed in which the agent may by now want another action."""


@dataclass(frozen=True)
class Rule:
    """When an agent in shadow mode takes control.

    Parameters
    ----------
    gain:
        the lower bound of the gain per step over the controller in charge must exceed this
    steps:
        the lower bound must have exceeded ``gain`` at every look for at least this many steps
    hours:
        and for at least this many hours
    every:
        the number of steps between looks; after the tenth look, each look waits for 10 percent more steps of evidence
    error:
        the largest acceptable probability of a wrong promotion, over all looks together
    to:
        the mode after the promotion: ``frozen`` (act greedily, do not learn) or ``learn`` (explore and learn)
    demote:
        whether the agent returns to shadow mode if it turns out to earn less than the controller did

    Examples
    --------
    >>> Rule.read({"gain": 0.01, "hours": 24})
    Rule(gain=0.01, steps=0, hours=24.0, every=1000, error=0.05, to='frozen', demote=True)
    >>> Rule.read({"gain": "much"})
    Traceback (most recent call last):
    ...
    everlearn.errors.InputError: promotion.gain: 'much'; give a number

    """

    gain: float = 0.0
    steps: int = 0
    hours: float = 0.0
    every: int = 1_000
    error: float = 0.05
    to: str = "frozen"
    demote: bool = True

    @classmethod
    def read(cls, given: object) -> Rule | None:
        """Return the rule of a document, checked; None if there is none."""
        if given is None:
            return None
        known = [each.name for each in fields(cls)]
        if not isinstance(given, Mapping):
            raise InputError("promotion", given, f"give a mapping with any of {', '.join(known)}")
        for name in given:
            if name not in known:
                raise UnknownName("promotion", name, known)
        made = {name: _READERS[name](f"promotion.{name}", value) for name, value in given.items()}
        return cls(**made)

    def document(self) -> dict[str, Any]:
        """Return it as a JSON document."""
        return asdict(self)

    def evidence_at(self, look: int) -> int:
        """Return how many steps of evidence there are at a look, counted from 1.

        Examples
        --------
        >>> rule = Rule(every=100)
        >>> [rule.evidence_at(look) for look in (1, 2, 10, 11, 12, 20)]
        [100, 200, 1000, 1100, 1210, 2591]

        """
        steps = self.every * min(look, GROWTH)
        for _ in range(look - GROWTH):
            steps += steps // GROWTH
        return steps

    @property
    def needs(self) -> int:
        """The number of steps that it looks at, if it promotes as early as it can.

        Examples
        --------
        >>> Rule(every=100).needs, Rule(every=100, steps=250).needs, Rule(steps=10**9).needs
        (100, 400, 1000000)

        """
        look = 1
        while (evidence := self.evidence_at(look)) < min(self.every + self.steps, MOST_EVIDENCE):
            look += 1
        return min(evidence, MOST_EVIDENCE)

    def level(self, candidate: int, look: int) -> float:
        """Return the probability with which the lower bound at a look at a candidate may be wrong."""
        return self.error / (candidate * (candidate + 1) * look * (look + 1))


def _number(least: float, most: float, remedy: str) -> Callable[[str, object], float]:
    """Return a reader of numbers within bounds."""

    def read(name: str, value: object) -> float:
        number = None if isinstance(value, bool) else as_number(value)
        require(number is not None and least <= number <= most, name, value, remedy)
        return number or 0.0

    return read


def _whole(least: int) -> Callable[[str, object], int]:
    return lambda name, value: whole(value, name, least, MOST_STEPS)


def _one_of(*known: Any) -> Callable[[str, object], Any]:
    def read(name: str, value: object) -> object:
        require(any(value is each or (value == each and type(value) is str) for each in known), name, value, remedy)
        return value

    remedy = f"give {' or '.join(map(str, known))}"
    return read


_READERS: dict[str, Callable[[str, object], Any]] = {
    "gain": _number(-LARGEST, LARGEST, "give a number"),
    "steps": _whole(0),
    "hours": _number(0, 1e6, "give a number of hours"),
    "every": _whole(10),
    "error": _number(1e-6, 0.5, "give a probability from 0.000001 to 0.5"),
    "to": _one_of("learn", "frozen"),
    "demote": _one_of(True, False),
}


@dataclass(frozen=True)
class RuleState:
    """What a rule knows so far; it is as of a row of the journal, like the rest of an agent."""

    armed: bool = True  # not after a demotion, until the rule is set again
    began: int | None = None  # the step at which shadow mode began
    candidates: int = 0  # the number of candidates so far, since the rule was set
    anchor: int = 0  # the step after which evidence counts: that of the candidate, or that of the promotion
    policy: tuple[int, ...] = field(default=(), repr=False)  # the candidate: an action for each aleatoric state
    looks: int = 0  # the number of looks at this evidence
    since: tuple[int, float] | None = None  # the step and the time since which the bound has exceeded the gain
    last: dict[str, Any] | None = None  # the evidence of the last look
    promoted: dict[str, Any] | None = None  # the evidence of the last promotion
    promotions: int = 0
    in_control: bool = False  # whether it has promoted the agent, and watches it
    demoted: dict[str, Any] | None = None  # the step and the reason of the demotion that disarmed the rule

    def next_look(self, rule: Rule, mode: str) -> int:
        """Return the step at which something is due."""
        if not self.armed:
            return NEVER
        if mode == "shadow":
            if not self.policy:
                return (self.began or 0) + rule.every
            return self.anchor + rule.evidence_at(self.looks + 1)
        watched = self.in_control and rule.demote
        return self.anchor + rule.evidence_at(self.looks + 1) if watched else NEVER

    def noted(self, mode: str, step: int, note: dict[str, Any] | None) -> RuleState:
        """Return the state after a row of kind mode: the mode, the step, and its note, if it has one."""
        if note is None:  # the operator changed the mode
            shadow = step if mode == "shadow" else None
            return replace(self, began=shadow, policy=(), looks=0, since=None, in_control=False)
        return _EVENTS[note["event"]](self, mode, step, note)

    def document(self) -> dict[str, Any]:
        """Return it as a JSON document, for a snapshot."""
        return asdict(self)

    @classmethod
    def read(cls, document: dict[str, Any]) -> RuleState:
        """Return the state of a snapshot, which may come from another service; raise if it is none."""
        try:
            since = None if document["since"] is None else tuple(document["since"])
            state = cls(**{**document, "policy": tuple(document["policy"]), "since": since})
            if state._is_consistent:
                return state
        except (LookupError, TypeError, ValueError):
            pass
        raise SnapshotError("what the promotion rule knows cannot be read", "snapshot", part="promotion")

    @property
    def _is_consistent(self) -> bool:
        """Whether every field is of its type, and has what a look needs of it."""
        step, at = (0, 0.0) if self.since is None else self.since
        began = 0 if self.began is None else self.began
        steps = (began, self.anchor, self.candidates, self.looks, self.promotions, step, *self.policy)
        documents = (self.last, self.promoted, self.demoted)
        earned = () if self.promoted is None else itemgetter("controller", "controller_error", "freedom")(self.promoted)
        return (
            all(type(number) is int and 0 <= number <= MOST_STEPS for number in steps)
            and all(type(number) in (int, float) for number in (at, *earned))
            and all(document is None or type(document) is dict for document in documents)
            and all(type(flag) is bool for flag in (self.armed, self.in_control))
            and self.looks <= MOST_LOOKS
            and (self.promoted is not None or not self.in_control)
        )


def _armed(state: RuleState, mode: str, step: int, _note: dict[str, Any]) -> RuleState:
    return RuleState(began=step if mode == "shadow" else None, promoted=state.promoted, promotions=state.promotions)


def _candidate(state: RuleState, _mode: str, step: int, note: dict[str, Any]) -> RuleState:
    last, policy = note.get("evidence", state.last), tuple(note["policy"])
    after = replace(state, candidates=state.candidates + 1, anchor=step, policy=policy, looks=0, since=None, last=last)
    return after if state.began is not None else replace(after, began=step)


def _look(state: RuleState, _mode: str, _step: int, note: dict[str, Any]) -> RuleState:
    since = note.get("since")
    return replace(state, looks=state.looks + 1, since=since and tuple(since), last=note["evidence"])


def _promoted(state: RuleState, _mode: str, step: int, note: dict[str, Any]) -> RuleState:
    evidence, count = note["evidence"], state.promotions + 1
    cleared = replace(state, policy=(), began=None, anchor=step, looks=0, since=None, last=evidence)
    return replace(cleared, promoted={**evidence, "step": step}, promotions=count, in_control=True)


def _demoted(state: RuleState, _mode: str, step: int, note: dict[str, Any]) -> RuleState:
    last = note.get("evidence", state.last)
    by = "the rule" if "evidence" in note else "an operator"
    demoted = {"step": step, "by": by, "reason": note.get("reason", by)}
    after = RuleState(armed=False, began=step, last=last, demoted=demoted)
    return replace(after, promoted=state.promoted, promotions=state.promotions)


_EVENTS = {"armed": _armed, "candidate": _candidate, "look": _look, "promoted": _promoted, "demoted": _demoted}


def pack_mode(mode: str, note: dict[str, Any] | None = None) -> bytes:
    """Return the payload of a row of kind mode: the name of the mode, and a note on a line of its own."""
    return mode.encode() if note is None else f"{mode}\n{json.dumps(note, separators=(',', ':'))}".encode()


def unpack_mode(payload: bytes, seq: int) -> tuple[str, dict[str, Any] | None]:
    """Return the mode and the note of the payload of a row."""
    mode, _, text = payload.partition(b"\n")
    try:
        note = json.loads(text) if text else None
        if note is not None and note["event"] not in _EVENTS:
            raise ValueError
        return mode.decode(), note
    except (ValueError, LookupError, TypeError):
        raise Corrupt("the change of mode in it cannot be read", row=seq) from None
