"""Commands that are killed, or asked to end, at a moment that is the same on every machine.

The moment is counted in files: a command is killed as it is about to put its n-th file in its place, with everything
written and nothing renamed.  Experiments commit at every chance meanwhile, so that there are many such moments.
"""

from __future__ import annotations

import shlex
import signal
from pathlib import Path

from tests.boundary.runner import Done, Runner

SCRIPT = """
import os, signal, sys, threading
from pathlib import Path
from everlearn.cli import progress
from everlearn.cli.main import main
from everlearn.experiments import work

left, number = int(sys.argv[1]), int(sys.argv[2])
replace, pacer, lock, told = Path.replace, work.Pacer, threading.Lock(), threading.Event()

def interrupt(*_signal):
    told.set()
    raise KeyboardInterrupt

def replace_until(self, target):
    global left
    with lock:
        left -= 1
        if left == 0:
            os.kill(os.getpid(), number)
            told.wait(60)  # until the signal has been seen, however busy the machine is
    return replace(self, target)

signal.signal(signal.SIGINT, interrupt)
progress._interrupt = interrupt
work.Pacer = lambda: pacer(share=float("inf"), least=0.0)
Path.replace = replace_until
sys.argv = ["everlearn", *sys.argv[3:]]
main()
"""


def ended(runner: Runner, here: Path, moment: int, by: signal.Signals, *arguments: str) -> Done:
    """Run a command that is sent a signal as it is about to put its so-manieth file in its place."""
    here.mkdir(exist_ok=True)
    call = shlex.join(["python", "ended.py", str(moment), str(int(by)), *arguments])
    return runner(call, here, {"ended.py": SCRIPT})


def killed(runner: Runner, here: Path, moments: list[int], *arguments: str) -> None:
    """Kill a command at each of these moments, one after the other; each time it begins where it was."""
    for moment in moments:
        done = ended(runner, here, moment, signal.SIGKILL, *arguments)
        assert done.signal == "SIGKILL", done
