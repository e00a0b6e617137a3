"""IMED-RL: take the action with the least index, which weighs its divergence from the best by how often it was tried.

Fabien Pesquerel and Odalric-Ambrym Maillard, "IMED-RL: Regret optimal learning of ergodic Markov decision processes",
NeurIPS 35, 2022, Algorithm 1.  With N and K as in :mod:`everlearn.agents.divergence`, the index of an action is
N K + log N, and the action with the least index is taken.  K is 0 for an action of the greatest potential.

The guarantee, a regret that is asymptotically the least possible, is for *ergodic* processes: every policy visits every
state.  In others, such as RiverSwim, in which going left forever never visits the right end, it is a heuristic, which
the authors measure too.

Deviations from the source, in addition to those in :mod:`everlearn.agents` and in :mod:`everlearn.agents.divergence`:
an action that was never tried in a state, whose index the source does not define, is taken first; if there are several,
one is drawn.

The authors' package (statisticalrl_learners 2.2507) maximises E[log(M - x (R + phi(S') - mu))] from 0 to M / (M - mu),
which is K + log M.  So it adds N log M to the index of every action that does not have the greatest potential, and
tries such actions less often than the lower bound on the regret of a consistent agent allows.  The default here is the
definition without it; ``index="package"`` is the package's.  The full text of the paper was not available when this was
written, only its abstract: the definitions are those of the literature on IMED, read beside the package's code.
"""

from __future__ import annotations

import math
from typing import Any

from everlearn.agents.counts import VISITS
from everlearn.agents.design import Design
from everlearn.agents.divergence import DIVERGENCE, Empirical, divergence_design, judge_or_mark, judged_rows
from everlearn.agents.tabular import greedy_action, greedy_policy
from everlearn.protocol import ScheduleValues, Table


def act(knowledge: Empirical, aleatoric_state: int, now: ScheduleValues, stream: Any) -> int:  # noqa: ARG001
    """Take an action of least index; draw only if there are several."""
    fill_indices(knowledge, aleatoric_state)
    return greedy_action(knowledge.judged, DIVERGENCE, stream)


def fill_indices(knowledge: Empirical, s: int) -> None:
    """Write minus the index of each action, in place of its divergence; that of an untried action comes first."""
    judged = knowledge.judged
    if judge_or_mark(knowledge, s):
        for a in range(judged.shape[1]):
            n = knowledge.pairs[s, a, VISITS]
            judged[DIVERGENCE, a] = -(n * judged[DIVERGENCE, a] + math.log(n))


def policy(knowledge: Empirical) -> Table:
    """Return the probabilities with which actions would be taken now."""
    return greedy_policy(judged_rows(knowledge, fill_indices))


def imed_rl(
    *, index: str = "source", prior: float = 1.0, levels: int = 11, precision: float = 1e-3, sweeps: int = 3000
) -> Design:
    """Take the action of least index: visits times empirical divergence from the best, plus log visits (IMED-RL).

    Parameters
    ----------
    index:
        "source", the definition above, or "package", which adds N log M, as the authors' package does
    prior:
        the weight of one observation of a uniform next state and a reward of 1/2, for each pair before the first step
    levels:
        the number of values, from 0 to 1, on which the distribution of rewards is kept
    precision:
        planning stops when the gain is certain to within this
    sweeps:
        planning stops after so many sweeps of value iteration in any case

    """
    return divergence_design("imed-rl", act, policy, index, prior, levels, precision, sweeps)
