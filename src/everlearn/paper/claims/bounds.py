"""Section 4: what the regret bounds say, and where they say anything at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.state import AleatoricState
from everlearn.analysis.regret import regret
from everlearn.api import run
from everlearn.environments.model import Model
from everlearn.paper.claims.claim import NOT_CHECKABLE, Claim, Finding, verdict
from everlearn.paper.claims.values import theory_of
from everlearn.results.result import Result
from everlearn.tasks.task import Task
from everlearn.theory import bounds
from everlearn.theory.bounds import Bound, says_something_from
from everlearn.theory.report import Theory

STEPS, RUNS, SEED = 2_000_000, 50, 1
WITHIN_REACH = 1e13
"""Steps that take a day on a thousand cores."""


def coins() -> Task:
    """Return a choice between two coins, one aleatoric state: no distortion, and every policy averages at once."""

    def toss(_memory: int, action: str) -> Iterator[tuple[str, float, int]]:
        chance = 0.7 if action == "right" else 0.3
        yield "heads", chance, 0
        yield "tails", 1 - chance, 0

    labels = ("left", "right"), ("tails", "heads")
    forget = AleatoricState(0, lambda _s, _a, _o: 0, (0,))
    return Task(*labels, forget, Reward(lambda _s, _a, o: float(o == "heads")), Model(*labels, 0, toss), name="coins")


def turns() -> Task:
    """Return a clock: reward 1 and 0 in turn whatever is done, seen through one aleatoric state."""

    def tick(memory: int, _action: str) -> Iterator[tuple[int, float, int]]:
        yield memory, 1.0, 1 - memory

    forget = AleatoricState(0, lambda _s, _a, _o: 0, (0,))
    return Task(("wait",), (0, 1), forget, Reward(lambda _s, _a, o: float(o)), Model(("wait",), (0, 1), 1, tick))


def at_fixed_horizon(horizon: float = 1.0) -> tuple[Result, Theory, Callable[[float], Bound]]:
    """Return runs of Algorithm 1 on two coins, their theory, and the bound on regret as a function of T."""
    task = coins()
    theory = Theory(task)
    result = run(task, "discounted", parameters={"agent.horizon": horizon}, steps=STEPS, runs=RUNS, seed=SEED)
    tau, delta = theory.averaging_time("right").value, theory.distortion(horizon).value

    def bound(steps: float) -> Bound:
        return bounds.discounted_regret(steps, pairs=2, horizon=horizon, averaging_time=tau, distortion=delta)

    return result, theory, bound


def fixed_horizon() -> Finding:
    """``theorem:average-reward-discounted-algorithm`` where it says something."""
    texts, fine = [], True
    for horizon in (1.0, 2.0):
        result, theory, bound = at_fixed_horizon(horizon)
        mean = float(regret(result, theory.optimal_average_reward).mean[-1])
        limit, first = bound(STEPS).value, says_something_from(bound)
        fine = fine and mean <= limit < STEPS
        texts.append(
            f"at horizon {horizon:g} {mean:,.0f}, the bound {limit:,.0f}, which says something from {first:,.0f} on"
        )
    return Finding(f"regret after {STEPS:,} steps on two coins: {'; '.join(texts)}", verdict(fine))


def stronger_form() -> Finding:
    """The form in the appendix has three times the averaging term, and is weaker there; its proof ends without."""
    at: dict[str, Any] = {"pairs": 2, "horizon": 2.0, "averaging_time": 1.0, "distortion": 0.0}
    plain, stronger = bounds.discounted_regret(1e6, **at), bounds.discounted_regret_any_history(1e6, **at)
    factor = stronger.terms["averaging"] / plain.terms["averaging"]
    result, theory, bound = at_fixed_horizon()
    holds = float(regret(result, theory.optimal_average_reward).mean[-1]) <= bound(STEPS).value
    text = f"its averaging term is {factor:g} times that of Section 4.1, so that it is weaker there, not stronger; the"
    return Finding(f"{text} last line of its proof has 1, and realized regret satisfies that too", verdict(holds))


def _vacuous(label: str, name: str, bound: Callable[[float], Bound], width: float) -> str:
    first = says_something_from(bound, width)
    when = f"from about T = {first:.1e} on" if first < float("inf") else "at no T, because of the distortion"
    return f"{label} on {name} says something {when}"


def main_theorem() -> Finding:
    """``theorem:main``, on tasks of several sizes."""
    found, reachable = [], False
    for name, pairs, tau, delta, width in _settings():

        def bound(steps: float, pairs: int = pairs, tau: float = tau, delta: float = delta, w: float = width) -> Bound:
            return bounds.growing_horizon_regret(steps, pairs=pairs, averaging_time=tau, distortion_sup=delta, width=w)

        found.append(_vacuous("it", name, bound, width))
        reachable = reachable or says_something_from(bound, width) <= WITHIN_REACH
    return Finding(f"vacuous within reach: {'; '.join(found)}", verdict(False) if reachable else NOT_CHECKABLE)


def _settings() -> Iterator[tuple[str, int, float, float, float]]:
    yield "one pair, no distortion, tau_pi = 0", 1, 0.0, 0.0, 1.0
    two = Theory(coins())
    yield "two coins", 2, two.averaging_time("right").value, two.distortion_sup(1.0).value, 1.0
    station = theory_of("service-station")
    tau, width = station.averaging_time("fast").value, 1.5
    yield "the station, scaled", 4, tau, station.distortion_sup(tau / width).value, width


def class_corollary() -> Finding:
    """``cor:avg-time-upper-bound``: it has the distortion at tau, where the theorem has it at tau_pi."""
    theory = Theory(turns())
    own = theory.averaging_time("wait").value
    short, long = theory.distortion_sup(max(1.0, own)).value, theory.distortion_sup(100.0).value
    text = f"on a clock that pays in turn, tau_pi = {own:.3g}, Delta-bar is {short:.4f} there and {long:.4f} at 100"
    note = "so that what is printed does not follow from the statement of the theorem (though from its proof, with tau"
    note += " in place of tau_pi), which gives 3 Delta-bar_1 T"
    first = says_something_from(lambda T: bounds.class_regret(T, pairs=1, horizon=1.0, distortion_sup=0.0))
    late = f"without distortion it says something from T = {first:.1e} on"
    return Finding(f"{text}, {note}; {late}", verdict(long >= short, first > WITHIN_REACH and long < short))


def optimum_corollary() -> Finding:
    """``cor:global-optimum``, at its best: one pair, no distortion."""
    first = says_something_from(lambda T: bounds.optimum_regret(T, pairs=1, averaging_time=0.0, distortion_sup=0.0))
    two = says_something_from(lambda T: bounds.optimum_regret(T, pairs=2, averaging_time=0.0, distortion_sup=0.0))
    text = f"vacuous within reach: with one pair and no distortion it says something from T = {first:.1e} on, with two"
    text += f" from {two:.1e}"
    return Finding(text, NOT_CHECKABLE if first > WITHIN_REACH else verdict(False))


CLAIMS = (
    Claim(
        "theorem:average-reward-discounted-algorithm",
        "the regret of Algorithm 1 over T steps is bounded at any fixed horizon",
        "24 tau^(3/2) sqrt(S A T log(2 T^2)) + [3 Delta_tau + tau_pi / tau] T + [S A + 5 + 2 log T] tau",
        "realized regret of 50 runs where the bound is below T",
        fixed_horizon,
    ),
    Claim(
        "theorem:average-reward-any-policy",
        "the same from any history and initial values, said to be stronger",
        "3 [Delta + tau_pi / tau] T in place of [3 Delta + tau_pi / tau] T",
        "the two bounds term by term, and realized regret against the smaller",
        stronger_form,
    ),
    Claim(
        "theorem:main",
        "the regret of Algorithm 2 with change points is of order T^(4/5), beside distortion",
        "(120 sqrt(S A log(2 T^2)) + 5 tau_pi) T^(4/5) + 3 Delta-bar T + (54 S A + 18 log T) T^(1/5) + 2 tau_pi^5",
        "the least T at which the bound is below the range of rewards times T",
        main_theorem,
    ),
    Claim(
        "cor:avg-time-upper-bound",
        "the same bound holds against all policies that average within tau, with the distortion at tau",
        "said to follow from theorem:main",
        "an exact task on which the distortion at tau is less than at tau_pi",
        class_corollary,
    ),
    Claim(
        "cor:global-optimum",
        "the same bound holds against lambda_*, with 4 Delta-bar",
        "theorem:main with lemma:aleatoric-vs-global",
        "the least T at which the bound is below T, at its best",
        optimum_corollary,
    ),
)
