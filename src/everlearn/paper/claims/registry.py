"""Every claim that is checked, in the order of the paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from everlearn.paper.claims import approximation, bounds, learning_rates, schedules, station, subroutine, values
from everlearn.paper.claims.claim import VERDICTS, Claim

CLAIMS: tuple[Claim, ...] = (
    *station.CLAIMS,
    *values.CLAIMS,
    *bounds.CLAIMS,
    *schedules.CLAIMS,
    *learning_rates.CLAIMS,
    *subroutine.CLAIMS,
    *approximation.CLAIMS,
)


def check_all(told: Callable[[dict[str, Any]], None] | None = None) -> list[dict[str, Any]]:
    """Check every claim; ``told`` is called with each as it is done."""
    done = []
    for claim in CLAIMS:
        done.append(claim.checked())
        if told is not None:
            told(done[-1])
    return done


def counted(checked: list[dict[str, Any]]) -> dict[str, int]:
    """Return how many claims have each verdict.

    Examples
    --------
    >>> counted([{"verdict": "holds"}, {"verdict": "fails"}, {"verdict": "holds"}])
    {'holds': 2, 'holds with correction': 0, 'fails': 1, 'not checkable': 0}

    """
    found = Counter(one["verdict"] for one in checked)
    return {verdict: found[verdict] for verdict in VERDICTS}
