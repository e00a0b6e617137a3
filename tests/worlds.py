"""Small worlds and streams that tests share."""

from __future__ import annotations

import numpy as np

import everlearn as el
from everlearn.tasks.define import Definition


def stream(seed: int, run: int, whose: int) -> np.random.Generator:
    """The stream of a run's environment (0) or agent (1), as the documentation says it is made."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(run, whose))))


def environment_stream(seed: int = 0, run: int = 0) -> np.random.Generator:
    return stream(seed, run, 0)


def agent_stream(seed: int = 0, run: int = 0) -> np.random.Generator:
    return stream(seed, run, 1)


def random_mdp(seed: int, states: int = 3, actions: int = 3, scale: float = 1.0, low: float = 0.0) -> el.Task:
    """A Markov decision process with random rows, and random rewards from ``low`` to ``low + scale``."""
    random = np.random.default_rng(seed)
    P = random.dirichlet(np.ones(states), size=(actions, states))
    R = low + scale * random.random((states, actions))
    return el.mdp(P, R, reward_range=(low, low + scale), name=f"random-{seed}")


def corridor() -> el.Task:
    """Two actions that do the same: from 0 to 1 for nothing, and back for a reward of 1."""
    there_and_back = [[0.0, 1.0], [1.0, 0.0]]
    return el.mdp([there_and_back, there_and_back], [[0, 0], [1, 1]], reward_range=(0, 1), name="corridor")


def shop() -> Definition:
    """The shop of the documentation."""

    @el.task(actions=["slow", "fast"], observations=["idle", "busy"], reward_range=(-0.5, 1), memory=0)
    def serve(memory, action):
        """Serve whoever comes."""
        p = 0.9 if action == "fast" else 0.4
        yield "busy", p, 1
        yield "idle", 1 - p, 0

    @serve.reward
    def profit(s, action, observation):
        return (observation == "busy") - 0.5 * (action == "fast")

    return serve


class Pendulum:
    """An environment without a model: it swings, and now and then a gust holds it back."""

    def start(self, rng):
        self.rng, self.side = rng, 0

    def step(self, action):
        self.side = 1 - self.side if self.rng.random() < 0.9 else self.side
        return ("left", "right")[self.side]


def pendulum() -> Definition:
    """A task whose dynamics are not known."""
    swing = el.task(actions=["push", "wait"], observations=["left", "right"], name="pendulum")(Pendulum)
    swing.reward(lambda s, action, observation: float(observation == "right"))
    return swing
