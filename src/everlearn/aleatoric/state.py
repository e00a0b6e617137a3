"""The aleatoric state S' = f(S, A, O) and the ways to make one (Section 1.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Sized
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from everlearn.blame import blame
from everlearn.environments.pure import Pure
from everlearn.errors import AleatoricStateError, UserCodeError, require
from everlearn.grids import Grid
from everlearn.labels import check_label, check_labels, counted, few, is_label
from everlearn.protocol import History, Label, Update

MOST_STATES = 1_000_000
"""The most aleatoric states that are searched for; beyond that the designer must list them."""

START = "start"
"""The aleatoric state before the first observation."""


@dataclass(frozen=True, repr=False)
class AleatoricState:
    """What an agent retains of the past: an initial value S0 and an update function f.

    Parameters
    ----------
    start:
        S0, the aleatoric state of the empty history
    update:
        f(s, a, o), which returns the next aleatoric state.  It must be pure (the same arguments always give the same
        result, without side effects), because its results are cached
    states:
        the set of aleatoric states, or a function that takes the actions and the observations and returns this set; by
        default, all states that f reaches from S0
    detailed:
        another aleatoric state, with too many values for a table; agents with features see it by default

    Examples
    --------
    >>> parity = AleatoricState(0, lambda s, a, o: (s + o) % 2)
    >>> parity.enumerate(actions=("go",), observations=(0, 1)).states
    (0, 1)
    >>> parity.of([("go", 1), ("go", 1), ("go", 1)])
    1

    """

    start: Label
    update: Update
    states: Sequence[Label] | Callable[[Iterable[Label], Iterable[Label]], Iterable[Label]] | None = None
    detailed: AleatoricState | None = None

    def __post_init__(self) -> None:
        require(callable(self.update), "update", self.update, "give a function of (s, action, observation)")
        where = "start of the aleatoric state"
        start = check_label(self.start, where) if not isinstance(self.states, Grid) else _read(self.start, self.states)
        object.__setattr__(self, "start", start)

    def __repr__(self) -> str:
        name = getattr(self.update, "__name__", type(self.update).__name__)
        number = f": {counted(len(self.states), 'state')}" if isinstance(self.states, Sized) else ""
        return f"AleatoricState({name} from {self.start!r}{number})"

    @cached_property
    def pure(self) -> Pure:
        """The update function, with checks; a function that is not deterministic raises an error."""
        remedy = "make it a function of (s, action, observation) only; randomness belongs in the dynamics"
        return Pure(self.update, "update function", "(s, action, observation)", remedy)

    def follow(self, aleatoric_state: Label, action: Label, observation: Label) -> Label:
        """Return f(s, a, o), checked."""
        following = self.pure(aleatoric_state, action, observation)
        if is_label(following):
            return following  # type: ignore[no-any-return]
        where = f"aleatoric state after {(aleatoric_state, action, observation)!r}"
        if following is None:
            raise AleatoricStateError(where, None, f"{self.pure.name} returned nothing; add a return")
        return check_label(following, where)

    def of(self, history: History) -> Label:
        """Return phi(h), the aleatoric state after a history."""
        aleatoric_state = self.start
        for action, observation in history:
            aleatoric_state = self.follow(aleatoric_state, action, observation)
        return aleatoric_state

    def after(self, history: History) -> AleatoricState:
        """Return the same aleatoric state, starting from its value after a history."""
        steps = [*history]
        detailed = None if self.detailed is None else self.detailed.after(steps)
        return replace(self, start=self.of(steps), detailed=detailed)

    def enumerate(self, actions: Iterable[Label], observations: Iterable[Label]) -> AleatoricState:
        """Return a copy with its set of states: the declared states, or all states that f reaches from S0."""
        if self.states is not None:
            with blame("states of the aleatoric state"):
                listed = self.states(actions, observations) if callable(self.states) else self.states
            states = check_labels(listed, "states")
            if self.start not in (states if isinstance(states, Grid) else set(states)):
                raise AleatoricStateError("start of the aleatoric state", self.start, f"declared: {few(states)}")
            return replace(self, states=states)
        return replace(self, states=self._closure(list(product(actions, observations))))

    def _closure(self, steps: list[tuple[Label, Label]]) -> tuple[Label, ...]:
        states = {self.start: None}
        queue = [self.start]
        for aleatoric_state in queue:
            for action, observation in steps:
                try:
                    following = self.follow(aleatoric_state, action, observation)
                except UserCodeError as error:  # perhaps for a combination that never happens
                    remedy = "handle it, or list the states with states="
                    data = {"function": error.function, "at": error.at}
                    raise UserCodeError(f"{error}; {remedy}", error.frames, **data) from error.__cause__
                if following not in states:
                    states[following] = None
                    queue.append(following)
            if len(states) > MOST_STATES:
                remedy = "so many states were reached; keep less, such as a shorter window, or list them with states="
                raise AleatoricStateError("aleatoric state", len(states), remedy)
        return tuple(states)


def _read(start: Any, grid: Grid) -> Label:
    """Return the label of a grid that a point is read as."""
    try:
        return grid[grid.number(start)]  # type: ignore[no-any-return]
    except KeyError as error:
        raise AleatoricStateError("start of the aleatoric state", start, f"{error.args[0]}") from None


def last_observation(start: Label = START) -> AleatoricState:
    """Retain only the last observation; ``start`` is the aleatoric state before the first observation.

    Examples
    --------
    >>> last_observation().of([("wait", "idle"), ("serve", "busy")])
    'busy'

    """
    return AleatoricState(start, _observation, lambda _actions, observations: dict.fromkeys((start, *observations)))


def _observation(_aleatoric_state: Label, _action: Label, observation: Label) -> Label:
    return observation


def window(length: int, *, actions: bool = False) -> AleatoricState:
    """Retain the last ``length`` observations; with ``actions=True``, also the action before each of them.

    It starts empty, as ``()``, so that the first states are shorter than ``length``.

    Examples
    --------
    >>> window(2).of([("wait", "idle"), ("serve", "busy"), ("wait", "busy")])
    ('busy', 'busy')
    >>> window(1, actions=True).of([("wait", "idle"), ("serve", "busy")])
    (('serve', 'busy'),)

    """
    given: object = length
    whole = isinstance(given, int | np.integer) and not isinstance(given, bool) and int(given) >= 1
    require(whole, "length of the window", length, "give a whole number of at least 1")

    def update(kept: tuple[Label, ...], action: Label, observation: Label) -> tuple[Label, ...]:
        seen: Label = (action, observation) if actions else observation
        return (*kept, seen)[-length:]

    return AleatoricState((), update)
