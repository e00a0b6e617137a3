"""What the machine has is what it has free, within the limits of the process and of its container."""

from __future__ import annotations

from everlearn import machine
from everlearn.machine import available


def test_limits_of_the_process_and_of_a_container_count(monkeypatch):
    texts = {"/proc/meminfo": "MemTotal: 9 kB\nMemAvailable: 5000 kB", machine.CGROUPS[0]: "max"}
    monkeypatch.setattr(machine, "_read", lambda path: texts.get(path, ""))
    assert available() == 5_120_000
    texts[machine.CGROUPS[0]] = "4096"
    assert available() == 4096
    texts[machine.CGROUPS[0]] = "max"
    monkeypatch.setattr(machine.resource, "getrlimit", lambda kind: (1000, 2000))
    assert available() == 1000
