"""Names of places are the numbers that LaTeX prints: they are counted in the source, if it is at hand.

The source of the paper is not part of this project.  To check, name it: ``EVERLEARN_PAPER=paper.tex``.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import pytest

from everlearn.paper.claims.registry import CLAIMS
from everlearn.theory.places import PLACES, place_of

SOURCE = os.environ.get("EVERLEARN_PAPER")
LEVELS = ("section", "subsection", "subsubsection")
THEOREMS = "theorem|lemma|proposition|corollary"
TOKEN = re.compile(
    r"\\\[(?P<display>.*?)\\\]"
    r"|\\begin\{(?P<kind>equation|eqnarray|align)\}(?P<rows>.*?)\\end\{(?P=kind)\}"
    rf"|\\(?P<level>{'|'.join(LEVELS)})\{{"
    r"|(?P<appendix>\\appendix)\b"
    rf"|\\begin\{{(?:restatable\}}\{{)?(?P<theorem>{THEOREMS})\}}"
    r"|\\begin\{(?P<float>figure|algorithm)\}"
    r"|\\label\{(?P<label>[^}]*)\}",
    re.DOTALL,
)


def places(source: str) -> dict[str, str]:
    """Return by label the number and the section that LaTeX prints.

    Theorems, lemmas, propositions and corollaries share one counter.  In this source every displayed formula is an
    ``eqnarray``, so each of its lines has a number unless it ends with ``\\nn``; a label before that has the next one.
    """
    text = re.sub(r"(?<!\\)%.*|\\begin\{comment\}.*?\\end\{comment\}", "", source)
    section, counts, named, found = ["", 0, 0], Counter(), "", {}
    for token in TOKEN.finditer(text[text.find(r"\begin{document}") :]):
        part = token.groupdict()
        where = ".".join(map(str, filter(None, section)))
        where = f"Appendix {where}" if where[:1].isalpha() else f"Section {where}"
        if part["level"]:
            depth = LEVELS.index(part["level"])
            section[depth:] = [following(section[depth]), 0, 0][: 3 - depth]
        elif part["appendix"]:
            section = ["@", 0, 0]
        elif part["theorem"] or part["float"]:
            counter = part["float"] or "theorem"
            counts[counter] += 1
            named = f"{(part['theorem'] or counter).capitalize()} {counts[counter]}"
        elif part["label"]:
            found[part["label"]] = f"{named} ({where})"
        else:
            formula = re.sub(r"\\begin\{cases\}.*?\\end\{cases\}", "", part["display"] or part["rows"], flags=re.DOTALL)
            for row in [formula] if part["kind"] == "equation" else formula.split(r"\\"):
                number = counts["equation"] + 1
                found |= dict.fromkeys(re.findall(r"\\label\{([^}]*)\}", row), f"Equation {number} ({where})")
                counts["equation"] += not re.search(r"\\(nn|nonumber)\b", row)
    return found


def following(number: str | int) -> str | int:
    """Return the next number of a section, or letter of an appendix."""
    if isinstance(number, int):
        return number + 1
    return chr(ord(number) + 1) if number else "1"


def test_numbers_are_counted_as_latex_does():
    source = r"""\begin{document} \section{A} \[ x \nn \\ \label{eq:a} y \] % \begin{lemma}
    \begin{restatable}{theorem}{t} \label{t} \end{restatable} \section{B} \subsection{C}
    \begin{lemma} \label{l} \begin{eqnarray} \label{eq:b} x \nn \\ y \\ z \label{eq:c} \end{eqnarray} \end{lemma}
    \begin{figure} \label{f} \end{figure} \appendix \section{D} \section{E} \subsection{F}
    \begin{equation} \begin{cases} 1 \\ 2 \end{cases} \label{eq:d} \end{equation} \begin{corollary} \label{c}"""
    assert places(source) == {
        "eq:a": "Equation 1 (Section 1)",
        "t": "Theorem 1 (Section 1)",
        "l": "Lemma 2 (Section 2.1)",
        "eq:b": "Equation 2 (Section 2.1)",
        "eq:c": "Equation 3 (Section 2.1)",
        "f": "Figure 1 (Section 2.1)",
        "eq:d": "Equation 4 (Appendix B.1)",
        "c": "Corollary 3 (Appendix B.1)",
    }


@pytest.mark.skipif(not SOURCE, reason="EVERLEARN_PAPER does not name the source of the paper")
def test_every_place_is_what_latex_prints():
    printed = places(Path(SOURCE).read_text())
    named = {label: place for label, place in PLACES.items() if ":" in label}
    assert {label: printed[label] for label in named} == named


def test_names_are_places_in_the_printed_paper():
    assert place_of("lemma:learning-rate (a)") == "Lemma 8 (Appendix C.2), part (a)"
    assert not [claim.name for claim in CLAIMS if ":" in claim.name or "_{" in claim.name]
    assert len({claim.name for claim in CLAIMS}) == len(CLAIMS)


def test_no_page_names_a_label_of_the_source():
    pages = Path(__file__).parents[2].glob("docs/*.md")
    label = re.compile(r"`(eq|lemma|theorem|cor|fig|alg):[^`]*`")
    assert not [(page.name, found.group()) for page in pages for found in label.finditer(page.read_text())]
