"""A claim of the paper: what it says, how it is checked here, and the verdict of that check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

HOLDS, CORRECTED, FAILS, NOT_CHECKABLE = "holds", "holds with correction", "fails", "not checkable"
VERDICTS = (HOLDS, CORRECTED, FAILS, NOT_CHECKABLE)


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

    def checked(self) -> dict[str, str]:
        """Run the check, and return the claim with its result as a JSON document."""
        finding = self.check()
        return {
            "id": self.label,
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
