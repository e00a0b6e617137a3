"""Tokens: let one compiled driver call the functions of any design.

The driver passes a token to ``act_by`` and ``learn_by``.  The type of a token carries the fingerprint of a set of
functions, and Numba selects the functions by that type.  So a driver is compiled for each set, the compiled code can be
cached on disk, and an edited function gets a new type and never runs stale code.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numba import types
from numba.extending import NativeValue, intrinsic, models, overload, register_model, typeof_impl, unbox

from everlearn.agents.restarting import copy_initial
from everlearn.engine.copies import copied
from everlearn.engine.linking import LINKED
from everlearn.engine.parts import by_field, first_part, part_of, whole
from everlearn.randomness import stream_of, uniform
from everlearn.sources import callees, fingerprint

INLINE = {"error_model": "numpy", "forceinline": True}
"""Inline calls; a division by zero gives infinity, as with NumPy's numbers in the reference engine."""

CHECKED = {**INLINE, "boundscheck": True}
"""Raise if an index is out of range, as the reference engine does."""

STRICT = {**CHECKED, "error_model": "python"}
"""Raise if a division by zero occurs, too."""

int64: Any = np.int64
uint32: Any = np.uint32

_LOCK = threading.Lock()
_FUNCTIONS: dict[str, tuple[Callable[..., Any], ...]] = {}
_MADE_CALLABLE: set[Callable[..., Any]] = {stream_of, uniform, copy_initial}


class Token:
    """Stands for a set of functions when compiled code is called.

    ``options`` are Numba's.  Options other than ``INLINE`` are for a user's functions: copies of them are compiled with
    checks, and what they return is checked.
    """

    def __init__(self, *functions: Callable[..., Any], options: Mapping[str, Any] = INLINE) -> None:
        checked = options is not INLINE
        self.fingerprint = fingerprint(*functions) + (f" {sorted(options.items())}" if checked else "")
        with _LOCK:
            if checked and self.fingerprint in _FUNCTIONS:
                return
            compiled = copied(*functions) if checked else functions
            for function in compiled:
                for callee in callees(function):
                    make_callable(callee, options)
            _FUNCTIONS[self.fingerprint] = compiled


class TokenType(types.Opaque):
    """The type of a token."""

    def __init__(self, fingerprint: str) -> None:
        self.fingerprint = fingerprint
        self.checked = " " in fingerprint  # which ends with the options, for a user's functions
        super().__init__(name=f"everlearn.Token({fingerprint})")


register_model(TokenType)(models.OpaqueModel)


@typeof_impl.register(Token)
def _typeof(token: Token, _context: Any) -> TokenType:
    return TokenType(token.fingerprint)


@unbox(TokenType)
def _unbox(_type: Any, _object: Any, context: Any) -> NativeValue:
    return NativeValue(context.context.get_dummy_value())


def make_callable(function: Callable[..., Any], options: Mapping[str, Any] = INLINE) -> None:
    """Let compiled code call a plain Python function."""
    if function not in _MADE_CALLABLE:
        _MADE_CALLABLE.add(function)
        linked = LINKED if options is INLINE else {}
        overload(function, jit_options={**options, **linked}, strict=False)(lambda *_arguments, **_named: function)


def by_type(implement: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function for compiled code, given what returns its implementation for the types of its arguments."""

    def stub(*_arguments: Any) -> Any:
        raise NotImplementedError  # Numba compiles the implementation in its place

    overload(stub, jit_options={**INLINE, **LINKED}, strict=False)(implement)
    return functools.update_wrapper(stub, implement)


@by_type
def act_by(token: Any, *_others: Any) -> Any:
    """Call ``act`` of a design; return -1 if the result is not the index of an action."""
    act = _FUNCTIONS[token.fingerprint][0]
    if token.checked:
        return lambda _token, knowledge, s, now, stream, actions: _index(act(knowledge, s, now, stream), actions)
    return lambda _token, knowledge, s, now, stream, _actions: int64(uint32(act(knowledge, s, now, stream)))


@by_type
def learn_by(token: Any, *_others: Any) -> Any:
    """Call ``learn`` of a design; return whether it returned None, as it must."""
    learn = _FUNCTIONS[token.fingerprint][1]
    if token.checked:
        return lambda _token, knowledge, experience, now, stream: _is_none(learn(knowledge, experience, now, stream))

    def unchecked(_token: Any, knowledge: Any, experience: Any, now: Any, stream: Any) -> bool:
        learn(knowledge, experience, now, stream)
        return True

    return unchecked


@by_type
def formula_by(token: Any, *_others: Any) -> Any:
    """Call the formula of a schedule."""
    formula = _FUNCTIONS[token.fingerprint][0]
    return lambda _token, t, constants: formula(t, constants)


@by_type
def note_by(token: Any, *_others: Any) -> Any:
    """Record where a user's function is about to be called, in case it raises."""
    if not token.checked:
        return lambda _token, _place, _position, _lane: None

    def note(_token: Any, place: Any, position: Any, lane: Any) -> None:
        place[0] = position
        place[1] = lane

    return note


@by_type
def first_by(token: Any, knowledge: Any, _lanes: Any) -> Any:
    """Return the knowledge of the first lane if the design is the user's, else the knowledge of all lanes."""
    return by_field(knowledge, first_part if token.checked else whole)


@by_type
def lane_by(token: Any, first: Any, _lane: Any) -> Any:
    """Return the knowledge of a lane if the design is the user's, else the knowledge of all lanes."""
    if token.checked:
        return by_field(first, part_of)
    return lambda _token, first, _lane: first


@intrinsic
def _present(_context: Any, optional: Any) -> Any:
    """Return the value of an optional that is not None."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.make_helper(builder, signature.args[0], value=arguments[0]).data

    return optional.type(optional), generate


@by_type
def _index(returned: Any, _actions: Any) -> Any:
    """Return the argument if it is the index of an action, else -1."""
    if isinstance(returned, types.Optional):
        return lambda returned, actions: int64(-1) if returned is None else _index(_present(returned), actions)
    if isinstance(returned, types.IntEnumMember):
        return lambda returned, actions: _index(returned.value, actions)
    if isinstance(returned, types.Integer | types.Boolean):
        return lambda returned, actions: int64(returned) if 0 <= returned < actions else int64(-1)
    return lambda _returned, _actions: int64(-1)


@by_type
def _is_none(returned: Any) -> Any:
    """Return whether the argument is None."""
    if isinstance(returned, types.Optional):
        return lambda returned: returned is None
    nothing = isinstance(returned, types.NoneType)
    return lambda _returned: nothing
