"""Run the tests with the rounding of other processors and under load: ``python -m tests.portable [TESTS...]``.

On another processor, linear algebra and NumPy's loops can give different last bits, and a shared machine is slow.  No
test may depend on either.  Each way has a time limit, and the loops that keep the machine busy end with this process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
SECONDS = 3600
"""How long one way may take."""

LOOPS = 4
"""How many loops keep the machine busy."""

LOOP = f"""
import os, sys, time
parent, end = int(sys.argv[1]), time.monotonic() + {SECONDS}
while os.getppid() == parent and time.monotonic() < end:
    for _ in range(10**6):
        pass
"""


@dataclass(frozen=True)
class Way:
    """A way to compute: variables of the environment, and what the processor must be able to do for it."""

    title: str
    environment: Mapping[str, str] = field(default_factory=dict)
    flags: frozenset[str] = frozenset()
    loops: int = 0

    def missing(self, flags: frozenset[str]) -> list[str]:
        """Return what a processor with these flags cannot do."""
        return sorted(self.flags - flags)


def core(name: str, *flags: str) -> Way:
    """Return the way in which OpenBLAS computes for a kind of core."""
    return Way(f"OPENBLAS_CORETYPE={name}", {"OPENBLAS_CORETYPE": name}, frozenset(flags))


def ways() -> list[Way]:
    """Return all ways."""
    generic = {"NUMBA_CPU_NAME": "generic", "NPY_DISABLE_CPU_FEATURES": " ".join(extensions())}
    return [
        core("Nehalem", "sse4_2"),
        core("Haswell", "avx2", "fma"),
        core("SkylakeX", "avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"),
        Way("NUMBA_CPU_NAME=generic, and NumPy without extensions", generic),
        Way(f"{LOOPS} busy loops beside the tests", loops=LOOPS),
    ]


def extensions() -> list[str]:
    """Return the extensions of this processor that NumPy would use."""
    import numpy as np

    config: dict[str, dict[str, list[str]]] = np.show_config(mode="dicts")  # type: ignore[assignment]
    return config.get("SIMD Extensions", {}).get("found", [])


def processor_flags(text: str) -> frozenset[str]:
    """Return what the first processor can do, of the text of ``/proc/cpuinfo``."""
    lines = (line.partition(":") for line in text.splitlines())
    return frozenset(next((values.split() for name, _, values in lines if name.strip() in ("flags", "Features")), ()))


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """Keep the machine busy; each loop also ends by itself, with its parent or when its time is over."""
    started = [subprocess.Popen([sys.executable, "-c", LOOP, str(os.getpid())]) for _ in range(loops)]
    try:
        yield
    finally:
        for loop in started:
            loop.kill()
            loop.wait()


def run(way: Way, tests: Sequence[str], seconds: float = SECONDS) -> str:
    """Run tests in a way; return what came of it."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.workers", "--workers", "2"]
    with busy(way.loops):
        try:
            done = subprocess.run(
                [*command, "-m", "not soak", *tests],
                cwd=ROOT,
                env={**os.environ, **way.environment},
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"FAILED: not done after {seconds:,.0f} s"
    return "passed" if done.returncode == 0 else f"FAILED: exit code {done.returncode}"


def main(tests: Sequence[str]) -> int:
    """Run tests in every way that this processor knows, and say what came of each."""
    cpuinfo = Path("/proc/cpuinfo")
    flags = processor_flags(cpuinfo.read_text()) if cpuinfo.exists() else frozenset()
    outcomes = {}
    for way in ways():
        if missing := way.missing(flags):
            outcomes[way.title] = f"skipped: this processor has no {', '.join(missing)}"
            continue
        print(f"== {way.title} ==", flush=True)
        began = time.monotonic()
        outcomes[way.title] = f"{run(way, tests)} ({time.monotonic() - began:,.0f} s)"
    for title, outcome in outcomes.items():
        print(f"{title}: {outcome}")
    return int(any(outcome.startswith("FAILED") for outcome in outcomes.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
