"""How one compiled driver calls any design's functions: by a token, whose type names them.

The driver calls ``act_by`` and ``learn_by`` with a token.  The type of a token carries the fingerprint of a set of
functions, and Numba picks the functions by that type.  So each set is compiled into a driver of its own, the compiled
code can be kept on disk, and an edited function is a new type, never served stale.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import NativeValue, models, overload, register_model, typeof_impl, unbox

from everlearn.randomness import kept, uniform
from everlearn.sources import callees, fingerprint

INLINE = {"error_model": "numpy", "forceinline": True}
"""Calls disappear, and a division by zero gives infinity, as it does on NumPy's numbers in the reference loop."""

_FUNCTIONS: dict[str, tuple[Callable[..., Any], ...]] = {}
_MADE_CALLABLE: set[Callable[..., Any]] = {kept, uniform}


class Token:
    """Stands for a set of functions in calls of compiled code."""

    def __init__(self, *functions: Callable[..., Any]) -> None:
        self.fingerprint = fingerprint(*functions)
        _FUNCTIONS[self.fingerprint] = functions
        for function in functions:
            for one in callees(function):
                make_callable(one)


class TokenType(types.Opaque):
    """The type of a token."""

    def __init__(self, fingerprint: str) -> None:
        self.fingerprint = fingerprint
        super().__init__(name=f"everlearn.Token({fingerprint})")


register_model(TokenType)(models.OpaqueModel)


@typeof_impl.register(Token)
def _typeof(token: Token, _context: Any) -> TokenType:
    return TokenType(token.fingerprint)


@unbox(TokenType)
def _unbox(_type: Any, _object: Any, context: Any) -> NativeValue:
    return NativeValue(context.context.get_dummy_value())


def make_callable(function: Callable[..., Any]) -> None:
    """Let compiled code call a plain Python function."""
    if function not in _MADE_CALLABLE:
        _MADE_CALLABLE.add(function)
        overload(function, jit_options=INLINE, strict=False)(lambda *_arguments, **_named: function)


def act_by(token: Any, knowledge: Any, aleatoric_state: Any, now: Any, stream: Any) -> Any:
    """Call the ``act`` of a design, from compiled code."""
    return _FUNCTIONS[token.fingerprint][0](knowledge, aleatoric_state, now, stream)


def learn_by(token: Any, knowledge: Any, experience: Any, now: Any, stream: Any) -> Any:
    """Call the ``learn`` of a design, from compiled code."""
    return _FUNCTIONS[token.fingerprint][1](knowledge, experience, now, stream)


def formula_by(token: Any, t: Any, constants: Any) -> Any:
    """Call the formula of a schedule, from compiled code."""
    return _FUNCTIONS[token.fingerprint][0](t, constants)


@overload(act_by, jit_options=INLINE, strict=False)
def _act_by(token: Any, *_others: Any) -> Any:
    act = _FUNCTIONS[token.fingerprint][0]
    return lambda _token, knowledge, aleatoric_state, now, stream: act(knowledge, aleatoric_state, now, stream)


@overload(learn_by, jit_options=INLINE, strict=False)
def _learn_by(token: Any, *_others: Any) -> Any:
    learn = _FUNCTIONS[token.fingerprint][1]
    return lambda _token, knowledge, experience, now, stream: learn(knowledge, experience, now, stream)


@overload(formula_by, jit_options=INLINE, strict=False)
def _formula_by(token: Any, *_others: Any) -> Any:
    formula = _FUNCTIONS[token.fingerprint][0]
    return lambda _token, t, constants: formula(t, constants)
