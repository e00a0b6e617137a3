"""The cores and the memory that this process may use."""

from __future__ import annotations

import os
import resource
from pathlib import Path

CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""The files that contain the memory limit of a container."""


def cores() -> int:
    """Return how many cores this process may use, which can be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available() -> int:
    """Return how many bytes this process can still allocate: what is free on the machine, within the limits."""
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    limits = [limit for limit in limits if limit != resource.RLIM_INFINITY]
    limits += [int(text) for path in CGROUPS if (text := _read(path)).isdecimal()]
    return min([_free(), *limits])


def _free() -> int:
    for line in _read("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return 1024 * int(line.split()[1])
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def shown(number: float) -> str:
    """Format a number of bytes for people.

    Examples
    --------
    >>> shown(1234), shown(7.5e12)
    ('1.2 kB', '7.5 TB')

    """
    units = ["bytes", "kB", "MB", "GB", "TB", "PB"]
    while number >= 1000 and len(units) > 1:
        number /= 1000
        units.pop(0)
    return f"{number:.2g} {units[0]}" if number < 100 else f"{number:,.0f} {units[0]}"
