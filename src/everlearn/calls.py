"""Explain a call of a public function whose arguments do not fit: name the argument, and say how the call is written.

Python raises a TypeError when it cannot bind the arguments of a call.  :func:`explained` replaces this error, and no
other: an error from inside the function has more than one frame.  A call that fits costs only another call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from everlearn.errors import InputError, UnknownName
from everlearn.factories import name_of

Function = TypeVar("Function", bound=Callable[..., Any])


def explained(form: str) -> Callable[[Function], Function]:
    """Return a decorator of a function or a class; ``form`` is how a call is written, as in ``el.run(task, agent)``.

    Examples
    --------
    >>> @explained("greet(name)")
    ... def greet(name, *, loudly=False):
    ...     return f"hello {name}"
    >>> greet("Ada", loudy=True)
    Traceback (most recent call last):
    ...
    everlearn.errors.UnknownName: argument of greet: 'loudy'; known: loudly, name (did you mean loudly?)

    """

    def decorate(function: Any) -> Any:
        if isinstance(function, type):
            function.__init__ = decorate(function.__init__)  # type: ignore[misc]  # as dataclasses do
            return function

        @wraps(function)
        def call(*positional: Any, **named: Any) -> Any:
            try:
                return function(*positional, **named)
            except TypeError as error:
                if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
                    raise  # from inside the function
                raise _misfit(function, form, positional, named) from None

        return call

    return decorate


def _misfit(function: Callable[..., Any], form: str, positional: tuple[Any, ...], named: dict[str, Any]) -> InputError:
    """Return the error that says which argument does not fit."""
    name, entries = form.partition("(")[0], dict(inspect.signature(function).parameters)
    if entries.pop("self", None) is not None:
        positional = positional[1:]
    places = [key for key, entry in entries.items() if entry.kind is entry.POSITIONAL_OR_KEYWORD]
    open_ended = any(entry.kind is entry.VAR_KEYWORD for entry in entries.values())
    if unknown := [key for key in named if key not in entries and not open_ended]:
        return UnknownName(f"argument of {name}", unknown[0], [key for key in entries if not key.startswith("_")])
    if len(positional) > len(places):
        first = f"{len(places)} arguments are" if len(places) > 1 else "argument is"
        remedy = f"only the first {first} given without a name, as in {form}"
        return InputError(f"arguments of {name}", [name_of(value) for value in positional], remedy)
    taken = places[: len(positional)]
    if twice := [key for key in taken if key in named]:
        return InputError(f"argument of {name}", twice[0], f"is there twice; call it as in {form}")
    varying = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    needed = [key for key, entry in entries.items() if entry.default is entry.empty and entry.kind not in varying]
    missing = [key for key in needed if key not in (*taken, *named)]
    return InputError(f"arguments of {name}", [*taken, *named], f"give {' and '.join(missing)}, too, as in {form}")
