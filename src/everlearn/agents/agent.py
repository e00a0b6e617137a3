"""The agent that you drive step by step: get an action, pass the observation, save the agent and resume it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.clock import BLOCK, Carry, Clock
from everlearn.agents.design import Design
from everlearn.agents.guard import Guard, build_knowledge
from everlearn.agents.knowledge import copied, exchanged, stored_arrays
from everlearn.agents.perception import Places
from everlearn.agents.prices import Prices, restore_prices
from everlearn.agents.schedule import LATER
from everlearn.agents.snapshot import check_algorithmic, check_arrays, check_parts, pack, read_file, unpack
from everlearn.agents.spec import read_specs
from everlearn.agents.tabular import by_field
from everlearn.calls import explained
from everlearn.errors import InputError, SnapshotError
from everlearn.files import replacing
from everlearn.grids import Grid
from everlearn.labels import as_label, encode
from everlearn.protocol import AgentState, Experience, Label, ScheduleValues, Table
from everlearn.randomness import AGENT, set_words, stream, words
from everlearn.registry import plain
from everlearn.registry import whole as whole
from everlearn.tasks.indexed import IndexedTask
from everlearn.tasks.task import Task

_PARAMETERS = ("parameters", "schedule_parameters")

OTHER_VERSION = (
    "; another version of everlearn or another design saved it, which has other parameters or arrays: use that one, or "
    "train a new agent on the journal of a durable agent with 'everlearn replay'"
)
"""Added to the message if the names of the parameters or arrays differ, and not only their values or shapes."""


@explained("el.Agent(task, agent, schedule=...)")
class Agent:
    """A design applied to a task: the agent state X_t = (S_t, P_t, Z_t), and the methods that advance it.

    Parameters
    ----------
    task:
        a task, or the name of one
    agent:
        a design, or the name of one; by default ``versatile``; if a schedule is named, or one of its parameters is set,
        ``growing-horizon``
    schedule:
        the schedule, for designs that take one; by default ``practical``
    seed:
        random seed; with the same seed and ``run``, the agent draws the same random numbers as in that run of
        :func:`everlearn.run`
    run:
        index of the run
    parameters:
        parameters of the task, the design and the schedule, as in ``{"task.window": 6, "schedule.horizon_scale": 3}``

    Examples
    --------
    >>> agent = Agent("service-station", "growing-horizon", seed=1)
    >>> agent.act()
    'fast'
    >>> agent.observe("arrival")
    1.0
    >>> agent.observe("nothing", executed="slow")  # pass the executed action if it was not the agent's choice
    0.0
    >>> agent.t
    2

    """

    def __init__(
        self,
        task: Task | object,
        agent: Design | object = None,
        *,
        schedule: object = None,
        seed: int = 0,
        run: int = 0,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        task_spec, agent_spec = read_specs(task, agent, schedule, parameters)
        self.design = agent_spec.make()
        self.task = self.design.seen(task_spec.make())
        self.indexed = IndexedTask(self.task)
        self.seed, self.run = whole(seed, "seed"), whole(run, "run")
        functions: Any = Guard(self.design, self.indexed, self.run) if self.design.own else self.design
        self._functions = self._placed(functions)
        self.knowledge = build_knowledge(self.design, self.indexed)
        self.t = 0
        self.situation = self.indexed.start
        """The index of S_t."""
        self.pending: int | None = None
        """The index of the action that ``act`` returned, until it is followed by an observation."""
        self.stream = stream(self.seed, self.run, AGENT)
        """The random stream that the agent draws from."""
        self.prices: Prices | None = None
        """The prices of time and of a cost, if the setup of a durable agent declares any."""
        self.learned: Callable[[float], float] = self.design.view(self.task).reward.learned
        """The function that scales a reward as the design learns from it."""
        self._clock = Clock(self.design.schedule)
        self._upcoming: ScheduleValues | None = None

    def __repr__(self) -> str:
        return f"Agent({self.design.name!r} on {self.task.name!r}, t = {self.t:,})"

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy needs; the views of what it knows are made again, since they cannot be copied."""
        constant = [name for name, value in self._knowledge._asdict().items() if _is_read_only(value)]
        return {**{name: value for name, value in self.__dict__.items() if name != "_tables"}, "_constant": constant}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copy, and make its constant arrays read-only again, since copies of arrays can be written to."""
        self.__dict__.update({name: value for name, value in state.items() if name != "_constant"})
        for name in state["_constant"]:
            getattr(self._knowledge, name).flags.writeable = False
        self.knowledge = self._knowledge

    def use(self, functions: Any) -> None:
        """Replace the functions of the design by equivalent ones, such as compiled ones."""
        self._functions, self._tables = self._placed(functions), self._knowledge

    def _placed(self, functions: Any) -> Any:
        """Return functions that take the numbers of states as they are."""
        states: object = self.task.states
        return Places(functions, states) if isinstance(states, Grid) and states.is_wide else functions

    @property
    def knowledge(self) -> Any:
        """The data that the design's ``build`` returned and ``learn`` updates."""
        return self._knowledge

    @knowledge.setter
    def knowledge(self, knowledge: Any) -> None:
        self._knowledge = knowledge
        functions = getattr(self._functions, "within", self._functions)
        plain = functions is self.design  # neither guarded nor compiled
        self._tables = by_field(knowledge) if plain else knowledge  # the same numbers, for act and learn

    def act(self) -> Label:
        """Return the action for the next step.  A second call before ``observe`` returns the same action."""
        if self.pending is None:
            self.pending = self.choose()
        return self.task.actions[self.pending]

    def observe(self, observation: Label, executed: Label | None = None) -> float:
        """Learn from an observation, and return the reward in the task's own units.

        ``executed`` is the action that was really executed, if it was not the one that ``act`` returned.
        """
        action = self.pending if executed is None else self.indexed.action(executed)
        if action is None:
            raise InputError("executed", executed, "no action is pending; call act() first, or name what was executed")
        index = self.indexed.observation(observation)
        following, reward = self.indexed.step(self.situation, action, index)
        self.learn(Experience(self.situation, action, index, self.learned(reward), following))
        return reward

    def choose(self) -> int:
        """Return the index of an action that the design chooses now; each call chooses again."""
        return int(self._functions.act(self._tables, self.situation, self.upcoming, self.stream))

    def learn(self, experience: Experience) -> None:
        """Learn from one step given as indices; the caller has computed the aleatoric state and the reward."""
        self._functions.learn(self._tables, experience, self.upcoming, self.stream)
        self.situation, self.pending = experience.next_aleatoric_state, None
        self.t += 1

    def remember(self, experience: Experience) -> None:
        """Update the design's own record of the past, if it has one, without learning; t does not change."""
        if self.design.remember is not None:
            self._functions.remember(self.knowledge, experience)

    def exchange_memory(self, memory: NDArray[Any] | None = None) -> NDArray[Any] | None:
        """Return a copy of the design's own record of the past, or None; replace it by ``memory`` if that is passed."""
        if not self.design.memories:
            return None
        stored = stored_arrays(self.knowledge)
        return exchanged([stored[name] for name in self.design.memories], memory)

    def move(self, following: int) -> None:
        """Move to another aleatoric state without learning; the time stays the same."""
        if self.design.carry is not None:
            self._functions.carry(self.knowledge, self.situation, following)
        self.situation, self.pending = following, None

    @property
    def aleatoric_state(self) -> Label:
        """The aleatoric state, S_t."""
        return self.task.states[self.situation]

    @property
    def now(self) -> ScheduleValues:
        """The schedule's values at the last step, or at step 1 if no step has been taken yet."""
        return self._clock.at(max(self.t, 1))

    @property
    def upcoming(self) -> ScheduleValues:
        """The schedule's values at the next step."""
        upcoming = self._upcoming
        if upcoming is None or upcoming[0] != self.t + 1:
            upcoming = self._upcoming = self._clock.at(self.t + 1)
        return upcoming

    @property
    def policy(self) -> Table:
        """The probability of each action in each aleatoric state, if the agent acted there now."""
        if self.design.policy is None:
            raise InputError("policy", self.design.name, "this design has no policy function")
        policy: Table = self._functions.policy(self.knowledge)
        return policy

    def policy_at(self, aleatoric_state: int) -> Table:
        """Return the row of the policy for one state, for a design that has ``policy_at``."""
        return self._functions.policy_at(self.knowledge, aleatoric_state)  # type: ignore[no-any-return]

    @property
    def values(self) -> Table | None:
        """The stored table by which the agent compares actions, as a writable view.

        For the paper's agent it is Q in offset form; ``inspect()["Q"]`` has the action values.  It is None if the
        design has no ``values``.
        """
        return None if self.design.values is None else self._functions.values(self.knowledge)

    def inspect(self) -> dict[str, Table]:
        """Return named arrays that show what the agent knows: Q and N for the paper's agent.

        Examples
        --------
        >>> agent = Agent("service-station", schedule="smooth")
        >>> {name: table.tolist() for name, table in agent.inspect().items()}
        {'Q': [[2.5, 2.5], [2.5, 2.5]], 'N': [[0.0, 0.0], [0.0, 0.0]]}

        """
        return {} if self.design.inspect is None else self._functions.inspect(self.knowledge, self.now)

    def explain(self) -> str | None:
        """Return what the agent has learned as text, or None if its design has no ``explain``.

        For ``learned`` this is the tree; for ``versatile``, whether the model or the actor acts, and why.
        """
        return None if self.design.explain is None else self.design.explain(copied(self.knowledge), self.task)

    def snapshot(self) -> AgentState:
        """Return a copy of the whole agent state."""
        block, carry = self._clock.carry(max(self.t, 1))
        algorithmic = {
            "t": self.t,
            "seed": self.seed,
            "run": self.run,
            "pending": None if self.pending is None else self.task.actions[self.pending],
            "stream": [int(word) for word in words(self.stream)],
            "clock": {"block": block, **carry._asdict()},
        }
        if self.prices is not None:
            algorithmic["prices"] = self.prices.snapshot()
        epistemic = {name: array.copy() for name, array in stored_arrays(self.knowledge).items()}
        return AgentState(self.aleatoric_state, epistemic, algorithmic)

    def restore(self, state: AgentState) -> None:
        """Resume from a state that :meth:`snapshot` returned.  If it does not match, raise and change nothing."""
        if not isinstance(state, AgentState):
            raise InputError("state", state, "give what snapshot() returned; bytes are read by from_bytes()")
        check_parts(state)
        fields = stored_arrays(self.knowledge)
        shapes = {name: array.shape for name, array in fields.items()}
        if (given := {name: array.shape for name, array in state.epistemic.items()}) != shapes:
            other = OTHER_VERSION if set(given) != set(shapes) else ""
            message = f"the agent state has arrays {given}, the design {self.design.name!r} has {shapes}{other}"
            raise SnapshotError(message, part="epistemic")
        check_arrays(state.epistemic, fields)
        algorithmic = state.algorithmic
        check_algorithmic(algorithmic)
        clock = self._make_clock(algorithmic["t"], dict(algorithmic["clock"]))
        pending = algorithmic["pending"]
        situation = self.indexed.state(state.aleatoric)
        action = None if pending is None else self.indexed.action(as_label(pending))
        restore_prices(self.prices, algorithmic)
        self.pending = action
        for name, array in fields.items():
            array[...] = state.epistemic[name]
        self.situation, self._clock, self._upcoming = situation, clock, None
        self.t, self.seed, self.run = algorithmic["t"], algorithmic["seed"], algorithmic["run"]
        set_words(self.stream, np.array(algorithmic["stream"], dtype=np.uint64))

    def _make_clock(self, t: int, carried: dict[str, Any]) -> Clock:
        clock, block = Clock(self.design.schedule), carried.pop("block")
        near = (max(t, 1) - 1) // BLOCK, t // BLOCK
        if self.design.schedule is not None and block not in near:
            problem = f"the agent state has block {block} of its clock at t = {t}; it would be {near[0]}"
            raise SnapshotError(problem, part="clock")
        clock.start_at(block, Carry(**carried))
        return clock

    @cached_property
    def _features(self) -> str:
        """A hash of the features of all aleatoric states, as a built-in design sees them."""
        known = self.knowledge
        numbers = (known.parts.astype("<i8").tobytes(), known.digits.astype("<i8").tobytes(), b"%d" % known.segment)
        return hashlib.sha256(b"/".join(numbers)).hexdigest()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole agent state to a file, atomically.  Missing folders are created.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "agent.npz"
        >>> agent, resumed = Agent("service-station", seed=1), Agent("service-station")
        >>> agent.save(path); resumed.load(path)
        >>> agent.act() == resumed.act()
        True

        """
        with replacing(path) as file:
            file.write(self.to_bytes())

    def load(self, path: str | os.PathLike[str]) -> None:
        """Resume exactly from a file that :meth:`save` wrote."""
        self.from_bytes(read_file(path), os.fspath(path))

    def to_bytes(self) -> bytes:
        """Return the whole agent state as :meth:`save` writes it."""
        return pack(self.snapshot(), self.identity)

    def from_bytes(self, data: bytes, name: str = "agent state") -> None:
        """Resume from what :meth:`to_bytes` returned.  ``name`` is used in error messages."""
        state, identity = unpack(data, name)
        for key, value in self.identity.items():
            saved = _without_later(identity.get(key)) if key in _PARAMETERS else identity.get(key)
            if key == "features" and key not in identity:  # a state of an earlier version
                continue
            if saved != value:
                names = [set(each) if isinstance(each, Mapping) else set() for each in (saved, value)]
                other = OTHER_VERSION if key in _PARAMETERS and names[0] != names[1] else ""
                problem = f"it was saved with {key} {saved!r}; this agent has {value!r}{other}"
                raise SnapshotError(problem, name, part=key)
        self.restore(state)

    @property
    def identity(self) -> dict[str, Any]:
        """The properties that a saved agent state must match to be loaded.

        A parameter that was added in a later version is omitted while it has the value that reproduces the earlier
        behaviour, so that states saved by earlier versions can still be loaded.
        """
        schedule = self.design.schedule
        features = {"features": self._features} if self.design.features and not self.design.own else {}
        return {
            **features,
            "task": self.task.name,
            "actions": plain(self.task.actions),
            "observations": plain(self.task.observations),
            "states": hashlib.sha256(_described(self.task.states).encode()).hexdigest(),
            "rewards": self.task.reward.scaling,
            "design": self.design.name,
            "parameters": plain(_without_later(self.design.parameters)),
            "schedule": None if schedule is None else schedule.name,
            "schedule_parameters": None if schedule is None else plain(_without_later(schedule.parameters)),
        }


def _without_later(parameters: Any) -> Any:
    """Return parameters without those of later versions that have the values that stand for earlier versions."""
    if not isinstance(parameters, Mapping):
        return parameters
    return {name: value for name, value in parameters.items() if name not in LATER or LATER[name] != value}


def _described(labels: tuple[Label, ...]) -> str:
    """Return a text that identifies a set of labels."""
    return repr(labels) if isinstance(labels, Grid) else encode(labels)


def _is_read_only(value: Any) -> bool:
    return isinstance(value, np.ndarray) and not value.flags.writeable
