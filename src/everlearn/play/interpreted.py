"""A stream to watch that cannot be compiled: a task without a model, or an agent that Numba does not understand.

Every step is taken by the agent and the environment of the reference loop, so the stream is the run that ``el.run``
gives for the same seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from everlearn.agents.agent import Agent
from everlearn.agents.design import Design
from everlearn.agents.knowledge import copied
from everlearn.engine.curves import recording_times
from everlearn.play.stream import LONGEST, Stream, Taken, known
from everlearn.protocol import Experience, Label, ScheduleValues, Table
from everlearn.randomness import ENVIRONMENT, stream
from everlearn.tasks.task import Task


class Interpreted:
    """An agent at work on a task, from the beginning, in the reference loop.

    Examples
    --------
    >>> from everlearn.agents.registry import make_design
    >>> from everlearn.tasks.registry import make_task
    >>> watched = Interpreted(make_task("service-station"), make_design("always", {"policy": "fast"}), 1)
    >>> watched.advance(100)
    >>> watched.t, watched.total_reward
    (100, 50.5)

    """

    def __init__(self, task: Task, design: Design, seed: int) -> None:
        self.task, self.design = task, design
        self.agent = Agent(task, design, seed=seed)
        self.indexed = self.agent.indexed
        self.environment = task.start(stream(seed, 0, ENVIRONMENT))
        self.total_reward = 0.0
        self.taken: Taken | None = None
        self._times = recording_times(LONGEST)
        self._totals: list[float] = []

    @property
    def t(self) -> int:
        """How many steps were taken."""
        return self.agent.t

    @property
    def aleatoric_state(self) -> int:
        """The index of S_t."""
        return self.agent.situation

    @property
    def memory(self) -> Label | None:
        """What the environment remembers, if it is a model."""
        memory: Label | None = getattr(self.environment, "memory", None)
        return memory

    @property
    def now(self) -> ScheduleValues:
        """What the schedule said of the step last taken; of the first, before any."""
        return self.agent.now

    def advance(self, steps: int) -> None:
        """Take so many steps, or as many as are left."""
        end = min(self.t + steps, LONGEST)
        while self.t < end:
            self._step(last=self.t + 1 == end)

    def known(self, states: Sequence[int]) -> dict[str, Table]:
        """Return what the agent knows of some aleatoric states, by name."""
        return known(self.design, self.indexed, self.agent.knowledge, self.now, states)

    def recorded(self) -> tuple[list[int], list[float]]:
        """Return the times until now, and the average reward until each."""
        times, totals = self._times[: len(self._totals)].tolist(), list(self._totals)
        if self.t > 0 and (not times or times[-1] != self.t):
            times, totals = [*times, self.t], [*totals, self.total_reward]
        return times, (np.array(totals) / np.array(times)).tolist()

    def _step(self, *, last: bool) -> None:
        agent, indexed = self.agent, self.indexed
        before, s, now = copied(agent.knowledge) if last else None, agent.situation, agent.upcoming
        action = agent.act()
        observation = self.task.step(self.environment, action)
        reward = agent.observe(observation)
        self.total_reward += reward
        if self.t == self._times[len(self._totals)]:
            self._totals.append(self.total_reward)
        if before is not None:
            indices = indexed.action(action), indexed.observation(observation)
            experience = Experience(s, *indices, agent.learned(reward), agent.situation)
            rows = tuple(range(len(self.task.states)))
            self.taken = Taken(before, copied(agent.knowledge), rows, experience, now, reward)


Watched: TypeAlias = Stream | Interpreted
"""A stream that can be watched."""
