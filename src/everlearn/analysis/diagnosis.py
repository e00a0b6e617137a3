"""Where the regret of a run came from: the paper's decomposition, made exact.

Let x_t be the pair at step t, sigma the horizon of the agent, gamma = 1 - 1/sigma, and V, Q the optimal values there.
Since rbar(x, a) = Q(x, a) - gamma P_a V(x), what a step loses relative to lambda_* is exactly

    lambda_* - R = [V(x) - Q(x, a)]  +  [lambda_* - V(x) / sigma]  +  gamma [V(x') - V(x)]  +  luck.

The first bracket is what Theorem 9 bounds.  In each block of time, it is split by what a fixed action per aleatoric
state could have avoided there:

- *distortion*: sum over aleatoric states s of the least, over actions a, of the sum of V(x_t) - Q(x_t, a) over the
  visits of s in the block.  It is at most (1 - 1/A) Delta_sigma per step (docs/repairs.md), and 0 without distortion;
- *actions*: the rest of that bracket: actions that were not the best for their state in the block, over the horizon
  of the agent.  An agent takes them because it explores, or because it has explored too little to know better.  If the
  best one changes, as where the environment drifts, a fixed action counts too.  Without distortion it is not negative.
  With distortion it may be, if the actions changed and suited the histories better than any fixed one;
- *horizon*: the second bracket.  The agent was in states that are worth less than lambda_* sigma over its horizon: led
  there by a horizon that is too short, or by actions whose consequences outlast it.  The horizon is too short only if
  the best policy over it earns less than lambda_* in the long run, which is computed as well;
- *averaging*: the third, which telescopes: what the last state is worth less the first;
- *luck*: rewards and transitions against their means.  Its expectation is zero.

They add up to the regret for any sigma.  Here sigma is the horizon of the agent at the beginning of each block of time.
For an agent without one, sigma is infinite: V is the optimal bias, and V / sigma the optimal gain.  So the second part
is zero, unless what can be earned depends on the state.  For the agents of the paper with a value for each aleatoric
state and action, the first step of each block also has what :mod:`everlearn.analysis.optimism` defines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.agent import Agent
from everlearn.agents.spec import read_specs
from everlearn.analysis.optimism import Belief, Optimism, belief_of, horizon_of, optimism_of
from everlearn.engine.reference import ReferenceLoop
from everlearn.errors import require
from everlearn.protocol import Table
from everlearn.randomness import ENVIRONMENT, stream
from everlearn.theory.report import Theory
from everlearn.theory.values import action_values

PARTS = ("actions", "distortion", "horizon", "averaging", "luck")
BLOCKS = 40
"""The number of blocks of time, up to rounding."""


@dataclass(frozen=True)
class Diagnosis:
    """The parts of the regret of each run at the end of each block, in the task's units."""

    task: str
    agent: str
    times: NDArray[np.int64]
    horizons: Table
    """The horizon in each block; infinite for an agent without one."""
    parts: dict[str, Table]
    """For each part, one row per run and one column per time, added up from the beginning."""
    regret: Table
    """T times the optimum less the rewards, computed from the rewards alone."""
    optimum: float
    """The average reward that regret is relative to: lambda_*, or if memory is hidden, the optimum if it were seen."""
    within: float
    """What a policy that is optimal over the last horizon earns in the long run, if it sees the memory."""
    hidden: bool
    optimism: Optimism | None
    """At the first step of each block, one row per run: the shortfall of values, chi and xi, in the learner's units."""

    @property
    def total(self) -> Table:
        """The sum of the parts."""
        return np.asarray(np.sum(list(self.parts.values()), axis=0))

    @property
    def residual(self) -> float:
        """The largest difference between the regret and the sum of its parts: rounding."""
        return float(np.abs(self.total - self.regret).max())

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON document: means over runs and their standard errors at each time."""
        runs = len(self.regret)
        error = {
            name: (curve.std(axis=0, ddof=1) / np.sqrt(runs)).tolist() if runs > 1 else None
            for name, curve in {**self.parts, "regret": self.regret}.items()
        }
        return {
            "task": self.task,
            "agent": self.agent,
            "optimum": self.optimum,
            "horizon_average_reward": self.within,
            "runs": runs,
            "times": self.times.tolist(),
            "horizons": [float(horizon) if np.isfinite(horizon) else None for horizon in self.horizons],
            "parts": {name: curve.mean(axis=0).tolist() for name, curve in self.parts.items()},
            "sum": self.total.mean(axis=0).tolist(),
            "regret": self.regret.mean(axis=0).tolist(),
            "standard_error": error,
            "residual": self.residual,
            "optimism": self._optimism(),
        }

    def _optimism(self) -> dict[str, Any] | None:
        """Return the greatest shortfall over runs, what Lemma 11 allows, and the means of chi and xi."""
        if self.optimism is None:
            return None
        measured = self.optimism
        means = {"chi": measured.chi.mean(axis=0).tolist(), "xi": measured.xi.mean(axis=0).tolist()}
        most = {"shortfall": measured.shortfall.max(axis=0).tolist(), "allowed": measured.allowed[0].tolist()}
        return {"times": [1, *(self.times[:-1] + 1).tolist()], **most, **means}


class _Block(NamedTuple):
    """What a run did in one block: how often each action was taken in each pair, its first and last pair, rewards."""

    counts: Table
    first: int
    last: int
    reward: float
    belief: Belief | None  # at its first step


class _Solved(NamedTuple):
    """Optimal values at a horizon: V, Q, V / sigma, gamma, and a policy that attains them."""

    V: Table
    Q: Table
    gain: Table
    gamma: float
    policy: Table


def diagnose(
    task: object,
    agent: object = None,
    *,
    schedule: object = None,
    parameters: Mapping[str, Any] | None = None,
    steps: int = 20_000,
    runs: int = 4,
    seed: int = 0,
    progress: Callable[[int], object] | None = None,
) -> Diagnosis:
    """Run an agent in the reference engine, and say where its regret came from.

    ``progress`` is called with the number of steps done since it was last called.

    Examples
    --------
    >>> found = diagnose("riverswim", schedule="smooth", steps=300, runs=2, seed=1)
    >>> found.residual < 1e-9, abs(round(float(found.parts["distortion"].max()), 9))
    (True, 0.0)

    """
    require(steps >= 1, "steps", steps, "give at least 1")
    require(runs >= 1, "runs", runs, "give at least 1")
    task_spec, agent_spec = read_specs(task, agent, schedule, parameters)
    theory, design = Theory(task_spec.make()), agent_spec.make(duration=steps)
    times = np.unique(np.geomspace(1, steps, BLOCKS).round().astype(np.int64))
    blocks = [
        _follow(theory, Agent(theory.task, design, seed=seed, run=run), times, progress or _silent)
        for run in range(runs)
    ]
    starts = np.concatenate([[0], times[:-1]])
    knowledge = Agent(theory.task, design).knowledge  # its constants are those of every run
    horizons = np.array([horizon_of(design, knowledge, int(t) + 1) for t in starts])
    optimum = theory.clairvoyant.average_reward
    split_up, optimism = np.empty((runs, len(times), len(PARTS))), []
    for place, sigma in enumerate(horizons.tolist()):
        solved = _solve(theory, sigma)
        for run, block in enumerate(each[place] for each in blocks):
            split_up[run, place] = _split(theory, optimum, solved, block)
            if block.belief is not None:
                optimism.append(optimism_of(theory, block.belief, sigma, solved.Q, block.first))
    added = split_up.cumsum(axis=1)
    rewards = np.cumsum([[block.reward for block in run] for run in blocks], axis=1)
    parts = {name: added[:, :, column] for column, name in enumerate(PARTS)}
    tables = Optimism(*np.array(optimism).reshape(len(times), runs, -1).T) if optimism else None
    regret, names = optimum * times - rewards, (theory.task.name, design.name)
    within = theory.policy_over_pairs(solved.policy).average_reward
    return Diagnosis(*names, times, horizons, parts, regret, optimum, within, theory.task.hidden, tables)


def _silent(steps: int) -> None:
    """Show no progress."""


def _follow(theory: Theory, agent: Agent, times: NDArray[np.int64], progress: Callable[[int], object]) -> list[_Block]:
    """Return what a run did in each block."""
    environment: Any = theory.task.start(stream(agent.seed, agent.run, ENVIRONMENT))
    loop = ReferenceLoop(environment, agent, agent.indexed)
    places = {label: place for place, label in enumerate(theory.pairs.labels)}
    blocks, here = [], theory.pairs.start
    for end in times.tolist():
        counts, first, before = np.zeros((len(theory.task.actions), theory.pairs.size)), here, loop.total_reward
        belief, begun = belief_of(agent), loop.t
        while loop.t < end:
            loop.advance(loop.t + 1)
            counts[loop.latest[0], here] += 1
            here = places[environment.memory, theory.task.states[loop.aleatoric_state]]
        blocks.append(_Block(counts, first, here, loop.total_reward - before, belief))
        progress(end - begun)
    return blocks


def _solve(theory: Theory, sigma: float) -> _Solved:
    if np.isfinite(sigma):
        values = theory.values(sigma)
        return _Solved(values.V, values.Q, values.V / sigma, 1 - 1 / sigma, values.policy)
    best = theory.clairvoyant
    return _Solved(best.bias, action_values(theory.pairs, best.bias) - best.gain, best.gain, 1.0, best.policy)


def _split(theory: Theory, optimum: float, solved: _Solved, block: _Block) -> tuple[float, ...]:
    """Return the parts of the regret of a block, in the order of ``PARTS``."""
    pairs, counts, (V, Q, gain, gamma) = theory.pairs, block.counts, solved[:4]
    visits, ahead = counts.sum(axis=0), np.array([matrix @ V for matrix in pairs.transitions])
    loss = V - Q
    by_state = np.array([np.bincount(pairs.states, visits * row) for row in loss])
    distortion = float(by_state.min(axis=0).sum())
    actions = float((counts * loss).sum()) - distortion
    horizon = float((visits * (optimum - gain)).sum())
    moved = float(V[block.last] - V[block.first])
    drawn = float((counts * ahead).sum() - (visits * V).sum()) - moved  # of P V less V(x'), over the block
    luck = float((counts * pairs.rewards).sum()) - block.reward + gamma * drawn
    return actions, distortion, horizon, gamma * moved, luck
