"""The aleatoric state S' = f(S, A, O) and the ways to make one (Section 1.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

from everlearn.errors import AleatoricStateError, InputError, require
from everlearn.labels import check_label, check_labels, few
from everlearn.protocol import History, Label, Update

MOST_STATES = 1_000_000
"""How many aleatoric states are searched for before the designer is asked to list them."""

START = "start"
"""What the last observation is, while there is none."""


@dataclass(frozen=True)
class AleatoricState:
    """S0 and f.  f must be a pure function; what it returns is remembered.

    Parameters
    ----------
    start:
        S0, the aleatoric state of the empty history
    update:
        f(s, a, o)
    states:
        the set of aleatoric states, or how it follows from the sets of actions and observations; where it is not
        given, it is found by following f from S0

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

    def of(self, history: History) -> Label:
        """Return phi(h), the aleatoric state after a history."""
        aleatoric_state = self.start
        for action, observation in history:
            aleatoric_state = self.update(aleatoric_state, action, observation)
        return aleatoric_state

    def enumerate(self, actions: Iterable[Label], observations: Iterable[Label]) -> AleatoricState:
        """Return the same with its set of states known: as declared, or all that f can reach from S0."""
        check_label(self.start, "start of the aleatoric state")
        if self.states is not None:
            listed = self.states(actions, observations) if callable(self.states) else self.states
            states = check_labels(listed, "states")
            if self.start not in set(states):
                raise AleatoricStateError("start of the aleatoric state", self.start, f"declared: {few(states)}")
            return replace(self, states=states)
        return replace(self, states=self._closure(list(product(actions, observations))))

    def _closure(self, steps: list[tuple[Label, Label]]) -> tuple[Label, ...]:
        found = {self.start: None}
        queue = [self.start]
        for aleatoric_state in queue:
            for action, observation in steps:
                following = self._follow(aleatoric_state, action, observation)
                if following not in found:
                    found[following] = None
                    queue.append(following)
            if len(found) > MOST_STATES:
                remedy = "so many states were reached; keep less, such as a shorter window, or list them with states="
                raise AleatoricStateError("aleatoric state", len(found), remedy)
        return tuple(found)

    def _follow(self, aleatoric_state: Label, action: Label, observation: Label) -> Label:
        try:
            following = self.update(aleatoric_state, action, observation)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            where = (aleatoric_state, action, observation)
            remedy = f"raised {error!r}; handle it, or list the aleatoric states with states="
            raise InputError("f", where, remedy) from error
        return check_label(following, f"aleatoric state after {(aleatoric_state, action, observation)!r}")


def last_observation(start: Label = START) -> AleatoricState:
    """Keep the last observation alone; ``start`` stands for it while there is none.

    Examples
    --------
    >>> last_observation().of([("wait", "idle"), ("serve", "busy")])
    'busy'

    """
    return AleatoricState(start, _observation, lambda _actions, observations: dict.fromkeys((start, *observations)))


def _observation(_aleatoric_state: Label, _action: Label, observation: Label) -> Label:
    return observation


def window(length: int, *, actions: bool = False) -> AleatoricState:
    """Keep the last ``length`` observations, and with ``actions`` the actions before them.

    Examples
    --------
    >>> window(2).of([("wait", "idle"), ("serve", "busy"), ("wait", "busy")])
    ('busy', 'busy')
    >>> window(1, actions=True).of([("wait", "idle"), ("serve", "busy")])
    (('serve', 'busy'),)

    """
    require(length >= 1, "length of the window", length, "give at least 1")

    def update(kept: tuple[Label, ...], action: Label, observation: Label) -> tuple[Label, ...]:
        seen: Label = (action, observation) if actions else observation
        return (*kept, seen)[-length:]

    return AleatoricState((), update)
