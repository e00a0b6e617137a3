"""Read the functions of a design of the user's own before it runs: how they are called, and what they depend on."""

from __future__ import annotations

import functools
import inspect
import types
from typing import Any

from everlearn.agents.design import Design
from everlearn.errors import AgentError, shown
from everlearn.labels import kind_of
from everlearn.protocol import Experience, ScheduleValues
from everlearn.purity import (
    CLOCK,
    COMPILED,
    DYNAMIC,
    HASHED,
    INPUT,
    MUTABLE,
    ORDER,
    RANDOM,
    UNSAFE,
    WRITTEN,
    Impurity,
    attributes_read,
    impurities,
    is_assigned,
)

ARGUMENTS = {
    "build": ("task",),
    "act": ("knowledge", "aleatoric_state", "now", "stream"),
    "learn": ("knowledge", "experience", "now", "stream"),
    "policy": ("knowledge",),
    "inspect": ("knowledge", "now"),
    "values": ("knowledge",),
    "remember": ("knowledge", "experience"),
    "carry": ("knowledge", "aleatoric_state", "next_aleatoric_state"),
}
"""What each function of a design is called with."""

REQUIRED = ("build", "act", "learn")
"""The functions that every design has."""

REMEDIES = {
    RANDOM: "draw with el.uniform(stream) or el.choose(stream, n), which repeat with the seed",
    CLOCK: "use now.t, the number of the step",
    INPUT: "an agent may use only its arguments",
    MUTABLE: "it could change unnoticed; store it in what build returns",
    WRITTEN: "store it in an array that build returns",
    COMPILED: "leave out the decorator; everlearn compiles it, with checks",
    DYNAMIC: "avoid it, because it cannot be checked",
    HASHED: "it differs from process to process; use indices, and iterate over a range or a tuple",
    UNSAFE: "it accesses memory without checks; use np.zeros and plain indices",
}

INITIAL = "build has no stream; draw initial values in act, when now.t is 1, with el.uniform(stream)"
"""What to do instead of drawing in ``build``."""

FORBIDDEN = {"build": (RANDOM, CLOCK, WRITTEN), "policy": (RANDOM, CLOCK, INPUT, WRITTEN), "inspect": (RANDOM, CLOCK)}
"""The impurities that functions other than act and learn must not have."""

SCHEDULED = {*ScheduleValues._fields} - {"t"}
"""What only a schedule sets."""

NO_SCHEDULE = "the design has no schedule; pass one, as in el.Design(build, act, learn, schedule=el.Schedule(...))"

DRAW = "draw with el.uniform(stream) or el.choose(stream, n)"


def check_design(design: Design) -> None:
    """Raise if a function of the user's own design cannot be called, or depends on more than its arguments."""
    for name, arguments in ARGUMENTS.items():
        function = getattr(design, name)
        if function is not None or name in REQUIRED:
            _check_signature(design, name, function, arguments)
    if (design.remember is None) != (design.memory is None):
        problem = "has remember without memory, or memory without remember"
        raise AgentError(design.name, f"{problem}; give both, the function and the name of the array that it updates")
    for name in ("act", "learn", "remember", "carry"):
        function = getattr(design, name)
        if function is None:
            continue
        _check_plain(design, name, function)
    for name, kinds in FORBIDDEN.items():
        for impurity in impurities(getattr(design, name), kinds) if getattr(design, name) is not None else ():
            remedy = INITIAL if (name, impurity.kind) == ("build", RANDOM) else None
            raise _impure(design, name, impurity, remedy)
    _check_order(design)
    _check_reads(design, "act", design.act)
    _check_reads(design, "learn", design.learn)


def _check_plain(design: Design, name: str, function: Any) -> None:
    """Raise unless a function is a plain one that depends on its arguments alone."""
    for impurity in () if isinstance(function, functools.partial) else impurities(function):
        raise _impure(design, name, impurity)
    if not isinstance(function, types.FunctionType):
        problem = f"{name} is {kind_of(function)}, which could hold hidden state"
        problem += "; give a plain function, and store its data in what build returns"
        raise AgentError(design.name, problem, function=name, value=kind_of(function))


def _check_order(design: Design) -> None:
    """Raise if act uses its second argument as an experience, as learn does."""
    for second, attribute, place in attributes_read(design.act, 1):
        if attribute in Experience._fields and not is_assigned(design.act, second):
            problem = f"act reads {second}.{attribute} ({place}), of an experience, which only learn is given"
            problem += "; the order is el.Design(build, act, learn)"
            raise AgentError(design.name, problem, function="act", value=f"{second}.{attribute}")


def _check_reads(design: Design, name: str, function: Any) -> None:
    """Raise if act or learn reads a value that no schedule sets, or draws from its stream by a method."""
    for now, attribute, place in attributes_read(function, 2):
        if attribute in SCHEDULED and design.schedule is None:
            problem, value = f"reads {now}.{attribute} ({place}); {NO_SCHEDULE}", f"{now}.{attribute}"
            raise AgentError(design.name, f"{name} {problem}", function=name, value=value)
    for stream, attribute, place in attributes_read(function, 3):
        problem, value = f"uses {stream}.{attribute} ({place}); {DRAW}", f"{stream}.{attribute}"
        raise AgentError(design.name, f"{name} {problem}", function=name, value=value)


def _check_signature(design: Design, name: str, function: Any, arguments: tuple[str, ...]) -> None:
    wanted = f"a function of ({', '.join(arguments)})"
    if not callable(function):
        raise AgentError(
            design.name, f"{name} is {shown(function)}; give {wanted}", function=name, value=shown(function)
        )
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # built in, and silent about its arguments
        return
    try:
        signature.bind(*arguments)
    except TypeError:
        problem = f"{name} takes {signature}; give {wanted}"
        raise AgentError(design.name, problem, function=name, value=str(signature)) from None


def _impure(design: Design, name: str, impurity: Impurity, remedy: str | None = None) -> AgentError:
    return AgentError(design.name, f"{name} {describe(impurity, remedy)}", function=name, value=impurity.name)


def describe(impurity: Impurity, remedy: str | None = None) -> str:
    """Return what a function does that it must not, where, and what to do instead."""
    otherwise = "depends on" if impurity.name == ORDER else "calls" if callable(impurity.value) else "uses"
    verb = {MUTABLE: "reads", WRITTEN: "assigns to", COMPILED: "uses"}.get(impurity.kind, otherwise)
    what = f", {kind_of(impurity.value)}" if impurity.kind == MUTABLE else ""
    what += ", which Numba compiled without checks" if impurity.kind == COMPILED else ""
    remedy = remedy or REMEDIES[impurity.kind] + (", or make it a tuple" if isinstance(impurity.value, list) else "")
    return f"{verb} {impurity.name}{what} ({impurity.place}); {remedy}"
