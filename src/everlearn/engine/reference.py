"""The reference loop: any environment, any agent, one step after the other.

It is the definition of what a run is, and the oracle for every faster way to run one.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from everlearn.agents.agent import Agent as DesignedAgent
from everlearn.engine.checkpoint import Checkpoint, recorded
from everlearn.engine.plan import Finished, Plan, Progress, recorded_policies
from everlearn.errors import SnapshotError
from everlearn.labels import as_label
from everlearn.protocol import Agent, AgentState, Environment, RestorableEnvironment
from everlearn.randomness import ENVIRONMENT, stream
from everlearn.tasks.interface import Interface

CHUNK, SECONDS = 16, 0.1
"""Steps between two looks at the clock at first, then as many as take so long: a step may take any time."""


class Record(NamedTuple):
    """What is kept of a run at a time: the sum of all rewards until then, in the task's own units."""

    t: int
    total_reward: float

    @property
    def average_reward(self) -> float:
        """The cumulative average reward."""
        return self.total_reward / self.t


def reference_loop(
    environment: Environment, agent: Agent, interface: Interface, times: Iterable[int]
) -> Iterator[Record]:
    """Let agent and environment meet, and yield a record at each of the times, in order.

    Examples
    --------
    >>> from everlearn.agents.agent import Agent
    >>> from everlearn.randomness import ENVIRONMENT, stream
    >>> agent = Agent("service-station", "always", parameters={"agent.policy": "fast"}, seed=1)
    >>> environment = agent.task.start(stream(1, 0, ENVIRONMENT))
    >>> list(reference_loop(environment, agent, agent.interface, [1, 100]))
    [Record(t=1, total_reward=1.0), Record(t=100, total_reward=50.5)]

    """
    stream = Stream(environment, agent, interface)
    for end in times:
        stream.advance(end)
        yield Record(stream.t, stream.total_reward)


class Stream:
    """One stream of experience: an agent and an environment that have met, and how much reward there was."""

    def __init__(self, environment: Environment, agent: Agent, interface: Interface) -> None:
        self.environment, self.agent, self.interface = environment, agent, interface
        self.t, self.total_reward, self.aleatoric_state = 0, 0.0, interface.start

    def advance(self, time: int) -> None:
        """Go on until a time."""
        environment, agent, interface = self.environment, self.agent, self.interface
        step = interface.task.step
        while self.t < time:
            action = agent.act()
            observation = step(environment, action)
            agent.observe(observation)
            indices = interface.action(action), interface.observation(observation)
            self.aleatoric_state, reward = interface.step(self.aleatoric_state, *indices)
            self.total_reward += reward
            self.t += 1


class ReferenceBatch:
    """Runs that go through time together in the reference loop, from the beginning or from their checkpoint."""

    engine = "reference"

    def __init__(self, plan: Plan, runs: Sequence[int], checkpoint: Checkpoint | None = None) -> None:
        self.plan, self.runs, self.t = plan, tuple(runs), 0
        self.streams = [self._stream(run) for run in runs]
        self.totals = np.zeros((len(runs), plan.times.size))
        self.policies = recorded_policies(plan, len(runs))
        if checkpoint is not None:
            self._put(checkpoint)

    def advance(self, _pool: Any = None, progress: Progress | None = None, until: int | None = None) -> Iterator[int]:
        """Advance all runs to the end, or to a time, yielding the time now and then; they may be left there."""
        end, chunk = until or self.plan.steps, CHUNK
        while self.t < end:
            began, following = time.perf_counter(), min(self.t + chunk, end)
            for row, one in enumerate(self.streams):
                self._through(row, one, following)
                if progress is not None:
                    progress(following - self.t)
            self.t = following
            chunk = max(1, chunk * 2 if time.perf_counter() - began < SECONDS else chunk // 2)
            yield self.t

    def checkpoint(self) -> Checkpoint:
        """Return the whole checkpoint of all runs; one that cannot go on, where an environment cannot be saved."""
        past = recorded(self.plan, self.t)
        states = [_agent(one).take() for one in self.streams]
        return Checkpoint(
            self.engine,
            self.t,
            self.runs,
            self.plan.times[past],
            self.totals[:, past].copy(),
            None if self.policies is None else self.policies[:, past].copy(),
            {f"knowledge/{name}": np.stack([one.epistemic[name] for one in states]) for name in states[0].epistemic},
            {},
            tuple(_taken(one, state) for one, state in zip(self.streams, states, strict=True)),
        )

    def finished(self) -> Iterator[Finished]:
        """Yield every run, with what was recorded of it."""
        for row, run in enumerate(self.runs):
            yield Finished(run, self.totals[row], None if self.policies is None else self.policies[row])

    def _stream(self, run: int) -> Stream:
        agent = DesignedAgent(self.plan.task, self.plan.design, seed=self.plan.seed, run=run)
        environment = self.plan.task.start(stream(self.plan.seed, run, ENVIRONMENT))
        return Stream(environment, agent, agent.interface)

    def _through(self, row: int, one: Stream, end: int) -> None:
        """Advance a run to a time, and record at the times that lie before."""
        for column in range(*np.searchsorted(self.plan.times, (self.t, end), side="right")):
            one.advance(int(self.plan.times[column]))
            self.totals[row, column] = one.total_reward
            if self.policies is not None:
                self.policies[row, column] = _agent(one).policy
        one.advance(end)

    def _put(self, checkpoint: Checkpoint) -> None:
        totals, policies = checkpoint.until(self.plan.times)
        self.t = checkpoint.t
        self.totals[:, : totals.shape[1]] = totals
        if self.policies is not None and policies is not None:
            self.policies[:, : totals.shape[1]] = policies
        for row, (one, noted) in enumerate(zip(self.streams, checkpoint.each, strict=True)):
            if noted is None or not isinstance(one.environment, RestorableEnvironment):
                raise SnapshotError(f"the environment of {self.plan.task.name!r} cannot be restored")
            epistemic = {name.partition("/")[2]: array[row] for name, array in checkpoint.arrays.items()}
            _agent(one).put(AgentState(as_label(noted["aleatoric"]), epistemic, noted["algorithmic"]))
            one.environment.restore(noted["environment"])
            one.t, one.total_reward = checkpoint.t, noted["total"]
            one.aleatoric_state = one.interface.state(as_label(noted["aleatoric"]))


def _agent(one: Stream) -> DesignedAgent:
    agent: Any = one.agent
    return agent  # type: ignore[no-any-return]  # a batch made it


def _taken(one: Stream, state: AgentState) -> dict[str, Any] | None:
    if not isinstance(one.environment, RestorableEnvironment):
        return None
    return {
        "aleatoric": state.aleatoric,
        "algorithmic": state.algorithmic,
        "environment": one.environment.snapshot(),
        "total": one.total_reward,
    }
