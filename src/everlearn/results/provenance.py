"""The provenance of results: version, commit, platform, host, and a hash of the machine's arithmetic."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import socket
import subprocess
import sys
from dataclasses import asdict
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from everlearn._version import __version__
from everlearn.results.platform import Platform


class Provenance(TypedDict):
    """Where results come from, as a JSON document."""

    everlearn: str
    commit: str | None
    platform: dict[str, str]
    packages: dict[str, str]
    system: str
    processors: int | None
    host: str
    arithmetic: str
    """Machines with equal values give equal results, bit for bit."""


def provenance() -> Provenance:
    """Return the provenance of results that are computed in this process."""
    return {
        "everlearn": __version__,
        "commit": commit(),
        "platform": asdict(Platform.here()),
        "packages": {name: version(name) for name in ("gymnasium",) if name in sys.modules},
        "system": platform.platform(),
        "processors": os.cpu_count(),
        "host": socket.gethostname(),
        "arithmetic": arithmetic(),
    }


@lru_cache(maxsize=1)
def commit() -> str | None:
    """Return the commit of the source tree, marked if there are uncommitted changes; None outside a source tree."""
    folder, git = Path(__file__).resolve().parents[3], shutil.which("git")
    if git is None or not (folder / ".git").exists():
        return None
    commands = [[git, "rev-parse", "HEAD"], [git, "status", "--porcelain", "--untracked-files=no"]]
    options: dict[str, Any] = {"cwd": folder, "capture_output": True, "text": True, "check": True, "timeout": 10}
    try:
        head, changes = (subprocess.run(command, **options).stdout for command in commands)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None
    return f"{head.strip()}{'+changes' if changes.strip() else ''}"


@lru_cache(maxsize=1)
def arithmetic() -> str:
    """Return a hash of what this machine computes: schedules over long times, and a short run of the paper's agent.

    Powers and logarithms may differ in their last bit between machines, and runs then diverge.  Machines with equal
    hashes give the same results to the last bit.
    """
    from everlearn.agents.registry import make_design, make_schedule
    from everlearn.engine.plan import Plan
    from everlearn.engine.runner import simulate, table_for
    from everlearn.engine.timeline import Timeline
    from everlearn.tasks.arrays import mdp

    digest = hashlib.sha256(sys.byteorder.encode())
    for name in ("smooth", "change-points"):
        for t in (0, 10**3, 10**6, 10**9, 10**12):
            block = Timeline(make_schedule(name), t).next(512)
            digest.update(np.concatenate([block.horizon, block.optimism, block.discount]).tobytes())
    chain = mdp([[[0.3, 0.7], [0.6, 0.4]], [[0.9, 0.1], [0.2, 0.8]]], [[0.0, 0.3], [1.0, 0.1]])
    plan = Plan(chain, make_design("growing-horizon", schedule="smooth"), 2000, 2, 1)
    digest.update(simulate(plan, table_for(plan, "compiled"), threads=1).total_reward.tobytes())
    return digest.hexdigest()[:16]
