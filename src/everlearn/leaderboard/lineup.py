"""The agents and tasks of the board: one experiment, the tasks on which settings were chosen, and the exact optima.

The settings of each agent were found by a search with the same budget on the training tasks; ``search/`` has the
searches.  The other tasks were set aside to judge them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import files
from typing import Any, NamedTuple, TypeVar

from everlearn.errors import UnknownName
from everlearn.experiments.spec import AgentEntry, Spec, TaskEntry, name_of, read_spec
from everlearn.theory.aleatoric import attained
from everlearn.theory.report import Theory

OURS = "growing-horizon, practical"
"""The agent with which all others are compared, in pairs."""

TRAINING, SET_ASIDE = "training", "set aside"
KINDS = (SET_ASIDE, TRAINING)

Entry = TypeVar("Entry", TaskEntry, AgentEntry)


class Reference(NamedTuple):
    """The optimum of a task, and the best that is known of policies over aleatoric states."""

    optimum: float
    best_aleatoric: float
    hidden: bool
    """Whether the aleatoric state hides something: its best policy falls short of the optimum."""

    @property
    def lost(self) -> float:
        """The relative regret of the best policy over aleatoric states."""
        return (self.optimum - self.best_aleatoric) / abs(self.optimum)


@dataclass(frozen=True)
class Lineup:
    """An experiment, and the labels of those of its tasks on which settings were chosen."""

    spec: Spec
    training: frozenset[str]

    @property
    def tasks(self) -> list[str]:
        """The labels of the tasks."""
        return [entry.label for entry in self.spec.tasks]

    @property
    def agents(self) -> list[str]:
        """The labels of the agents."""
        return [str(entry.label) for entry in self.spec.agents]

    @property
    def ours(self) -> str:
        """The agent with which the others are compared: ours, or the first if ours is not on the board."""
        return OURS if OURS in self.agents else self.agents[0]

    def kind(self, task: str) -> str:
        """Return whether settings were chosen on a task, or it was set aside."""
        return TRAINING if task in self.training else SET_ASIDE

    @cached_property
    def references(self) -> dict[str, Reference]:
        """What can be earned on each task, exactly."""
        return {entry.label: _reference(entry) for entry in self.spec.tasks}


def lineup(
    agents: Sequence[str] = (), tasks: Sequence[str] = (), *, runs: int | None = None, steps: int | None = None
) -> Lineup:
    """Return the whole board, or the named agents and tasks of it, each by label or by registered name.

    Pass your own agent as ``module:attribute``.  The seed, and the default number of runs and steps, are those of
    the tasks that were set aside.

    Examples
    --------
    >>> whole = lineup()
    >>> whole.ours, len(whole.tasks), whole.spec.runs, whole.spec.steps
    ('growing-horizon, practical', 22, 20, 1000000)

    """
    training, aside = read_spec(resource("training.toml")), read_spec(resource("set_aside.toml"))
    own = [{"name": name, "label": name} for name in dict.fromkeys(agents) if ":" in name]
    spec = replace(
        aside,
        name="leaderboard",
        runs=aside.runs if runs is None else runs,
        steps=aside.steps if steps is None else steps,
        tasks=_select(training.tasks + aside.tasks, tasks, "--task"),
        agents=_select(contenders() + (_entries(own) if own else ()), agents, "--agent"),
    )
    return Lineup(spec, frozenset(entry.label for entry in training.tasks))


def contenders() -> tuple[AgentEntry, ...]:
    """Return the agents on the board, with their settings."""
    return _entries(resource("settings.toml")["agent"])


def resource(name: str) -> dict[str, Any]:
    """Return the contents of a TOML file of this package."""
    return tomllib.loads(files("everlearn.leaderboard").joinpath(name).read_text(encoding="utf-8"))


def _entries(agents: list[dict[str, Any]]) -> tuple[AgentEntry, ...]:
    """Read agents as in a spec, of which the rest does not matter."""
    return read_spec({"steps": 1, "task": "riverswim", "agent": agents}).agents


def _select(entries: tuple[Entry, ...], names: Sequence[str], option: str) -> tuple[Entry, ...]:
    """Return the entries that have one of the names, in their own order; all of them if there are no names."""
    known = [{str(entry.label), name_of(entry.given)} for entry in entries]
    for name in names:
        if not any(name in aliases for aliases in known):
            raise UnknownName(option, name, set().union(*known))
    return tuple(entry for entry, aliases in zip(entries, known, strict=True) if not names or aliases & set(names))


def _reference(entry: TaskEntry) -> Reference:
    theory = Theory(entry.given, {name: values[0] for name, values in entry.parameters.items()})
    best = theory.best_aleatoric.average_reward
    return Reference(theory.optimal_average_reward, best, not attained(best, theory.optimum))
