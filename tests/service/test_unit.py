"""The systemd unit of the examples: systemd accepts it, and the service runs under its system-call filter."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from ctypes.util import find_library
from pathlib import Path

import pytest

import everlearn as el
from tests.service.conftest import COMMAND, STATION

UNIT = Path(__file__).parents[2] / "examples" / "everlearn.service"
TEXT = UNIT.read_text()

needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="SYSTEMD IS NOT INSTALLED HERE")
needs_seccomp = pytest.mark.skipif(find_library("seccomp") is None, reason="LIBSECCOMP IS NOT INSTALLED HERE")

FILTERED = """
import ctypes, sys
library = ctypes.CDLL("libseccomp.so.2")
library.seccomp_init.restype = ctypes.c_void_p
context = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(0x80000000)))  # what is not allowed kills the process
for name in {names}:
    number = library.seccomp_syscall_resolve_name(name.encode())
    if number >= 0:  # of this machine
        assert library.seccomp_rule_add(context, ctypes.c_uint32(0x7FFF0000), number, 0) == 0
assert library.seccomp_load(context) == 0
from everlearn.cli.main import main; main()
"""


def allowed_calls() -> set[str]:
    """Return the system calls that the unit allows, as systemd understands its sets."""
    listed = subprocess.run(["systemd-analyze", "syscall-filter"], capture_output=True, text=True, check=True).stdout
    sets = {}
    for block in re.split(r"\n(?=@)", re.sub(r"\x1b\[[0-9;]*m|#.*", "", listed)):
        name, *members = block.split() or [""]
        sets[name] = members

    def expanded(name: str) -> set[str]:
        return {name}.union(*(expanded(member) for member in sets.get(name, ())))

    calls: set[str] = set()
    for line in re.findall(r"^SystemCallFilter=(.*)$", TEXT, flags=re.MULTILINE):
        named = set().union(*(expanded(name) for name in line.removeprefix("~").split()))
        calls = calls - named if line.startswith("~") else calls | named
    return {call for call in calls if not call.startswith("@")}


@needs_systemd
def test_systemd_accepts_it(tmp_path):
    unit = tmp_path / "everlearn.service"
    unit.write_text(TEXT.replace("/opt/everlearn/bin/everlearn", sys.executable))
    checked = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert str(unit) not in checked.stderr, checked.stderr
    assert checked.returncode == 0, checked.stderr


@needs_systemd
def test_it_allows_what_a_service_needs_and_no_more():
    calls = allowed_calls()
    assert {"mbind", "read", "fsync", "epoll_wait", "accept4"} <= calls
    assert not {"mount", "reboot", "init_module", "ptrace", "chroot", "setuid", "bpf"} & calls


@needs_systemd
@needs_seccomp
def test_the_service_runs_under_its_filter(tmp_path):
    """From the import of NumPy to the end; a system call that is not allowed would kill it (SIGSYS)."""
    of_root = {"fchown"} if os.geteuid() == 0 else set()  # SQLite calls it for root, and the unit's user is another
    code = FILTERED.format(names=sorted(allowed_calls() | of_root))
    command = [sys.executable, "-W", "error", "-c", code, *COMMAND[5:], "--data", str(tmp_path), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        serving = next((entry for entry in map(json.loads, process.stderr) if entry["message"] == "serving"), None)
        assert serving is not None, process.wait()
        with el.Client(f"http://127.0.0.1:{serving['port']}", "station", deadline=60) as client:
            client.create(STATION)
            assert client.act() == "fast"
            assert client.observe("arrival") == 1.0
        process.terminate()
        assert [json.loads(line)["message"] for line in process.stderr][-1] == "stopped"
    assert process.returncode == 0
