"""The platform: everything on which the last bit of a number rests, beside the seed and the version of everlearn.

Runs rest on powers and logarithms of the C library, and on the order in which Python and Numba add and multiply, which
is that of the source on every processor.  What is computed exactly or estimated, such as optima and intervals, rests
also on the loops that NumPy picks for the processor and on the kernels that BLAS picks for it.  Files rest on the
versions that encode them.  How many cores there are, their speed and the name of the host change no bit.
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


@dataclass(frozen=True)
class Platform:
    """Where numbers were computed; where two are equal, the same seed gives the same results to the last bit.

    Examples
    --------
    >>> one = Platform("Linux x86_64", "glibc 2.36", "X86_V3", "openblas Haswell", "3.12.1", *["1.0"] * 5)
    >>> print(one)  # doctest: +ELLIPSIS
    Linux x86_64, C library glibc 2.36, loops X86_V3, BLAS openblas Haswell, Python 3.12.1, numba 1.0, numpy 1.0, ...
    >>> here = Platform.here()
    >>> here.differences(here)
    []

    """

    system: str
    """The operating system, and the architecture of the machine."""
    library: str
    """The C library, whose powers and logarithms differ in their last bit between versions."""
    loops: str
    """The extensions of the processor for which NumPy has loops of its own, and which it uses here."""
    blas: str
    """What does linear algebra, its version, and the kind of core for which it has picked its kernels."""
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
        return cls(
            f"{platform.system()} {platform.machine()}",
            " ".join(filter(None, platform.libc_ver())) or UNKNOWN,
            " ".join(config.get("SIMD Extensions", {}).get("found", [])) or "none",
            _blas(config.get("Build Dependencies", {}).get("blas", {})),
            platform.python_version(),
            *map(_version, ("numba", "numpy", "scipy", "pyarrow", "matplotlib")),
        )

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Platform:
        """Return a platform that was stored; what was not stored of it is unknown."""
        return cls(*(str(document.get(field.name, UNKNOWN)) for field in fields(cls)))

    def __str__(self) -> str:
        return ", ".join(f"{_NAMES.get(name, name)} {value}".strip() for name, value in vars(self).items())

    def differences(self, other: Platform) -> list[str]:
        """Return in words by what another platform differs from this one."""
        return [
            f"{_NAMES.get(name, name) or name} {value} there, {getattr(self, name)} here"
            for name, value in vars(other).items()
            if value != getattr(self, name)
        ]


_NAMES = {"system": "", "library": "C library", "blas": "BLAS", "python": "Python"}
"""What fields are called where that is not their name."""


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def _blas(built: Mapping[str, Any]) -> str:
    """Return the name and the version of BLAS, and the core for which it works, where it can tell."""
    return " ".join(filter(None, (built.get("name"), built.get("version"), _core()))) or UNKNOWN


def _core() -> str | None:
    """Ask the OpenBLAS that came with NumPy for which core it works."""
    beside = Path(np.__file__).parent
    for path in (*beside.parent.glob("numpy.libs/*openblas*"), *beside.glob(".dylibs/*openblas*")):
        with suppress(OSError):
            library = ctypes.CDLL(str(path))
            for name in ("scipy_openblas_get_corename64_", "openblas_get_corename64_", "openblas_get_corename"):
                if (asked := getattr(library, name, None)) is not None:
                    asked.restype = ctypes.c_char_p
                    return str(asked().decode())
    return None
