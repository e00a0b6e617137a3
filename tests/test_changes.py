"""The tables of the remedies for change: what is lost is a share of the size of the optimum, which may be negative."""

from __future__ import annotations

import numpy as np
from docs import changes


def test_a_greater_cost_is_a_greater_regret(monkeypatch):
    def earned(_system, agent, *_given):
        return np.full(changes.RUNS, -3.0 if agent == "planner" else -2.5)

    monkeypatch.setattr(changes, "optimum", lambda _system: -2.0)
    monkeypatch.setattr(changes, "earned", earned)
    cells = dict(zip(changes.TABLES["stationary"][0], changes.stationary_row("`inventory`, on hand"), strict=True))
    assert cells["practical"] == "0.250 ± 0.000"
    assert (cells["planner"], cells["smooth"]) == ("+0.250 ± 0.000", "+0.000 ± 0.000")
