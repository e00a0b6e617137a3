"""A planted falsehood changes the verdict of every claim: what is checked decides, and not how the check is written."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from everlearn.paper import appendix_b
from everlearn.paper.appendix_d import Example
from everlearn.paper.claims import approximation, bounds, learning_rates, schedules, station, subroutine, values
from everlearn.paper.claims.registry import CLAIMS
from everlearn.theory.bounds import Bound
from tests.paper.test_claims import LONG, VERDICT

Patch = Callable[[pytest.MonkeyPatch], None]


def put(target: Any, name: str, value: Any) -> Patch:
    return lambda patch: patch.setattr(target, name, value)


def scaled(target: Any, name: str, factor: float) -> Patch:
    """Let a function that returns a bound return it times a factor."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        original = getattr(target, name)
        patch.setattr(
            target,
            name,
            lambda *a, **k: Bound("", {n: factor * t for n, t in original(*a, **k).terms.items()}),
        )

    return plant


def wrapped(target: Any, name: str, change: Callable[[Any], Any]) -> Patch:
    """Let a function return what a change makes of its result."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        original = getattr(target, name)
        patch.setattr(target, name, lambda *a, **k: change(original(*a, **k)))

    return plant


def sums(**changes: Any) -> Patch:
    """Let every run of Algorithm 3 have other sums."""
    none = np.zeros(48)
    plain = subroutine.Sums(*[none] * len(subroutine.Sums._fields))
    fields = {name: np.full(48, value) for name, value in changes.items()}
    return put(subroutine, "simulated", lambda *_a, **_k: plain._replace(**fields))


def all_of(*patches: Patch) -> Patch:
    """Plant several things."""
    return lambda patch: [plant(patch) for plant in patches].clear()


def without_distortion(target: Any, name: str) -> Patch:
    """Let a bound say that distortion costs nothing, on the world on which it costs more than all else."""
    return all_of(
        put(subroutine, "WORLDS", ("naming",)),
        put(bounds, "FIXED", dict([list(bounds.FIXED.items())[-1]])),
        put(bounds, "ANYWHERE", {0.3: bounds.ANYWHERE[0.3]}),
        wrapped(target, name, lambda bound: Bound("", {**bound.terms, "distortion": 0.0})),
    )


def theory_with(**parts: Any) -> Callable[[object], SimpleNamespace]:
    return lambda _task: SimpleNamespace(**parts)


def number(value: float) -> SimpleNamespace:
    return SimpleNamespace(value=value)


def slightly_off(name: str) -> SimpleNamespace:
    """Return the theory of a task with values that are a little too high."""
    theory = values.theory_of(name)
    parts = {"task": theory.task, "pairs": theory.pairs, "distortion": theory.distortion}
    return SimpleNamespace(**parts, values=lambda tau: SimpleNamespace(Q=theory.values(tau).Q + 0.01))


WHOLE = SimpleNamespace(lower=0.5, upper=0.5)
FALSE_STATION = theory_with(optimum=WHOLE, average_reward=lambda _p: 0.4)
NOTHING = theory_with(
    optimal_averaging_time=number(0.1), clairvoyant=SimpleNamespace(span=1.0), optimal_average_reward=1.0
)
LOSING = SimpleNamespace(
    task=SimpleNamespace(name="losing", actions=(0, 1)),
    optimal_average_reward=1.0,
    best_aleatoric=SimpleNamespace(average_reward=0.0),
    distortion=lambda _t: number(0.5),
)
FLAT = SimpleNamespace(references={"always slow": 0.9}, final={"min": 0.1, "mean": 0.1}, average_reward=np.zeros(9))
FLAT.times, FLAT.per_run = (
    np.array([*(10**k for k in range(7)), 630_957_344, 700_000_000]),
    np.tile(np.linspace(0, 1, 9), (30, 1)),
)
FLAT.total_reward = np.zeros((2, 9))
SAME = SimpleNamespace(total_reward=np.zeros((20, 3)), per_run=np.zeros((20, 3)))

MUTATIONS: dict[str, Patch] = {
    "Section 1.4.4, optimum": put(station, "theory_of", FALSE_STATION),
    "Appendix B.2, P(W = 1)": put(station, "_laws", lambda _e: (np.full(5, 0.2), np.full(5, 0.2))),
    "eq:prob_W_inf": put(station, "_laws", lambda _e: (np.full(5, 0.2), np.full(5, 0.2))),
    "eq:average_reward1": put(station, "exact_average", lambda e: float(appendix_b.closed_form_average(e))),
    "eq:average-reward-estimate-formula": put(station, "predicted_average", lambda _k, _r, epsilon: epsilon),
    "eq:average_reward_second_agent": put(station, "_derivatives", lambda: (0.1, 0.06)),
    "Appendix B.2, second derivative": put(appendix_b, "closed_form_half_second_derivative", lambda: 0.08),
    "Appendix B.2, Taylor expansion": put(station, "_derivatives", lambda: (0.1, 0.06)),
    "Section 1.4.5, baselines": put(station, "_phases", lambda phase: ("", phase < 10_000)),
    "lemma:bellman": put(values, "_iterate", lambda pairs, _g, start: np.full(pairs.size, start)),
    "Section 3, Q_pi": put(values, "_backup", lambda _p, V, _g: np.array([V, V])),
    "lemma:mixing-time": put(
        values,
        "_policies",
        lambda: [
            (
                SimpleNamespace(
                    policy=lambda _p: SimpleNamespace(average_reward=0.0, averaging_time=number(1.0)),
                    values=lambda _t, _p: SimpleNamespace(V=np.array([2.0])),
                ),
                "",
            )
        ],
    ),
    "lemma:regret-decomposition": put(values, "_both_sides", lambda *_a: (2.0, 1.0)),
    "lemma:q-init-condition": put(
        values, "theory_of", theory_with(values=lambda tau: SimpleNamespace(Q=np.array([2 * tau])))
    ),
    "lemma:aleatoric-vs-global": lambda patch: (
        patch.setattr(values, "theory_of", lambda _t: LOSING),
        patch.setattr(values, "hidden_world", lambda _s: LOSING),
    )[0],
    "Section 2.2.1, span": put(values, "theory_of", NOTHING),
    "theorem:average-reward-discounted-algorithm": without_distortion(bounds.bounds, "discounted_regret"),
    "theorem:average-reward-any-policy": without_distortion(bounds.repairs, "fixed_horizon"),
    "theorem:main": scaled(bounds.bounds, "growing_horizon_regret", 1e-9),
    "cor:avg-time-upper-bound": scaled(bounds.bounds, "class_regret", 1e-9),
    "cor:global-optimum": scaled(bounds.bounds, "optimum_regret", 1e-9),
    "Section 2.2.3, pi~": put(bounds, "Theory", theory_with(average_reward=lambda _p: 1.0, optimal_average_reward=1.0)),
    "Appendix C.6, start of an epoch": put(bounds, "_fallen", lambda _c: dict.fromkeys(bounds.POINTS, 0.2)),
    "Section 2.4, T^(2/3)": put(
        bounds.bounds, "discounted_regret", lambda T, horizon, **_k: Bound("", {"": horizon * T**0.6})
    ),
    "fig:agent-comparison": put(schedules, "_run", lambda *_a: FLAT),
    "fig:better-schedules": put(schedules, "_run", lambda *_a: FLAT),
    "Section 4.3, eventually": put(schedules, "_run", lambda *_a: FLAT),
    "Section 4.2, restarts": put(schedules, "_whole", lambda *_a: ([], [])),
    "Appendix C.3, Algorithm 3": put(schedules, "run", lambda *_a, **_k: SAME),
    "lemma:learning-rate (a)": put(learning_rates, "_rates", lambda _t: [1.0] + [0.01] * 100),
    "lemma:learning-rate (b)": put(learning_rates, "_rates", lambda tau: [1.0] * int(5 * tau + 2)),
    "lemma:learning-rate (c)": put(learning_rates, "HORIZONS", (-0.3,)),
    "lemma:doubling-trick": put(learning_rates.np, "cumsum", lambda terms: [0] * 12 + [10**9] * len(terms)),
    "lemma:optimism": sums(shortfall=1.0),
    "lemma:optimism, Algorithm 1": put(subroutine, "_coin", lambda _r, _b, _c: -1.0),
    "eq:appendix-13": sums(unclipped=0.0),
    "lemma:high-probability": without_distortion(subroutine.repairs, "value_loss"),
    "eq:appendix-18": put(subroutine, "_weights", lambda visits, _t: np.full(visits, 0.1)),
    "theorem:discounted": without_distortion(subroutine.repairs, "value_loss"),
    "Appendix D, first theorem": put(
        approximation,
        "Theory",
        theory_with(
            optimal_average_reward=1.0,
            best_aleatoric=SimpleNamespace(average_reward=0.9),
            distortion_sup=lambda _t: number(1.0),
        ),
    ),
    "Appendix D, rho": put(approximation, "_printed_rows", lambda *_a: np.full((2, 2, 2), 0.5)),
    "Appendix D, reward": put(approximation.Aggregation, "paid", lambda *_a: "nothing"),
    "Appendix D, Q_*": put(approximation, "theory_of", slightly_off),
    "Appendix D, convergence": put(Example, "sampled", lambda *_a, **_k: np.zeros((1500, 2))),
    "Section 2.4, TD fixed point": put(approximation, "_fixed_points", lambda _t: [-5.0]),
    "Appendix D, kappa": put(Example, "threshold", lambda self: 18 * self.gain),
    "Appendix D, tau": put(Example, "averaging_time", lambda *_a: 10.0),
    "theorem:adp-fail": put(approximation, "_loss_over_claim", lambda *_a: 1.5),
    "Section 2.4, Theorem 17": put(Example, "averaging_time", lambda *_a: 100.0),
}
"""For each claim, something false about what it rests on."""

FURTHER: dict[str, tuple[str, Patch]] = {
    "no distortion in Theorem 13 as printed": (
        "theorem:average-reward-any-policy",
        without_distortion(bounds.bounds, "discounted_regret_any_history"),
    ),
    "no distortion in Lemma 12 as printed": (
        "lemma:high-probability",
        without_distortion(subroutine, "discounted_value_loss"),
    ),
    "no distortion in Theorem 9 as printed": (
        "theorem:discounted",
        without_distortion(subroutine, "discounted_value_loss"),
    ),
    "V above Q": ("eq:appendix-13", sums(unclipped=0.03, above=0.1)),
    "another sum of xi' and chi": ("eq:appendix-13", sums(unclipped=0.03, off=0.1)),
    "the lemmas imply it": ("Appendix C.6, start of an epoch", put(bounds, "early_distortion", lambda *_a: 0.1)),
    "as much optimism as printed": (
        "Section 2.4, T^(2/3)",
        put(bounds, "with_known_span", bounds.bounds.discounted_regret),
    ),
    "too little optimism": ("Section 2.4, T^(2/3)", put(bounds, "enough_optimism", lambda: (20.0, 1.5, 0.5))),
    "half of tau": ("theorem:adp-fail", wrapped(Example, "averaging_time", lambda tau: tau / 2)),
    "a loss of half as much": (
        "theorem:adp-fail",
        wrapped(approximation, "stronger_losses", lambda gaps: {reset: 0.9 + gap for reset, gap in gaps.items()}),
    ),
    "an iteration that settles nowhere": (
        "Appendix D, convergence",
        wrapped(Example, "fitted", lambda run: run._replace(values=np.array([[0.0, 0.0], [1.0, 1.0]]))),
    ),
}
"""Other falsehoods, each about one part of a check."""

STILL_LONG = {
    "lemma:bellman",
    "theorem:main",
    "cor:global-optimum",
    "lemma:optimism, Algorithm 1",
    "theorem:average-reward-any-policy",
    "theorem:average-reward-discounted-algorithm",
    "lemma:high-probability",
    "Section 2.4, T^(2/3)",
    "Appendix C.6, start of an epoch",
}
"""Claims whose check is long even then."""


def test_every_claim_has_a_mutation():
    assert list(MUTATIONS) == list(VERDICT)
    assert set(LONG) | STILL_LONG <= set(VERDICT)


@pytest.mark.parametrize(
    "claim",
    [pytest.param(claim, id=claim.label, marks=[pytest.mark.soak] * (claim.label in STILL_LONG)) for claim in CLAIMS],
)
def test_a_falsehood_is_noticed(claim, monkeypatch):
    MUTATIONS[claim.label](monkeypatch)
    finding = claim.check()
    assert finding.verdict != VERDICT[claim.label], finding.computed


@pytest.mark.parametrize(
    "plant",
    [
        pytest.param(plant, marks=[pytest.mark.soak] * (label in {*STILL_LONG, "theorem:adp-fail"}))
        for plant, (label, _) in FURTHER.items()
    ],
)
def test_a_falsehood_in_a_part_is_noticed(plant, monkeypatch):
    label, patch = FURTHER[plant]
    patch(monkeypatch)
    finding = {claim.label: claim for claim in CLAIMS}[label].check()
    assert finding.verdict != VERDICT[label], finding.computed


def test_the_corrected_part_of_a_verdict_counts_too(monkeypatch):
    """A repair that does not hold makes the claim fail."""
    monkeypatch.setattr(station, "renewal_average", lambda *_a: 0.0)
    assert {claim.label: claim for claim in CLAIMS}["eq:average_reward1"].check().verdict == "fails"
