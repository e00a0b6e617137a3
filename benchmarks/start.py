"""How long a person waits: the first run of an install, the second, and ``everlearn --help``."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def waiting() -> list[dict[str, str]]:
    """Time commands with an empty cache of compiled code, then with a full one."""
    command = str(Path(sys.executable).with_name("everlearn"))
    run = [command, "run", "service-station", "--steps", "1e5", "--json"]
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "EVERLEARN_CACHE_DIR": cache}
        first = _seconds(run, environment)
        second = min(_seconds(run, environment) for _ in range(3))
    help_ = min(_seconds([command, "--help"], dict(os.environ)) for _ in range(5))
    named = {"first everlearn run, compiling": first, "second everlearn run": second, "everlearn --help": help_}
    return [{"command": name, "seconds": f"{seconds:.2f}"} for name, seconds in named.items()]


def _seconds(command: list[str], environment: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return time.perf_counter() - began
