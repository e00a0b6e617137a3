"""``el.watch``: open the page in the browser from Python, with a task and an agent of your own."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from collections.abc import Callable, Mapping
from typing import Any

from everlearn.agents.agent import whole
from everlearn.errors import InputError


def watch(
    task: object = None,
    agent: object = None,
    *,
    schedule: object = None,
    parameters: Mapping[str, Any] | None = None,
    seed: object = None,
    host: str = "127.0.0.1",
    port: object = 8090,
    show: bool = True,
    say: Callable[[str], None] | None = None,
) -> None:
    """Open a page in the browser on which you watch an agent learn; it is served until you interrupt it with Ctrl-C.

    Parameters
    ----------
    task, agent, schedule:
        registry names, ``module:attribute``, or the things themselves; what is not registered is offered on the page
        under its own name, beside everything that is.  Left out, the page begins as ``everlearn play`` does.
    parameters:
        of task, agent and schedule, as in :func:`everlearn.run`
    seed:
        the seed of the first stream
    host, port:
        where the page is served; ``port`` 0 takes any that is free
    show:
        whether to open a browser
    say:
        called with each line about the server; by default they are printed to standard error

    Examples
    --------
    >>> watch("riverswim", "q-learnin")
    Traceback (most recent call last):
    ...
    everlearn.errors.UnknownName: agent: 'q-learnin'; known: ... (did you mean q-learning?); ...

    """
    number = whole(port, "port")
    if _in_a_loop():
        raise InputError("watch", task, "an event loop runs here, as in a notebook; run a script, or everlearn play")
    for name in ("nicegui", "uvicorn"):
        if importlib.util.find_spec(name) is None:
            raise InputError("watch", name, "is not installed; install it with: pip install 'everlearn[play]'")
    from everlearn.play.opening import open_with

    opening = open_with(task, agent, schedule=schedule, parameters=parameters, seed=seed)
    from everlearn.play.server import serve

    serve(host, number, show=show, say=say or _print, opening=opening)


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _print(text: str) -> None:
    sys.stderr.write(f"{text}\n")
