"""Turn a Gymnasium environment into a task on one endless stream.

- *Actions* are the numbers of its Discrete space.  If actions are a box, each combination of levels gets a number.
- An *observation* is a triple (point, reward, mark): the observation of the environment, with boxes discretised; the
  reward as a text, such as ``"-1"``; and ``""``, ``"terminated"`` or ``"truncated"``.
- *Episodes* follow each other without a break.  At the end of an episode the environment is reset within the same step:
  the point is the first of the next episode, the reward is the last of the episode that ended, and the mark says how it
  ended.  So the reset is an ordinary transition, which the aleatoric state can take into account.
- *The first action* is taken before anything was observed, since a stream begins with an action.  The aleatoric state
  is then ``"start"``, or the state in which every episode begins if the transition table has only one.  On a fine grid,
  it is the first point after a reset with seed 0.
- *The aleatoric state* is the point alone; use :func:`everlearn.seen_through` to choose another.
- *The reward* is that of the observation, plus ``termination_reward`` if the episode is terminated.  An environment
  that pays the same at every step, such as CartPole, leaves nothing to be learned on an endless stream unless falling
  has a cost.
- *The rewards*: there must be finitely many.  They are taken from the first of these that is available: the levels of
  ``reward_levels``; the argument ``rewards``; the transition table; a short seeded trial, which may miss some.  A
  reward that is not among them raises an error.
- *Randomness*: the environment is seeded once, from the stream of its run; later resets do not seed it again.
- *A model* is built if there is a transition table (:mod:`everlearn.adapters.transitions`).  A task without a model
  runs in the reference engine, and cannot be stopped and resumed.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any

from everlearn.adapters.boxes import Boxes
from everlearn.adapters.discretisers import Discretiser
from everlearn.adapters.fine import Observed, fine_reading
from everlearn.adapters.making import OWN, Maker, gymnasium, identity, read_options
from everlearn.adapters.rewards import CLOSE, Rewards, listed_rewards, read_numbers, read_range, rounded_rewards
from everlearn.adapters.spaces import Reading, actions_of, reading
from everlearn.adapters.stream import MARKS, TERMINATED, Beginning, label
from everlearn.adapters.transitions import MOST_OUTCOMES, Transitions, transitions
from everlearn.adapters.trials import Trial
from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.state import START, AleatoricState
from everlearn.calls import explained
from everlearn.environments.model import Model
from everlearn.errors import InputError, require
from everlearn.grids import Grid
from everlearn.labels import few
from everlearn.notices import Notice
from everlearn.protocol import Label
from everlearn.registry import convert
from everlearn.tasks.task import Task

AUTO = "auto"

MOST_OBSERVATIONS = 3_000_000
"""The largest number of observations of a task: points, rewards and marks in every combination."""


@explained("el.from_gymnasium(environment, rewards=...)")
def from_gymnasium(
    environment: str | Callable[[], Any],
    *,
    options: str | Mapping[str, Any] | None = None,
    model: bool | str = AUTO,
    time_limit: int | str | None = OWN,
    rewards: str | float | Sequence[float] | None = None,
    reward_levels: int | None = None,
    reward_range: str | Sequence[float] | None = None,
    termination_reward: float = 0.0,
    discretiser: str | Discretiser = AUTO,
    bins: int | str | Sequence[int] = 8,
    low: float | str | Sequence[float | None] | None = None,
    high: float | str | Sequence[float | None] | None = None,
    tilings: int = 4,
    trial_steps: int = 1000,
    action_levels: int = 3,
    raw: bool = False,
) -> Task:
    """Make a task from a Gymnasium environment. Its episodes are concatenated into one endless stream.

    Parameters
    ----------
    environment:
        an identifier, such as ``FrozenLake-v1``, or a function that makes an environment
    options:
        options of the Gymnasium environment: a mapping, a text such as ``is_slippery=false,map_name=8x8``, or JSON
    model:
        whether to build a model from the environment's transition table: true, false, or ``auto`` (build one if there
        is a table of manageable size)
    time_limit:
        number of steps after which an episode is truncated; ``own`` for the limit that the environment is registered
        with; None for no limit
    rewards:
        every reward that the environment pays, as in ``-1,20``; by default those in the transition table or, without a
        table, those seen in the trial, which may miss some
    reward_levels:
        instead of ``rewards``: number of levels within ``reward_range`` to which rewards are rounded
    reward_range:
        the smallest and the largest reward; by default those of ``rewards``
    termination_reward:
        added to the reward when an episode terminates; use a negative value if termination should be avoided
    discretiser:
        for boxes: ``uniform``, ``quantile``, ``tiles``, or a :class:`~everlearn.adapters.discretisers.Discretiser`;
        ``fine`` for points on a fine grid, which only agents with features can use, such as ``linear``; ``auto`` for
        ``uniform``, but ``fine`` if a box has no bounds or the task is used with an agent that has features
    bins:
        number of bins per coordinate of a box, or one number for all; a coordinate with 1 bin is ignored
    low:
        lower bound of each coordinate of a box, or one number for all; by default the box's own
    high:
        upper bound of each coordinate, or one number for all; by default the box's own
    tilings:
        the number of tilings, for ``tiles``
    trial_steps:
        number of trial steps used to estimate rewards or quantiles that are not given
    action_levels:
        number of levels per coordinate of an action, if actions are boxes
    raw:
        whether the agent learns from rewards without scaling; by default they are scaled to [0, 1].  Designs and
        schedules with ``unit=True``, such as the default agent and schedule, scale them nevertheless

    Examples
    --------
    >>> import everlearn as el
    >>> lake = from_gymnasium("FrozenLake-v1", options={"is_slippery": False})
    >>> lake.observations[3], lake.states[:3], lake.aleatoric.start
    ((0, '1', ''), (0, 1, 2), 0)
    >>> round(el.Theory(lake).optimal_average_reward * 6, 9)  # a reward of 1 every six steps
    1.0

    """
    parameters = {name: value for name, value in locals().items() if name != "environment"}
    chosen, ends, raw = read_options(options), read_range(reward_range), convert(raw, bool, "task.raw")
    number = None if reward_levels is None else convert(reward_levels, int, "task.reward_levels")
    extra = convert(termination_reward, float, "task.termination_reward")
    require(math.isfinite(extra), "task.termination_reward", extra, "give a finite number")
    require(model in (AUTO, True, False), "task.model", model, "give auto, true or false")
    maker = Maker(environment, chosen, time_limit, convert(action_levels, int, "task.action_levels"))
    trial = Trial(maker, convert(trial_steps, int, "task.trial_steps"))
    boxes = Boxes(discretiser, bins, low, high, convert(tilings, int, "task.tilings"), trial.points)
    first = maker.first()
    actions, known = actions_of(first.action_space), transitions(first)
    observed = _observed(first, boxes, trial)
    paid = _rewards(rewards, number, ends, known, trial)
    start: Label = known.starts[0][0] if isinstance(known, Transitions) and len(known.starts) == 1 else START
    is_grid = isinstance(observed.labels, Grid)
    start = observed.read(first.reset(seed=0)[0]) if is_grid else start
    states = observed.labels if is_grid else tuple(dict.fromkeys((*observed.labels, start)))
    observations = _observations(observed, paid)
    table = _usable(known, model, maker, trial)
    beginning = Beginning(maker, observed, paid, identity(first))
    first.close()
    reward = _reward(paid, ends, extra, raw)
    return GymnasiumTask(
        actions,
        observations,
        AleatoricState(start, _point, states),
        reward,
        None if table is None else _model(table, actions, observations, paid),
        None if table is not None else beginning,
        name=f"gymnasium:{maker.name}",
        summary=_summary(maker, paid),
        source=f"Gymnasium {gymnasium(maker.name).__version__}",
        parameters=parameters,
        beginning=beginning,
        origin=Origin(parameters, reward),
    )


@dataclass(frozen=True, eq=False)
class Origin:
    """How a task was made from an environment: with which arguments, and its reward, which may have been replaced."""

    arguments: Mapping[str, Any]
    reward: Reward


@dataclass(frozen=True, repr=False)
class GymnasiumTask(Task):
    """The task of a Gymnasium environment, which can also label what the environment returns.

    Examples
    --------
    >>> from_gymnasium("FrozenLake-v1").label(14, 0.0, False, False)
    (14, '0', '')

    """

    beginning: Beginning = field(kw_only=True)
    origin: Origin = field(kw_only=True)

    @cached_property
    def fine(self) -> Task:
        """The same task on a fine grid, unless the user chose a discretiser, an aleatoric state or a reward."""
        origin = self.origin
        automatic = isinstance(chosen := origin.arguments["discretiser"], str) and chosen == AUTO
        replaced = self.aleatoric.update is not _point or self.reward.function is not origin.reward.function
        if not automatic or replaced or self.model is not None or isinstance(self.states, Grid):
            return self
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it was warned when this task was made
            task = from_gymnasium(self.beginning.maker.environment, **{**origin.arguments, "discretiser": "fine"})
        parameters = {**self.parameters, "discretiser": "fine"}
        return replace(task, name=self.name, features=self.features, parameters=parameters)

    def label(self, point: Any, reward: float, terminated: bool, truncated: bool) -> Label:
        """Return the observation to pass to an agent, from what ``step`` of the environment returned.

        At the end of an episode ``point`` is what ``reset`` returned after it.
        """
        return label(self.beginning.observed, self.beginning.rewards, point, reward, terminated, truncated)


def _point(_aleatoric_state: Label, _action: Label, observation: Any) -> Label:
    point: Label = observation[0]
    return point


def _observed(environment: Any, boxes: Boxes, trial: Trial) -> Reading:
    """Return how points are read: on a fine grid if that was chosen, or if boxes without bounds leave no other way."""
    space = environment.observation_space
    if boxes.kind == "fine":
        return fine_reading(space, trial.points)
    if boxes.kind != AUTO:
        return reading(space, boxes.discretiser)
    try:
        return reading(space, replace(boxes, kind="uniform").discretiser)
    except InputError:
        if (boxes.bins, boxes.low, boxes.high) != (8, None, None):
            raise
        return fine_reading(space, trial.points)


def _observations(observed: Reading, paid: Rewards) -> tuple[Label, ...]:
    if isinstance(observed.labels, Grid):
        return Observed(observed.labels, paid)  # type: ignore[return-value]  # it is used as a tuple
    number = len(observed.labels) * len(paid.texts) * len(MARKS)
    remedy = f"give fewer bins or reward levels, for at most {MOST_OBSERVATIONS:,}"
    require(number <= MOST_OBSERVATIONS, "number of observations", number, remedy)
    return tuple(product(observed.labels, paid.texts, MARKS))


def _rewards(
    given: str | float | Sequence[float] | None,
    number: int | None,
    ends: tuple[float, float] | None,
    known: Transitions | str,
    trial: Trial,
) -> Rewards:
    if number is not None:
        require(given is None, "task.rewards", given, "are either listed or rounded; leave out task.reward_levels")
        if ends is None:
            raise InputError("task.reward_range", ends, "give the ends between which rewards are rounded, as in -1,1")
        return rounded_rewards(number, *ends)
    if given is not None:
        paid = listed_rewards(read_numbers(given, "task.rewards") or [])
    else:
        paid = listed_rewards(known.rewards) if isinstance(known, Transitions) else trial.rewards()
    inside = ends is None or ends[0] <= paid.values[0] <= paid.values[-1] <= ends[1]
    require(inside, "task.reward_range", ends, f"must contain every reward: {few(paid.texts)}; widen it")
    return paid


def _reward(paid: Rewards, ends: tuple[float, float] | None, extra: float, raw: bool) -> Reward:
    worth = dict(paid.paid)

    def reward(_aleatoric_state: Label, _action: Label, observation: Any) -> float:
        return worth[observation[1]] + (extra if observation[2] == TERMINATED else 0.0)

    low, high = ends or (paid.values[0], paid.values[-1])
    low, high = low + min(extra, 0.0), high + max(extra, 0.0)
    wider = max(low + 1, low + abs(low) * CLOSE)  # adding 1 to 1e17 would change nothing
    return Reward(reward, low, high if low < high else wider, raw)


class ModelWarning(Notice):
    """An environment runs without the model that it could have had; ``reason`` says why."""

    def __init__(self, environment: str, reason: str) -> None:
        self.environment, self.reason = environment, reason
        super().__init__(f"{environment} {reason}; running without a model, which is slower")


def _usable(known: Transitions | str, model: bool | str, maker: Maker, trial: Trial) -> Transitions | None:
    """Return the transition table if a model should be built from it; raise if a model was demanded and cannot be."""
    if model is False:
        return None
    if isinstance(known, Transitions):
        why = _too_large(known) or known.contradiction(trial)
        if why is None:
            return known
        if model == AUTO:
            warnings.warn(ModelWarning(maker.name, why), stacklevel=3)
    else:
        why = known
    if model is True:
        raise InputError("task.model", True, f"{maker.name} {why}; give auto or false")
    return None


def _too_large(known: Transitions) -> str | None:
    if (size := known.size) <= MOST_OUTCOMES:
        return None
    shorter = "task.time_limit=none makes a smaller one" if known.limit else "make a smaller environment"
    return f"has a table of {size:,} outcomes, more than {MOST_OUTCOMES:,} ({shorter})"


def _model(known: Transitions, actions: tuple[Label, ...], observations: tuple[Label, ...], paid: Rewards) -> Model:
    def rho(memory: Any, action: Any) -> Iterator[tuple[Label, float, Label]]:
        return known.outcomes(memory, action, paid)

    return Model(actions, observations, known.first, rho)


def _summary(maker: Maker, paid: Rewards) -> str:
    rounded = f"; rewards are rounded, by at most {paid.error:g}" if paid.error else ""
    tried = f"; rewards found in a trial: {few(paid.texts)}" if paid.tried else ""
    return f"{maker.name} of Gymnasium, its episodes on one endless stream{rounded}{tried}"
