"""The start of the page: ``el.play``, and the workshop for a task and an agent of the user's own."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from everlearn.agents.agent import whole
from everlearn.agents.registry import make_design, make_schedule
from everlearn.agents.spec import AgentSpec, TaskSpec, read_specs
from everlearn.calls import explained
from everlearn.errors import InputError, require
from everlearn.files import as_path
from everlearn.locks import is_held
from everlearn.page.configuration import Configuration, read_query
from everlearn.page.offer import DURATION, REGISTRIES, Entry, Offer
from everlearn.page.picture import Painter
from everlearn.page.race import Workshop
from everlearn.registry import locate
from everlearn.tasks.registry import PREFIXES, make_task

if TYPE_CHECKING:
    from everlearn.page.following import View

SOON, LATER = 0.5, 10
"""For how many seconds to wait for an experiment in a directory that is there, or in one that is not there yet."""


def open_workshop(
    task: object = None,
    agent: object = None,
    *,
    schedule: object = None,
    parameters: Mapping[str, Any] | None = None,
    seed: object = None,
    view: str = "",
) -> Workshop:
    """Return a workshop whose pages show this first, and offer whatever is not registered under its own name.

    The first steps of a user's own are taken here, so that a mistake is raised before anything is served.
    """
    blank, own = Configuration(), dict[tuple[str, object], Entry]()

    def name(kind: str, given: object, chosen: Mapping[str, Any]) -> tuple[str | None, Mapping[str, Any]]:
        """Return the name and the parameters of something on the page; offer it there if it is not registered."""
        if given is None or (isinstance(given, str) and given in REGISTRIES[kind]):
            return given, chosen
        shown = given if isinstance(given, str) else _name(kind, given, chosen)
        thing = _locate(kind, given) if isinstance(given, str) else given
        own[kind, shown] = Entry(given, thing, chosen, own=True)
        return shown, {}

    task_spec, agent_spec = read_specs(task, agent, schedule, parameters)
    task_name, task_parameters = name("task", task, task_spec.parameters)
    agent_name, agent_parameters = name("agent", agent, agent_spec.parameters)
    schedule_name, schedule_parameters = name("schedule", schedule, agent_spec.schedule_parameters)
    configuration = Configuration(
        TaskSpec(task_name or blank.task.given, task_parameters),
        (AgentSpec(agent_name or blank.agents[0].given, schedule_name, agent_parameters, schedule_parameters),),
        blank.seed if seed is None else whole(seed, "seed"),
    )
    offer = Offer(own)
    workshop = Workshop(offer, read_query(view, offer, configuration))
    if own:
        race = workshop.race(workshop.start)
        race.advance(1)
        Painter().paint(race)
    return workshop


def _name(kind: str, given: object, chosen: Mapping[str, Any]) -> str:
    """Return the name of something that was passed from Python, which differs from registered names."""
    if kind == "task":
        name = make_task(given, chosen).name
    elif kind == "agent":
        name = make_design(given, chosen, duration=DURATION).name
    else:
        name = make_schedule(given, chosen).name
    return f"{name} (yours)" if name in REGISTRIES[kind] else name


def _locate(kind: str, name: str) -> object:
    """Return what a name stands for; this is where a user's module is imported."""
    prefix = name.partition(":")[0]
    if kind == "task" and prefix in PREFIXES:
        return locate(prefix, PREFIXES, kind)
    return locate(name, REGISTRIES[kind], kind)


@explained("el.play(task, agent, schedule=...)")
def play(
    task: object = None,
    agent: object = None,
    *,
    schedule: object = None,
    parameters: Mapping[str, Any] | None = None,
    seed: object = None,
    view: str = "",
    experiment: object = None,
    live: object = None,
    host: str = "127.0.0.1",
    port: object = 8090,
    show: bool = True,
    say: Callable[[str], None] | None = None,
) -> None:
    """Open a page in the browser where you can watch an agent learn, an experiment run, or a durable agent work.

    The call blocks and serves the page until you press Ctrl-C.  A page that follows a directory only reads it;
    SQLite may create two auxiliary files next to the database of a durable agent.

    Parameters
    ----------
    task:
        registry name, ``module:attribute``, or object; by default the service station.  If it is not registered, the
        page adds it to its list of tasks
    agent:
        registry name, ``module:attribute``, or object; added to its list in the same way
    schedule:
        registry name, ``module:attribute``, or object; added to its list in the same way
    parameters:
        parameters of the task, the agent and the schedule, as in :func:`everlearn.run`
    seed:
        the random seed of the first simulation
    view:
        what the page shows first, as the query string of an address that was copied from the page
    experiment:
        the directory of an experiment to show instead of a simulation; it may be finished or running
    live:
        the directory of a durable agent to show instead of a simulation; it may be in use
    host:
        the address at which the page is served
    port:
        the port at which the page is served; 0 takes any free port
    show:
        whether to open a browser
    say:
        function that receives each message of the server, such as its address; by default messages are printed to
        standard error

    Examples
    --------
    >>> play("riverswim", "q-learnin")
    Traceback (most recent call last):
    ...
    everlearn.errors.UnknownName: agent: 'q-learnin'; known: ... (did you mean q-learning?); ...

    """
    number = whole(port, "port")
    if _in_a_loop():
        raise InputError("play", task, "an event loop runs here, as in a notebook; run a script, or everlearn play")
    for name in ("nicegui", "uvicorn"):
        if importlib.util.find_spec(name) is None:
            raise InputError("play", name, "is not installed; install it with: pip install 'everlearn[play]'")
    tell = say or (lambda text: print(text, file=sys.stderr))  # noqa: T201
    if experiment is None and live is None:
        workshop = open_workshop(task, agent, schedule=schedule, parameters=parameters, seed=seed, view=view)
        from everlearn.page.server import make_app, serve

        made = partial(make_app, workshop=workshop)
    else:
        chosen = {"task": task, "agent": agent, "schedule": schedule, "seed": seed}
        others = [name for name, value in chosen.items() if value is not None]
        others += [name for name, value in {"parameters": parameters, "view": view}.items() if value]
        followed = _follow(experiment, live, others)
        from everlearn.page.server import make_view_app, serve

        made = partial(make_view_app, view=followed)
    serve(host, number, show=show, say=tell, made=made)


def _follow(experiment: object, live: object, others: Sequence[str]) -> View:
    """Return the view of a directory, after a first look at it, so that a mistake is raised before it is served."""
    name, given = ("experiment", experiment) if live is None else ("live", live)
    taken = [*others, *(["experiment"] if live is not None and experiment is not None else [])]
    require(not taken, name, str(given), f"follows a directory; leave out {', '.join(taken)}")
    path = as_path(given)
    if live is None:
        from everlearn.page.following import ExperimentView

        _wait_for_experiment(path)
        view: View = ExperimentView(path)
    else:
        from everlearn.page.living import LiveView

        view = LiveView(path)
    view.look({})
    return view


def _wait_for_experiment(path: Path) -> None:
    """Wait while an experiment is being prepared in a directory, or a little for a directory that is not there yet."""
    end = time.monotonic() + (SOON if path.exists() else LATER)
    while not (path / "manifest.json").exists() and (time.monotonic() < end or is_held(path)):
        time.sleep(0.1)


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
