"""Agents in shadow mode with a promotion rule, in worlds whose truth is known; without a disk."""

from __future__ import annotations

from typing import Any

import numpy as np

from everlearn.analysis.promotion import entry_of, judge, question
from everlearn.durable.core import Core
from everlearn.durable.setup import make_setup
from everlearn.durable.transitions import Transitions
from everlearn.protocol import Table


class Shadowed:
    """A world with states, chances (s, a, next state), probabilities of a reward of 1 (s, a), and a controller."""

    def __init__(self, chances: Any, payoffs: Any, controller: Any, rule: dict[str, Any], seed: int = 0) -> None:
        self.chances, self.payoffs, self.controller = (np.asarray(x) for x in (chances, payoffs, controller))
        size, actions = self.payoffs.shape
        labels = [*range(size)]
        setup = make_setup(
            actions=[*range(actions)],
            observations=labels,
            aleatoric="given",
            states=labels,
            start=0,
            reward_range=(0, 1),
            seed=seed,
            promotion=rule,
        )
        self.core, self.random = Core(setup, 1), np.random.default_rng(seed)
        self.columns: list[list[float]] = [[], [], [], []]
        self.core.apply(self.core.change_mode("shadow"))

    def step(self, policy: Table | None = None) -> None:
        """Let the controller, or another policy, decide, and the rule look at its evidence if that is due."""
        core, draws = self.core, self.random.random(3)
        state = core.agent.situation
        choices = (self.controller if policy is None else policy)[state]
        action = int(np.searchsorted(choices.cumsum()[:-1], draws[0], side="right"))
        following = int(np.searchsorted(self.chances[state, action].cumsum()[:-1], draws[1], side="right"))
        reward = float(draws[2] < self.payoffs[state, action])
        core.apply(core.prepare(following, action, reward))
        for column, value in zip(self.columns, (state, action, reward, following), strict=True):
            column.append(value)
        while core.step >= core.look_at:
            asked = question(core)
            core.apply(entry_of(core, asked and judge(self.between(asked.after, asked.last), core.agent.task, asked)))

    def between(self, after: int, last: int) -> Transitions:
        """Return the transitions of the steps after one up to another."""
        states, actions, rewards, following = (np.array(column[after:last]) for column in self.columns)
        return Transitions(states, actions, following, rewards, following)

    def run(self, steps: int) -> bool:
        """Return whether the agent is promoted within a number of steps."""
        for _ in range(steps):
            self.step()
            if self.core.rule_state.promotions:
                return True
        return False

    def average(self, policy: Any) -> float:
        """Return the exact average reward of a policy."""
        policy = np.asarray(policy, dtype=float)
        matrix = np.einsum("sa,say->sy", policy, self.chances)
        size = len(matrix)
        system = np.vstack([matrix.T - np.eye(size), np.ones(size)])
        stationary = np.linalg.lstsq(system, np.append(np.zeros(size), 1.0), rcond=None)[0]
        return float(stationary @ np.sum(policy * self.payoffs, axis=1))


MACHINE = ([[[0.8, 0.2], [1.0, 0.0]], [[0.0, 1.0], [0.9, 0.1]]], [[0.9, 0.1], [0.4, 0.1]])
"""A machine that is good or worn, and is run or serviced: chances and payoffs."""

IDLE = ([[[0.6, 0.4], [0.6, 0.4]], [[0.3, 0.7], [0.3, 0.7]]], [[0.7, 0.7], [0.3, 0.3]])
"""A world in which nothing that is done makes a difference."""
