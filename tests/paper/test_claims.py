"""Every claim is computed, and its verdict is what it was found to be; a test here fails if one changes.

Claims that rest on many runs are checked with fewer here, and with all of them in the soak.
"""

from __future__ import annotations

import json

import pytest

from everlearn.paper.claims import schedules, station
from everlearn.paper.claims.claim import VERDICTS, Claim, repaired, verdict
from everlearn.paper.claims.registry import CLAIMS

VERDICT = {
    "Section 1.4.4, optimum": "holds",
    "Appendix B.2, P(W = 1)": "holds with correction",
    "eq:prob_W_inf": "holds with correction",
    "eq:average_reward1": "false as printed, repaired",
    "eq:average-reward-estimate-formula": "holds",
    "eq:average_reward_second_agent": "holds",
    "Appendix B.2, second derivative": "holds",
    "Appendix B.2, Taylor expansion": "holds with correction",
    "Section 1.4.5, baselines": "holds",
    "lemma:bellman": "holds",
    "Section 3, Q_pi": "holds with correction",
    "lemma:mixing-time": "holds",
    "lemma:regret-decomposition": "holds",
    "lemma:q-init-condition": "holds",
    "lemma:aleatoric-vs-global": "holds",
    "Section 2.2.1, span": "holds",
    "theorem:average-reward-discounted-algorithm": "holds",
    "theorem:average-reward-any-policy": "holds",
    "theorem:main": "not checkable",
    "cor:avg-time-upper-bound": "not checkable",
    "cor:global-optimum": "not checkable",
    "Section 2.2.3, pi~": "false as printed, repaired",
    "Appendix C.6, start of an epoch": "not checkable",
    "Section 2.4, T^(2/3)": "holds with correction",
    "fig:agent-comparison": "holds",
    "fig:better-schedules": "holds",
    "Section 4.3, eventually": "holds",
    "Section 4.2, restarts": "holds with correction",
    "Appendix C.3, Algorithm 3": "fails",
    "lemma:learning-rate (a)": "holds",
    "lemma:learning-rate (b)": "holds",
    "lemma:learning-rate (c)": "holds",
    "lemma:doubling-trick": "holds",
    "lemma:optimism": "holds",
    "lemma:optimism, Algorithm 1": "false as printed, repaired",
    "eq:appendix-13": "false as printed, repaired",
    "lemma:high-probability": "holds",
    "eq:appendix-18": "false as printed, repaired",
    "theorem:discounted": "holds",
    "Appendix D, first theorem": "false as printed, repaired",
    "Appendix D, rho": "false as printed, repaired",
    "Appendix D, reward": "false as printed, repaired",
    "Appendix D, Q_*": "holds",
    "Appendix D, convergence": "holds",
    "Section 2.4, TD fixed point": "holds",
    "Appendix D, kappa": "false as printed, repaired",
    "Appendix D, tau": "fails",
    "theorem:adp-fail": "false as printed, repaired",
    "Section 2.4, Theorem 17": "holds with correction",
}


FEWER = {"fig:agent-comparison": 30, "fig:better-schedules": 30}
"""How many runs are enough for a verdict, for claims that rest on more."""

LONG = [
    "fig:agent-comparison",
    "fig:better-schedules",
    "lemma:optimism, Algorithm 1",
    "Section 2.4, TD fixed point",
    "lemma:aleatoric-vs-global",
    "lemma:bellman",
    "Section 4.3, eventually",
    "Section 1.4.5, baselines",
    "lemma:optimism",
    "eq:appendix-13",
    "theorem:average-reward-discounted-algorithm",
    "lemma:mixing-time",
    "lemma:high-probability",
    "theorem:average-reward-any-policy",
    "theorem:discounted",
    "theorem:main",
    "theorem:adp-fail",
    "Section 2.4, Theorem 17",
    "Section 2.4, T^(2/3)",
    "Appendix C.3, Algorithm 3",
    "Appendix C.6, start of an epoch",
]
"""Claims whose check is left to the soak.  "Eventually" takes minutes: values come down at step 671,088,640."""


@pytest.fixture
def fewer(monkeypatch):
    """Lets a claim rest on fewer runs."""

    def rest(runs: int) -> None:
        for module in (schedules, station):
            monkeypatch.setattr(module, "RUNS", runs)

    return rest


def check(claim: Claim) -> None:
    checked = claim.checked()
    assert checked["verdict"] == VERDICT[claim.label], checked["computed"]
    assert json.loads(json.dumps(checked)) == checked
    assert checked["test"] == f"tests/paper/test_claims.py::test_verdict[{claim.label}]"


def test_every_claim_has_a_verdict_here():
    assert [claim.label for claim in CLAIMS] == list(VERDICT)
    assert {*FEWER, *LONG} <= set(VERDICT)


@pytest.mark.parametrize(
    "claim",
    [pytest.param(claim, id=claim.label, marks=[pytest.mark.soak] * (claim.label in LONG)) for claim in CLAIMS],
)
def test_verdict(claim, fewer):
    if claim.label in FEWER:
        fewer(FEWER[claim.label])
    check(claim)


@pytest.mark.soak
@pytest.mark.parametrize("claim", [claim for claim in CLAIMS if claim.label in FEWER], ids=lambda claim: claim.label)
def test_verdict_with_every_run(claim):
    check(claim)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.label)
def test_it_says_what_how_and_where(claim):
    assert claim.statement
    assert claim.paper
    assert claim.how


def test_verdicts_follow_from_what_was_found():
    assert (verdict(True), verdict(False, True), repaired(False, True), verdict(False)) == VERDICTS[:4]
    assert (repaired(True, False), repaired(False, False)) == ("holds", "fails")
