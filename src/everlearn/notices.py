"""Warnings that carry data, and that reach other processes with it."""

from __future__ import annotations

from typing import Any

from everlearn.errors import restored


class Notice(UserWarning):
    """The base class of warnings whose constructors take data in place of a message.

    Examples
    --------
    >>> import pickle
    >>> from everlearn.experiments.references import OptimumWarning
    >>> warning = pickle.loads(pickle.dumps(OptimumWarning("queue", 1.0, 0.5)))
    >>> warning.optimum, str(warning)
    (0.5, "task 'queue' states the optimum 1, its model has 0.5; correct the statement")

    """

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the message and the data, since a constructor cannot be called with the message."""
        return restored, (type(self), str(self), vars(self))
