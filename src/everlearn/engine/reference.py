"""The reference engine: any environment and any agent, one step at a time.

It defines what a run is.  Every faster engine must give the same results.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from everlearn.agents.agent import Agent as DesignedAgent
from everlearn.engine.checkpoint import Checkpoint
from everlearn.engine.plan import Plan, Progress
from everlearn.errors import SnapshotError
from everlearn.grids import Grid
from everlearn.labels import as_label
from everlearn.protocol import Agent, AgentState, Environment, RestorableEnvironment
from everlearn.randomness import ENVIRONMENT, stream
from everlearn.tasks.indexed import IndexedTask

FIRST_CHUNK, SECONDS = 16, 0.1
"""How many steps to take before yielding for the first time, and for how long to work between later yields."""


class ReferenceLoop:
    """The loop in which an agent and an environment interact, and the sum of rewards so far.

    Examples
    --------
    >>> agent = DesignedAgent("service-station", "always", parameters={"agent.policy": "fast"}, seed=1)
    >>> loop = ReferenceLoop(agent.task.start(stream(1, 0, ENVIRONMENT)), agent, agent.indexed)
    >>> loop.advance(100)
    >>> loop.t, loop.total_reward
    (100, 50.5)

    """

    def __init__(self, environment: Environment, agent: Agent, indexed: IndexedTask) -> None:
        self.environment, self.agent, self.indexed = environment, agent, indexed
        self.t, self.total_reward, self.aleatoric_state = 0, 0.0, indexed.start
        self.latest = (0, 0)
        """The indices of the latest action and observation, after the first step."""

    def advance(self, end: int) -> None:
        """Take steps until time ``end``."""
        environment, agent, indexed = self.environment, self.agent, self.indexed
        step = indexed.task.step
        while self.t < end:
            action = agent.act()
            observation = step(environment, action)
            agent.observe(observation)
            self.latest = indexed.action(action), indexed.observation(observation)
            self.aleatoric_state, reward = indexed.step(self.aleatoric_state, *self.latest)
            self.total_reward += reward
            self.t += 1


class ReferenceBatch:
    """Runs that advance together in the reference engine, from the beginning or from a checkpoint."""

    engine = "reference"

    def __init__(self, plan: Plan, runs: Sequence[int], checkpoint: Checkpoint | None = None) -> None:
        self.plan, self.runs, self.t = plan, tuple(runs), 0
        self.agents = [DesignedAgent(plan.task, plan.design, seed=plan.seed, run=run) for run in runs]
        if isinstance(plan.task.states, Grid) and not plan.design.own:
            self._compile()
        environments = [plan.task.start(stream(plan.seed, run, ENVIRONMENT)) for run in runs]
        self.loops = [
            ReferenceLoop(environment, agent, agent.indexed)
            for environment, agent in zip(environments, self.agents, strict=True)
        ]
        self.curves = plan.blank_curves(len(runs))
        if checkpoint is not None:
            self.restore(checkpoint)

    def _compile(self) -> None:
        """Compile ``act`` and ``learn`` of agents with many features, if Numba is there."""
        try:
            from everlearn.engine.stepping import CompiledFunctions
        except ImportError:
            return
        functions = CompiledFunctions(self.plan.design)
        for agent in self.agents:
            agent.use(functions)

    def advance(self, _pool: Any = None, progress: Progress | None = None, until: int | None = None) -> Iterator[int]:
        """Advance all runs to the end, or to a time; yield the time now and then, so that the caller may stop."""
        end, chunk = until or self.plan.steps, FIRST_CHUNK
        while self.t < end:
            began, following = time.perf_counter(), min(self.t + chunk, end)
            for row in range(len(self.runs)):
                self._advance_run(row, following)
                if progress is not None:
                    progress(following - self.t)
            self.t = following
            chunk = max(1, chunk * 2 if time.perf_counter() - began < SECONDS else chunk // 2)
            yield self.t

    def _advance_run(self, row: int, end: int) -> None:
        """Advance one run to a time, and record at the recording times on the way."""
        agent, loop = self.agents[row], self.loops[row]
        for column in range(*np.searchsorted(self.plan.times, (loop.t, end), side="right")):
            loop.advance(int(self.plan.times[column]))
            self.curves.record(row, column, loop.total_reward, None if self.curves.policies is None else agent.policy)
        loop.advance(end)

    def checkpoint(self) -> Checkpoint:
        """Return a checkpoint of all runs; it is not resumable if an environment cannot be saved."""
        states = [agent.snapshot() for agent in self.agents]
        names = states[0].epistemic
        return Checkpoint(
            self.engine,
            self.t,
            self.runs,
            self.curves.until(self.t),
            {f"knowledge/{name}": np.stack([state.epistemic[name] for state in states]) for name in names},
            {},
            tuple(_describe(loop, state) for loop, state in zip(self.loops, states, strict=True)),
        )

    def restore(self, checkpoint: Checkpoint) -> None:
        """Resume from a checkpoint of the same runs."""
        self.curves.start_with(checkpoint.until(self.plan.times))
        self.t = checkpoint.t
        for row, (agent, loop, entry) in enumerate(zip(self.agents, self.loops, checkpoint.each, strict=True)):
            if entry is None or not isinstance(loop.environment, RestorableEnvironment):
                raise SnapshotError(
                    f"the environment of {self.plan.task.name!r} cannot be restored", part="environment"
                )
            aleatoric_state = as_label(entry["aleatoric"])
            epistemic = {name.partition("/")[2]: array[row] for name, array in checkpoint.arrays.items()}
            agent.restore(AgentState(aleatoric_state, epistemic, entry["algorithmic"]))
            loop.environment.restore(entry["environment"])
            loop.t, loop.total_reward = checkpoint.t, entry["total"]
            loop.aleatoric_state = loop.indexed.state(aleatoric_state)


def _describe(loop: ReferenceLoop, state: AgentState) -> dict[str, Any] | None:
    """Return the entry of one run in a checkpoint, or None if its environment cannot be saved."""
    if not isinstance(loop.environment, RestorableEnvironment):
        return None
    return {
        "aleatoric": state.aleatoric,
        "algorithmic": state.algorithmic,
        "environment": loop.environment.snapshot(),
        "total": loop.total_reward,
    }
