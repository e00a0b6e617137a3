"""A claim of the paper: what it says, how it is checked here, and the verdict of that check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from everlearn.theory.places import place_of

HOLDS, CORRECTED, REPAIRED = "holds", "holds with correction", "false as printed, repaired"
FAILS, NOT_CHECKABLE = "fails", "not checkable"
VERDICTS = (HOLDS, CORRECTED, REPAIRED, FAILS, NOT_CHECKABLE)
"""A claim *holds with correction* if what is meant is true and a slip is in the way of it.  It is *false as printed,
repaired* if the statement itself is false, and another that serves its purpose was checked in its place."""


class Finding(NamedTuple):
    """The result of a check, in words and numbers, and the verdict that follows."""

    computed: str
    verdict: str


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, and the function that checks it."""

    label: str
    """The paper's label, or the section if it has none."""
    statement: str
    """The claim, in our words."""
    paper: str
    """What the paper says, in its numbers."""
    how: str
    """The method of the check."""
    check: Callable[[], Finding]

    @property
    def name(self) -> str:
        """Where a reader of the printed paper finds it."""
        return place_of(self.label)

    def checked(self) -> dict[str, str]:
        """Run the check, and return the claim with its result as a JSON document."""
        finding = self.check()
        return {
            "id": self.label,
            "name": self.name,
            "statement": self.statement,
            "paper": self.paper,
            "computed": finding.computed,
            "verdict": finding.verdict,
            "how": self.how,
            "test": f"tests/paper/test_claims.py::test_verdict[{self.label}]",
        }


def claim(label: str, statement: str, *, paper: str, how: str) -> Callable[[Callable[[], Finding]], Claim]:
    """Return a decorator that turns the function that checks a claim into the claim."""
    return lambda check: Claim(label, statement, paper, how, check)


def verdict(as_printed: bool, corrected: bool = False) -> str:
    """Return the verdict for a claim that can be checked: as printed, or else with the stated correction."""
    return HOLDS if as_printed else CORRECTED if corrected else FAILS


def repaired(as_printed: bool, repair: bool) -> str:
    """Return the verdict for a claim that is false as printed if what is stated in its place holds."""
    return HOLDS if as_printed else REPAIRED if repair else FAILS
