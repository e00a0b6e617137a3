"""Guard a design of the user's own at every step: it may neither crash the process nor change a result silently.

The built-in agents pass the conformance tests and run unchecked.  A design is the user's own if any of its functions
comes from outside this package; :mod:`everlearn.agents.reading` reads these before they run.
"""

from __future__ import annotations

import math
import sys
import traceback
from collections.abc import Iterator, Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.design import Design
from everlearn.agents.knowledge import arrays, copied
from everlearn.agents.reading import DRAW, describe
from everlearn.blame import CAUGHT, blame, blamed, own, own_frames, shown_path
from everlearn.errors import AgentError, EverlearnError, InputError, shown
from everlearn.grids import Grid
from everlearn.labels import kind_of, show
from everlearn.protocol import Experience, Knowledge, ScheduleValues, Table
from everlearn.purity import impurities, users_functions
from everlearn.randomness import choose
from everlearn.tasks.indexed import IndexedTask

ALLOWED_FIELDS = "use arrays of float64, int64, uint64 or bool, numbers and tuples of numbers"

CHECKED_NUMBERS = 1 << 16
"""Knowledge of up to so many numbers is searched for NaN after every step; larger knowledge less often."""

NUMBER = "give a whole number n of at least 1, to draw from 0 to n - 1"

UNSOUND = {"divide": "raise", "invalid": "raise", "over": "ignore"}
"""What NumPy does at an error.  An overflow gives infinity, which is reported with its place after the step."""


def build_knowledge(design: Design, indexed: IndexedTask) -> Knowledge:
    """Return the initial knowledge of a design; that of a user's own design is checked and not shared."""
    if isinstance(indexed.task.states, Grid) and not design.features:
        fewer = ", or task.discretiser=quantile" if indexed.task.name.startswith("gymnasium:") else ""
        remedy = f"needs a table; give an agent with features, such as linear{fewer}"
        raise InputError("agent", design.name, remedy)
    return Guard(design, indexed).build() if design.own else design.build(indexed)


class Guard:
    """Calls the functions of a user's own design, and raises if one does what it must not."""

    def __init__(self, design: Design, indexed: IndexedTask, run: int = 0) -> None:
        self.design, self.indexed, self.run = design, indexed, run
        self.name = design.name
        self._errors = {"all": "ignore"} if design.infinite else dict(UNSOUND)

    def build(self) -> Knowledge:
        """Return the initial knowledge, with arrays that are not shared."""
        with blame(f"agent {self.name!r}: build"):
            knowledge: Any = self.design.build(self.indexed)
        if not (isinstance(knowledge, tuple) and hasattr(knowledge, "_fields")):
            raise self._error(
                "build", f"returned {kind_of(knowledge)}; return a NamedTuple of arrays", kind_of(knowledge)
            )
        for method in users_functions(type(knowledge)):
            for impurity in impurities(method):
                owner = f"{method.__name__} of {type(knowledge).__name__}"
                raise self._error(owner, describe(impurity), impurity.name)
        fields: Any = knowledge  # which the type checker now takes for a plain tuple
        made = fields._replace(**{name: self._copy_field(name, value) for name, value in fields._asdict().items()})
        self.check_numbers(made, "build")
        for memory in self.design.memories:
            if memory not in arrays(made):
                problem = f"is {memory!r}; give the name of an array that build returns: {[*arrays(made)]}"
                raise self._error("memory", problem, memory)
        return made

    def act(self, knowledge: Knowledge, aleatoric_state: int, now: ScheduleValues, stream: Any) -> int:
        """Return the index of the action that the design chooses."""
        action = self._call("act", now.t, watched(knowledge), aleatoric_state, now, Draws(stream))
        self.check_action(action, now.t)
        if sum(array.size for _, array in _floats(knowledge)) <= CHECKED_NUMBERS and not self.is_sound(knowledge):
            self.check_numbers(knowledge, "act", now.t)
        return int(action)

    def learn(self, knowledge: Knowledge, experience: Experience, now: ScheduleValues, stream: Any) -> None:
        """Let the design learn from one step."""
        returned = self._call("learn", now.t, watched(knowledge), experience, now, Draws(stream))
        if returned is not None:
            problem = f"returned {kind_of(returned)} {self._at(now.t)}; change the arrays in place and return nothing"
            raise self._error("learn", problem, kind_of(returned), now.t)
        size = sum(array.size for _, array in _floats(knowledge))
        if now.t % (1 + size // CHECKED_NUMBERS) == 0 and not self.is_sound(knowledge):
            self.check_numbers(knowledge, "learn", now.t)

    def remember(self, knowledge: Knowledge, experience: Experience) -> None:
        """Let the design update its memory, without learning."""
        with blame(f"agent {self.name!r}: remember"):
            self.design.remember(watched(knowledge), experience)  # type: ignore[misc]  # called only if there is one
        self.check_numbers(knowledge, "remember")

    def carry(self, knowledge: Knowledge, aleatoric_state: int, next_aleatoric_state: int) -> None:
        """Let the design copy its numbers of the run to the row of another state."""
        with blame(f"agent {self.name!r}: carry"):
            self.design.carry(watched(knowledge), aleatoric_state, next_aleatoric_state)  # type: ignore[misc]
        self.check_numbers(knowledge, "carry")

    def policy(self, knowledge: Knowledge) -> Table:
        """Return the probability of each action in each aleatoric state."""
        if self.design.policy is None:
            raise AgentError(
                self.name, "has no policy function; give one as Design(..., policy=...)", function="policy"
            )
        with blame(f"agent {self.name!r}: policy"):
            returned = np.asarray(self.design.policy(copied(knowledge)), dtype=np.float64)
        shape = (self.indexed.states, self.indexed.actions)
        if returned.shape != shape:
            problem = f"returned {_value(returned)}; return one of shape {shape}"
            raise self._error("policy", problem, _value(returned))
        wrong = ~((returned >= 0) & np.isclose(returned.sum(axis=1, keepdims=True), 1))
        if wrong.any():
            state = int(np.argwhere(wrong)[0, 0])
            row = ", ".join(f"{value:g}" for value in returned[state])
            problem = f"returned {row} for state {show(self.indexed.task.states[state])}"
            raise self._error("policy", f"{problem}; return probabilities that sum to one", row)
        return returned

    def inspect(self, knowledge: Knowledge, now: ScheduleValues) -> dict[str, Table]:
        """Return what the design shows of what it knows, by name."""
        if self.design.inspect is None:
            return {}
        with blame(f"agent {self.name!r}: inspect"):
            returned: Any = self.design.inspect(copied(knowledge), now)
        if not (isinstance(returned, Mapping) and all(isinstance(name, str) for name in returned)):
            problem = f"returned {_value(returned)}; return arrays by name, as in {{'Q': knowledge.q}}"
            raise self._error("inspect", problem, _value(returned))
        return {name: self._table(name, table) for name, table in returned.items()}

    def _table(self, name: str, table: Any) -> Table:
        try:
            return np.asarray(table, dtype=np.float64)
        except (TypeError, ValueError):
            problem = f"returned {_value(table)} as {name}; return an array of numbers"
            raise self._error("inspect", problem, _value(table), array=name) from None

    def values(self, knowledge: Knowledge) -> Table:
        """Return the table of values by which the design chooses; it is not copied, since it may be written to."""
        with blame(f"agent {self.name!r}: values"):
            returned: Any = self.design.values(knowledge) if self.design.values is not None else None
        shape = (self.indexed.states, self.indexed.actions)
        if not (isinstance(returned, np.ndarray) and returned.shape == shape and returned.dtype == np.float64):
            kind = kind_of(returned) + (f" of shape {returned.shape}" if isinstance(returned, np.ndarray) else "")
            raise self._error("values", f"returned {kind}; return an array of float64 of shape {shape}", kind)
        return returned

    def check_action(self, action: Any, t: int) -> None:
        """Raise unless an action is the index of one."""
        allowed = isinstance(action, int | np.integer | np.bool_) and 0 <= action < self.indexed.actions
        if not allowed:
            whole = " as an int, as in int(x)" if isinstance(action, float | np.floating) else ""
            remedy = f"return an index from 0 to {self.indexed.actions - 1}{whole}"
            raise self._error("act", f"returned {_value(action)} {self._at(t)}; {remedy}", _value(action), t)

    def check_numbers(self, knowledge: Knowledge, function: str, t: int | None = None) -> None:
        """Raise if knowledge contains NaN, or infinity although the design does not declare it."""
        for name, array in _floats(knowledge):
            wrong = np.isnan(array) if self.design.infinite else ~np.isfinite(array)
            if wrong.any():
                place = tuple(int(index) for index in np.argwhere(wrong)[0])
                value = array[place]
                remedy = "" if np.isnan(value) else ", or declare Design(..., infinite=True)"
                entry = f"{name}[{', '.join(map(str, place))}]"
                where = entry + (f" {self._at(t)}" if t is not None else "")
                problem = f"left {_value(value)} in {where}; keep to finite numbers{remedy}"
                raise self._error(function, problem, _value(value), t, array=entry)

    def is_sound(self, knowledge: Knowledge) -> bool:
        """Tell whether :meth:`check_numbers` would pass."""
        return all(self._is_sound(array) for _, array in _floats(knowledge))

    def _is_sound(self, array: NDArray[Any]) -> bool:
        with np.errstate(all="ignore"):
            if math.isfinite(array.sum()):  # the usual case, and the fastest to check
                return True
        return not np.isnan(array).any() if self.design.infinite else bool(np.isfinite(array).all())

    def _copy_field(self, name: str, value: Any) -> Any:
        if type(value) is np.ndarray and _is_wide(value.dtype):
            return np.array(value, order="C")
        if isinstance(value, int | float | np.number | np.bool_) or _is_numbers(value):
            infinite = self.design.infinite and isinstance(value, float | np.floating) and not math.isnan(value)
            if isinstance(value, float | np.floating) and not (math.isfinite(value) or infinite):
                problem = f"returned {_value(value)} as {name}; keep to finite numbers"
                raise self._error("build", problem, _value(value), array=name)
            return value
        kind = kind_of(value) + (f" of {_plural(value.dtype)}" if isinstance(value, np.ndarray) else "")
        raise self._error("build", f"returned {kind} as {name}; {ALLOWED_FIELDS}", kind, array=name)

    def _call(self, function: str, t: int, *arguments: Any) -> Any:
        with np.errstate(**self._errors):  # type: ignore[arg-type]
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
            problem = f"assigned to a field of a NamedTuple {self._at(t)}{place}"
            return self._error(function, f"{problem}; write into an array, as in knowledge.q[...] = value", t=t)
        if (given := _chosen(error)) is not None:
            frames = own_frames(error.__traceback__)
            place = f" ({shown_path(frames[-1].filename)}, line {frames[-1].lineno})" if frames else ""
            swapped = isinstance(given["number"], Draws)
            arguments = f"({_value(given['stream'])}, stream)" if swapped else f" with {_value(given['number'])}"
            remedy = "the stream comes first, as in el.choose(stream, n)" if swapped else NUMBER
            problem = f"called el.choose{arguments} {self._at(t)}{place}; {remedy}"
            return self._error(function, problem, "el.choose", t)
        return blamed(error, f"agent {self.name!r}: {function}", self._at(t).removeprefix("at "))

    def _at(self, t: int) -> str:
        return f"at step {t}" + (f" of run {self.run}" if self.run else "")

    def _error(
        self, function: str, problem: str, value: str | None = None, t: int | None = None, array: str | None = None
    ) -> AgentError:
        problem = f"{function} {problem}"
        return AgentError(self.name, problem, t, function=function, run=self.run, value=value, array=array)


class WholeNumbers(np.ndarray[Any, Any]):
    """An array of whole numbers that refuses a fraction, which NumPy and Numba would truncate silently."""

    def __setitem__(self, place: Any, value: Any) -> None:
        """Store whole numbers."""
        given = np.asarray(value)
        if given.dtype.kind == "f" and not (given == np.floor(given)).all():
            array = f"an array of {self.dtype}"
            raise TypeError(f"{_value(value)} cannot be stored in {array}; make it an array of float64")
        super().__setitem__(place, value)


def watched(knowledge: Knowledge) -> Knowledge:
    """Return knowledge whose arrays of whole numbers refuse fractions; they share memory with the given ones."""
    whole = {name: array for name, array in arrays(knowledge).items() if array.dtype.kind in "iub"}
    views = {name: array.view(WholeNumbers) for name, array in whole.items()}
    return knowledge._replace(**views) if views else knowledge


class Draws:
    """A random stream that offers only what :func:`everlearn.uniform` needs; nothing else is compiled and saved."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def random(self) -> float:
        """Draw from [0, 1); raise if this is for ``choose``, and not for a whole number of at least 1."""
        caller = sys._getframe(2)  # that of uniform is between; choose has no check, to be fast in built-in agents
        if caller.f_code is choose.__code__:
            number = caller.f_locals["number"]
            if isinstance(number, np.ndarray) and number.ndim == 0:
                number = number.item()  # what a sum of a watched array returns
            if not (isinstance(number, Real) and float(number) >= 1 and number % 1 == 0):
                raise TypeError
        return self._stream.random()  # type: ignore[no-any-return]

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"a stream has no {name}; {DRAW}")


def _chosen(error: BaseException) -> dict[str, Any] | None:
    """Return the arguments of ``choose`` if they caused the error, otherwise None."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return next((frame.f_locals for frame in frames[-3:] if frame.f_code is choose.__code__), None)


def _floats(knowledge: Knowledge) -> Iterator[tuple[str, NDArray[Any]]]:
    for name, array in arrays(knowledge).items():
        if array.dtype.kind == "f":
            yield name, array
        for field in array.dtype.names or ():
            if array.dtype[field].base.kind == "f":
                yield f"{name}.{field}", array[field]


def _is_wide(kind: np.dtype[Any]) -> bool:
    """Tell whether numbers of a type are equal in both engines, which round narrower numbers at other times."""
    if kind.names is not None:
        return all(_is_wide(kind[name].base) for name in kind.names)
    return kind.kind == "b" or (kind.kind in "iuf" and kind.itemsize == 8)


def _is_numbers(value: Any) -> bool:
    return isinstance(value, tuple) and all(
        isinstance(entry, int | float | np.number) or _is_numbers(entry) for entry in value
    )


def _plural(kind: np.dtype[Any]) -> str:
    return {"O": "objects", "U": "strings", "S": "bytes"}.get(kind.kind, str(kind))


def _value(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    if isinstance(value, float | np.floating):
        return "NaN" if math.isnan(value) else "infinity" if value == math.inf else f"{float(value)!r}"
    return " ".join(shown(value.item() if isinstance(value, np.generic) else value).split())[:60]
