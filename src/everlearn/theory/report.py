"""One class for everything that can be computed exactly about a task; each quantity is computed on first use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from everlearn import notebook
from everlearn.agents.policies import label_text, policy_table, policy_text
from everlearn.errors import EverlearnError, InputError, require
from everlearn.labels import counted, show
from everlearn.protocol import Table
from everlearn.registry import convert
from everlearn.tables import MOST_PAIRS
from everlearn.tasks.registry import make_task
from everlearn.theory import documents, ledger
from everlearn.theory.aleatoric import FEW, Best, best_deterministic, best_randomised, count_policies
from everlearn.theory.averaging import AveragingTime, averaging_time
from everlearn.theory.beliefs import Bracket, Interval, bracket
from everlearn.theory.bounds import Bound
from everlearn.theory.chains import Chain
from everlearn.theory.constrained import Constrained, Measure, constrained
from everlearn.theory.distortion import Distortion, DistortionSup, distortion, distortion_sup
from everlearn.theory.frontier import Frontier, candidates, frontier
from everlearn.theory.known import MOST_SEARCHED
from everlearn.theory.network import NetworkOptimum, network_optimum
from everlearn.theory.optimum import Optimum, diameter, gaps, optimum
from everlearn.theory.pairs import Pairs, tabulate
from everlearn.theory.repairs import Repair
from everlearn.theory.summary import summary_rows
from everlearn.theory.values import Values, discount_of, optimal_values, policy_values


def _number(horizon: Any) -> float:
    """Return a horizon, which may be written as a text."""
    number: float = convert(horizon, float, "horizon")
    require(not np.isnan(number), "horizon", horizon, "give a number")
    return number


@dataclass(frozen=True)
class PolicyTheory:
    """The average reward, the Markov chain and the averaging time of a policy, the last computed on first use."""

    average_reward: float  # lambda_pi, from the empty history
    error: float  # a certified bound on the error of lambda_pi
    chain: Chain
    """The Markov chain over pairs under this policy: its recurrent classes, their periods and stationary distributions,
    and the gain and the bias of each start."""

    @cached_property
    def averaging_time(self) -> AveragingTime:
        """tau_pi."""
        return averaging_time(self.chain)

    @property
    def depends_on_start(self) -> str:
        """If the average reward depends on the start, a sentence with its range; otherwise an empty string."""
        low, high = float(self.chain.gain.min()), float(self.chain.gain.max())
        if np.isfinite(self.averaging_time.value):
            return ""
        return f"it depends on the start: {len(self.chain.classes)} recurrent classes, from {low:.10g} to {high:.10g}"


class Theory:
    """Quantities of a task with a model, computed without sampling.  Each is computed on first use.

    A quantity is exact, or has certified bounds, or is the best that a search found; its documentation says which.

    A *pair* is a memory of the environment together with an aleatoric state of the agent.  The pairs form a Markov
    decision process, from which most quantities are computed.  Under a policy over aleatoric states they form a Markov
    chain.

    Parameters
    ----------
    task:
        a task, or the name of one
    parameters:
        parameters of the task without the prefix ``task.``, as in ``{"window": 6}``
    max_pairs:
        the maximum number of pairs; a task with more raises an error

    Examples
    --------
    >>> station = Theory("service-station")
    >>> round(station.optimal_average_reward, 9), round(station.average_reward("slow"), 10)
    (0.5, 0.0909364893)
    >>> round(station.averaging_time("fast").value, 2), round(station.distortion(10).value, 8)
    (54.45, 4.57562979)

    """

    def __init__(
        self, task: object, parameters: Mapping[str, Any] | None = None, *, max_pairs: int = MOST_PAIRS
    ) -> None:
        self.task = make_task(task, parameters)
        self._max_pairs = max_pairs
        self._policies: dict[bytes, PolicyTheory] = {}
        self._distortions: dict[float, Distortion] = {}
        self._suprema: dict[float, DistortionSup] = {}

    def __repr__(self) -> str:
        computed = {}
        if "optimum" in vars(self) or ("clairvoyant" in vars(self) and not self.task.hidden):
            computed["optimum over all policies"] = written_optimum(self.optimum)
        if "best_aleatoric" in vars(self):
            computed["best over aleatoric states"] = f"{self.best_aleatoric.average_reward:.6g}"
        numbers = ", ".join(f"{name} {value}" for name, value in computed.items())
        size = f"{counted(len(self.task.states), 'aleatoric state')}, {counted(len(self.task.actions), 'action')}"
        return f"Theory({self.task.name!r}: {numbers or size})"

    def _repr_html_(self) -> str:
        try:
            if self.pairs.size > MOST_SEARCHED:
                return notebook.table((), [[f"{self.pairs.size:,} pairs: ask for what should be computed"]], repr(self))
            rows = [*summary_rows(self), ("", f"by the policy {self.best_policy}")]
        except EverlearnError as error:
            return notebook.table((), [[error]], repr(self))
        return notebook.table((), rows, repr(self))

    @cached_property
    def pairs(self) -> Pairs:
        """The reachable pairs, with their transition matrix P_a and expected rewards rbar_a for each action a."""
        return tabulate(self.task, self._max_pairs)

    @cached_property
    def clairvoyant(self) -> Optimum:
        """The optimum over policies that see the memory.

        It has certified bounds, an optimal policy, and the bias of this policy with its span.  Unless the memory is
        hidden, it is the optimum over all policies.
        """
        return optimum(self.pairs)

    @cached_property
    def optimum(self) -> Optimum | Bracket | NetworkOptimum:
        """The optimum over all policies, lambda_*, with certified bounds and a policy that attains the lower bound.

        If the memory is hidden, only policies that depend on observations and actions count, and the two bounds may
        differ.  If they differ, they may be narrower than those in ``Result.references``, for which the computation
        stops earlier.  For a network of queues, the bounds are computed on a default grid of queue lengths;
        ``everlearn.theory.network.network_optimum`` takes other sizes.  If every grid would be too large, the bounds
        come from quadratic functions instead, and are wide.
        """
        if self.task.network is not None:
            return network_optimum(self.task.network)
        if not self.task.hidden:
            return self.clairvoyant
        bounds = bracket(self.task, self._max_pairs)
        searched = not bounds.certified and self.pairs.size <= MOST_SEARCHED
        if searched and self.best_aleatoric.average_reward > bounds.lower:
            bounds = bounds._replace(lower=self.best_aleatoric.average_reward, attained_by="best over aleatoric states")
        return bounds._replace(upper=max(bounds.lower, min(bounds.upper, self.clairvoyant.upper)))

    @property
    def optimal_average_reward(self) -> float:
        """The optimal average reward over all policies, lambda_*.

        Raises :class:`everlearn.errors.InputError` if its two bounds have not met, which can happen if the memory is
        hidden or queues are unbounded; use :attr:`optimal_bounds` then.
        """
        best = self.optimum
        if isinstance(best, Bracket | NetworkOptimum) and not best.certified:
            cause = "the memory is hidden" if self.task.hidden else "the grid is too small"
            remedy = f"is known to lie {written_optimum(best)}, since {cause}; read optimal_bounds"
            raise InputError("optimal_average_reward", self.task.name, remedy)
        return best.average_reward

    @property
    def optimal_bounds(self) -> Interval:
        """Certified bounds of the optimal average reward over all policies; a known policy attains the lower bound.

        In a network of unbounded queues, both bounds also count policies that let a server idle while a job waits for
        it.  Agents cannot do this, so it may be that no agent attains the lower bound.
        """
        return Interval(self.optimum.lower, self.optimum.upper)

    @cached_property
    def optimal_averaging_time(self) -> AveragingTime:
        """The averaging time of the policy of :attr:`clairvoyant` (Section 2.2.1).

        It is between half the span of the bias of this policy and the span.  If the average reward of this policy
        depends on the start, the averaging time is infinite.
        """
        return self.policy_over_pairs(self.clairvoyant.policy).averaging_time

    def constrained(
        self, cost: Measure | None = None, limit: float | None = None, duration: Measure | None = None
    ) -> Constrained:
        """Return the best average reward of policies whose average cost is at most a limit.

        ``cost`` and ``duration`` are functions of (aleatoric state, action, observation).  With ``duration``, the
        average reward, the average cost and the limit are per unit of time.  With ``duration`` alone, the result is the
        optimum per unit of time, without a limit.
        """
        return constrained(self.pairs, cost, limit, duration)

    @cached_property
    def gaps(self) -> Table:
        """The loss from taking an action once and then acting optimally: one row per action, one column per pair.

        If the memory is hidden, "optimally" means with a policy that sees the memory (:attr:`clairvoyant`).
        """
        return gaps(self.pairs, self.clairvoyant)

    @cached_property
    def diameter(self) -> float:
        """The diameter: the greatest expected number of steps from a pair to another, with the fastest policy.

        Raises :class:`everlearn.errors.InputError` if there are more than 500 pairs.
        """
        return diameter(self.pairs)

    @cached_property
    def best_deterministic(self) -> Best:
        """The best deterministic policy over aleatoric states; if ``exact`` is false, the best that a search found."""
        return best_deterministic(self.pairs, self.clairvoyant)

    @cached_property
    def best_aleatoric(self) -> Best:
        """The best policy over aleatoric states that a search found, deterministic or randomised.

        A better randomised policy may exist, which the search has missed.
        """
        return best_randomised(self.pairs, self.best_deterministic, self.clairvoyant)

    @property
    def best_policy(self) -> str:
        """The policy of :attr:`best_aleatoric` as text; :meth:`policy` and ``everlearn theory --policy`` accept it."""
        return policy_text(self.task, self.best_aleatoric.policy)

    def policy(self, given: Any) -> PolicyTheory:
        """Return the exact quantities of a policy over aleatoric states, written as in ``0=slow,1=fast:0.5``."""
        table = policy_table(self.task, given)
        key = table.tobytes()
        if key not in self._policies:
            self._policies[key] = self._solve(self.pairs.policy(table))
        return self._policies[key]

    def policy_over_pairs(self, table: Table) -> PolicyTheory:
        """Return the exact quantities of a policy over pairs; ``table`` has a row of action probabilities per pair."""
        shape = (self.pairs.size, len(self.task.actions))
        fits = np.shape(table) == shape and np.allclose(np.sum(table, axis=1), 1, rtol=0, atol=1e-9)
        require(fits, "policy", np.shape(table), f"give probabilities of shape {shape}, each row summing to one")
        return self._solve(np.asarray(table, dtype=np.float64))

    def _solve(self, policy: Table) -> PolicyTheory:
        chain = self.pairs.chain(policy)
        return PolicyTheory(float(chain.gain[self.pairs.start]), chain.error, chain)

    def values(self, horizon: float, policy: Any = None) -> Values:
        """Return V and Q on pairs at a horizon: of a policy over aleatoric states, or by default the optimal values."""
        if policy is None:
            return optimal_values(self.pairs, discount_of(horizon))
        return policy_values(self.pairs, self.pairs.policy(policy_table(self.task, policy)), discount_of(horizon))

    def average_reward(self, policy: Any) -> float:
        """Return the average reward of a policy, lambda_pi."""
        return self.policy(policy).average_reward

    def averaging_time(self, policy: Any) -> AveragingTime:
        """Return the averaging time of a policy, tau_pi."""
        return self.policy(policy).averaging_time

    def distortion(self, horizon: float) -> Distortion:
        """Return the distortion at a horizon, Delta_tau."""
        horizon = _number(horizon)
        if horizon not in self._distortions:
            self._distortions[horizon] = distortion(self.pairs, horizon)
        return self._distortions[horizon]

    def distortion_sup(self, horizon: float) -> DistortionSup:
        """Return the greatest distortion over all horizons of at least max(1, ``horizon``), Delta-bar_tau."""
        tau = max(1.0, _number(horizon))
        if tau not in self._suprema:
            self._suprema[tau] = distortion_sup(self.pairs, tau)
        return self._suprema[tau]

    @cached_property
    def frontier(self) -> Frontier:
        """Certified bounds, for each tau, of the best average reward of policies with averaging time at most tau."""
        return frontier(self)

    def reference_class(self, horizon: float) -> dict[str, PolicyTheory]:
        """Return the class P_tau, as a dict from the text of each policy.

        It contains policies over aleatoric states whose averaging time is at most ``horizon``.

        They are chosen from all deterministic policies if there are at most 256 of these; otherwise, from the policies
        that were tried for :attr:`frontier`.
        """
        horizon = _number(horizon)
        states, actions = len(self.task.states), len(self.task.actions)
        if count_policies(states, actions) <= FEW:
            tables = [np.eye(actions)[list(choice)] for choice in product(range(actions), repeat=states)]
        else:
            tables = candidates(self)
        policies = {self._long_text(table): self.policy(table) for table in tables}
        return {text: policy for text, policy in policies.items() if policy.averaging_time.value <= horizon}

    def _long_text(self, table: Table) -> str:
        """Return a policy as text that names the action of every state, if it is deterministic."""
        if (table.max(axis=1) < 1).any():
            return policy_text(self.task, table)
        actions = [label_text(action, self.task.actions) for action in self.task.actions]
        states = [label_text(state, self.task.states) for state in self.task.states]
        return ",".join(f"{state}={actions[row]}" for state, row in zip(states, table.argmax(axis=1), strict=True))

    @cached_property
    def tried_horizons(self) -> list[ledger.Choice]:
        """The tau that are tried in bounds, with the distortions there."""
        return ledger.tried_horizons(self)

    def bounds(self, steps: float, horizon: float | Iterable[float] | None = None) -> dict[str, Bound]:
        """Return the paper's bounds on regret after a number of steps, by label, such as ``theorem:main``.

        Rewards are in the units of the task.  The averaging time in the bounds is that of :attr:`best_aleatoric`.

        ``horizon`` is one tau or several, for rewards scaled to [0, 1].  It has three uses:

        - The bounds for a fixed horizon share one tau: the one with which the repaired bound for Algorithm 1 is least.
        - Corollary 5 uses the greatest tau, which defines its class of policies.
        - The other repaired bounds for a growing horizon (:meth:`repairs`) use the best tau above max(1, tau_pi), or
          max(1, tau_pi) if none is above it.

        Without ``horizon``, the values in :attr:`tried_horizons` are compared in its place, and Corollary 5 uses the
        smallest class of policies that contains :attr:`best_aleatoric`.  The ``horizon`` of a bound is its tau.
        """
        return ledger.printed(self, steps, horizon)

    def repairs(self, steps: float, horizon: float | Iterable[float] | None = None) -> dict[str, Repair]:
        """Return each bound of :meth:`bounds` as printed and repaired, with its status, by label (docs/repairs.md).

        Examples
        --------
        >>> main = Theory("riverswim").repairs(1e16)["theorem:main"]
        >>> main.status, main.repaired_status, main.repaired.value < main.printed.value
        ('proof has a gap', 'repaired here', True)

        """
        return ledger.compared(self, steps, horizon)

    def to_dict(
        self, policies: Iterable[str] = (), horizons: Iterable[float] = (), steps: Iterable[float] = ()
    ) -> dict[str, Any]:
        """Return a JSON document of both optima, the policies, distortions at the horizons, and bounds after the steps.

        Infinite numbers are None.
        """
        return documents.whole(self, policies, horizons, steps)

    def frontier_to_list(self) -> list[dict[str, Any]]:
        """Return the frontier as a JSON document, with its bounds at each point.

        The bounds are in the units of the task and, under the key ``learner``, for rewards scaled to [0, 1].
        ``distortion`` is in the units of the task.  It is computed at the averaging time for scaled rewards, or at
        horizon 1 if that is greater.
        """
        return documents.frontier_points(self)

    def optimum_to_dict(self) -> dict[str, Any]:
        """Return a JSON document of the optimum over all policies only, for large tasks.

        If the memory is hidden or queues are unbounded, ``optimal_average_reward`` in it is a mapping with ``lower``
        and ``upper``.
        """
        return documents.optimum(self)

    def written(self, policy: Table) -> dict[str, dict[str, float]]:
        """Return a policy as a dict of probabilities by aleatoric state and action; probabilities of 0 are left out."""
        return {
            show(state): {
                show(action): round(float(share), 12)
                for action, share in zip(self.task.actions, row, strict=True)
                if share > 1e-12
            }
            for state, row in zip(self.task.states, policy, strict=True)
        }


def written_optimum(best: Optimum | Bracket | NetworkOptimum) -> str:
    """Return an optimum as text: a number, or its bounds if they have not met."""
    if isinstance(best, Bracket | NetworkOptimum) and not best.certified:
        return f"from {best.lower:.6g} to {best.upper:.6g}"
    return f"{best.average_reward:.6g}"
