"""A process that has imported everlearn, and forks for each call: starting Python anew would take seconds.

It reads one request a line, a JSON object with ``directory``, ``call``, ``seconds`` and ``environment``, and answers
each with the exit status of the child (negative: the signal that ended it).  What the child wrote is in ``.stdout`` and
``.stderr`` in that directory.  A child does what ``everlearn`` or ``python FILE`` would do in a process of its own.

A request with ``"background": true`` is answered at once, with the number of the child; ``{"wait": NUMBER}``, once it
has ended, with its exit status.  ``before`` is Python that a child executes first.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import signal
import sys
import threading
import types
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

PRELOADED = (
    "everlearn.api",
    "everlearn.cli.main",
    "everlearn.cli.run",
    "everlearn.cli.theory",
    "everlearn.cli.tune",
    "everlearn.engine.compiled",
    "everlearn.experiments.execute",
    "everlearn.durable.live",
    "everlearn.service.serve",
    "everlearn.cli.experiment",
    "everlearn.figures.gallery",
    "matplotlib.backends.backend_agg",
    "pandas",  # pyarrow imports it with the first table
    "uvicorn.lifespan.on",
    "uvicorn.loops.uvloop",
    "uvicorn.protocols.http.httptools_impl",
)


def preload() -> None:
    """Import what calls need; run a command and let Numba compile, which imports more; start no thread that stays."""
    import numba
    import numpy as np
    from typer.testing import CliRunner

    for name in PRELOADED:
        importlib.import_module(name)
    done = CliRunner().invoke(
        sys.modules["everlearn.cli.main"].app, ["run", "riverswim", "--steps=1", "--engine=reference"]
    )
    if done.exit_code != 0:
        raise RuntimeError(done.output)
    numba.njit(lambda array, number: array[number] + 1.0)(np.zeros(2), 1)
    gc.freeze()  # so that a child's collections leave these pages alone
    if threading.active_count() > 1:
        raise RuntimeError(f"a process with threads must not be forked: {threading.enumerate()}")


def serve() -> None:
    """Answer requests until there are none."""
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    for line in requests:
        request = json.loads(line)
        background = request.pop("background", False)
        child = request["wait"] if "wait" in request else os.fork()
        if child == 0:
            leave(perform(**request))
        answers.write(f"{child if background else ended(child)}\n")
        answers.flush()


def ended(child: int) -> int:
    """Wait for a child, and return its exit status."""
    _, status = os.waitpid(child, 0)
    with suppress(ProcessLookupError):  # what it started, and left behind
        os.killpg(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(status)


def perform(directory: str, call: Sequence[str], seconds: int, environment: Mapping[str, str], before: str = "") -> int:
    """Make a call in this process, and return the exit status with which it is to end."""
    os.setpgid(0, 0)
    signal.alarm(seconds)
    os.environ.update(environment)
    os.chdir(directory)
    redirect()
    program, *arguments = call
    sys.argv = [program, *arguments] if program == "everlearn" else arguments
    sys.path[0] = str(Path(sys.executable).parent) if program == "everlearn" else directory
    try:
        exec(before, {})
        run_command() if program == "everlearn" else run_script(sys.argv[0])
    except SystemExit as leaving:
        return exit_status(leaving.code)
    except BaseException as error:
        error = error.with_traceback(below(error.__traceback__))
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    return 0


def below(trace: types.TracebackType | None) -> types.TracebackType | None:
    """Return a traceback without its first frames, which are of this file."""
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return trace


def leave(status: int) -> NoReturn:
    """End as Python does, but leave the memory to the system: freeing it piece by piece takes longer than a call."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def redirect() -> None:
    """Let standard input be empty, and the rest go to files."""
    for number, path, mode in (
        (0, os.devnull, os.O_RDONLY),
        (1, ".stdout", os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        (2, ".stderr", os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
    ):
        opened = os.open(path, mode, 0o600)
        os.dup2(opened, number)
        os.close(opened)


def run_command() -> None:
    """Do what the script ``everlearn`` does."""
    from everlearn.cli.main import main

    main()


def run_script(path: str) -> None:
    """Do what ``python PATH`` does."""
    module = types.ModuleType("__main__")
    module.__file__ = str(Path(path).absolute())
    sys.modules["__main__"] = module
    exec(compile(Path(path).read_text(), module.__file__, "exec"), vars(module))


def exit_status(code: Any) -> int:
    """Return what Python makes of the argument of ``sys.exit``."""
    if code is None or isinstance(code, int):
        return code or 0
    print(code, file=sys.stderr)
    return 1


if __name__ == "__main__":
    preload()
    serve()
