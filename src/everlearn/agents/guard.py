"""Check a design of the user's own: its functions before it runs, and what they do at every step while it runs.

The built-in agents have been through the conformance tests and run unchecked.  A design is the user's own if any of its
functions comes from elsewhere; nothing that it does may crash the process or change a result silently.
"""

from __future__ import annotations

import inspect
import math
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.design import Design
from everlearn.blame import CAUGHT, blame, blamed, own, own_frames, shown_path
from everlearn.errors import AgentError, EverlearnError, shown
from everlearn.labels import kind_of, show
from everlearn.protocol import Experience, Knowledge, ScheduleValues, Table
from everlearn.purity import (
    CLOCK,
    COMPILED,
    DYNAMIC,
    HASHED,
    INPUT,
    MUTABLE,
    RANDOM,
    UNSAFE,
    WRITTEN,
    Impurity,
    impurities,
    users_functions,
)
from everlearn.tasks.indexed import IndexedTask

ARGUMENTS = {
    "build": ("indexed",),
    "act": ("knowledge", "aleatoric_state", "now", "stream"),
    "learn": ("knowledge", "experience", "now", "stream"),
    "policy": ("knowledge",),
    "inspect": ("knowledge", "now"),
    "values": ("knowledge",),
}
"""What each function of a design is called with."""

KNOWN = "use arrays of float64, int64, uint64 or bool, numbers and tuples of numbers"

CHECKED_NUMBERS = 1 << 16
"""Up to how many numbers an agent's knowledge is searched for NaN after every step; where it has more, less often."""

REMEDIES = {
    RANDOM: "draw with el.uniform(stream) or el.choose(stream, n), which repeat with the seed",
    CLOCK: "use now.t, the number of the step",
    INPUT: "an agent may use its arguments alone",
    MUTABLE: "it could change unseen; keep it in what build returns",
    WRITTEN: "keep it in an array of what build returns",
    COMPILED: "leave out the decorator; everlearn compiles it, with checks",
    DYNAMIC: "name what is meant, so that it can be checked",
    HASHED: "it differs from process to process; use indices, and iterate over a range or a tuple",
    UNSAFE: "it reaches memory unchecked or unset; use np.zeros and plain indices",
}

INITIAL = "build has no stream; draw initial values in act, when now.t is 1, with el.uniform(stream)"
"""What to do instead of drawing in ``build``."""

KEPT_TO = {"build": (RANDOM, CLOCK, WRITTEN), "policy": (RANDOM, CLOCK, INPUT, WRITTEN), "inspect": (RANDOM, CLOCK)}
"""What the functions beside act and learn must not do."""


def check_design(design: Design) -> None:
    """Raise if a function of the user's own design cannot be called, or depends on more than its arguments.

    Examples
    --------
    >>> import random
    >>> def act(knowledge, aleatoric_state, now, stream):
    ...     return random.randrange(2)
    >>> check_design(Design(dict, act, act))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    everlearn.errors.AgentError: agent 'agent': act calls random.randrange (...); draw with el.uniform(stream) or ...

    """
    for name, arguments in ARGUMENTS.items():
        function = getattr(design, name)
        if function is not None:
            _check_signature(design, name, function, arguments)
    for name in ("act", "learn"):
        for found in impurities(getattr(design, name)):
            raise AgentError(design.name, f"{name} {_said(found)}")
        if not isinstance(getattr(design, name), types.FunctionType):
            kind = kind_of(getattr(design, name))
            said = f"{name} is {kind}, which can keep what nobody sees"
            raise AgentError(design.name, f"{said}; give a plain function, and keep it in what build returns")
    for name, kinds in KEPT_TO.items():
        for found in impurities(getattr(design, name), kinds) if getattr(design, name) is not None else ():
            initial = INITIAL if (name, found.kind) == ("build", RANDOM) else None
            raise AgentError(design.name, f"{name} {_said(found, initial)}")


def _check_signature(design: Design, name: str, function: Any, arguments: tuple[str, ...]) -> None:
    wanted = f"a function of ({', '.join(arguments)})"
    if not callable(function):
        raise AgentError(design.name, f"{name} is {shown(function)}; give {wanted}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # built in, and silent about its arguments
        return
    try:
        signature.bind(*arguments)
    except TypeError:
        raise AgentError(design.name, f"{name} takes {signature}; give {wanted}") from None


def _said(found: Impurity, remedy: str | None = None) -> str:
    otherwise = "calls" if callable(found.value) else "uses"
    verb = {MUTABLE: "reads", WRITTEN: "assigns to", COMPILED: "uses"}.get(found.kind, otherwise)
    what = f", {kind_of(found.value)}" if found.kind == MUTABLE else ""
    what += ", which Numba compiled without checks" if found.kind == COMPILED else ""
    remedy = remedy or REMEDIES[found.kind] + (", or make it a tuple" if isinstance(found.value, list) else "")
    return f"{verb} {found.name}{what} ({found.place}); {remedy}"


def build_knowledge(design: Design, indexed: IndexedTask) -> Knowledge:
    """Return what a design knows at the beginning; that of a user's own design is checked and shared with nobody."""
    return Guard(design, indexed).build() if design.own else design.build(indexed)


class Guard:
    """Calls the functions of a user's own design, and raises where one does what it must not.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from everlearn.tasks.registry import make_task
    >>> class Nothing(NamedTuple):
    ...     values: np.ndarray
    >>> design = Design(lambda indexed: Nothing(np.zeros(1)), lambda *_: 7, lambda *_: None, name="mine")
    >>> guard = Guard(design, IndexedTask(make_task("riverswim")))
    >>> guard.act(guard.build(), 0, ScheduleValues(1, *[0.0] * 8), None)
    Traceback (most recent call last):
    ...
    everlearn.errors.AgentError: agent 'mine': act returned 7 at step 1; return an index from 0 to 1

    """

    def __init__(self, design: Design, indexed: IndexedTask, run: int = 0) -> None:
        self.design, self.indexed, self.run = design, indexed, run
        self.name = design.name
        self._errors = {"all": "ignore"} if design.infinite else {"divide": "raise", "invalid": "raise"}

    def build(self) -> Knowledge:
        """Return what the agent knows at the beginning, in arrays of its own."""
        with blame(f"agent {self.name!r}: build"):
            knowledge: Any = self.design.build(self.indexed)
        if not (isinstance(knowledge, tuple) and hasattr(knowledge, "_fields")):
            raise self._error(f"build returned {kind_of(knowledge)}; return a NamedTuple of arrays")
        for method in users_functions(type(knowledge)):
            for found in impurities(method):
                raise self._error(f"{method.__name__} of {type(knowledge).__name__} {_said(found)}")
        fields: Any = knowledge
        known = fields._replace(**{name: self._entry(name, value) for name, value in fields._asdict().items()})
        self.check_numbers(known, "build")
        return known

    def act(self, knowledge: Knowledge, aleatoric_state: int, now: ScheduleValues, stream: Any) -> int:
        """Return the index of the action that the design chooses."""
        action = self._called("act", now.t, watched(knowledge), aleatoric_state, now, Draws(stream))
        self.check_action(action, now.t)
        if sum(array.size for _, array in _floats(knowledge)) <= CHECKED_NUMBERS and not self.is_sound(knowledge):
            self.check_numbers(knowledge, "act", now.t)
        return int(action)

    def learn(self, knowledge: Knowledge, experience: Experience, now: ScheduleValues, stream: Any) -> None:
        """Let the design learn from one step."""
        returned = self._called("learn", now.t, watched(knowledge), experience, now, Draws(stream))
        if returned is not None:
            said = f"learn returned {kind_of(returned)} {self._at(now.t)}"
            raise self._error(f"{said}; change the arrays in place and return nothing", now.t)
        self._check_sometimes(knowledge, "learn", now.t)

    def policy(self, knowledge: Knowledge) -> Table:
        """Return the probability of each action in each aleatoric state."""
        if self.design.policy is None:
            raise self._error("has no policy function; give one as Design(..., policy=...)")
        with blame(f"agent {self.name!r}: policy"):
            returned = np.asarray(self.design.policy(copied(knowledge)), dtype=np.float64)
        shape = (self.indexed.states, self.indexed.actions)
        if returned.shape != shape:
            raise self._error(f"policy returned an array of shape {returned.shape}; return one of shape {shape}")
        wrong = ~((returned >= 0) & np.isclose(returned.sum(axis=1, keepdims=True), 1))
        if wrong.any():
            state = int(np.argwhere(wrong)[0, 0])
            row = ", ".join(f"{value:g}" for value in returned[state])
            said = f"policy returned {row} for state {show(self.indexed.task.states[state])}"
            raise self._error(f"{said}; return probabilities that sum to one")
        return returned

    def inspect(self, knowledge: Knowledge, now: ScheduleValues) -> dict[str, Table]:
        """Return what the design shows of what it knows, by name."""
        if self.design.inspect is None:
            return {}
        with blame(f"agent {self.name!r}: inspect"):
            returned: Any = self.design.inspect(copied(knowledge), now)
        if not (isinstance(returned, Mapping) and all(isinstance(name, str) for name in returned)):
            raise self._error(f"inspect returned {_value(returned)}; return arrays by name, as in {{'Q': knowledge.q}}")
        return {name: self._table(name, table) for name, table in returned.items()}

    def _table(self, name: str, table: Any) -> Table:
        try:
            return np.asarray(table, dtype=np.float64)
        except (TypeError, ValueError):
            raise self._error(f"inspect returned {_value(table)} as {name}; return an array of numbers") from None

    def values(self, knowledge: Knowledge) -> Table:
        """Return the table of values by which the design chooses; it is not copied, since it may be written to."""
        with blame(f"agent {self.name!r}: values"):
            returned: Any = self.design.values(knowledge) if self.design.values is not None else None
        shape = (self.indexed.states, self.indexed.actions)
        if not (isinstance(returned, np.ndarray) and returned.shape == shape and returned.dtype == np.float64):
            kind = kind_of(returned) + (f" of shape {returned.shape}" if isinstance(returned, np.ndarray) else "")
            raise self._error(f"values returned {kind}; return an array of float64 of shape {shape}")
        return returned

    def check_action(self, action: Any, t: int) -> None:
        """Raise unless an action is the index of one."""
        allowed = isinstance(action, int | np.integer | np.bool_) and 0 <= action < self.indexed.actions
        if not allowed:
            whole = " as an int, as in int(x)" if isinstance(action, float | np.floating) else ""
            remedy = f"return an index from 0 to {self.indexed.actions - 1}{whole}"
            raise self._error(f"act returned {_value(action)} {self._at(t)}; {remedy}", t)

    def check_numbers(self, knowledge: Knowledge, function: str, t: int | None = None) -> None:
        """Raise if what an agent knows is no number, or infinite where the design does not say that it may be."""
        for name, array in _floats(knowledge):
            wrong = np.isnan(array) if self.design.infinite else ~np.isfinite(array)
            if wrong.any():
                place = tuple(int(index) for index in np.argwhere(wrong)[0])
                value = array[place]
                entry = f"{name}[{', '.join(map(str, place))}]"
                remedy = "keep to finite numbers" + (
                    "" if np.isnan(value) else ", or declare Design(..., infinite=True)"
                )
                said = f"{function} left {_value(value)} in {entry}" + (f" {self._at(t)}" if t is not None else "")
                raise self._error(f"{said}; {remedy}", t)

    def is_sound(self, knowledge: Knowledge) -> bool:
        """Tell whether :meth:`check_numbers` would pass."""
        return all(self._is_sound(array) for _, array in _floats(knowledge))

    def _is_sound(self, array: NDArray[Any]) -> bool:
        with np.errstate(all="ignore"):
            if math.isfinite(array.sum()):  # the usual case, and the quickest to see
                return True
        return not np.isnan(array).any() if self.design.infinite else bool(np.isfinite(array).all())

    def _check_sometimes(self, knowledge: Knowledge, function: str, t: int) -> None:
        size = sum(array.size for _, array in _floats(knowledge))
        if t % (1 + size // CHECKED_NUMBERS) == 0 and not self.is_sound(knowledge):
            self.check_numbers(knowledge, function, t)

    def _entry(self, name: str, value: Any) -> Any:
        if type(value) is np.ndarray and _is_wide(value.dtype):
            return np.array(value, order="C")
        if isinstance(value, int | float | np.number | np.bool_) or _is_numbers(value):
            if isinstance(value, float | np.floating) and not (math.isfinite(value) or self._may_be(value)):
                raise self._error(f"build returned {_value(value)} as {name}; keep to finite numbers")
            return value
        inside = f" of {_plural(value.dtype)}" if isinstance(value, np.ndarray) else ""
        kind = kind_of(value) + inside
        raise self._error(f"build returned {kind} as {name}; {KNOWN}")

    def _may_be(self, value: Any) -> bool:
        return self.design.infinite and not math.isnan(value)

    def _called(self, function: str, t: int, *arguments: Any) -> Any:
        with np.errstate(**self._errors):  # type: ignore[arg-type]  # as their names say
            try:
                return getattr(self.design, function)(*arguments)
            except EverlearnError:
                raise
            except CAUGHT as error:
                raise self._blamed(error, function, t) from own(error)

    def _blamed(self, error: BaseException, function: str, t: int) -> EverlearnError:
        if isinstance(error, AttributeError) and str(error) == "can't set attribute":
            frames = own_frames(error.__traceback__)
            place = f" ({shown_path(frames[-1].filename)}, line {frames[-1].lineno})" if frames else ""
            said = f"{function} assigned to a field of a NamedTuple {self._at(t)}{place}"
            return self._error(f"{said}; write into an array, as in knowledge.q[...] = value", t)
        return blamed(error, f"agent {self.name!r}: {function}", self._at(t).removeprefix("at "))

    def _at(self, t: int) -> str:
        return f"at step {t}" + (f" of run {self.run}" if self.run else "")

    def _error(self, problem: str, t: int | None = None) -> AgentError:
        return AgentError(self.name, problem, t)


class WholeNumbers(np.ndarray[Any, Any]):
    """An array of whole numbers that refuses a fraction, which NumPy and Numba would cut off without a word."""

    def __setitem__(self, place: Any, value: Any) -> None:
        """Store whole numbers."""
        given = np.asarray(value)
        if given.dtype.kind == "f" and not (given == np.floor(given)).all():
            array = f"an array of {self.dtype}"
            raise TypeError(f"{_value(value)} cannot be stored in {array}; make it an array of float64")
        super().__setitem__(place, value)


def watched(knowledge: Knowledge) -> Knowledge:
    """Return what an agent knows with arrays of whole numbers that refuse fractions; they share their memory."""
    arrays = {name: value for name, value in knowledge._asdict().items() if isinstance(value, np.ndarray)}
    views = {name: array.view(WholeNumbers) for name, array in arrays.items() if array.dtype.kind in "iub"}
    return knowledge._replace(**views) if views else knowledge


class Draws:
    """A random stream, of which a user's functions see no more than :func:`everlearn.uniform` needs.

    Whatever else a generator of NumPy's can do is neither compiled nor saved.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def random(self) -> float:
        """Draw from [0, 1)."""
        return self._stream.random()  # type: ignore[no-any-return]

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"a stream has no {name}; draw with el.uniform(stream) or el.choose(stream, n)")


def copied(knowledge: Knowledge, rows: Sequence[int] | None = None) -> Knowledge:
    """Return what is known in arrays that may be changed without a consequence; of each, some rows if named."""
    arrays = {name: value for name, value in knowledge._asdict().items() if isinstance(value, np.ndarray)}
    chosen = slice(None) if rows is None else list(rows)
    return knowledge._replace(**{name: np.array(array[chosen]) for name, array in arrays.items()})


def _floats(knowledge: Knowledge) -> Iterator[tuple[str, NDArray[Any]]]:
    for name, value in zip(knowledge._fields, knowledge, strict=True):
        if isinstance(value, np.ndarray):
            if value.dtype.kind == "f":
                yield name, value
            for field in value.dtype.names or ():
                if value.dtype[field].base.kind == "f":
                    yield f"{name}.{field}", value[field]


def _is_wide(kind: np.dtype[Any]) -> bool:
    """Tell whether numbers of a type are the same in both engines: narrower ones are rounded at other times."""
    if kind.names is not None:
        return all(_is_wide(kind[name].base) for name in kind.names)
    return kind.kind == "b" or (kind.kind in "iuf" and kind.itemsize == 8)


def _is_numbers(value: Any) -> bool:
    return isinstance(value, tuple) and all(
        isinstance(one, int | float | np.number) or _is_numbers(one) for one in value
    )


def _plural(kind: np.dtype[Any]) -> str:
    return {"O": "objects", "U": "strings", "S": "bytes"}.get(kind.kind, str(kind))


def _value(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    if isinstance(value, float | np.floating):
        return "NaN" if math.isnan(value) else "infinity" if value == math.inf else f"{float(value)!r}"
    return " ".join(shown(value.item() if isinstance(value, np.generic) else value).split())[:60]
