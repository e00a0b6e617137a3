"""The agent that is driven step by step: ask it to act, tell it what was observed, save it, go on for ever."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.clock import BLOCK, Carry, Clock
from everlearn.agents.design import Design
from everlearn.agents.guard import Guard, build_knowledge
from everlearn.agents.snapshot import check_algorithmic, check_arrays, dump, parse, read, write
from everlearn.agents.spec import read_specs
from everlearn.agents.tabular import as_floats
from everlearn.errors import InputError, SnapshotError
from everlearn.labels import as_label, encode
from everlearn.protocol import AgentState, Experience, Knowledge, Label, ScheduleValues, Table
from everlearn.randomness import AGENT, set_words, stream, words
from everlearn.registry import plain
from everlearn.registry import whole as whole
from everlearn.tasks.indexed import IndexedTask
from everlearn.tasks.task import Task


class Agent:
    """An agent at work on a task: X_t = (S_t, P_t, Z_t), and what moves it on.

    Parameters
    ----------
    task:
        a task, or the name of one
    agent:
        a design, or the name of one
    schedule:
        for designs that take one
    seed, run:
        name the random stream; run i of a simulation has ``run=i``
    parameters:
        of the design and the schedule, as in ``{"agent.phase": 1000, "schedule.horizon_scale": 3}``

    Examples
    --------
    >>> agent = Agent("service-station", "growing-horizon", seed=1)
    >>> agent.act()
    'fast'
    >>> agent.observe("arrival")
    1.0
    >>> agent.observe("nothing", executed="slow")  # what was really done, where that was not what was asked
    0.0
    >>> agent.t
    2

    """

    def __init__(
        self,
        task: Task | object,
        agent: Design | object = "growing-horizon",
        *,
        schedule: object = None,
        seed: int = 0,
        run: int = 0,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        task_spec, agent_spec = read_specs(task, agent, schedule, parameters)
        self.task, self.design = task_spec.make(), agent_spec.make()
        self.indexed = IndexedTask(self.task)
        self._reward = self.design.view(self.task).reward
        self.knowledge = build_knowledge(self.design, self.indexed)
        self.seed, self.run = whole(seed, "seed"), whole(run, "run")
        self._guard = Guard(self.design, self.indexed, self.run) if self.design.own else None
        self.t = 0
        self._aleatoric_state = self.indexed.start
        self._clock = Clock(self.design.schedule)
        self._soon: ScheduleValues | None = None
        self._stream = stream(self.seed, self.run, AGENT)
        self._pending: int | None = None

    def __repr__(self) -> str:
        """Return one line: the design, the task and the time."""
        return f"Agent({self.design.name!r} on {self.task.name!r}, t = {self.t:,})"

    def act(self) -> Label:
        """Return the action for the next step.  Asked again before ``observe``, it returns the same."""
        if self._pending is None:
            self._pending = self.choose()
        return self.task.actions[self._pending]

    def observe(self, observation: Label, executed: Label | None = None) -> float:
        """Take in an observation, learn from it, and return the reward in the task's own units.

        ``executed`` is the action that was really executed, where it was not the one that ``act`` returned.
        """
        action = self._pending if executed is None else self.indexed.action(executed)
        if action is None:
            raise InputError("executed", executed, "nothing was asked for; call act() first, or name what was executed")
        index = self.indexed.observation(observation)
        following, reward = self.indexed.step(self._aleatoric_state, action, index)
        self.learn(Experience(self._aleatoric_state, action, index, self.learned(reward), following))
        return reward

    def learned(self, reward: float) -> float:
        """Return a reward as the design learns from it."""
        return self._reward.learned(reward)

    def choose(self) -> int:
        """Return the index of the action that the design chooses now; asked again, it chooses anew."""
        decide = self.design.act if self._guard is None else self._guard.act
        return int(decide(self.knowledge, self._aleatoric_state, self.upcoming, self._stream))

    def learn(self, experience: Experience) -> None:
        """Learn from one step in indices, for those who evaluate f and r themselves."""
        learn = self.design.learn if self._guard is None else self._guard.learn
        learn(self.knowledge, experience, self.upcoming, self._stream)
        self.move(experience.next_aleatoric_state)
        self.t += 1

    def move(self, following: int) -> None:
        """Go to another aleatoric state and learn nothing; the clock stands still."""
        self._aleatoric_state, self._pending = following, None

    @property
    def aleatoric_state(self) -> Label:
        """S_t."""
        return self.task.states[self._aleatoric_state]

    @property
    def situation(self) -> int:
        """The index of S_t."""
        return self._aleatoric_state

    @property
    def pending(self) -> int | None:
        """The index of the action that was asked for and not yet followed by an observation."""
        return self._pending

    @pending.setter
    def pending(self, action: int | None) -> None:
        self._pending = action

    @property
    def stream(self) -> np.random.Generator:
        """What the agent draws from."""
        return self._stream

    @property
    def now(self) -> ScheduleValues:
        """What the schedule says of the step last taken (of the first, before any)."""
        return self._clock.at(max(self.t, 1))

    @property
    def upcoming(self) -> ScheduleValues:
        """What the schedule says of the step that comes next."""
        t = self.t + 1
        if self._soon is None or self._soon.t != t:
            self._soon = self._clock.at(t)
        return self._soon

    @property
    def policy(self) -> Table:
        """The probability of each action in each aleatoric state, were it to act there now."""
        if self.design.policy is None:
            raise InputError("policy", self.design.name, "this design does not tell its policy")
        return self.design.policy(self.knowledge) if self._guard is None else self._guard.policy(self.knowledge)

    @property
    def values(self) -> Table | None:
        """The values by which the design chooses, which can be written to; None if it has none."""
        if self.design.values is None:
            return None
        return self.design.values(self.knowledge) if self._guard is None else self._guard.values(self.knowledge)

    def inspect(self) -> dict[str, Table]:
        """Return what the agent knows, for people to look at: for the paper's agent Q and N.

        Examples
        --------
        >>> agent = Agent("service-station", schedule="smooth")
        >>> {name: table.tolist() for name, table in agent.inspect().items()}
        {'Q': [[2.5, 2.5], [2.5, 2.5]], 'N': [[0.0, 0.0], [0.0, 0.0]]}

        """
        if self._guard is not None:
            return self._guard.inspect(self.knowledge, self.now)
        return {} if self.design.inspect is None else self.design.inspect(self.knowledge, self.now)

    def take(self) -> AgentState:
        """Return a copy of the whole agent state."""
        block, carry = self._clock.carry(max(self.t, 1))
        algorithmic = {
            "t": self.t,
            "seed": self.seed,
            "run": self.run,
            "pending": None if self._pending is None else self.task.actions[self._pending],
            "stream": [int(word) for word in words(self._stream)],
            "clock": {"block": block, **carry._asdict()},
        }
        epistemic = {name: array.copy() for name, array in stored_arrays(self.knowledge).items()}
        return AgentState(self.aleatoric_state, epistemic, algorithmic)

    def put(self, state: AgentState) -> None:
        """Put the agent into a state that :meth:`take` returned, here or elsewhere; refused, nothing is changed."""
        fields = stored_arrays(self.knowledge)
        shapes = {name: array.shape for name, array in fields.items()}
        if (found := {name: array.shape for name, array in state.epistemic.items()}) != shapes:
            raise SnapshotError(f"the agent state has arrays {found}, the design {self.design.name!r} has {shapes}")
        check_arrays(state.epistemic, fields)
        algorithmic = state.algorithmic
        check_algorithmic(algorithmic)
        clock = self._wound(algorithmic["t"], dict(algorithmic["clock"]))
        pending = algorithmic["pending"]
        aleatoric_state = self.indexed.state(state.aleatoric)
        self._pending = None if pending is None else self.indexed.action(as_label(pending))
        for name, array in fields.items():
            array[...] = state.epistemic[name]
        self._aleatoric_state, self._clock, self._soon = aleatoric_state, clock, None
        self.t, self.seed, self.run = algorithmic["t"], algorithmic["seed"], algorithmic["run"]
        set_words(self._stream, np.array(algorithmic["stream"], dtype=np.uint64))

    def _wound(self, t: int, carried: dict[str, Any]) -> Clock:
        clock, block = Clock(self.design.schedule), carried.pop("block")
        near = (max(t, 1) - 1) // BLOCK, t // BLOCK
        if self.design.schedule is not None and block not in near:
            raise SnapshotError(f"the agent state has block {block} of its clock at t = {t}; it would be {near[0]}")
        clock.wind(block, Carry(**carried))
        return clock

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole agent state to a file, whole or not at all.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "agent.npz"
        >>> one, other = Agent("service-station", seed=1), Agent("service-station")
        >>> one.save(path); other.load(path)
        >>> one.act() == other.act()
        True

        """
        write(path, self.take(), self.identity)

    def dump(self) -> bytes:
        """Return what :meth:`save` writes."""
        return dump(self.take(), self.identity)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Go on from a file that :meth:`save` wrote, exactly as if never stopped."""
        self._restore(*read(path), os.fspath(path))

    def restore(self, data: bytes, name: str = "agent state") -> None:
        """Go on from what :meth:`dump` returned; ``name`` is what it is called in errors."""
        self._restore(*parse(data, name), name)

    def _restore(self, state: AgentState, identity: dict[str, Any], name: str) -> None:
        for key, value in self.identity.items():
            if identity.get(key) != value:
                found = identity.get(key)
                raise SnapshotError(f"{name}: it was saved with {key} {found!r}; this agent has {value!r}")
        self.put(state)

    @property
    def identity(self) -> dict[str, Any]:
        """What a saved agent state must agree with."""
        schedule = self.design.schedule
        return {
            "task": self.task.name,
            "actions": plain(self.task.actions),
            "observations": plain(self.task.observations),
            "states": hashlib.sha256(encode(self.task.states).encode()).hexdigest(),
            "rewards": self.task.reward.scaling,
            "design": self.design.name,
            "parameters": plain(dict(self.design.parameters)),
            "schedule": None if schedule is None else schedule.name,
            "schedule_parameters": None if schedule is None else plain(dict(schedule.parameters)),
        }


def arrays(knowledge: Knowledge) -> dict[str, NDArray[Any]]:
    """Return the arrays of what a design knows, by name; the rest never changes."""
    return {name: value for name, value in knowledge._asdict().items() if isinstance(value, np.ndarray)}


def stored_arrays(knowledge: Knowledge) -> dict[str, NDArray[Any]]:
    """Return the arrays of what a design knows as they are stored: tables of records as plain numbers."""
    return {name: as_floats(array) for name, array in arrays(knowledge).items()}
