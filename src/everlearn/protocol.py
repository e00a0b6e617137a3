"""The few abstractions that everything else uses, in the terms of the paper (Sections 1.1 to 1.3).

An *agent* meets an *environment* E = (A, O, rho) through one endless stream of experience
A_0, O_1, A_1, O_2, ...; there are no episodes, no resets and no known duration.  The environment yields
observations and nothing else.  The agent's designer supplies what is kept of them, the *aleatoric state*
S' = f(S, A, O), and what they are worth, the *reward* R = r(S, A, O).  A *task* is an environment together
with an aleatoric state and a reward.

Four kinds of thing are named by labels, which have a canonical encoding and so can be stored: actions,
observations, memories and aleatoric states.  Inside an agent they are indices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Label: TypeAlias = "int | str | tuple[Label, ...]"
"""An action, an observation, a memory or an aleatoric state."""

History: TypeAlias = Sequence[tuple[Label, Label]]
"""H_t = (A_0, O_1, ..., A_{t-1}, O_t), as pairs of an action and the observation that followed it."""

Rho: TypeAlias = Callable[[Any, Any], Iterable[tuple[Label, float, Label]]]
"""The dynamics: from (memory, action), each possible (observation, probability, next memory)."""

Update: TypeAlias = Callable[[Any, Any, Any], Any]
"""The aleatoric state update function f(s, a, o)."""

RewardFunction: TypeAlias = Callable[[Any, Any, Any], float]
"""The reward function r(s, a, o)."""

Table: TypeAlias = NDArray[np.float64]


@runtime_checkable
class Environment(Protocol):
    """The world: it takes an action and returns an observation, forever.

    Any object with these methods is an environment.  If it also has ``snapshot()``, which returns a JSON document, and
    ``restore(snapshot)``, its runs can be saved and resumed.

    Examples
    --------
    >>> class Echo:
    ...     def start(self, rng):
    ...         pass
    ...     def step(self, action):
    ...         return action
    >>> isinstance(Echo(), Environment)
    True

    """

    def start(self, rng: np.random.Generator) -> None:
        """Begin the stream; all randomness comes from ``rng``."""

    def step(self, action: Label) -> Label:
        """Execute A_t and return O_{t+1}."""


@runtime_checkable
class RestorableEnvironment(Environment, Protocol):
    """An environment that can be saved and restored, so that a stream can be resumed."""

    def snapshot(self) -> dict[str, Any]:
        """Return the memory and the random stream as a JSON document."""

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Resume from a snapshot, exactly as if the stream had never stopped."""


@runtime_checkable
class Agent(Protocol):
    """Anything that chooses actions; ``everlearn.Agent`` runs a design."""

    def act(self) -> Label:
        """Return A_t.  If it is called again before ``observe``, it returns the same action."""

    def observe(self, observation: Label, executed: Label | None = None) -> object:
        """Learn from O_{t+1}, which followed the action ``executed``, by default the one that ``act`` returned."""


class Policy(Protocol):
    """A mapping from histories to action probabilities, pi(.|h)."""

    def __call__(self, history: History) -> Sequence[float]:
        """Return a probability for each action."""


class AgentState(NamedTuple):
    """X_t = (S_t, P_t, Z_t): everything that an agent retains (Section 1.3).

    Examples
    --------
    >>> import everlearn as el
    >>> state = el.Agent("service-station", "growing-horizon").snapshot()
    >>> state.aleatoric, sorted(state.epistemic), state.algorithmic["t"]
    (0, ['cells'], 0)

    """

    aleatoric: Label
    """S_t, the agent's situation."""
    epistemic: dict[str, NDArray[Any]]
    """P_t, what it knows of the environment; for the paper's agent Q and N."""
    algorithmic: dict[str, Any]
    """Z_t, everything that is unrelated to the environment: time, clock, random stream, pending action."""

    def __repr__(self) -> str:
        arrays = ", ".join(f"{name} {'x'.join(map(str, array.shape))}" for name, array in self.epistemic.items())
        time = self.algorithmic.get("t")
        return f"AgentState(aleatoric {self.aleatoric!r}, epistemic {arrays or 'nothing'}, t = {time})"


class ScheduleValues(NamedTuple):
    """The time t and the values of the schedule at t. All fields depend only on t.

    The paper's agent keeps its values in offset form: u = Q - c, where c = 1 + foo3(1) + ... + foo3(t) is
    what has been added to every value. ``drift`` and ``ceiling`` are the quantities derived from c that this form
    needs.  Likewise a count N is kept as N / product of foo4, and the product as ``scale * 2 ** exponent``.

    Examples
    --------
    >>> import everlearn as el
    >>> now = el.Agent("service-station", schedule="smooth").now
    >>> now.t, now.horizon, now.ceiling
    (1, 1.5, -1.0)

    """

    t: int
    """The step, from 1."""
    horizon: float
    """foo1(t), tau, the effective planning horizon."""
    discount: float
    """gamma = 1 - 1 / tau."""
    optimism: float
    """foo2(t), beta."""
    drift: float
    """c / tau."""
    ceiling: float
    """tau - c, the clip at tau in offset form."""
    scale: float
    """The mantissa, in [1, 2), of foo4(1) ... foo4(t)."""
    unscale: float
    """1 / scale."""
    exponent: float
    """The binary exponent of that product, a whole number; it decreases by 2 ** 26 if foo4 is zero."""


class Experience(NamedTuple):
    """One step as passed to ``learn``, in indices: S_t, A_t, O_{t+1}, the reward after scaling, S_{t+1}.

    Examples
    --------
    >>> Experience(aleatoric_state=0, action=1, observation=0, reward=1.0, next_aleatoric_state=1).reward
    1.0

    """

    aleatoric_state: int
    action: int
    observation: int
    reward: float
    next_aleatoric_state: int


Knowledge: TypeAlias = Any
"""A NamedTuple of arrays: the epistemic state of a design."""

Act: TypeAlias = Callable[[Knowledge, int, ScheduleValues, Any], int]
"""``act(knowledge, aleatoric_state, now, stream)`` returns the index of an action."""

Learn: TypeAlias = Callable[[Knowledge, Experience, ScheduleValues, Any], None]
"""``learn(knowledge, experience, now, stream)`` updates the arrays in place."""
