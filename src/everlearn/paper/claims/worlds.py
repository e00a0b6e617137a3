"""Small worlds on which claims are checked, most of them counterexamples of docs/paper.md."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.state import AleatoricState
from everlearn.environments.model import Model
from everlearn.protocol import Table
from everlearn.tasks.arrays import mdp
from everlearn.tasks.garnet import garnet
from everlearn.tasks.task import Task

P = np.array([[[0.8, 0.2], [0.3, 0.7]], [[0.2, 0.8], [0.9, 0.1]]])
R = np.array([[0.2, 0.0], [0.6, 1.0]])
"""The world of the lemmas of Appendix C.3: two states and two actions."""

_FORGET = AleatoricState(0, lambda _s, _a, _o: 0, (0,))


def hidden_rewards(distortion: float) -> Table:
    """Return the reward by state x, bit b and action a: (1 - d) R(x, a) + d if a = b."""
    return np.array([[(1 - distortion) * R[x] + distortion * np.eye(2)[b] for b in (0, 1)] for x in (0, 1)])


def hidden_bit(distortion: float) -> Task:
    """Return that world with a bit that the aleatoric state hides: a fair coin, which pays d for the action it names.

    Optimal values differ by d between the two sides of the coin, at every horizon; so the distortion is d.
    """
    paid = hidden_rewards(distortion)

    def outcomes(memory: tuple[int, int], action: int) -> Iterator[tuple[Any, float, tuple[int, int]]]:
        x, b = memory
        for following, coin in product((0, 1), (0, 1)):
            yield (following, coin, int(action == b)), P[action, x, following] / 2, (following, coin)

    labels = (0, 1), tuple(product((0, 1), (0, 1), (0, 1)))
    aleatoric = AleatoricState(0, lambda _s, _a, o: o[0], (0, 1))
    reward = Reward(lambda s, a, o: float(paid[s, a if o[2] else 1 - a, a]))
    name = f"hidden bit, distortion {distortion:g}"
    return Task(*labels, aleatoric, reward, Model(*labels, (0, 0), outcomes), name=name)


def grouped_garnet(unlike: float) -> Task:
    """Return a random world of two groups of two memories, which differ by a share ``unlike`` of what follows them."""
    return garnet(states=2, actions=2, branching=2, group=2, distortion=unlike, seed=2)


def coins() -> Task:
    """Return a choice between two coins, one aleatoric state: no distortion, and every policy averages at once."""

    def toss(_memory: int, action: str) -> Iterator[tuple[str, float, int]]:
        chance = 0.7 if action == "right" else 0.3
        yield "heads", chance, 0
        yield "tails", 1 - chance, 0

    labels = ("left", "right"), ("tails", "heads")
    return Task(*labels, _FORGET, Reward(lambda _s, _a, o: float(o == "heads")), Model(*labels, 0, toss), name="coins")


def trap() -> Task:
    """Return a world in which planning over one step loses 0.4 per step, close to what the bound allows for it.

    Taking pays 0.1 and stays; waiting pays nothing and leads to a state that pays 0.5 until the agent takes.
    """
    moves = [[[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]]
    return mdp(moves, [[0.1, 0.0], [0.5, 0.5]], reward_range=(0, 1), start=0, name="trap", actions=("take", "wait"))


def turns() -> Task:
    """Return a clock with one aleatoric state, which pays 1 and 0 in turn whatever the agent does."""

    def tick(memory: int, _action: str) -> Iterator[tuple[int, float, int]]:
        yield memory, 1.0, 1 - memory

    return Task(("wait",), (0, 1), _FORGET, Reward(lambda _s, _a, o: float(o)), Model(("wait",), (0, 1), 1, tick))


def pulses() -> Task:
    """Return a clock of three phases that pays 3, 0, 3 or 2, 2, 2 quarters, as a coin decides (E3).

    The aleatoric state shows the coin after the first phase.  Before, the two patterns differ by (1 - gamma)^2 / 4 in
    value, so that the distortion times the horizon falls as the horizon grows.
    """
    patterns = ((3, 0, 3), (2, 2, 2))

    def tick(memory: tuple[int, int], _action: str) -> Iterator[tuple[Any, float, tuple[int, int]]]:
        pattern, phase = memory
        paid = patterns[pattern][phase]
        for coin in (0, 1) if phase == 2 else (pattern,):
            yield (paid, coin, (phase + 1) % 3), 0.5 if phase == 2 else 1.0, (coin, (phase + 1) % 3)

    states = (0, (0, 1), (0, 2), (1, 1), (1, 2))
    shown = AleatoricState(0, lambda _s, _a, o: (o[1], o[2]) if o[2] else 0, states)
    labels = ("wait",), tuple(product((0, 2, 3), (0, 1), (0, 1, 2)))
    return Task(*labels, shown, Reward(lambda _s, _a, o: o[0] / 4), Model(*labels, (0, 0), tick), name="pulses")


def naming(actions: int, pays: float = 1.0) -> Task:
    """Return the example of E5: each observation names an action, which pays now; one aleatoric state.

    The distortion is what it pays, at every horizon, and an agent that sees aleatoric states only loses 1 - 1/N of it.
    """
    labels = tuple(range(actions)), tuple(product(range(actions), (0, 1)))

    def outcomes(memory: int, action: int) -> Iterator[tuple[Any, float, int]]:
        for following in range(actions):
            yield (following, int(action == memory)), 1 / actions, following

    return Task(*labels, _FORGET, Reward(lambda _s, _a, o: pays * o[1]), Model(*labels, 0, outcomes), name="naming")


def unattained() -> Task:
    """Return the example of E6: "b" pays nothing and leads from 0 to 1, "a" changes nothing and pays 1 in 1 only."""

    def outcomes(memory: int, action: str) -> Iterator[tuple[int, float, int]]:
        yield int(action == "a" and memory == 1), 1.0, 1 if action == "b" else memory

    labels = ("a", "b"), (0, 1)
    return Task(*labels, _FORGET, Reward(lambda _s, _a, o: float(o)), Model(*labels, 0, outcomes), name="unattained")
