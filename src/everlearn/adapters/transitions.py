"""Read the transition table of a toy-text environment of Gymnasium, from which a model is built.

The table is ``unwrapped.P[state][action]``, a list of (probability, next state, reward, terminated), and
``unwrapped.initial_state_distrib`` is the distribution of the first state.  With a model a task runs compiled, and
everything about it can be computed.  The memory is the state, with the steps since the episode began if a wrapper
truncates episodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from everlearn.adapters.making import time_limit, wrappers
from everlearn.adapters.rewards import Rewards, is_close
from everlearn.adapters.stream import GOING_ON, TERMINATED, TRUNCATED
from everlearn.adapters.trials import Step
from everlearn.aleatoric.state import START
from everlearn.environments.model import SUM_TOLERANCE
from everlearn.protocol import Label

MOST_OUTCOMES = 5_000_000
"""The largest size of a table, in outcomes of 48 bytes; all rows are as long as the longest."""

_BEYOND_THE_TABLE = ("fickle_passenger",)
"""Options with which an environment deviates from its table: in Taxi a passenger may change their mind."""


@dataclass(frozen=True)
class Transitions:
    """A transition table, the distribution of first states, and the time limit."""

    table: Any
    starts: tuple[tuple[int, float], ...]
    limit: int | None

    @property
    def first(self) -> Label:
        """The memory of the empty history: the first state if there is only one, else ``"start"``."""
        return self._memory(self.starts[0][0], 0) if len(self.starts) == 1 else START

    @property
    def rewards(self) -> set[float]:
        """Every reward in the table."""
        return {float(reward) for _, _, _, reward, _ in self._every()}

    @property
    def size(self) -> int:
        """A bound on the number of outcomes in the table of the task."""
        rows: dict[tuple[int, int], list[tuple[int, float, bool]]] = {}
        for state, action, following, reward, over in self._every():
            rows.setdefault((state, action), []).append((following, reward, over))
        longest = max(self._length(row) for row in rows.values())
        return len(rows) * longest * (self.limit or 1)

    def _length(self, row: list[tuple[int, float, bool]]) -> int:
        endings = {(reward, over) for _, reward, over in row if over or self.limit}
        return len({outcome for outcome in row if not outcome[2]}) + len(self.starts) * len(endings)

    def outcomes(self, memory: Any, action: int, rewards: Rewards) -> Iterator[tuple[Label, float, Label]]:
        """Yield each possible (observation, probability, next memory) once."""
        if memory == START:
            before = [(state, probability, 0) for state, probability in self.starts]
        else:
            state, steps = memory if self.limit else (memory, 0)
            before = [(state, 1.0, steps)]
        merged: dict[tuple[Label, Label], float] = {}
        for state, weight, steps in before:
            for observation, probability, following in self._from(state, steps, action, rewards):
                key = observation, following
                merged[key] = merged.get(key, 0.0) + weight * probability
        for (observation, following), probability in merged.items():
            yield observation, probability, following

    def _from(self, state: int, steps: int, action: int, rewards: Rewards) -> Iterator[tuple[Label, float, Label]]:
        late = self.limit is not None and steps + 1 >= self.limit
        for probability, following, reward, over in self.table[state][action]:
            mark = TERMINATED if over else TRUNCATED if late else GOING_ON
            text = rewards.text(reward)
            if not mark:
                yield (int(following), text, mark), float(probability), self._memory(int(following), steps + 1)
                continue
            for start, share in self.starts:
                yield (start, text, mark), float(probability) * share, self._memory(start, 0)

    def _memory(self, state: int, steps: int) -> Label:
        return (state, steps) if self.limit else state

    def _every(self) -> Iterator[tuple[int, int, int, float, bool]]:
        for state, row in self.table.items():
            for action, outcomes in row.items():
                for probability, following, reward, over in outcomes:
                    if probability > 0:
                        yield state, action, int(following), float(reward), bool(over)

    def contradiction(self, steps: Iterable[Step]) -> str | None:
        """Return how a step contradicts the table, or None if no step does."""
        possible: dict[tuple[int, int, int, bool], list[float]] = {}
        for state, action, following, reward, over in self._every():
            possible.setdefault((state, action, following, over), []).append(reward)
        starts = {state for state, _ in self.starts}
        for step in steps:
            before, after = int(step.before), int(step.after)
            if step.past == 0 and before not in starts:
                return f"began in {before}, which its initial_state_distrib rules out"
            paid = possible.get((before, step.action, after, step.terminated), ())
            if not any(is_close(step.reward, reward) for reward in paid):
                happened = f"went from {before} by {step.action} to {after} for {step.reward:g}"
                return f"{happened}, which its transition table rules out"
            if step.truncated and not step.terminated and step.past + 1 != self.limit:
                return f"truncated an episode after {step.past + 1} steps, which its transition table does not show"
        return None


def transitions(environment: Any) -> Transitions | str:
    """Return the transition table of an environment, or the reason why none can be used."""
    bare = environment.unwrapped
    table, beginning = getattr(bare, "P", None), getattr(bare, "initial_state_distrib", None)
    if beginning is None or not _is_table(table, beginning, environment):
        return "has no transition table"
    for wrapper in wrappers(environment):
        if type(wrapper) not in _harmless_wrappers():
            return f"is wrapped in {type(wrapper).__name__}, which its transition table does not cover"
    for name in _BEYOND_THE_TABLE:
        if getattr(bare, name, False):
            return f"does more than its transition table says, with {name}"
    starts = tuple((state, float(share)) for state, share in enumerate(beginning) if share > 0)
    return Transitions(table, starts, time_limit(environment))


def _harmless_wrappers() -> tuple[type, ...]:
    """Return the wrappers that do not change what the transition table describes."""
    from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit

    return OrderEnforcing, PassiveEnvChecker, TimeLimit


def _is_table(table: Any, beginning: Any, environment: Any) -> bool:
    """Return whether an attribute ``P`` is a complete table of probabilities, as in the toy-text environments."""
    from gymnasium.spaces import Discrete

    seen, actions = environment.observation_space, environment.action_space
    if not (isinstance(table, Mapping) and isinstance(seen, Discrete) and isinstance(actions, Discrete)):
        return False
    try:
        return (
            set(table) == set(range(int(seen.n)))
            and all(set(row) == set(range(int(actions.n))) for row in table.values())
            and all(_is_row(outcomes, table) for row in table.values() for outcomes in row.values())
            and len(beginning) <= len(table)
            and _is_distribution(float(share) for share in beginning)
            and seen.start == actions.start == 0
        )
    except (TypeError, ValueError):
        return False


def _is_row(outcomes: Any, table: Mapping[int, Any]) -> bool:
    known = all(following in table and math.isfinite(reward) for _, following, reward, _ in outcomes)
    return known and _is_distribution(float(probability) for probability, *_ in outcomes)


def _is_distribution(shares: Iterable[float]) -> bool:
    given = list(shares)
    return min(given, default=-1.0) >= 0 and abs(math.fsum(given) - 1) < SUM_TOLERANCE
