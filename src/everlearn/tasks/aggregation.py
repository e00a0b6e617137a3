"""Aggregation as a task: 2N states seen through the parity of their number."""

from __future__ import annotations

from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.state import AleatoricState
from everlearn.environments.aggregation import ACTIONS, FIRST, GAIN, LOSS, NOTHING, PENALTY, Aggregation
from everlearn.errors import require
from everlearn.tasks.portrait import Portrait
from everlearn.tasks.task import Task


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
