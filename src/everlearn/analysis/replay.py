"""``replay(DIR, ...)``: train another setup on the journal of a durable agent, and continue live from there."""

from __future__ import annotations

import os
import secrets
import shutil
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from everlearn.analysis.past import Past, distinct, is_log, lessons, read_past, read_past_log, retell
from everlearn.durable import views
from everlearn.durable.agent import NAME
from everlearn.durable.core import Core
from everlearn.durable.setup import Setup, make_setup
from everlearn.durable.store import Store
from everlearn.durable.transitions import Transitions, step_range
from everlearn.durable.variation import varied
from everlearn.engine.studying import Progress, study
from everlearn.errors import InputError, LiveError, require
from everlearn.files import as_path, expanded, sync_directory
from everlearn.grids import Grid, size_of
from everlearn.labels import counted
from everlearn.protocol import Label
from everlearn.tasks.task import Task

LISTED = 10
"""How many pairs that were never seen are listed."""


@dataclass(frozen=True, repr=False)
class Replay:
    """What a replay did, and what the trained agent would do now; :func:`replay` returns it.

    Examples
    --------
    >>> import tempfile
    >>> from everlearn.durable.live import live
    >>> directory = tempfile.mkdtemp()
    >>> with live(directory, task="riverswim") as agent:
    ...     _ = agent.warm_start([(1, "right"), (0, "left")] * 5)
    >>> found = replay(directory)
    >>> found.learned, found.pairs_unseen, found.unseen
    (10, 2, ((0, 'left'), (1, 'right')))

    """

    source: str
    out: str | None  # the new directory
    rows: int  # the steps in the journal or the log
    learned: int  # those that it learned from
    unrewarded: int  # those whose reward has not come
    forbidden: int  # those with an action that the setup does not allow
    states_changed: int  # the number of steps whose aleatoric state differs from the recorded one
    rewards: str  # recorded, or computed by the setup
    evaluated: int  # the distinct (state, action, observation), for each of which f and r were evaluated once
    states_seen: int
    pairs_seen: int  # of a state and an action
    pairs_unseen: int  # the actions that were never executed in a state that was seen
    unseen: tuple[tuple[Label, Label], ...]  # the first of these
    engine: str  # compiled or reference
    policy: dict[str, Any]
    core: Core = field(compare=False)

    def __repr__(self) -> str:
        where = f" -> {self.out}" if self.out is not None else ""
        seen = f"{counted(self.pairs_unseen, 'pair')} of state and action never seen"
        return f"Replay({self.learned:,} of {counted(self.rows, 'row')}, {self.engine}; {seen}{where})"

    def to_dict(self) -> dict[str, Any]:
        """Return it as a JSON document."""
        document = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "core"}
        return {**document, "unseen": [list(pair) for pair in self.unseen]}


def replay(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    name: str | None = None,
    first: int | None = None,
    last: int | None = None,
    progress: Progress | None = None,
    **setup: Any,
) -> Replay:
    """Train a new agent on recorded steps: the journal of a durable agent, or a log of another controller.

    Parameters
    ----------
    source:
        directory of durable agents, which may be in use; or a log, CSV or JSON lines, as for ``Live.warm_start``
    out:
        a new directory for the trained agent, from which ``everlearn.live`` resumes; it appears when it is complete
    name:
        the name of the agent, if the directory has several
    first:
        the first step to use; by default the first of all
    last:
        the last step to use; by default the last of all
    progress:
        function that is called repeatedly with the number of rows learned from since the last call
    setup:
        arguments of ``everlearn.live`` that differ from the setup of the journal, such as ``schedule``, ``agent``,
        ``aleatoric`` or ``reward``; for a log, the whole setup

    Examples
    --------
    >>> import tempfile
    >>> from everlearn.durable.live import live
    >>> directory = tempfile.mkdtemp()
    >>> with live(directory, task="service-station", seed=1) as agent:
    ...     _ = agent.warm_start([("arrival", "fast"), ("departure", "slow")] * 50)
    >>> replay(directory, schedule="smooth")
    Replay(100 of 100 rows, compiled; 2 pairs of state and action never seen)
    >>> with live(replay(directory, directory + "-new", schedule="smooth").out) as agent:
    ...     agent.t, agent.aleatoric_state
    (100, 0)

    """
    target = None if out is None else _free(out)
    steps = step_range(first, last)
    require(expanded(source).exists(), "source", os.fspath(source), "there is no such file or directory")
    if is_log(source):
        declared = any(setup.get(key) is not None for key in ("task", "actions", "observations"))
        remedy = "a log needs a whole setup: pass actions, observations and reward_range, or a task; or --setup FILE"
        require(declared, "setup", setup or None, remedy)
        made = make_setup(**setup)
        past = read_past_log(source, made)
        past = past.part((steps[0] or 1) - 1, len(past.data.rewards) if steps[1] is None else steps[1])
    else:
        past = read_past(source, name, *steps)
        made = varied(past.stored, past.task, setup)
    core, retold, engine = trained(past, made, progress)
    if target is not None:
        write(core, target)
    return _report(os.fspath(source), target, past, retold, core, engine)


def trained(past: Past, setup: Setup, progress: Progress | None = None) -> tuple[Core, Transitions, str]:
    """Return a new agent that has learned from the past, the past in its states, and the engine that was used."""
    core, retold = Core(setup), retell(past, setup)
    engine = study(core.agent, lessons(retold, core), progress=progress)
    core.agent.move(int(retold.following[-1]))
    return core, retold, engine


def _free(out: str | os.PathLike[str]) -> Path:
    target = as_path(out)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError("out", os.fspath(out), "exists already; give a new directory")
    return target


def write(core: Core, target: Path) -> None:
    """Create a directory with a trained agent; it gets its name when it is complete."""
    part = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with Store(part) as store:
            made = store.create(NAME, core.setup)
            entry = made.import_state(core.export_state())
            made.apply(entry)
            store.append([(made.number, entry)], [made])
        part.rename(target)
        sync_directory(target.parent)
    except OSError as error:
        raise LiveError(f"{error.strerror or error}", target) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _report(source: str, out: Path | None, past: Past, retold: Transitions, core: Core, engine: str) -> Replay:
    task, indexed = core.agent.task, core.agent.indexed
    rows, rewarded = len(retold.rewards), int(np.isfinite(retold.rewards).sum())
    sizes = (indexed.states, indexed.actions, indexed.observations)
    pairs, _, _ = distinct((retold.states, retold.actions), sizes[:2])
    triples, _, _ = distinct((retold.states, retold.actions, retold.observations), sizes)
    done: dict[int, set[int]] = {}
    for s, a in pairs:
        done.setdefault(s, set()).add(a)
    missing = [(s, a) for s in done for a in range(indexed.actions) if core.may(s) >> a & 1 and a not in done[s]]
    listed = not isinstance(task.states, Grid)
    return Replay(
        source=source,
        out=None if out is None else str(out),
        rows=rows,
        learned=core.t,
        unrewarded=rows - rewarded,
        forbidden=rewarded - core.t,
        states_changed=_states_changed(past, retold, task) if past.stored else 0,
        rewards="recorded" if core.setup.gives_reward else "computed",
        evaluated=0 if core.setup.gives_state and core.setup.gives_reward else len(triples),
        states_seen=len(done),
        pairs_seen=len(pairs),
        pairs_unseen=len(missing),
        unseen=tuple((task.states[s], task.actions[a]) for s, a in missing[:LISTED]),
        engine=engine,
        policy=views.policy_table(core) if listed else {"actions": None, "explanation": views.NO_TABLE},
        core=core,
    )


def _states_changed(past: Past, retold: Transitions, task: Task) -> int:
    """Return the number of steps whose aleatoric state differs from the recorded one."""
    pairs, _, counts = distinct((retold.states, past.data.states), [size_of(task.states), size_of(past.task.states)])
    both = zip(pairs, counts.tolist(), strict=True)
    return sum(count for (new, old), count in both if task.states[new] != past.task.states[old])
