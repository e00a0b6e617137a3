"""Read the files in which partially observable Markov decision processes are exchanged, in the format of Cassandra.

The grammar, where ``*`` stands for every label, words are names or numbers from 0, and ``#`` begins a comment:

    discount: NUMBER                             values: reward | cost
    states: NUMBER | NAME ...                    actions: and observations: likewise
    start: NUMBER ... | uniform | STATE          start include: STATE ...    start exclude: STATE ...
    T: ACTION [: STATE [: NEXT]]                 probabilities of the next state
    O: ACTION [: NEXT [: OBSERVATION]]           probabilities of the observation
    R: ACTION [: STATE [: NEXT [: OBSERVATION]]] rewards, or costs

After T, O and R come a number, a row or a matrix, one entry for each label that was left out.  A row of T or O can be
``uniform`` and a matrix ``uniform`` or ``identity``; a row of T can be ``reset``, the distribution of the first state.
What comes later replaces what came before.  A file without observations is a Markov decision process: the state is
observed, and R has no observation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from everlearn.errors import InputError
from everlearn.labels import few
from everlearn.protocol import Table

TOKEN = re.compile(r"[:*]|[^\s:*#]+")
KEYWORDS = ("discount", "values", "states", "actions", "observations", "start", "T", "O", "R")
CLOSE = 1e-5
"""How far a sum of probabilities may be from one; such a row is scaled."""

MOST_ENTRIES = 50_000_000
"""The most probabilities that are stored."""

MOST_LABELS = 1_000_000
"""The most labels of a kind."""


class Token(NamedTuple):
    """A word of the file, and its place."""

    text: str
    line: int
    column: int


@dataclass
class Pomdp:
    """What a file says."""

    states: list[str] = field(default_factory=list)
    actions: list[str] = field(default_factory=list)
    observations: list[str] = field(default_factory=list)
    discount: float | None = None
    costs: bool = False
    start: Table = field(default_factory=lambda: np.zeros(0))
    transitions: Table = field(default_factory=lambda: np.zeros(0))
    """By action, state and next state."""
    seen: Table = field(default_factory=lambda: np.zeros(0))
    """By action, next state and observation."""
    rewards: dict[tuple[int, ...], tuple[int, float]] = field(default_factory=dict)
    """By action, state, next state and observation, each -1 for all; which statement it was, and the reward."""

    def reward(self, *place: int) -> float:
        """Return the reward of an action, a state, a next state and an observation: that of the last statement."""
        known = (self.rewards.get(key) for key in product(*((index, -1) for index in place)))
        value = max((entry for entry in known if entry is not None), default=(0, 0.0))[1]
        return 0.0 - value if self.costs else value  # a cost of zero is not "-0"


def read_pomdp(text: str, name: str) -> Pomdp:
    """Return what the text of a file says; errors name the file, the line and the column.

    Examples
    --------
    >>> process = read_pomdp("states: a b actions: go observations: 1 T: go uniform O: * 1 1 R: go:*:b:* 2", "x")
    >>> process.transitions[0].tolist(), process.reward(0, 0, 1, 0)
    ([[0.5, 0.5], [0.5, 0.5]], 2.0)

    """
    return _Reader(text, name).read()


class _Reader:
    def __init__(self, text: str, name: str) -> None:
        lines = [line.partition("#")[0] for line in text.splitlines()]
        self.tokens = [
            Token(match[0], number, match.start() + 1)
            for number, line in enumerate(lines, 1)
            for match in TOKEN.finditer(line)
        ]
        self.name, self.place, self.statement = name, 0, 0
        self.end = Token("the end of the file", max(1, len(lines)), len(lines[-1]) + 1 if lines else 1)
        self.process = Pomdp()
        self.given: dict[tuple[str, int, int], Token] = {}

    def read(self) -> Pomdp:
        """Return the process."""
        while self.place < len(self.tokens):
            self._statement()
        process = self.process
        self._prepare(self.end)
        if not len(process.start):
            process.start = np.full(len(process.states), 1 / len(process.states))
        for kind, array, ahead in (("T", process.transitions, "states"), ("O", process.seen, "observations")):
            self._scale(kind, array, ahead)
        return process

    def _statement(self) -> None:
        token = self._next()
        if token.text not in KEYWORDS:
            self._fail(token, f"a statement begins with {', '.join(KEYWORDS)} and a colon")
        self.statement += 1
        if token.text in ("states", "actions", "observations"):
            self._colon()
            self._labels(token)
        elif token.text == "discount":
            self._colon()
            self.process.discount = self._number()
        elif token.text == "values":
            self._colon()
            word = self._next()
            if word.text not in ("reward", "cost"):
                self._fail(word, "give reward or cost")
            self.process.costs = word.text == "cost"
        else:
            self._prepare(token)
            {"start": self._start, "T": self._transition, "O": self._seen, "R": self._reward}[token.text]()

    def _labels(self, token: Token) -> None:
        """Read a number of labels, or their names."""
        if getattr(self.process, token.text):
            self._fail(token, "was given before")
        if len(self.process.transitions):
            self._fail(token, "must come before start, T, O and R")
        names: dict[str, None] = {}
        while not self._at_statement():
            name = self._next()
            if name.text in KEYWORDS[:6]:
                self._fail(name, "a colon is expected after it; a name must be another word")
            if name.text in names or name.text in (":", "*"):
                self._fail(name, "names must be different words")
            names[name.text] = None
        if not names:
            self._fail(self._peek(), f"name the {token.text}, or give their number")
        number = _as_index(next(iter(names)), MOST_LABELS + 1) if len(names) == 1 else None
        if len(names) > MOST_LABELS or number == MOST_LABELS + 1:
            self._fail(name, f"there can be at most {MOST_LABELS:,} {token.text}")
        setattr(self.process, token.text, [str(each) for each in range(number)] if number else list(names))

    def _prepare(self, token: Token) -> None:
        """Allocate arrays, once all labels are known."""
        process = self.process
        if len(process.transitions):
            return
        for kind in ("states", "actions"):
            if not getattr(process, kind):
                self._fail(token, f"the {kind} must be given before it")
        states, actions, seen = len(process.states), len(process.actions), len(process.observations)
        if actions * states * max(states, seen) > MOST_ENTRIES:
            self._fail(token, f"{states:,} states and {actions:,} actions are more than can be read; give fewer")
        process.transitions = np.zeros((actions, states, states))
        process.seen = np.tile(np.eye(states), (actions, 1, 1)) if not seen else np.zeros((actions, states, seen))

    def _start(self) -> None:
        process = self.process
        states = len(process.states)
        word = self._next() if self._peek().text in ("include", "exclude") else None
        self._colon()
        if word is not None:
            chosen = np.zeros(states)
            while not self._at_statement():
                state = self._label("states")
                chosen[state if state >= 0 else slice(None)] = 1
            chosen = chosen if word.text == "include" else 1 - chosen
            if not chosen.any():
                self._fail(word, "no state is left to start in")
            process.start = chosen / chosen.sum()
            return
        first = self._peek()
        number = _as_number(first.text)
        if first.text == "uniform":
            self._next()
            process.start = np.full(states, 1 / states)
        elif first.text in process.states and (number is None or self._ends_after_one()):
            process.start = np.eye(states)[self._label("states")]
        else:
            row = self._row(states)
            if abs(row.sum() - 1) > CLOSE or row.min() < 0:
                self._fail(first, f"probabilities must sum to one; these sum to {row.sum():.9g}")
            process.start = row / row.sum()

    def _ends_after_one(self) -> bool:
        self.place += 1
        ends = self._at_statement()
        self.place -= 1
        return ends

    def _transition(self) -> None:
        self._fill(self.process.transitions, ("actions", "states", "states"))

    def _seen(self) -> None:
        if not self.process.observations:
            self._fail(self._peek(), "the observations must be given before it")
        self._fill(self.process.seen, ("actions", "states", "observations"))

    def _fill(self, array: Table, kinds: tuple[str, ...]) -> None:
        """Fill what a statement names with what follows it."""
        kind = self._peek(-1).text
        named = self._place(kinds)
        shape = array.shape[len(named) :]
        words: dict[str, Callable[[], Table]] = {}
        if shape:
            words["uniform"] = lambda: np.full(shape, 1 / shape[-1])
        if len(shape) == 2 and shape[0] == shape[1]:
            words["identity"] = lambda: np.eye(shape[0])
        if shape and kinds[-1] == "states" and len(self.process.start):
            words["reset"] = lambda: np.broadcast_to(self.process.start, shape)
        begins, word = self.place, self._peek()
        if word.text in words:
            self._next()
            values = words[word.text]()
        else:
            self._check_widths(shape)
            values = self._row(int(np.prod(shape))).reshape(shape)
        place = tuple(slice(None) if index < 0 else index for index in named)
        array[place] = values
        width = shape[-1] if len(shape) == 2 and word.text not in words else 0  # of a matrix of numbers, row by row
        for action, state in np.argwhere(self._rows(array.shape, place)).tolist():
            self.given[kind, action, state] = self.tokens[begins + state * width]

    def _check_widths(self, shape: tuple[int, ...]) -> None:
        """Raise if a matrix has the right number of lines, but not of numbers; the first wrong line is named."""
        begins, lines = self.place, dict[int, list[Token]]()
        while not self._at_statement():
            token = self._next()
            lines.setdefault(token.line, []).append(token)
        total, self.place = self.place - begins, begins
        if len(shape) != 2 or len(lines) != shape[0] or total == np.prod(shape):
            return
        for row in lines.values():
            if len(row) != shape[1]:
                self._fail(row[0], f"a row of {shape[1]} numbers is expected here, not of {len(row)}")

    @staticmethod
    def _rows(shape: tuple[int, ...], place: tuple[slice | int, ...]) -> NDArray[np.bool_]:
        """Return which rows a statement names, by action and state."""
        named = np.zeros(shape[:2], dtype=bool)
        named[place[:2]] = True
        return named

    def _reward(self) -> None:
        last = ("observations",) if self.process.observations else ()
        kinds = ("actions", "states", "states", *last)
        named = self._place(kinds)
        sizes = [len(getattr(self.process, kind)) for kind in kinds[len(named) :]]
        values = self._row(int(np.prod(sizes)))
        for rest, value in zip(product(*map(range, sizes)), values.tolist(), strict=True):
            place = (*named, *rest) if last else (*named, *rest, -1)
            self.process.rewards[place] = (self.statement, value)

    def _place(self, kinds: tuple[str, ...]) -> tuple[int, ...]:
        """Read the labels after T, O or R; -1 stands for all."""
        self._colon()
        named = [self._label(kinds[0])]
        while self._peek().text == ":":
            colon = self._next()
            if len(named) == len(kinds):
                self._fail(colon, f"names at most {len(kinds)} labels")
            named.append(self._label(kinds[len(named)]))
        return tuple(named)

    def _label(self, kind: str) -> int:
        """Read a label; return its index, or -1 for all."""
        token, known = self._next(), getattr(self.process, kind)
        if token.text == "*":
            return -1
        if token.text in known:
            return int(known.index(token.text))
        index = _as_index(token.text, len(known))
        if index is None or index == len(known):
            self._fail(token, f"known {kind}: {few(known)}")
        return index

    def _row(self, length: int) -> Table:
        return np.array([self._number(f"{length} numbers are expected here") for _ in range(length)])

    def _number(self, expected: str = "a number is expected here") -> float:
        token = self._next(expected)
        number = _as_number(token.text)
        if number is None:
            self._fail(token, expected)
        return number

    def _scale(self, kind: str, array: Table, ahead: str) -> None:
        """Scale the rows of an array to sum to one; raise if one is far from it."""
        for action, state in np.argwhere((np.abs(array.sum(axis=2) - 1) > CLOSE) | (array.min(axis=2) < 0)).tolist():
            where = f"{kind}: {self.process.actions[action]} : {self.process.states[state]}"
            total = array[action, state].sum()
            token = self.given.get((kind, action, state), self.end)
            remedy = f"the probabilities of {ahead} sum to {total:.9g}; they must be at least 0 and sum to one"
            self._fail(token._replace(text=where), remedy)
        array /= array.sum(axis=2, keepdims=True)

    def _at_statement(self) -> bool:
        """Return whether a statement begins here, or the file ends."""
        texts = [token.text for token in self.tokens[self.place : self.place + 3]]
        if not texts:
            return True
        begun = texts[0] == "start" and texts[1:3] in (["include", ":"], ["exclude", ":"])
        return begun or (texts[0] in KEYWORDS and texts[1:2] == [":"])

    def _peek(self, ahead: int = 0) -> Token:
        return self.tokens[self.place + ahead] if self.place + ahead < len(self.tokens) else self.end

    def _next(self, expected: str = "something is missing here") -> Token:
        if self.place >= len(self.tokens):
            self._fail(self.end, expected)
        self.place += 1
        return self.tokens[self.place - 1]

    def _colon(self) -> None:
        token = self._next("a colon is expected here")
        if token.text != ":":
            self._fail(token, "a colon is expected here")

    def _fail(self, token: Token, remedy: str) -> NoReturn:
        raise InputError(f"{self.name}, line {token.line}, column {token.column}", token.text, remedy)


def _as_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def _as_index(text: str, most: int) -> int | None:
    """Return a whole number in decimal digits, and ``most`` instead of greater ones; None if it is something else."""
    if not (text.isascii() and text.isdecimal()):
        return None
    digits = text.lstrip("0") or "0"
    return most if len(digits) > len(str(most)) else min(int(digits), most)


def possible(process: Pomdp, action: int, state: int) -> Iterator[tuple[int, int, float]]:
    """Yield each next state and observation that can follow, with its probability."""
    for following in np.flatnonzero(process.transitions[action, state]).tolist():
        moved = float(process.transitions[action, state, following])
        for seen in np.flatnonzero(process.seen[action, following]).tolist():
            yield following, seen, moved * float(process.seen[action, following, seen])
