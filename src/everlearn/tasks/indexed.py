"""Tasks in indices, which agents and loops use; users use labels."""

from __future__ import annotations

from everlearn.errors import AleatoricStateError, LabelError, ObservationError
from everlearn.grids import Grid, Numbers, Unread, size_of
from everlearn.labels import counted, few
from everlearn.protocol import Label
from everlearn.tasks.registry import make_task

REMEMBERED_TRANSITIONS = 1_000_000
"""The largest number of cached values of f and r; others are evaluated again."""


class IndexedTask:
    """A task with labels mapped to indices. It evaluates f and r on indices; the values are checked once and cached.

    Examples
    --------
    >>> from everlearn.tasks.service_station import service_station
    >>> station = IndexedTask(service_station())
    >>> station.states, station.actions, station.observations
    (2, 2, 4)
    >>> station.step(station.start, station.action("fast"), station.observation("arrival"))
    (1, 1.0)

    """

    def __init__(self, given: object) -> None:
        self.task = task = make_task(given)
        self.states = size_of(task.states)
        self.actions = len(task.actions)
        self.observations = size_of(task.observations)
        self._state, self._action = Numbers(task.states), Numbers(task.actions)
        self._observation = Numbers(task.observations)
        points = isinstance(task.states, Grid) or isinstance(task.observations, Grid)
        self._most = 0 if points else REMEMBERED_TRANSITIONS  # points hardly ever recur
        self._transitions: dict[tuple[int, int, int], tuple[int, float]] = {}
        self.start = self._state[task.aleatoric.start]

    def __repr__(self) -> str:
        numbers = [(self.states, "aleatoric state"), (self.actions, "action"), (self.observations, "observation")]
        return f"IndexedTask({self.task.name!r}: {', '.join(counted(*each) for each in numbers)})"

    def action(self, label: Label, argument: str = "action") -> int:
        """Return the index of an action; ``argument`` is the name by which a user passed it."""
        try:
            return self._action[label]
        except (KeyError, TypeError):
            raise LabelError(argument, label, f"known: {few(self.task.actions)}") from None

    def observation(self, label: Label) -> int:
        """Return the index of an observation."""
        try:
            return self._observation[label]
        except Unread as error:
            raise ObservationError("observation", label, error.args[0]) from None
        except (KeyError, TypeError):
            alone = "; return the observation alone" if isinstance(label, tuple) and len(label) in (4, 5) else ""
            raise ObservationError("observation", label, f"declared: {few(self.task.observations)}{alone}") from None

    def state(self, label: Label) -> int:
        """Return the index of an aleatoric state."""
        try:
            return self._state[label]
        except Unread as error:
            raise AleatoricStateError("aleatoric state", label, error.args[0]) from None
        except (KeyError, TypeError):
            raise AleatoricStateError("aleatoric state", label, f"known: {few(self.task.states)}") from None

    def step(self, aleatoric_state: int, action: int, observation: int) -> tuple[int, float]:
        """Return f(s, a, o), and r(s, a, o) in the task's own units."""
        key = (aleatoric_state, action, observation)
        if (transition := self._transitions.get(key)) is None:
            transition = self._evaluate(*key)
            if len(self._transitions) < self._most:
                self._transitions[key] = transition
        return transition

    def _evaluate(self, aleatoric_state: int, action: int, observation: int) -> tuple[int, float]:
        task = self.task
        labels = task.states[aleatoric_state], task.actions[action], task.observations[observation]
        grid = isinstance(task.states, Grid)
        following = task.aleatoric.pure(*labels) if grid else task.aleatoric.follow(*labels)
        try:
            return self._state[following], task.reward(*labels)
        except Unread as error:
            raise AleatoricStateError(f"aleatoric state after {labels!r}", following, error.args[0]) from None
        except KeyError:
            remedy = f"f left the set of aleatoric states: {few(task.states)}; add it to states="
            raise AleatoricStateError(f"aleatoric state after {labels!r}", following, remedy) from None
