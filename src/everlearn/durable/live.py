"""``live(DIR, ...)``: open one durable agent in a directory, or create it there."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from everlearn.calls import explained
from everlearn.durable.agent import Live
from everlearn.durable.database import is_begun
from everlearn.durable.setup import Setup, make_setup, simple
from everlearn.errors import require
from everlearn.files import expanded
from everlearn.grids import Box
from everlearn.protocol import Label
from everlearn.tasks.registry import TASKS


@explained("el.live(directory, task, agent=...)")
def live(
    directory: str | os.PathLike[str],
    task: object = None,
    *,
    actions: Iterable[Label] | None = None,
    observations: Iterable[Label] | Box | None = None,
    aleatoric: object = None,
    states: Iterable[Label] | None = None,
    start: Label | None = None,
    reward: object = None,
    reward_range: tuple[float, float] | None = None,
    reward_delay: int | None = None,
    durations: tuple[float, float] | None = None,
    cost_range: tuple[float, float] | None = None,
    limit: float | None = None,
    raw: bool | None = None,
    agent: object = None,
    schedule: object = None,
    parameters: Mapping[str, Any] | None = None,
    explore: float | None = None,
    seed: int | None = None,
    allowed: Mapping[Any, Iterable[Label]] | None = None,
    snapshot_every: int | None = None,
    retain: int | None = None,
    drift: Mapping[str, Any] | None = None,
    promotion: Mapping[str, Any] | None = None,
    accept_changes: bool = False,
) -> Live:
    """Open the durable agent in a directory, or create it there.

    To open an existing agent, pass its directory.  Functions and objects cannot be stored, so pass them again; all
    other arguments are optional.  An argument that differs from the stored one raises an error that says what changed,
    unless you accept the change.

    Parameters
    ----------
    directory:
        directory of the agent; only one process at a time can open it
    task:
        a task, or the name of one; it defines actions, observations, aleatoric state and reward
    actions:
        labels of the actions
    observations:
        labels of the observations; or an :class:`everlearn.Box`, if they are measurements: pass lists of numbers to
        ``observe``
    aleatoric:
        the aleatoric state: ``last`` (the last observation; the default), ``window:3``, ``window:3+actions``, ``given``
        (you pass the next state to ``observe``), a table {state: {action: {observation: next}}} or rows
        [state, action, observation, next], or an :class:`everlearn.AleatoricState`
    states:
        for ``aleatoric="given"``: the set of states
    start:
        the aleatoric state before the first observation.  With ``last``: an observation, or any other label, which is
        then an additional state for "nothing observed yet".  With ``given`` or a table: one of its states, by default
        the first.  A window always starts empty
    reward:
        ``given`` (the default without a task): you pass the reward to ``observe``; or a table like that of the
        aleatoric state; or a function of (aleatoric state, action, observation)
    reward_range:
        the least and the greatest reward
    raw:
        whether the agent learns from rewards without scaling, as in :func:`everlearn.task`
    reward_delay:
        for ``reward="given"``: you may pass the reward of a step later, with ``Live.reward``, until this many further
        steps have been observed
    durations:
        the least and the greatest duration of a decision, if decisions take different times: you pass the duration to
        ``observe``, and the agent maximises the reward per unit of time
    cost_range:
        the least and the greatest cost of a decision, which you pass to ``observe``
    limit:
        the maximum average cost: per step, or per unit of time with ``durations``.  The agent learns to stay within it
    agent:
        as in :class:`everlearn.Agent`
    schedule:
        as in :class:`everlearn.Agent`
    parameters:
        as in :class:`everlearn.Agent`
    seed:
        as in :class:`everlearn.Agent`
    explore:
        the probability with which a random allowed action is proposed.  The journal (the record of all steps) then
        contains the propensity of every proposal (its probability), so that other policies can be evaluated without
        a model
    allowed:
        a mapping from states to allowed actions; in states that are not listed, all actions are allowed
    snapshot_every:
        the number of observations per snapshot, 10,000 by default
    retain:
        minimum number of most recent steps to retain in the journal; all by default
    drift:
        settings of the alarm that is raised when the recent average reward is low compared with the past; by default
        ``{"batch": 1000, "rarity": 10000}``: batches of 1,000 steps and, if nothing changes, on average at most one
        false alarm in 10,000 batches, see :mod:`everlearn.durable.drift`
    promotion:
        the rule by which an agent in shadow mode (it only proposes actions) takes control, such as
        ``{"gain": 0, "hours": 24}``, see :class:`everlearn.durable.promotion.Rule`
    accept_changes:
        accept changed arguments, so that the agent resumes; the change is recorded in the journal.  Some arguments
        cannot change, such as ``observations`` and ``seed``: a change of these still raises an error

    Examples
    --------
    >>> import tempfile
    >>> directory = tempfile.mkdtemp()
    >>> with live(directory, actions=["slow", "fast"], observations=["idle", "busy"], reward_range=(0, 1)) as agent:
    ...     agent.act() in ("slow", "fast"), agent.observe("busy", reward=0.5)
    (True, 0.5)
    >>> with live(directory) as agent:
    ...     agent.step
    1

    """
    given = dict(locals())
    del given["directory"], given["accept_changes"]
    _check_directory(directory, task)
    require(isinstance(accept_changes, bool), "accept_changes", accept_changes, "give True or False")
    place = expanded(directory)
    fresh = None if is_begun(place) else _first_setup(directory, given)
    return Live(place, given, fresh, accept_changes)


def _check_directory(directory: object, task: object) -> None:
    """Raise if the first argument is no directory; most often directory and task have changed places."""
    remedy = "the directory comes first, and then the task: el.live(DIR, task)"
    path = isinstance(directory, str | os.PathLike) and str(directory) != ""
    require(path, "directory", simple(directory), f"is no path; {remedy}")
    named = isinstance(task, str) and (task in TASKS or ":" in task)
    swapped = directory in TASKS and isinstance(task, str | os.PathLike) and not named
    require(not swapped, "directory", directory, f"is a task; {remedy}")


def _first_setup(directory: str | os.PathLike[str], given: dict[str, Any]) -> Setup:
    """Return the setup of a new agent; if nothing declares one, the directory is most likely mistyped."""
    declared = any(given.get(key) is not None for key in ("task", "actions", "observations"))
    remedy = "there is no agent in it; to create one, pass actions, observations and reward_range, or a task"
    require(declared, "directory", os.fspath(directory), remedy)
    return make_setup(**given)
