"""What a claim is: what the paper says, how it is computed here, and the verdict that the computation gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

HOLDS, CORRECTED, FAILS, NOT_CHECKABLE = "holds", "holds with correction", "fails", "not checkable"
VERDICTS = (HOLDS, CORRECTED, FAILS, NOT_CHECKABLE)


class Finding(NamedTuple):
    """What a computation found, in words and numbers, and what follows for the claim."""

    computed: str
    verdict: str


@dataclass(frozen=True)
class Claim:
    """A claim of the paper.

    Parameters
    ----------
    id:
        the paper's label where it has one
    statement:
        what is claimed, in our words
    paper:
        what the paper says, in its numbers
    how:
        the method
    check:
        computes it, and says what was found

    Examples
    --------
    >>> claim = Claim("sum", "1 + 1 is 2", "2", "by adding", lambda: Finding("2", HOLDS if 1 + 1 == 2 else FAILS))
    >>> claim.checked()["verdict"]
    'holds'

    """

    id: str
    statement: str
    paper: str
    how: str
    check: Callable[[], Finding]

    @property
    def test(self) -> str:
        """The test that guards the verdict."""
        return f"tests/paper/test_claims.py::test_verdict[{self.id}]"

    def checked(self) -> dict[str, Any]:
        """Return the claim with what was computed and the verdict, as JSON can hold it."""
        found = self.check()
        return {
            "id": self.id,
            "statement": self.statement,
            "paper": self.paper,
            "computed": found.computed,
            "verdict": found.verdict,
            "how": self.how,
            "test": self.test,
        }


def verdict(as_printed: bool, corrected: bool = False) -> str:
    """Return the verdict for a claim that can be checked: as printed, or else with the correction that is stated.

    Examples
    --------
    >>> verdict(True), verdict(False, True), verdict(False)
    ('holds', 'holds with correction', 'fails')

    """
    return HOLDS if as_printed else CORRECTED if corrected else FAILS
