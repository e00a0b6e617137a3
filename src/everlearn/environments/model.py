"""Model environments: the dynamics rho are known, as one pure function over a memory (Section 1.1).

A *memory* is a sufficient statistic of history: rho(o | h, a) depends on h through it alone, and the next memory
is a function of (memory, action, observation).  One definition serves sampling, exact theory and compilation.

A *hidden* memory is not determined by the history: the same observation may lead to several memories, as in a partially
observable Markov decision process.  The history then gives a *belief*, a probability for each memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from everlearn.environments.pure import Pure, as_number
from everlearn.errors import LabelError, ObservationError, ProbabilityError, TaskError, require
from everlearn.grids import Grid
from everlearn.labels import as_label, check_label, check_labels, counted, few, is_label
from everlearn.protocol import History, Label, Rho
from everlearn.randomness import set_words, uniform, words

SUM_TOLERANCE = 1e-9
"""The largest error of a sum of probabilities: rounding errors are far smaller, and mistakes far larger."""

MOST_OUTCOMES = 1_000_000
"""The largest number of outcomes of a memory and an action; with more, rho is assumed to never stop yielding."""

REMEMBERED_ROWS = 200_000
"""How many checked rows an environment keeps; beyond that it evaluates rho again."""

YIELD = "yield (observation, probability, next memory)"

DRAWN: Label = ("drawn",)
"""The memory of the empty history if the first memory is drawn; the first step draws it, and what follows it."""


class Outcome(NamedTuple):
    """A possible outcome of (memory, action)."""

    observation: Label
    probability: float
    memory: Label


@dataclass(frozen=True, repr=False)
class Model:
    """An environment E = (A, O, rho) whose probabilities are known, with its initial memory.

    Parameters
    ----------
    actions:
        the labels of A
    observations:
        the labels of O
    memory:
        the initial memory, or, with ``hidden=True``, a mapping from memories to probabilities from which
        it is drawn
    rho:
        function of (memory, action) that yields every possible (observation, probability, next memory)
    hidden:
        whether the same observation may lead to several memories; if not, the memory, the action and the observation
        must determine the next memory
    first:
        do not pass this: it is computed from ``memory``; if the initial memory is drawn, it is its distribution,
        otherwise it is empty

    Examples
    --------
    >>> def coin(memory, action):
    ...     yield "heads", 0.5, 0
    ...     yield "tails", 0.5, 0
    >>> model = Model(("toss",), ("heads", "tails"), 0, coin)
    >>> model.outcomes(0, "toss")[1]
    Outcome(observation='tails', probability=0.5, memory=0)

    A coin that is fair or not, which cannot be seen:

    >>> def doubtful(memory, action):
    ...     yield "heads", 0.5 if memory == "fair" else 0.9, memory
    ...     yield "tails", 0.5 if memory == "fair" else 0.1, memory
    >>> model = Model(("toss",), ("heads", "tails"), {"fair": 0.5, "false": 0.5}, doubtful, hidden=True)
    >>> {memory: round(p, 3) for memory, p in model.belief([("toss", "heads")]).items()}
    {'fair': 0.357, 'false': 0.643}

    """

    actions: tuple[Label, ...]
    observations: tuple[Label, ...]
    memory: Label
    rho: Rho
    hidden: bool = False
    first: tuple[tuple[Label, float], ...] = ()
    """The distribution of the first memory, if it is drawn; it is read from ``memory``."""
    _observed: frozenset[Label] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "actions", check_labels(self.actions, "actions"))
        object.__setattr__(self, "observations", check_labels(self.observations, "observations"))
        require(isinstance(self.hidden, bool), "hidden", self.hidden, "give True or False")
        if isinstance(self.memory, Mapping):
            object.__setattr__(self, "first", _distribution(self.memory, self.hidden))
            object.__setattr__(self, "memory", DRAWN)
        object.__setattr__(self, "memory", check_label(self.memory, "memory"))
        listed = self.observations if isinstance(self.observations, Grid) else frozenset(self.observations)
        object.__setattr__(self, "_observed", listed)
        require(callable(self.rho), "rho", self.rho, f"give a function of (memory, action) that will {YIELD}")

    def __repr__(self) -> str:
        name = getattr(self.rho, "__name__", type(self.rho).__name__)
        counts = f"{counted(len(self.actions), 'action')}, {counted(len(self.observations), 'observation')}"
        return f"Model({name} from memory {self.memory!r}: {counts})"

    @cached_property
    def _pure(self) -> Pure:
        like = f"yield {self.observations[0]!r}, probability, next_memory"
        remedy = f"yield every outcome with its probability, as in: {like}"
        return Pure(self.rho, "dynamics", "(memory, action)", remedy, _listed, self._outcomes)

    def outcomes(self, memory: Label, action: Label) -> tuple[Outcome, ...]:
        """Return the possible outcomes; raise if observations are unknown or probabilities do not sum to one."""
        if self.first and memory == DRAWN:
            return self._mixed(dict(self.first), action)
        outcomes: tuple[Outcome, ...] = self._pure(memory, action)
        return outcomes

    @property
    def own(self) -> bool:
        """Whether rho is a user's function, whose outcomes are checked at every call."""
        return self._pure.is_own

    def following(self, memory: Label, action: Label) -> list[Label]:
        """Return the memories that can follow; only those of a user's function are checked, so this is fast."""
        if self.own or (self.first and memory == DRAWN):
            return [outcome.memory for outcome in self.outcomes(memory, action)]
        return [following for _, probability, following in self.rho(memory, action) if probability > 0]

    def _mixed(self, belief: Mapping[Label, float], action: Label) -> tuple[Outcome, ...]:
        """Return the possible outcomes if a memory is drawn first; equal outcomes are one."""
        chances: dict[tuple[Label, Label], list[float]] = {}
        for memory, share in belief.items():
            for outcome in self.outcomes(memory, action):
                chances.setdefault((outcome.observation, outcome.memory), []).append(share * outcome.probability)
        return tuple(Outcome(seen, math.fsum(each), following) for (seen, following), each in chances.items())

    def _outcomes(self, rows: Any, memory: Label, action: Label) -> tuple[Outcome, ...]:
        where = _after(memory, action)
        if not isinstance(rows, list):
            raise TaskError(f"{self._pure.name} {where}", rows, f"was returned; {YIELD}", joint=" ")
        if len(rows) > MOST_OUTCOMES:
            remedy = f"is one of more than {MOST_OUTCOMES:,} outcomes; yield fewer"
            raise TaskError(f"{self._pure.name} {where}", rows[-1], remedy, joint=" ")
        checked = [self._checked(row, memory, action) for row in rows]
        outcomes = [outcome for outcome in checked if outcome.probability > 0]
        total = math.fsum(outcome.probability for outcome in outcomes)
        if abs(total - 1) > SUM_TOLERANCE:
            raise ProbabilityError(f"probabilities {where}", total, "must sum to one")
        if not self.hidden:
            _check_memories(outcomes, memory, action)
        return tuple(outcomes)

    def _checked(self, row: Any, memory: Label, action: Label) -> Outcome:
        try:
            observation, given, following = row
        except (TypeError, ValueError):
            raise TaskError(f"an outcome {_after(memory, action)}", row, YIELD) from None
        if not is_label(observation):
            observation = check_label(observation, f"observation {_after(memory, action)}")
        if observation not in self._observed:
            declared = f"declared: {few(self.observations)}"
            raise ObservationError(f"observation {_after(memory, action)}", observation, declared)
        probability = as_number(given)
        if probability is None or not 0 <= probability <= 1 + SUM_TOLERANCE:
            where = f"probability of {observation!r} {_after(memory, action)}"
            raise ProbabilityError(where, given, "must be a number from 0 to 1")
        if not is_label(following):
            following = check_label(following, f"memory {_after(memory, action)}")
        return Outcome(observation, probability, following)

    def predict(self, belief: Mapping[Label, float], action: Label) -> dict[Label, dict[Label, float]]:
        """Return the joint probability of each observation and next memory, if the memory has this distribution."""
        joint: dict[Label, dict[Label, float]] = {}
        for outcome in self._mixed(belief, action):
            joint.setdefault(outcome.observation, {})[outcome.memory] = outcome.probability
        return joint

    def belief(self, history: History) -> dict[Label, float]:
        """Return the probability of each memory after a history.  If memories are not hidden, one has probability 1."""
        belief = {self.memory: 1.0}
        for action, observation in history:
            if action not in self.actions:
                raise LabelError("action in the history", action, f"known: {few(self.actions)}")
            chances = self.predict(belief, action).get(observation)
            if chances is None:
                raise ObservationError("history", (action, observation), "cannot happen there")
            total = math.fsum(chances.values())
            belief = {memory: chance / total for memory, chance in chances.items()}
        return belief

    def after(self, history: History) -> Model:
        """Return the same environment, starting after a history; a hidden memory is drawn from the belief."""
        belief = self.belief(history)
        return replace(self, memory=belief if len(belief) > 1 else next(iter(belief)))  # type: ignore[arg-type]


def _distribution(memories: Mapping[Label, float], hidden: bool) -> tuple[tuple[Label, float], ...]:
    """Return the distribution of the first memory, checked."""
    require(hidden, "memory", dict(memories), "only a hidden memory can be drawn; say hidden=True, or give one memory")
    chances = {check_label(memory, "memory"): as_number(chance) for memory, chance in memories.items()}
    for memory, chance in chances.items():
        fine = chance is not None and 0 <= chance <= 1 + SUM_TOLERANCE
        require(fine, f"probability of the first memory {memory!r}", chance, "must be a number from 0 to 1")
    kept = tuple((memory, chance) for memory, chance in chances.items() if chance)
    total = math.fsum(chance for _, chance in kept)
    require(abs(total - 1) <= SUM_TOLERANCE, "probabilities of the first memory", total, "must sum to one")
    return kept


def _listed(rows: Any) -> Any:
    """Return what rho yielded as a list; if it returned None or a single outcome instead, return that unchanged."""
    single = isinstance(rows, tuple) and len(rows) == 3 and as_number(rows[1]) is not None
    return list(islice(rows, MOST_OUTCOMES + 1)) if isinstance(rows, Iterable) and not single else rows


def _after(memory: Label, action: Label) -> str:
    return f"after memory {memory!r} and action {action!r}"


def _check_memories(outcomes: list[Outcome], memory: Label, action: Label) -> None:
    """Raise if the next memory is not a function of the observation."""
    memories: dict[Label, Label] = {}
    for outcome in outcomes:
        other = memories.setdefault(outcome.observation, outcome.memory)
        if other != outcome.memory:
            raise TaskError(
                f"memory {_after(memory, action)} and observation {outcome.observation!r}",
                (other, outcome.memory),
                "the observation must determine the memory; if the agent cannot see the memory, say hidden=True",
            )


class ModelEnvironment:
    """An environment that samples a model, with exactly one uniform draw per step."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.memory = model.memory
        self._rows: dict[tuple[Label, Label], tuple[list[float], tuple[Outcome, ...]]] = {}

    def start(self, rng: np.random.Generator) -> None:
        """Begin at the empty history."""
        self.memory = self.model.memory
        self._rng = rng

    def step(self, action: Label) -> Label:
        """Execute an action and return the observation."""
        bounds, outcomes = self._row(self.memory, action)
        draw = uniform(self._rng)
        index = 0
        while draw >= bounds[index] and index < len(bounds) - 1:
            index += 1
        observation, _, self.memory = outcomes[index]
        return observation

    def snapshot(self) -> dict[str, Any]:
        """Return memory and random stream."""
        return {"memory": self.memory, "stream": [int(word) for word in words(self._rng)]}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Resume from a snapshot, exactly as if the stream had never stopped."""
        self.memory = check_label(as_label(snapshot["memory"]), "memory")
        self._rng = np.random.Generator(np.random.SFC64(0))
        set_words(self._rng, np.array(snapshot["stream"], dtype=np.uint64))

    def _row(self, memory: Label, action: Label) -> tuple[list[float], tuple[Outcome, ...]]:
        if (row := self._rows.get((memory, action))) is None:
            if action not in self.model.actions:
                raise LabelError("action", action, f"known: {few(self.model.actions)}")
            outcomes = self.model.outcomes(memory, action)
            row = cumulative(outcomes), outcomes
            if len(self._rows) < REMEMBERED_ROWS:
                self._rows[memory, action] = row
        return row


def cumulative(outcomes: Iterable[Outcome]) -> list[float]:
    """Return the running sums of probabilities; the first that exceeds a draw selects the outcome, else the last."""
    bounds, total = [], 0.0
    for outcome in outcomes:
        total += outcome.probability
        bounds.append(total)
    return bounds
