"""The optimum over all policies if the memory is hidden: a certified interval, and a policy that attains its lower end.

After a history the memory is not known; what is known is the *belief*, its distribution.  Beliefs are a Markov state,
but there may be infinitely many.  Three quantities are computed instead:

- The *clairvoyant* optimum: the best average reward of a policy that sees the memory.  It is a first upper bound.
- A tighter upper bound from a finite set of beliefs (Lovejoy, 1991; for average rewards Yu and Bertsekas, 2004).  A
  belief b outside the set is written as a mixture of beliefs in the set: b = sum_i w_i b_i.  Suppose that i is drawn
  with probability w_i, the memory is drawn from b_i, and the agent is told i.  The memory still has distribution b, but
  the agent knows more, so its best average reward cannot be lower.  In this relaxed problem only beliefs in the set
  occur, so it is a finite Markov decision process, and is solved like any other.  If the set has only the beliefs that
  are certain of one memory, the bound is the clairvoyant optimum.
- A lower bound: the average reward of a *controller*, whose state is a belief in the set.  It takes the best action of
  the relaxed problem there, and after each observation moves to the nearest belief in the set.  This policy can be run.
  The memory and the state of the controller form a Markov chain, so its average reward is exact.

The beliefs outside the set that the best policy reaches most often are added to it.  If there are none, the bounds
meet.  The number of operations limits the size of the set, and time does not, so a busy machine gets the same result.
Bounds that have not met may differ between processors: rounding can change which beliefs are added.  Both are valid.

Of all mixtures, the one used gives one belief c in the set the largest possible weight, and the certain beliefs the
rest; c is the belief that makes the resulting value lowest.
"""

from __future__ import annotations

from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.protocol import Table
from everlearn.tables import MOST_PAIRS
from everlearn.tasks.task import Task
from everlearn.theory.controllers import Controller, controlled, reached
from everlearn.theory.hidden import Hidden, lumped
from everlearn.theory.linear import Sparse
from everlearn.theory.optimum import Optimum, optimum
from everlearn.theory.pairs import Pairs

NARROW = 1e-7  # the width of the interval, relative to the range of rewards, at which the bounds have met
ROUNDED = 1e-6  # the least range of rewards, relative to the largest; of equal rewards the range is rounding alone
MOST_WORK = 200_000_000  # the most products of a comparison of all beliefs that follow with all of the set
GROWTH = 0.5  # by which share the set grows at a time
LEAST_GROWTH = 32
SAME = 9  # decimals in which the probabilities of equal beliefs agree
EXACT = 1e-14  # the difference of probabilities that is rounding
BLOCK = 1 << 22  # the numbers that are compared at a time
NEGLIGIBLE = 1e-9  # the share of visits below which a belief outside the set is left out


class Interval(NamedTuple):
    """Certified bounds of a number."""

    lower: float
    upper: float


class Bracket(NamedTuple):
    """The optimum over histories of a hidden task, between certified bounds, and who attains the lower one."""

    lower: float
    upper: float
    beliefs: int
    controller: Controller
    scale: float = 1.0
    """The range of expected rewards."""
    attained_by: str = "controller"

    def __repr__(self) -> str:
        of = f"{self.beliefs:,} beliefs, a controller of {len(self.controller.policy):,} states"
        return f"Bracket(optimum over all policies: from {self.lower:.8g} to {self.upper:.8g}; {of})"

    @property
    def average_reward(self) -> float:
        """The average reward that is attained, which is the lower bound."""
        return self.lower

    @property
    def certified(self) -> bool:
        """Whether the bounds have met, so that the optimum is known."""
        return self.upper - self.lower <= NARROW * self.scale


def bracket(task: Task, max_pairs: int = MOST_PAIRS, work: int = MOST_WORK) -> Bracket:
    """Return the optimum over histories of a hidden task; the set of beliefs grows while it takes less than ``work``.

    Examples
    --------
    >>> from everlearn.tasks.tiger import tiger
    >>> bounds = bracket(tiger())
    >>> round(bounds.lower, 6), round(bounds.upper, 6)
    (1.083789, 1.083789)

    """
    hidden = lumped(task, max_pairs)
    scale = max(float(np.ptp(hidden.rewards)), ROUNDED * float(np.abs(hidden.rewards).max())) or 1.0
    beliefs = _Beliefs(hidden)
    best = beliefs.solve()
    (lower, controller), upper = beliefs.control(best), best.upper
    while upper - lower > NARROW * scale and len(outside := beliefs.outside(best, work)):
        beliefs.add(outside)
        best = beliefs.solve()
        upper = min(upper, best.upper)
        (lower, controller) = max((lower, controller), beliefs.control(best), key=itemgetter(0))
    return Bracket(lower, max(upper, lower), beliefs.size, controller, scale)


class _Beliefs:
    """A finite set of beliefs, what follows each of them, and the process in which no other belief occurs.

    The first beliefs are those of certainty, one for each kind.
    """

    def __init__(self, hidden: Hidden) -> None:
        self.hidden = hidden
        self.points: Table = np.zeros((0, hidden.size))
        self.bias: Table = np.zeros(0)
        self._index: dict[bytes, int] = {}
        self._after: list[_Following] = []
        self.add(np.eye(hidden.size))

    @property
    def size(self) -> int:
        """The number of beliefs."""
        return len(self.points)

    def add(self, beliefs: Table) -> None:
        """Add beliefs, and what follows them."""
        for number, belief in enumerate(beliefs):
            self._index[_key(belief)] = self.size + number
        self._after.append(self._follow(beliefs, self.size))
        guess = beliefs @ self.bias[: self.hidden.size] if self.size else np.zeros(len(beliefs))
        self.bias = np.concatenate((self.bias, guess))
        self.points = np.concatenate((self.points, beliefs))

    def _follow(self, beliefs: Table, first: int) -> _Following:
        parts = []
        for action, matrices in enumerate(self.hidden.steps):
            for observation, matrix in matrices.items():
                joint = beliefs @ matrix
                chance = joint.sum(axis=1)
                origin = np.flatnonzero(chance > 0)
                labels = np.full(len(origin), action), np.full(len(origin), observation)
                parts.append((first + origin, *labels, chance[origin], joint[origin] / chance[origin, None]))
        return _Following(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def _all(self) -> tuple[_Following, NDArray[np.int64]]:
        """Return what follows every belief, and which of the set that is, or -1."""
        after = _Following(*(np.concatenate(part) for part in zip(*self._after, strict=True)))
        self._after = [after]
        known = np.array([self._index.get(_key(belief), -1) for belief in after.belief])
        return after, known

    def solve(self) -> Optimum:
        """Return the optimum of the process, with the mean for each belief outside the set that makes it least."""
        self.after, self.known = self._all()
        self.within = _within(self.after.belief, self.points[self.known])
        for _ in range(2):
            self._choose()
            best = optimum(self._process())
            self.bias = best.bias
        return best

    def _choose(self) -> None:
        """Choose for each belief outside the set the belief of the set with the largest share, and that share."""
        kinds = self.hidden.size
        inner = self.points[kinds:]
        worth = self.bias[kinds:] - inner @ self.bias[:kinds]
        useful = np.flatnonzero(worth < 0)
        outside = np.flatnonzero(self.known < 0)
        self.nearest, self.share = np.zeros(len(self.known), dtype=np.int64), np.zeros(len(self.known))
        if not useful.size:
            return
        block = max(1, BLOCK // (useful.size * kinds))
        for start in range(0, outside.size, block):
            part = outside[start : start + block]
            share = _shares(self.after.belief[part], inner[useful])
            chosen = (share * worth[useful]).argmin(axis=1)
            self.nearest[part] = kinds + useful[chosen]
            self.share[part] = share[np.arange(part.size), chosen]

    def _process(self, instead: NDArray[np.int64] | None = None) -> Pairs:
        """Return the process as pairs, which :func:`everlearn.theory.optimum.optimum` solves.

        With ``instead`` it is another one, in which that belief of the set takes the place of each that follows.
        """
        from scipy.sparse import csr_array

        after = self.after
        target = np.where(self.known >= 0, self.known, self.nearest) if instead is None else instead
        share = np.where(self.known >= 0, self.within, self.share) if instead is None else np.ones(len(target))
        rest = np.maximum(after.belief - share[:, None] * self.points[target], 0.0)
        rest[share == 1.0] = 0.0
        transitions = []
        for action in range(len(self.hidden.steps)):
            taken = np.flatnonzero(after.action == action)
            spread, corner = np.nonzero(rest[taken])
            origin = np.concatenate((after.origin[taken], after.origin[taken][spread]))
            chance = np.concatenate(
                (after.chance[taken] * share[taken], after.chance[taken][spread] * rest[taken][spread, corner])
            )
            entries = chance, (origin, np.concatenate((target[taken], corner)))
            matrix = csr_array(entries, shape=(self.size, self.size))
            matrix.eliminate_zeros()
            transitions.append(matrix)
        rewards = self.hidden.rewards @ self.points.T
        return Pairs(
            self.hidden.task, tuple(transitions), rewards, np.zeros(self.size, dtype=np.int64), [], self.hidden.start
        )

    def outside(self, best: Optimum, work: int) -> Table:
        """Return the beliefs outside the set to which the best policy leads most often; none if the set is full."""
        room = max(LEAST_GROWTH, int(GROWTH * self.size))
        if self.size * len(self.known) * self.hidden.size > work:
            return self.points[:0]
        visits = self._visits(best)
        taken = best.policy[self.after.origin, self.after.action] > 0
        weight = np.where(taken & (self.known < 0), visits[self.after.origin] * self.after.chance * (1 - self.share), 0)
        fresh: dict[bytes, int] = {}
        for place in np.argsort(-weight, kind="stable").tolist():
            if weight[place] <= NEGLIGIBLE or len(fresh) >= room:
                break
            fresh.setdefault(_key(self.after.belief[place]), place)
        return np.asarray(self.after.belief[list(fresh.values())])

    def _visits(self, best: Optimum) -> Table:
        from scipy.sparse.csgraph import breadth_first_order

        chain = self._process().chain(best.policy)
        reached = np.zeros(self.size, dtype=bool)
        reached[breadth_first_order(chain.matrix, self.hidden.start, return_predecessors=False)] = True
        visits = np.zeros(self.size)
        for recurrent in chain.classes:
            if reached[recurrent.members[0]]:
                visits[recurrent.members] = recurrent.stationary
        return visits

    def control(self, best: Optimum) -> tuple[float, Controller]:
        """Return the better of two controllers, after a lower bound on its average reward.

        One does what is best in the process, and the other what would be best if every belief outside the set were
        the nearest of the set.
        """
        nearest = np.where(self.known >= 0, self.known, -1)
        outside = np.flatnonzero(nearest < 0)
        block = max(1, BLOCK // self.points.size)
        for start in range(0, outside.size, block):
            part = outside[start : start + block]
            apart = np.abs(self.after.belief[part][:, None, :] - self.points[None, :, :]).sum(axis=2)
            nearest[part] = apart.argmin(axis=1)
        policies = [best.policy] if not outside.size else [best.policy, optimum(self._process(nearest)).policy]
        return max((self._controller(policy.argmax(axis=1), nearest) for policy in policies), key=itemgetter(0))

    def _controller(self, choice: NDArray[np.int64], nearest: NDArray[np.int64]) -> tuple[float, Controller]:
        following = self._after_choice(choice, nearest)
        states = reached(following, self.hidden.start)
        number = np.full(self.size, -1)
        number[states] = np.arange(len(states))
        task = self.hidden.task
        controller = Controller(task.actions, task.observations, choice[states], number[following[states]])
        chain, start = controlled(self.hidden, controller)
        return float(chain.gain[start]) - chain.error, controller

    def _after_choice(self, choice: NDArray[np.int64], nearest: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the nearest belief of the set after each belief and observation, if these actions are taken."""
        after = self.after
        following = np.full((self.size, len(self.hidden.task.observations)), -1)
        taken = after.action == choice[after.origin]
        following[after.origin[taken], after.observation[taken]] = nearest[taken]
        for action, matrices in enumerate(self.hidden.steps):  # what a belief of the set calls impossible can happen
            for observation in range(following.shape[1]):
                lost = (choice == action) & (following[:, observation] < 0)
                if lost.any():
                    following[lost, observation] = self._wherever(matrices.get(observation))
        return following

    def _wherever(self, matrix: Sparse | None) -> int:
        """Return the belief of the set that is nearest to that after an observation from anywhere."""
        if matrix is None:
            return self.hidden.start
        joint = np.asarray(matrix.sum(axis=0)).ravel()
        return int(np.abs(self.points - joint / joint.sum()).sum(axis=1).argmin())


class _Following(NamedTuple):
    """What can follow beliefs: one entry for each belief, action and observation."""

    origin: NDArray[np.int64]
    action: NDArray[np.int64]
    observation: NDArray[np.int64]
    chance: Table
    belief: Table


def _key(belief: Table) -> bytes:
    return (np.round(belief, SAME) + 0.0).tobytes()


def _shares(beliefs: Table, inner: Table) -> Table:
    """Return the largest share that each inner belief can have in each belief."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = beliefs[:, None, :] / inner[None, :, :]
    return np.asarray(np.where(inner[None, :, :] > 0, ratio, np.inf).min(axis=2).clip(max=1.0))


def _within(beliefs: Table, points: Table) -> Table:
    """Return the largest share that each point can have in the belief of the same row; one if only rounding differs.

    Beliefs of one key are not quite the same: what little one has beyond the other may be worth much, and is counted.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(points > 0, beliefs / points, np.inf).min(axis=1)
    return np.where(np.abs(beliefs - points).max(axis=1) <= EXACT, 1.0, share.clip(max=1.0))
