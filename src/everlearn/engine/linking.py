"""Compile the functions that the driver calls only as far as the driver needs them.

Numba optimises each compiled function and translates it to machine code, and then does the same again with every
function that calls it.  The driver inlines all that it calls, so only its own machine code ever runs.  Here the
functions below it are left to be optimised once, inside the driver: compiling takes about half as long.

This is for functions of this package only.  A user's function may need an environment of Numba's, as ``print`` of an
array does, and linked code has none.
"""

from __future__ import annotations

from typing import Any

from numba import version_info
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder


class _NoEnvironment:
    """Stands for the code generator of code that never runs by itself, and so needs no environment."""

    def set_env(self, _name: str, _environment: Any) -> None:
        """Do nothing."""


class LinkedLibrary(JITCodeLibrary):
    """Code that is linked into its callers, and optimised and translated there."""

    codegen = _NoEnvironment()

    def _optimize_final_module(self) -> None:
        """Inline and simplify; leave the rest to the caller's library."""
        passes, builder = self._codegen._module_pass_manager(
            opt=0, cost="cheap", loop_vectorize=False, slp_vectorize=False
        )
        passes.run(self._final_module, builder)

    def _finalize_final_module(self) -> None:
        """Make the code ready to be linked, not to be run."""
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, _name: str) -> int:
        """Return 0: there is no machine code."""
        self._ensure_finalized()
        return 0


class LinkedCompiler(CompilerBase):
    """Numba's own compiler, with a library that is only linked."""

    def define_pipelines(self) -> list[Any]:
        """Return the passes of Numba."""
        self.state.library = LinkedLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        return [DefaultPassBuilder.define_nopython_pipeline(self.state)]


TRIED = ((0, 62), (0, 68))
"""The first and the last version of Numba with which this was tried: its documentation promises none of it."""

LINKED: dict[str, Any] = {}
"""Numba's options for our functions that the driver calls; empty with versions that were not tried."""

if TRIED[0] <= version_info.short <= TRIED[1]:
    LINKED = {"no_cfunc_wrapper": True, "pipeline_class": LinkedCompiler}
