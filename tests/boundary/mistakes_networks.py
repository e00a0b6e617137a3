"""Mistakes with networks of queues."""

from __future__ import annotations

from tests.boundary.mistake import Mistake

MISTAKES = [
    Mistake(
        group="tasks",
        title="a regime that the criss-cross network does not have",
        files={},
        call="everlearn run criss-cross --set task.regime=XX",
        answer="regime: 'XX'; give one of IL, BL, IM, BM, IH, BH",
    ),
    Mistake(
        group="tasks",
        title="the exact average of a policy for unbounded queues",
        files={},
        call="everlearn theory criss-cross --policy max-weight",
        answer=(
            "task: 'criss-cross'; has unbounded queues, so that only its optimum is computed (--only optimum); "
            "simulate policies"
        ),
    ),
    Mistake(
        group="tasks",
        title="a network of QGym whose arrivals are not exponential",
        files={"network.yaml": "{name: network, lam_type: hyper}"},
        call="everlearn run qgym:network.yaml",
        answer="lam_type: 'hyper'; only constant is supported",
    ),
    Mistake(
        group="tasks",
        title="a line of more stations than there is memory for",
        files={},
        call="everlearn run reentrant-line --set task.stations=7 --set task.seen=1",
        answer="stations: 7; give 2 to 6",
    ),
    Mistake(
        group="tasks",
        title="a network of QGym with rates in place of 0 and 1",
        files={"network.yaml": "{name: network, network: [[2]], mu: [[1]]}"},
        call="everlearn run qgym:network.yaml",
        answer="network: [[2.0]]; give a 0 or 1 for each server and queue; rates belong in mu",
    ),
]
