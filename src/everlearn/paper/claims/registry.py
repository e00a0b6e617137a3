"""All claims, in the order of the paper."""

from __future__ import annotations

from everlearn.paper.claims import approximation, bounds, learning_rates, schedules, station, subroutine, values
from everlearn.paper.claims.claim import Claim

MODULES = (station, values, bounds, schedules, learning_rates, subroutine, approximation)

CLAIMS = tuple(value for module in MODULES for value in vars(module).values() if isinstance(value, Claim))
