"""The bounds of the paper for a task: as printed, repaired, and what is known of each (docs/repairs.md).

The policy in the bounds is the best over aleatoric states.  A printed bound about Algorithm 3 counts as proved where
the repaired one implies it.  One about Algorithm 1 or 2 has a gap in any case, since these clip Q (E2).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from everlearn.theory import bounds, repairs
from everlearn.theory.bounds import Bound, says_something_from
from everlearn.theory.distortion import along, distortion_limit
from everlearn.theory.repairs import CONDITIONAL, GAP, OUTSIDE, PROVED, REPAIRED, Repair

if TYPE_CHECKING:
    from everlearn.theory.report import Theory

Horizons = float | Iterable[float] | None
"""One tau, several, or none."""

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


BOUNDED = {
    FIXED: "the regret of Algorithm 1 at horizon tau",
    ANY: "the regret of Algorithm 3 at horizon tau from any history",
    VALUE: "the sum of V_* - V, not the regret, of Algorithm 3 at horizon tau",
    MAIN: "the regret of Algorithm 2 relative to the best policy over aleatoric states",
    CLASS: "the regret of Algorithm 2 relative to every policy that averages within {:.4g}",
    GLOBAL: "the regret of Algorithm 2 relative to the optimum",
    LOSS: "what the best policy over aleatoric states loses per step",
}
"""What each bound bounds; that for a class has the tau of the class in it, for rewards scaled to [0, 1]."""

LONGEST = 1e4
"""The longest tau that is tried if there is distortion, which differs from its limit by a multiple of 1 / tau."""

LONGEST_FREE = 1e12
"""The longest tau that is tried if there is none, which costs nothing."""


class Choice(NamedTuple):
    """A tau that may be chosen in a bound, and the distortions there, in the task's units."""

    horizon: float
    distortion: float  # Delta_tau
    distortion_sup: float  # Delta-bar_tau
    early_distortion: float  # M

    @property
    def growing(self) -> dict[str, Any]:
        """What a bound for a growing horizon needs."""
        return {
            "horizon": self.horizon,
            "distortion_sup": self.distortion_sup,
            "early_distortion": self.early_distortion,
        }


class Choices(NamedTuple):
    """The numbers of a task in its bounds, and the tau with which the repaired bounds after some steps are least."""

    at: dict[str, Any]  # pairs and width
    averaging_time: float  # of the best policy
    own: Choice  # tau_pi, or 1 if that is more
    fixed: Choice  # for a fixed horizon
    grown: Choice  # for a growing one
    wide: Choice  # that of the class of policies
    wide_grown: Choice  # for a growing horizon, relative to that class


def printed(theory: Theory, steps: float, horizon: Horizons = None) -> dict[str, Bound]:
    """Return the bounds as printed, by label."""
    chosen = chosen_horizons(theory, steps, horizon)
    return {} if chosen is None else _printed(steps, chosen)


def _printed(steps: float, chosen: Choices) -> dict[str, Bound]:
    at, tau, own, fixed, wide = chosen.at, chosen.averaging_time, chosen.own, chosen.fixed, chosen.wide
    still: dict[str, Any] = {"horizon": fixed.horizon, "distortion": fixed.distortion, **at}
    within = {"horizon": wide.horizon * at["width"], "distortion_sup": wide.distortion_sup}
    printed = (
        (bounds.discounted_regret(steps, averaging_time=tau, **still), fixed),
        (bounds.discounted_regret_any_history(steps, averaging_time=tau, **still), fixed),
        (bounds.discounted_value_loss(steps, **still), fixed),
        (bounds.growing_horizon_regret(steps, averaging_time=tau, distortion_sup=own.distortion_sup, **at), own),
        (bounds.class_regret(steps, **within, **at), wide),
        (bounds.optimum_regret(steps, averaging_time=tau, distortion_sup=own.distortion_sup, **at), own),
        (bounds.aleatoric_loss(own.distortion_sup), own),
    )
    return {bound.label: bound._replace(horizon=choice.horizon) for bound, choice in printed}


def _repaired(theory: Theory, steps: float, chosen: Choices) -> dict[str, Bound]:
    """Return the repaired bounds, by label.

    The tau of the bounds for a growing horizon is free, from max(1, tau_pi) on (E10); it is the given one if that is
    more, and by default the one with which the bound is least, as far as was tried.
    """
    at, tau, own, fixed = chosen.at, chosen.averaging_time, chosen.own, chosen.fixed
    alone: dict[str, Any] = {"horizon": fixed.horizon, "distortion": fixed.distortion, **at}
    still, grown = {"averaging_time": tau, **alone}, {"averaging_time": tau, **chosen.grown.growing, **at}
    classed = {"averaging_time": chosen.wide.horizon * at["width"], **chosen.wide_grown.growing, **at}
    lost = max(0.0, theory.optimum.upper - theory.best_aleatoric.average_reward)
    repaired = (
        (repairs.fixed_horizon(FIXED, steps, **still), fixed),
        (repairs.fixed_horizon(ANY, steps, **still), fixed),
        (repairs.value_loss(steps, **alone), fixed),
        (repairs.growing_horizon(MAIN, steps, **grown), chosen.grown),
        (repairs.growing_horizon(CLASS, steps, **classed), chosen.wide_grown),
        (repairs.growing_horizon(GLOBAL, steps, loss=lost, **grown), chosen.grown),
        (repairs.aleatoric_loss(own.distortion_sup, len(theory.task.actions)), own),
    )
    return {bound.label: bound._replace(horizon=choice.horizon) for bound, choice in repaired}


def compared(theory: Theory, steps: float, horizon: Horizons = None) -> dict[str, Repair]:
    """Return each bound as printed and repaired, with its status."""
    chosen = chosen_horizons(theory, steps, horizon)
    if chosen is None:
        return {}
    before, after = _printed(steps, chosen), _repaired(theory, steps, chosen)
    return {label: _judged(theory, before[label], after[label]) for label in before}


def chosen_horizons(theory: Theory, steps: float, horizon: Horizons = None) -> Choices | None:
    """Return the tau of each bound: given, or the best of those tried; None if the best policy does not average.

    If several are given, the bounds take the best of them, and the class of policies is that of the longest.
    """
    at, tau = _numbers(theory), theory.averaging_time(theory.best_aleatoric.policy).value
    if not math.isfinite(tau):
        return None
    own = _choice(theory, max(1.0, tau / at["width"]))
    given = None if horizon is None else np.atleast_1d(np.asarray(horizon, dtype=np.float64)).tolist()
    wide = own if not given else _choice(theory, max(given))
    still = [_choice(theory, each) for each in given] if given else theory.tried_horizons
    fixed = min(still, key=lambda choice: _still_bound(steps, tau, choice, at))
    grown = _least(theory, steps, tau, own, given, at)
    if not given:
        return Choices(at, tau, own, fixed, grown, own, grown)
    return Choices(at, tau, own, fixed, grown, wide, _least(theory, steps, wide.horizon * at["width"], wide, given, at))


def _still_bound(steps: float, tau: float, choice: Choice, at: dict[str, Any]) -> float:
    delta: dict[str, Any] = {"horizon": choice.horizon, "distortion": choice.distortion}
    return repairs.fixed_horizon(FIXED, steps, averaging_time=tau, **delta, **at).value


def _least(
    theory: Theory, steps: float, tau: float, own: Choice, given: list[float] | None, at: dict[str, Any]
) -> Choice:
    """Return the tau of at least that of a policy or a class with which the bound for a growing horizon is least."""
    longer = [_choice(theory, each) for each in given if each > own.horizon] if given else _longer(theory, own.horizon)
    tried = longer if given and longer else [own, *longer]
    least = min(
        tried, key=lambda choice: repairs.growing_horizon(MAIN, steps, averaging_time=tau, **choice.growing, **at).value
    )
    return least if given else _choice(theory, least.horizon)


def _longer(theory: Theory, tau: float) -> list[Choice]:
    """Return the choices that were tried and are longer than tau, if a longer one can be better."""
    return [] if theory.pairs.distinct else [choice for choice in theory.tried_horizons if choice.horizon > tau]


def _choice(theory: Theory, tau: float) -> Choice:
    return Choice(tau, theory.distortion(tau).value, theory.distortion_sup(tau).value, early_distortion(theory, tau))


def tried_horizons(theory: Theory) -> list[Choice]:
    """Return the tau that are tried: the horizons of change points, which are 15% apart, with their distortions.

    Delta-bar is the greatest distortion at any longer one of them and in the limit.
    """
    if theory.pairs.distinct:
        return [Choice(tau, 0.0, 0.0, 0.0) for tau in repairs.change_horizons(LONGEST_FREE)]
    horizons = repairs.change_horizons(LONGEST)
    distortions, near = along(theory.pairs, horizons)
    limit = distortion_limit(theory.pairs, near)
    above = np.maximum.accumulate([limit, *reversed(distortions)])[:0:-1].tolist()
    early = np.maximum.accumulate([0.0, *np.multiply(distortions, horizons)])[:-1].tolist()
    return [Choice(*numbers) for numbers in zip(horizons, distortions, above, early, strict=True)]


def _judged(theory: Theory, before: Bound, after: Bound) -> Repair:
    bounded = BOUNDED[before.label].format(before.horizon)
    if theory.task.reward.raw and before.label != LOSS:
        return Repair(before, after, OUTSIDE, OUTSIDE, RAW, bounded)
    implied = before.label in (ANY, VALUE) and after.value <= before.value
    repaired = CONDITIONAL if before.label == LOSS else REPAIRED
    return Repair(before, after, PROVED if implied else GAP, repaired, WHY[before.label], bounded)


class Thresholds(NamedTuple):
    """From which T on Theorem 4 says something about a task, as printed and repaired, and the tau of the latter."""

    printed: float
    repaired: float
    horizon: float
    hopeless: bool  # whether the limit of the distortion is so large that no tau helps


def thresholds(theory: Theory) -> Thresholds:
    """Return from which T on Theorem 4 says something about the task, as printed and repaired with the best tau."""
    at, tau = _numbers(theory), theory.averaging_time(theory.best_aleatoric.policy).value
    if not math.isfinite(tau):
        return Thresholds(math.inf, math.inf, math.inf, hopeless=True)
    own = _choice(theory, max(1.0, tau / at["width"]))
    numbers: dict[str, Any] = {"averaging_time": tau, **at}
    before = partial(bounds.growing_horizon_regret, distortion_sup=own.distortion_sup, **numbers)

    def first(choice: Choice) -> float:
        after = partial(repairs.growing_horizon, MAIN, **choice.growing, **numbers)
        return says_something_from(after, at["width"])

    best = _choice(theory, min([own, *_longer(theory, own.horizon)], key=first).horizon)
    hopeless = 2 * theory.distortion_sup(best.horizon).limit >= at["width"]
    return Thresholds(says_something_from(before, at["width"]), first(best), best.horizon, hopeless)


def early_distortion(theory: Theory, horizon: float) -> float:
    """Return M, the greatest Delta_{tau_j} tau_j over change points with tau_j below a horizon, in the task's units."""
    if theory.pairs.distinct:
        return 0.0
    return max((theory.distortion(tau).value * tau for tau in repairs.change_horizons(horizon)), default=0.0)


def _numbers(theory: Theory) -> dict[str, Any]:
    """Return the number of aleatoric states times that of actions, and the width of rewards."""
    task = theory.task
    return {"pairs": len(task.states) * len(task.actions), "width": task.reward.high - task.reward.low}
