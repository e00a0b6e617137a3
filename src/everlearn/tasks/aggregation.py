"""The aggregation environment of Appendix D, adapted there from Van Roy (2006): 2N states, two of which matter.

At each step the system resets with probability epsilon_1: the next state is then uniform over 1, ..., 2N.  Otherwise it
goes from 3, 5, ..., 2N - 1 to 1 and from 4, 6, ..., 2N to 2; from 1 to 2 with probability epsilon_2, else it stays; and
from 2 to 1 under action 1, to 2 under action 2.

Interpretation.  As printed, rho(1 | o, a) and rho(2 | o, a) are 0 where a reset still reaches 1 and 2 with probability
epsilon_1 / 2N, so that rows do not sum to one; here that probability is included.  The reward is a function of the
state that is left and the action, and states that share an aleatoric state pay differently.  So it is not a function of
(s, a, o) if o is the next state alone: here the observation is the next state together with what was paid.  The paper
does not say where the stream begins: here in state 1.

As a task: 2N states seen through the parity of their number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.state import AleatoricState
from everlearn.environments.model import Model
from everlearn.errors import require
from everlearn.protocol import Table
from everlearn.tasks.portrait import Portrait
from everlearn.tasks.task import Task

ACTIONS = (1, 2)
NOTHING, GAIN, LOSS, PENALTY = "nothing", "gain", "loss", "penalty"
PAYMENTS = (NOTHING, GAIN, LOSS, PENALTY)
FIRST = 1
"""The state in which the stream begins."""


@dataclass(frozen=True)
class Aggregation:
    """The constants N, epsilon_1 and epsilon_2, and the dynamics.  A memory is the state.

    Examples
    --------
    >>> small = Aggregation(half=2)
    >>> small.transitions()[1].sum(axis=1).tolist()
    [1.0, 1.0, 1.0, 1.0]
    >>> small.paid(2, 2), small.paid(3, 1), small.paid(4, 1)
    ('penalty', 'loss', 'gain')

    """

    half: int = 50
    reset: float = 0.1
    slip: float = 0.1

    def __post_init__(self) -> None:
        require(self.half >= 2, "half", self.half, "give at least 2")
        require(0 < self.reset < 1, "reset", self.reset, "give a probability between 0 and 1")
        require(0 <= self.slip <= 1, "slip", self.slip, "give a probability")

    @property
    def states(self) -> range:
        """1, ..., 2N."""
        return range(1, 2 * self.half + 1)

    def paid(self, state: int, action: int) -> str:
        """Return the kind of payment of a step."""
        if state % 2 == 1:
            return LOSS if state > 1 else NOTHING
        if action == 2:
            return PENALTY
        return GAIN if state > 2 else NOTHING

    def without_reset(self, state: int, action: int) -> dict[int, float]:
        """Return the law of the next state, given that the system does not reset."""
        if state == 1:
            return {1: 1 - self.slip, 2: self.slip}
        if state == 2:
            return {action: 1.0}
        return {2 - state % 2: 1.0}

    def transitions(self) -> Table:
        """Return the probabilities of next states, by action and state."""
        P = np.full((len(ACTIONS), len(self.states), len(self.states)), self.reset / len(self.states))
        for a, action in enumerate(ACTIONS):
            for state in self.states:
                for following, probability in self.without_reset(state, action).items():
                    P[a, state - 1, following - 1] += (1 - self.reset) * probability
        return P

    def model(self) -> Model:
        """Return the environment, in state 1."""
        observations = tuple((state, paid) for state in self.states for paid in PAYMENTS)
        return Model(ACTIONS, observations, FIRST, self._rho)

    def _rho(self, state: int, action: int) -> Iterator[tuple[tuple[int, str], float, int]]:
        law, paid = self.without_reset(state, action), self.paid(state, action)
        for following in self.states:
            share = self.reset / len(self.states) + (1 - self.reset) * law.get(following, 0.0)
            yield (following, paid), share, following


def aggregation(
    *, half: int = 50, reset: float = 0.1, slip: float = 0.1, gain: float = 0.1, penalty: float = 0.5
) -> Task:
    """Act knowing only if the state is odd or even; fitted value iteration may choose the worst policy (Appendix D).

    Parameters
    ----------
    half:
        N, half the number of states
    reset:
        epsilon_1
    slip:
        epsilon_2
    gain:
        delta
    penalty:
        kappa

    Examples
    --------
    >>> import everlearn as el
    >>> theory = el.Theory(aggregation(half=3))
    >>> abs(theory.optimal_average_reward) < 1e-9, round(theory.distortion(10).value, 9)
    (True, 0.1)

    """
    parameters = dict(locals())
    require(gain > 0, "gain", gain, "give a positive number")
    require(penalty > 0, "penalty", penalty, "give a positive number")
    model = Aggregation(half, reset, slip).model()
    paid = {NOTHING: 0.0, GAIN: gain, LOSS: -gain, PENALTY: -penalty}

    def reward(_aleatoric_state: int, _action: int, observation: tuple[int, str]) -> float:
        return paid[observation[1]]

    return Task(
        ACTIONS,
        model.observations,
        AleatoricState(parity(FIRST), _update, (1, 2)),
        Reward(reward, -max(gain, penalty), gain),
        model,
        name="aggregation",
        summary="2N states seen through their parity (Appendix D)",
        portrait=Portrait(
            "Two groups of places look alike, and the move that pays in one costs in the other.", "looks like {}"
        ),
        source="Dong, Van Roy and Zhou (2022), Appendix D, after Van Roy (2006)",
        parameters=parameters,
        references={"optimum": 0.0},
    )


def parity(state: int) -> int:
    """Return phi: 1 for odd states, 2 for even ones."""
    return 2 - state % 2


def _update(_aleatoric_state: int, _action: int, observation: tuple[int, str]) -> int:
    return parity(observation[0])
