"""Copy initial arrays back in compiled code, as :func:`everlearn.agents.restarting.copy_initial` does interpreted.

Which fields of the knowledge are arrays is known from its type, and cannot be asked in the code of an agent.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import overload

from everlearn.agents.restarting import INITIAL, copy_initial


@overload(copy_initial, jit_options={"forceinline": True}, strict=False)
def _copy_initial(knowledge: Any) -> Any:
    """Return the implementation for a type of knowledge."""
    kinds = dict(zip(knowledge.fields, knowledge.types, strict=True))
    names = [name for name in kinds if isinstance(kinds.get(INITIAL + name), types.Array)]
    lines = [f"    knowledge.{name}[...] = knowledge.{INITIAL}{name}" for name in names] or ["    pass"]
    scope: dict[str, Any] = {}
    exec("\n".join(["def implementation(knowledge):", *lines]), scope)  # noqa: S102 - our own text
    return scope["implementation"]
