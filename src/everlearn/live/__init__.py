"""The durable agent: what it has learned is on disk when ``observe`` returns, and a crash is invisible afterwards.

The package can be called: ``everlearn.live(DIR, ...)`` is :func:`everlearn.live.durable.live`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from everlearn.live.durable import Live, live

__all__ = ["Live", "live"]


class _Callable(ModuleType):
    """A package that is also the function after which it is named."""

    def __call__(self, *arguments: Any, **named: Any) -> Live:
        return live(*arguments, **named)


sys.modules[__name__].__class__ = _Callable
