"""The bounds of the paper for a task: as printed, repaired, and what is known of each (docs/repairs.md).

The policy in the bounds is the best over aleatoric states.  A printed bound about Algorithm 3 counts as proved where
the repaired one implies it.  One about Algorithm 1 or 2 has a gap in any case, since these clip Q (E2).
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from everlearn.theory import bounds, repairs
from everlearn.theory.bounds import Bound, says_something_from
from everlearn.theory.repairs import CONDITIONAL, GAP, OUTSIDE, PROVED, REPAIRED, Repair

if TYPE_CHECKING:
    from everlearn.theory.report import Theory

FIXED, ANY, VALUE = (
    "theorem:average-reward-discounted-algorithm",
    "theorem:average-reward-any-policy",
    "theorem:discounted",
)
MAIN, CLASS, GLOBAL = "theorem:main", "cor:avg-time-upper-bound", "cor:global-optimum"
LOSS = "lemma:aleatoric-vs-global"

WHY = {
    FIXED: "Algorithm 1 clips Q and the proof clips V (E2); an index is counted twice (E1)",
    ANY: "an index is counted twice (E1); the last line of the proof has tau_pi / tau, not three times that (E15)",
    VALUE: "an index is counted twice (E1); first visits (E14)",
    MAIN: "Algorithm 2 clips Q (E2); distortion at shorter horizons is left out (E3); E1, E8, E12",
    CLASS: "follows from the proof of Theorem 4 and not from its statement (E10); E2, E3",
    GLOBAL: "the best policy over aleatoric states need not exist, and Lemma 6 has a gap (E6); E2, E3",
    LOSS: "limits are exchanged without reason (E6); repaired where averaging times are bounded over the class",
}
"""What is wrong with the proof of each bound, by the errata of docs/paper.md."""

RAW = "rewards are raw here, and outside [0, 1]; the bounds are for an agent that learns from scaled rewards"


def printed(theory: Theory, steps: float, horizon: float | None = None) -> dict[str, Bound]:
    """Return the bounds as printed, by label."""
    size, width, tau, fixed = _arguments(theory, horizon)
    if not math.isfinite(fixed):
        return {}
    delta, delta_sup = theory.distortion(fixed).value, theory.distortion_sup(tau / width).value
    at: dict[str, Any] = {"pairs": size, "width": width}
    found = (
        bounds.discounted_regret(steps, horizon=fixed, averaging_time=tau, distortion=delta, **at),
        bounds.discounted_regret_any_history(steps, horizon=fixed, averaging_time=tau, distortion=delta, **at),
        bounds.discounted_value_loss(steps, horizon=fixed, distortion=delta, **at),
        bounds.growing_horizon_regret(steps, averaging_time=tau, distortion_sup=delta_sup, **at),
        bounds.class_regret(steps, horizon=fixed * width, distortion_sup=theory.distortion_sup(fixed).value, **at),
        bounds.optimum_regret(steps, averaging_time=tau, distortion_sup=delta_sup, **at),
        bounds.aleatoric_loss(delta_sup),
    )
    return {bound.label: bound for bound in found}


def repaired(theory: Theory, steps: float, horizon: float | None = None) -> dict[str, Bound]:
    """Return the repaired bounds, by label.

    The tau of the bounds for a growing horizon is free, from max(1, tau_pi) on (E10); it is ``horizon`` if that is
    more.
    """
    size, width, tau, fixed = _arguments(theory, horizon)
    if not math.isfinite(fixed):
        return {}
    delta, own = theory.distortion(fixed).value, max(1.0, tau / width, horizon or 1.0)
    at: dict[str, Any] = {"pairs": size, "width": width}
    still: dict[str, Any] = {"horizon": fixed, "averaging_time": tau, "distortion": delta, **at}
    grown: dict[str, Any] = {"averaging_time": tau, **_growing(theory, own), **at}
    classed: dict[str, Any] = {"averaging_time": fixed * width, **_growing(theory, fixed), **at}
    lost = max(0.0, theory.optimum.upper - theory.best_aleatoric.average_reward)
    sup = theory.distortion_sup(own).value
    found = (
        repairs.fixed_horizon(FIXED, steps, **still),
        repairs.fixed_horizon(ANY, steps, **still),
        repairs.value_loss(steps, horizon=fixed, distortion=delta, **at),
        repairs.growing_horizon(MAIN, steps, **grown),
        repairs.growing_horizon(CLASS, steps, **classed),
        repairs.growing_horizon(GLOBAL, steps, loss=lost, **grown),
        repairs.aleatoric_loss(sup, len(theory.task.actions)),
    )
    return {bound.label: bound for bound in found}


def compared(theory: Theory, steps: float, horizon: float | None = None) -> dict[str, Repair]:
    """Return each bound as printed and repaired, with its status."""
    before, after = printed(theory, steps, horizon), repaired(theory, steps, horizon)
    return {label: _judged(theory, before[label], after[label]) for label in before}


def _judged(theory: Theory, before: Bound, after: Bound) -> Repair:
    if theory.task.reward.raw and before.label != LOSS:
        return Repair(before, after, OUTSIDE, OUTSIDE, RAW)
    implied = before.label in (ANY, VALUE) and after.value <= before.value
    repaired = CONDITIONAL if before.label == LOSS else REPAIRED
    return Repair(before, after, PROVED if implied else GAP, repaired, WHY[before.label])


def thresholds(theory: Theory) -> tuple[float, float]:
    """Return from which T on Theorem 4 says something about the task, as printed and repaired."""
    size, width, tau, _ = _arguments(theory, None)
    own = max(1.0, tau / width)
    at: dict[str, Any] = {"pairs": size, "averaging_time": tau, "width": width}
    if not math.isfinite(own):
        return math.inf, math.inf
    before = partial(bounds.growing_horizon_regret, distortion_sup=theory.distortion_sup(own).value, **at)
    after = partial(repairs.growing_horizon, MAIN, **_growing(theory, own), **at)
    return says_something_from(before, width), says_something_from(after, width)


def early_distortion(theory: Theory, horizon: float) -> float:
    """Return M, the greatest Delta_{tau_j} tau_j over change points with tau_j below a horizon, in the task's units."""
    if len(theory.pairs.visited) == theory.pairs.size:
        return 0.0
    return max((theory.distortion(tau).value * tau for tau in repairs.change_horizons(horizon)), default=0.0)


def _growing(theory: Theory, tau: float) -> dict[str, Any]:
    early = early_distortion(theory, tau)
    return {"horizon": tau, "distortion_sup": theory.distortion_sup(tau).value, "early_distortion": early}


def _arguments(theory: Theory, horizon: float | None) -> tuple[int, float, float, float]:
    """Return the number of pairs, the width of rewards, tau of the best policy, and the fixed horizon."""
    task = theory.task
    width = task.reward.high - task.reward.low
    tau = theory.averaging_time(theory.best_aleatoric.policy).value
    return len(task.states) * len(task.actions), width, tau, max(1.0, tau / width if horizon is None else horizon)
