"""Where a reader of the printed paper finds what the LaTeX source calls by a label.

Theorems, lemmas, propositions and corollaries share one counter, as the style of the journal has it.  The numbers are
counted in the LaTeX source by ``tests/paper/test_places.py``.
"""

from __future__ import annotations

PLACES = {
    "lemma:bellman": "Proposition 1 (Section 3)",
    "lemma:mixing-time": "Lemma 2 (Section 3)",
    "theorem:average-reward-discounted-algorithm": "Theorem 3 (Section 4.1)",
    "theorem:main": "Theorem 4 (Section 4.2)",
    "cor:avg-time-upper-bound": "Corollary 5 (Section 4.2)",
    "lemma:aleatoric-vs-global": "Lemma 6 (Section 4.2)",
    "cor:global-optimum": "Corollary 7 (Section 4.2)",
    "lemma:learning-rate": "Lemma 8 (Appendix C.2)",
    "theorem:discounted": "Theorem 9 (Appendix C.3)",
    "lemma:regret-decomposition": "Lemma 10 (Appendix C.3.1)",
    "lemma:optimism": "Lemma 11 (Appendix C.3.2)",
    "lemma:high-probability": "Lemma 12 (Appendix C.3.3)",
    "theorem:average-reward-any-policy": "Theorem 13 (Appendix C.4)",
    "lemma:doubling-trick": "Lemma 14 (Appendix C.6)",
    "lemma:q-init-condition": "Lemma 15 (Appendix C.6)",
    "Appendix D, first theorem": "Theorem 16 (Appendix D)",
    "theorem:adp-fail": "Theorem 17 (Appendix D)",
    "fig:agent-comparison": "Figure 5 (Section 1.4.5)",
    "fig:better-schedules": "Figure 6 (Section 4.3)",
    "fig:arrival_prob": "Figure 7 (Appendix B.1)",
    "eq:average-reward-estimate-formula": "Equation 25 (Appendix B.2)",
    "eq:prob_W_inf": "Equation 26 (Appendix B.2)",
    "eq:average_reward1": "Equation 27 (Appendix B.2)",
    "eq:average_reward_second_agent": "Equation 28 (Appendix B.2)",
    "eq:appendix-13": "Equation 47 (Appendix C.3)",
    "eq:appendix-18": "Equation 92 (Appendix C.3.3)",
}
"""The place of each label.  The first theorem of Appendix D has none in the source, and is named by its section."""


def place_of(label: str) -> str:
    """Return the place of a label, also of one with a part, as in ``lemma:learning-rate (a)``; else the label.

    Examples
    --------
    >>> place_of("lemma:learning-rate (a)"), place_of("Section 1.4.4, optimum")
    ('Lemma 8 (Appendix C.2), part (a)', 'Section 1.4.4, optimum')

    """
    for name, place in PLACES.items():
        if label == name:
            return place
        if label.startswith((f"{name} (", f"{name}, ")):
            rest = label.removeprefix(name).lstrip(", ")
            return f"{place}, part {rest}" if rest.startswith("(") else f"{place}, {rest}"
    return label
