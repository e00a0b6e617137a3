"""Compiling the driver for a design, and keeping the compiled code between processes.

Compiled code is kept in a folder of its own for each fingerprint, in ``EVERLEARN_CACHE_DIR``, or ``everlearn`` in the
user's cache directory.  A folder apart, because Numba's index of a folder can only be read where every class that it
mentions can be imported, and a user's own cannot be imported everywhere.  Without a directory to write to, code is
compiled anew in each process, with a warning.
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
from everlearn.engine import copies, driver, kernels, parts, sfc64
from everlearn.engine.kernels import Token, make_callable

_LOCK = threading.Lock()


class CacheWarning(UserWarning):
    """Compiled code cannot be kept, so that every process compiles anew."""


def compiled(function: Callable[..., Any], token: Token) -> Callable[..., Any]:
    """Return a function of :mod:`everlearn.engine.driver`, compiled for what a token stands for."""
    return _compiled(function, token.fingerprint)


@lru_cache(maxsize=256)
def _compiled(function: Callable[..., Any], tokens: str) -> Callable[..., Any]:
    make_callable(driver.pick)
    make_callable(clock.multiplied)
    dispatcher = numba.njit(nogil=True, error_model="numpy")(function)
    folder = cache_folder(tokens)
    if folder is not None:
        with _LOCK:
            before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder)
            try:
                dispatcher.enable_caching()
            except RuntimeError as error:
                warn_uncached(error)
            finally:
                numba.config.CACHE_DIR = before
    return dispatcher  # type: ignore[no-any-return]


def cache_folder(tokens: str) -> Path | None:
    """Return the folder for a fingerprint, or None with a warning where it cannot be written."""
    folder = cache_directory() / _engine_fingerprint(tokens)[:32]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}-{threading.get_ident()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        warn_uncached(error)
        return None
    return folder


def cache_directory() -> Path:
    """Return where compiled code is kept."""
    if given := os.environ.get("EVERLEARN_CACHE_DIR"):
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "everlearn"


def warn_uncached(error: Exception) -> None:
    """Say that compiled code is not kept, and what to do about it."""
    message = f"compiled code cannot be kept ({error}); set EVERLEARN_CACHE_DIR to a directory that can be written"
    warnings.warn(message, CacheWarning, stacklevel=2)


def _engine_fingerprint(tokens: str) -> str:
    """Return a hash of what compiled code depends on: a design's functions, and the engine around them."""
    modules = (clock, copies, driver, kernels, parts, protocol, sfc64, tables)
    texts = [Path(str(module.__file__)).read_text() for module in modules]
    return hashlib.sha256("\n".join([tokens, numba.__version__, np.__version__, *texts]).encode()).hexdigest()
