"""The agents and tasks of the board: one experiment, the tasks on which settings were chosen, and the exact optima.

The settings of most agents were found by a search with the same budget on training tasks; ``search/`` has the searches,
and ``settings.toml`` says which agents have none.  The other tasks were set aside to judge them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import files
from typing import Any, NamedTuple, TypeVar

from everlearn.agents.names import DEFAULT_AGENT
from everlearn.errors import UnknownName
from everlearn.experiments.spec import AgentEntry, Spec, TaskEntry, name_of, read_spec
from everlearn.leaderboard.identity import agent_identity, states, task_identity
from everlearn.leaderboard.shipped import Reference as Reference
from everlearn.leaderboard.shipped import references, shipped
from everlearn.results.arm import Arm
from everlearn.theory.aleatoric import attained
from everlearn.theory.report import Theory

OURS = DEFAULT_AGENT
"""The agent with which all others are compared, in pairs."""

TRAINING, SET_ASIDE = "training", "set aside"
KINDS = (SET_ASIDE, TRAINING)

TRAINING_FILES, SET_ASIDE_FILES = ("training.toml", "practice.toml"), ("set_aside.toml", "judging.toml")

FRESH_FILE = "fresh.toml"
"""Tasks of which no results are shipped, on which nothing was chosen; they are run instead of those of the board."""

RUNS, STEPS = 10, 1_000_000
"""The size of the board."""

NO_LIMIT = 1 << 62

Entry = TypeVar("Entry", TaskEntry, AgentEntry)


class Limit(NamedTuple):
    """What an agent can do in reasonable time: it is run on tasks of so many states, for so many steps."""

    states: int = NO_LIMIT
    steps: int = NO_LIMIT

    @property
    def folder(self) -> str:
        """The folder of its experiment inside that of the board."""
        named = (("states", self.states), ("steps", self.steps))
        return "-".join(f"{number}-{name}" for name, number in named if number < NO_LIMIT)


@dataclass(frozen=True)
class Lineup:
    """All agents on all tasks, and the labels of those of the tasks on which settings were chosen."""

    spec: Spec
    training: frozenset[str]
    known: bool = False
    """Whether shipped results are used, so that only what they lack is run."""
    named: bool = True
    """Whether agents of the board were named: these are run where they have no shipped result, else they are not."""

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
        """The agent with which the others are compared: the user's own, else ours, else the first."""
        own = [label for label in self.agents if ":" in label]
        return own[0] if own else OURS if OURS in self.agents else self.agents[0]

    @property
    def kinds(self) -> dict[str, str]:
        """The registered name of each task, by its label: tasks of one name are of one kind."""
        return {entry.label: name_of(entry.given) for entry in self.spec.tasks}

    def kind(self, task: str) -> str:
        """Return whether settings were chosen on a task, or it was set aside."""
        return TRAINING if task in self.training else SET_ASIDE

    @cached_property
    def references(self) -> dict[str, Reference]:
        """What can be earned on each task, exactly: shipped, or else computed."""
        known = {task: value for task, value in references().items() if task not in self.changed}
        return {entry.label: known.get(entry.label) or reference(entry) for entry in self.spec.tasks}

    @cached_property
    def shipped_arms(self) -> list[Arm]:
        """The shipped results of these agents on these tasks, if both are still as they were."""
        if not self.known:
            return []
        agents, tasks = (set(labels) - self.changed for labels in (self.agents, self.tasks))
        return [arm for arm in shipped().arms if arm.task in tasks and arm.agent in agents]

    def identities(self) -> dict[str, dict[str, Any]]:
        """Return all parameters of each agent and each task, by label; your own agents are left out."""
        agents = [entry for entry in self.spec.agents if ":" not in str(entry.label)]
        steps = {entry.label: min(self.spec.steps, self.limit(str(entry.label)).steps) for entry in agents}
        known = {str(entry.label): agent_identity(entry, steps[entry.label]) for entry in agents}
        return known | {entry.label: task_identity(entry) for entry in self.spec.tasks}

    @cached_property
    def changed(self) -> set[str]:
        """The agents and tasks that have other parameters than when the shipped results were computed."""
        return {label for label, identity in self.identities().items() if not shipped().fits(label, identity)}

    @property
    def parts(self) -> dict[str, Spec]:
        """The experiments to run, each by its folder: agents that have the same limits are run together.

        An agent of which some results are shipped is run by itself, on the other tasks.  Those that end too early do
        not count.  If the number of steps is not that of the shipped results, agents that depend on it are run again.
        """
        ends = {(arm.agent, arm.task): int(arm.times[-1]) for arm in self.shipped_arms}
        done = {key for key, end in ends.items() if end >= min(self.spec.steps, self.limit(key[0]).steps)}
        another = self.changed if self.spec.steps != shipped().steps else set()
        groups: dict[tuple[str, Limit], list[AgentEntry]] = {}
        for entry in self.spec.agents:
            label = str(entry.label)
            begun = any(agent == label for agent, _ in done)
            if self.named or label in another or not (self.known and label in shipped().speeds):
                limit = self.limit(label)
                groups.setdefault((label if begun else limit.folder, limit), []).append(entry)
        parts = {folder: self._part(limit, agents, done) for (folder, limit), agents in groups.items()}
        return {folder: spec for folder, spec in parts.items() if spec.tasks}

    def limit(self, agent: str) -> Limit:
        """Return what an agent can do in reasonable time."""
        return Limit(**resource("settings.toml")["limit"].get(agent, {}))

    def _part(self, limit: Limit, agents: list[AgentEntry], done: Set[tuple[str, str]]) -> Spec:
        """Return the experiment of agents; one of which some results are shipped is alone in it."""
        tasks = tuple(entry for entry in self.spec.tasks if (str(agents[0].label), entry.label) not in done)
        if limit.states < NO_LIMIT:
            tasks = tuple(entry for entry in tasks if states(entry) <= limit.states)
        return replace(self.spec, tasks=tasks, agents=tuple(agents), steps=min(self.spec.steps, limit.steps))


def lineup(
    agents: Sequence[str] = (),
    tasks: Sequence[str] = (),
    *,
    runs: int | None = None,
    steps: int | None = None,
    afresh: bool = False,
    fresh: bool = False,
) -> Lineup:
    """Return the whole board, or the named agents and tasks of it, each by label or by registered name.

    Pass your own agent as ``module:attribute``.  If you name no other, it stands beside all agents whose results come
    with the package.  These are used unless ``afresh``, or ``runs`` are not those of the board, or its regret is not
    known after ``steps``; agents of the board that you name are run on tasks on which they have none.  If you name no
    agent, ``afresh`` is all of them.  With ``fresh``, the agents are run on the tasks of ``fresh.toml`` instead.

    Examples
    --------
    >>> whole = lineup()
    >>> whole.ours, len(whole.tasks), whole.spec.runs, whole.spec.steps
    ('versatile', 53, 10, 1000000)
    >>> lineup(["planner"], fresh=True).tasks[0]
    'maze, 64 places'

    """
    training_files, aside_files = ((), (FRESH_FILE,)) if fresh else (TRAINING_FILES, SET_ASIDE_FILES)
    training = [entry for name in training_files for entry in read_spec(resource(name)).tasks]
    aside = [entry for name in aside_files for entry in read_spec(resource(name)).tasks]
    plain = read_spec(resource(aside_files[0]))
    size = RUNS if runs is None else runs, STEPS if steps is None else steps
    known = not afresh and (size[0], plain.seed) == (shipped().runs, shipped().seed) and size[1] in shipped().times
    own = [{"name": name, "label": name} for name in dict.fromkeys(agents) if ":" in name]
    chosen = _select(contenders(), [name for name in agents if ":" not in name], "--agent")
    named = len(own) < len(set(agents))
    if not (named or afresh):
        chosen = tuple(entry for entry in chosen if entry.label in shipped().speeds)
    spec = replace(
        plain,
        name="leaderboard",
        runs=size[0],
        steps=size[1],
        tasks=_select((*training, *aside), tasks, "--task"),
        agents=chosen + (_entries(own) if own else ()),
    )
    return Lineup(spec, frozenset(entry.label for entry in training), known, named)


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


def reference(entry: TaskEntry) -> Reference:
    """Compute what can be earned on a task."""
    theory = Theory(entry.given, {name: values[0] for name, values in entry.parameters.items()})
    best = theory.best_aleatoric.average_reward
    return Reference(theory.optimal_average_reward, best, not attained(best, theory.optimum))
