"""The platform: everything, besides the seed and the version of everlearn, that the last bit of a number depends on.

Runs depend on the powers and logarithms of the C library.  The order in which Python and Numba add and multiply is that
of the source on every processor.  Optima and intervals also depend on the loops that NumPy, and the kernels that BLAS,
choose for the processor.  Files depend on the versions of the libraries that encode them.  The number of cores, their
speed and the name of the host change nothing.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

UNKNOWN = "unknown"

_NAMES = {"system": "", "library": "C library", "blas": "BLAS", "python": "Python"}
"""The displayed names of fields, if they differ from their own."""


@dataclass(frozen=True)
class Platform:
    """Where numbers were computed; on equal platforms the same seed gives the same results to the last bit.

    Examples
    --------
    >>> other = Platform("Linux x86_64", "glibc 2.36", "X86_V3", "openblas Haswell", "3.12.1", *["1.0"] * 5)
    >>> print(other)  # doctest: +ELLIPSIS
    Linux x86_64, C library glibc 2.36, loops X86_V3, BLAS openblas Haswell, Python 3.12.1, numba 1.0, numpy 1.0, ...
    >>> here = Platform.here()
    >>> here.differences(here)
    []

    """

    system: str
    """The operating system and the architecture."""
    library: str
    """The C library, whose powers and logarithms differ in their last bit between versions."""
    loops: str
    """The processor extensions for which NumPy uses special loops here."""
    blas: str
    """The library for linear algebra, its version, and the kind of core for which it chose its kernels."""
    python: str
    numba: str
    numpy: str
    scipy: str
    pyarrow: str
    """It encodes tables."""
    matplotlib: str
    """It draws figures."""

    @classmethod
    @lru_cache(maxsize=1)
    def here(cls) -> Platform:
        """Return the platform of this process."""
        config: Any = np.show_config(mode="dicts")
        blas = config.get("Build Dependencies", {}).get("blas", {})
        return cls(
            f"{platform.system()} {platform.machine()}",
            " ".join(filter(None, platform.libc_ver())) or UNKNOWN,
            " ".join(config.get("SIMD Extensions", {}).get("found", [])) or "none",
            " ".join(filter(None, (blas.get("name"), blas.get("version"), _openblas_core()))) or UNKNOWN,
            platform.python_version(),
            *map(_version, ("numba", "numpy", "scipy", "pyarrow", "matplotlib")),
        )

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Platform:
        """Return a stored platform; fields that were not stored are unknown."""
        return cls(*(str(document.get(field.name, UNKNOWN)) for field in fields(cls)))

    def __str__(self) -> str:
        return ", ".join(f"{_NAMES.get(name, name)} {value}".strip() for name, value in vars(self).items())

    def differences(self, other: Platform) -> list[str]:
        """Return the differences of another platform from this one, in words."""
        return [
            f"{_NAMES.get(name, name) or name} {value} there, {getattr(self, name)} here"
            for name, value in vars(other).items()
            if value != getattr(self, name)
        ]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def _openblas_core() -> str | None:
    """Return the kind of core that NumPy's own OpenBLAS chose; None if it has none or does not say."""
    folder = Path(np.__file__).parent
    for path in (*folder.parent.glob("numpy.libs/*openblas*"), *folder.glob(".dylibs/*openblas*")):
        with suppress(OSError):
            library = ctypes.CDLL(str(path))
            for name in ("scipy_openblas_get_corename64_", "openblas_get_corename64_", "openblas_get_corename"):
                if (function := getattr(library, name, None)) is not None:
                    function.restype = ctypes.c_char_p
                    return str(function().decode())
    return None
