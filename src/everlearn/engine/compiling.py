"""Compile the driver for a design, and cache the compiled code between processes.

The cache is in ``EVERLEARN_CACHE_DIR``, or in ``everlearn`` in the user's cache directory.  Each fingerprint has its
own folder, because Numba can read its index of a folder only where every class in it can be imported, and a user's
classes cannot be imported everywhere.  If no directory can be written, every process compiles again, with a warning.
"""

from __future__ import annotations

import hashlib
import os
import threading
import warnings
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numba
import numpy as np

from everlearn import protocol, tables
from everlearn.agents import clock
from everlearn.engine import copies, driver, kernels, linking, parts, sfc64
from everlearn.engine.kernels import Token, make_callable

_LOCK = threading.Lock()


class CacheWarning(UserWarning):
    """Compiled code cannot be cached, so every process compiles again."""


def compiled(function: Callable[..., Any], token: Token) -> Callable[..., Any]:
    """Return a function of :mod:`everlearn.engine.driver`, compiled for the functions of a token."""
    return _compiled(function, token.fingerprint)


@lru_cache(maxsize=256)
def _compiled(function: Callable[..., Any], fingerprint: str) -> Callable[..., Any]:
    make_callable(driver.pick)
    make_callable(clock.multiplied)
    dispatcher = numba.njit(nogil=True, error_model="numpy")(function)
    with _LOCK:
        before = numba.config.CACHE_DIR
        try:
            numba.config.CACHE_DIR = str(_make_folder(fingerprint))
            dispatcher.enable_caching()
        except (OSError, RuntimeError) as error:
            remedy = "set EVERLEARN_CACHE_DIR to a directory that can be written"
            warnings.warn(f"compiled code cannot be kept ({error}); {remedy}", CacheWarning, stacklevel=2)
        finally:
            numba.config.CACHE_DIR = before
    return dispatcher  # type: ignore[no-any-return]


def _make_folder(fingerprint: str) -> Path:
    """Return the cache folder for a fingerprint; raise OSError if it cannot be written."""
    folder = _cache_directory() / _with_engine(fingerprint)[:32]
    folder.mkdir(parents=True, exist_ok=True)
    probe = folder / f".probe-{os.getpid()}-{threading.get_ident()}"
    probe.touch()
    probe.unlink()
    return folder


def _cache_directory() -> Path:
    if given := os.environ.get("EVERLEARN_CACHE_DIR"):
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "everlearn"


def _with_engine(fingerprint: str) -> str:
    """Return a hash of all that compiled code depends on: a design's functions, and the engine around them."""
    modules = (clock, copies, driver, kernels, linking, parts, protocol, sfc64, tables)
    texts = [Path(str(module.__file__)).read_text() for module in modules]
    return hashlib.sha256("\n".join([fingerprint, numba.__version__, np.__version__, *texts]).encode()).hexdigest()
