"""What is run for a board: an experiment of every agent on every task, and which of the tasks were set aside."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from everlearn.errors import UnknownName
from everlearn.experiments.spec import AgentEntry, Spec, TaskEntry, name_of, read_spec
from everlearn.leaderboard.settings import OURS, contenders, resource
from everlearn.theory.aleatoric import attained
from everlearn.theory.report import Theory

TRAINING, SET_ASIDE = "training", "set aside"
KINDS = (SET_ASIDE, TRAINING)


class Reference(NamedTuple):
    """What can be earned on a task: by anyone, and by a policy over aleatoric states, the best that is known."""

    optimum: float
    best_aleatoric: float
    hidden: bool
    """Whether the aleatoric state hides something: its best policy falls short of the optimum."""

    @property
    def lost(self) -> float:
        """The relative regret of the best policy over aleatoric states.

        Examples
        --------
        >>> Reference(-4.0, -5.0, hidden=True).lost
        0.25

        """
        return (self.optimum - self.best_aleatoric) / abs(self.optimum)


@dataclass(frozen=True)
class Lineup:
    """An experiment, and the labels of those of its tasks on which settings were chosen.

    Examples
    --------
    >>> chosen = lineup(agents=["tsde"], tasks=["riverswim"], runs=2, steps=1000)
    >>> [chosen.kind(label) for label in chosen.tasks]
    ['training', 'set aside']

    """

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
        """The agent that the others are compared with: ours, or the first where ours is not on the board."""
        return OURS if OURS in self.agents else self.agents[0]

    def among(self, agents: Collection[str], tasks: Collection[str]) -> Lineup:
        """Return the lineup with those agents and tasks alone whose labels are given."""
        spec = self.spec
        held = tuple(entry for entry in spec.tasks if entry.label in tasks)
        acting = tuple(entry for entry in spec.agents if entry.label in agents)
        return replace(self, spec=replace(spec, tasks=held, agents=acting))

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
    """Return the whole board, or those agents and tasks of it that are named, by label or by what they are.

    An agent of the user's own is named ``module:attribute``.  The seed, and how many runs and steps there are unless
    given, are those of the tasks that were set aside.

    Examples
    --------
    >>> whole = lineup()
    >>> whole.ours, len(whole.tasks), whole.spec.runs, whole.spec.steps
    ('growing-horizon, practical', 22, 20, 1000000)

    """
    training, aside = read_spec(resource("training.toml")), read_spec(resource("set_aside.toml"))
    spec = replace(
        aside,
        name="leaderboard",
        runs=aside.runs if runs is None else runs,
        steps=aside.steps if steps is None else steps,
        tasks=_named(training.tasks + aside.tasks, tasks, "--task"),
        agents=_named(contenders() + _own(agents), agents, "--agent"),
    )
    return Lineup(spec, frozenset(entry.label for entry in training.tasks))


def _own(names: Sequence[str]) -> tuple[AgentEntry, ...]:
    """Return an entry for each agent of the user's own."""
    own = [{"name": name, "label": name} for name in dict.fromkeys(names) if ":" in name]
    return read_spec({"steps": 1, "task": "riverswim", "agent": own}).agents if own else ()


def _named(entries: tuple[Any, ...], names: Sequence[str], option: str) -> tuple[Any, ...]:
    """Return the entries that have one of the names, in their own order; all of them where there are no names."""
    for name in names:
        if not any(name in _names(entry) for entry in entries):
            raise UnknownName(option, name, {known for entry in entries for known in _names(entry)})
    return tuple(entry for entry in entries if not names or set(names) & _names(entry))


def _names(entry: TaskEntry | AgentEntry) -> set[str]:
    return {str(entry.label), name_of(entry.given)}


def _reference(entry: TaskEntry) -> Reference:
    theory = Theory(entry.given, {name: values[0] for name, values in entry.parameters.items()})
    best = theory.best_aleatoric.average_reward
    return Reference(theory.optimal_average_reward, best, not attained(best, theory.optimum))
