"""The reference loop: any environment, any agent, one step after the other.

It is the definition of what a run is, and the oracle for every faster way to run one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from everlearn.protocol import Agent, Environment
from everlearn.tasks.interface import Interface


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
    t, total, aleatoric_state = 0, 0.0, interface.start
    for time in times:
        while t < time:
            action = agent.act()
            observation = environment.step(action)
            agent.observe(observation)
            indices = interface.action(action), interface.observation(observation)
            aleatoric_state, reward = interface.step(aleatoric_state, *indices)
            total += reward
            t += 1
        yield Record(t, total)
