"""Reference average rewards to compare a result with; their names say over which policies they are the best."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from everlearn.errors import InputError, UnknownKey

OPTIMUM = "optimum over all policies"
"""lambda_*: the best of all policies, including those that use the whole history.  An agent may fail to reach it."""

AT_LEAST, AT_MOST = f"{OPTIMUM}, at least", f"{OPTIMUM}, at most"
"""Certified bounds of lambda_*, if the environment hides its memory and the bounds have not met."""

BEST = "best over aleatoric states"
"""lambda_pi~: the best of the policies that depend only on the aleatoric state."""

FOUND = f"{BEST}, by search"
"""The same, if it is not proved that no other is better."""

_KEYS = {
    OPTIMUM: "optimum",
    AT_LEAST: "optimum_lower",
    AT_MOST: "optimum_upper",
    BEST: "best_aleatoric",
    FOUND: "best_aleatoric",
}


def label(name: str) -> str:
    """Return the name under which tables and figures show a reference that a task states."""
    return OPTIMUM if name == "optimum" else name


def called(name: str, given: str) -> bool:
    """Return whether ``given`` means this reference: it is its name or its JSON key."""
    return given in (name, _KEYS.get(name), BEST if name == FOUND else None)


class References(Mapping[str, float]):
    """Average rewards by name, the optimum first.  Those that take long to compute are computed at first use.

    Parameters
    ----------
    given:
        what is known without computing
    find:
        computes the rest, once; it replaces nothing that was given

    Examples
    --------
    >>> references = References({"always fast": 0.4, "optimum": 0.5})
    >>> list(references)
    ['optimum over all policies', 'always fast']
    >>> references["optimum"], references.short()
    (0.5, {'optimum': 0.5, 'always fast': 0.4})

    """

    def __init__(self, given: Mapping[str, float], find: Callable[[], Mapping[str, float]] | None = None) -> None:
        self._known = _sorted(given)
        self._find = find

    def __getitem__(self, name: str) -> float:
        for known, value in self._all().items():
            if called(known, name):
                return value
        raise UnknownKey("reference", name, self._all())

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return repr(self._all())

    def short(self) -> dict[str, float]:
        """Return them by their JSON keys: ``optimum``, ``best_aleatoric``, and other names unchanged."""
        return {_KEYS.get(name, name): value for name, value in self.items()}

    def _all(self) -> dict[str, float]:
        if self._find is not None:
            self._known = _sorted({**self._find(), **self._known})
            self._find = None
        return self._known


def _sorted(given: Mapping[str, float]) -> dict[str, float]:
    try:
        named = {label(name): float(value) for name, value in given.items()}
    except (TypeError, ValueError):
        raise InputError("references", dict(given), "give average rewards by name, as in {'optimum': 0.5}") from None
    return {**{name: named[name] for name in _KEYS if name in named}, **named}
