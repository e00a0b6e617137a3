"""Any number of requests of any kind: none is answered with 5xx but a deliberate 503, and memory does not grow."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from tests.service.flooding import CONNECTIONS, flood

LONGEST = 3 * 3600
"""After how many seconds the million is given up; on a quiet machine it takes a quarter of an hour."""


def test_requests_of_any_kind(service):
    statuses = flood(service, 1_500, 1)
    assert set(statuses) >= {200, 404, 422}
    assert statuses[503] < 40
    check(service, steps=25)


@pytest.mark.soak
def test_a_million_requests(service):
    """Of them 10,000 are setups and agent states; after the first tenth, memory does not grow by a tenth."""
    before, ends = 0, time.monotonic() + LONGEST
    for seed in range(20):
        assert time.monotonic() < ends, f"{seed * 50_000} requests were sent, and all was well"
        statuses = flood(service, 50_000, seed)
        assert statuses[503] < 500
        check(service, steps=1_000)
        now = resident(service.pid)
        before = before or (now if seed == 1 else 0)
        assert not before or now < 1.1 * before, (seed, before, now)


def check(service, steps: int) -> None:
    """Check that each agent has learned so many steps, and that nothing is quarantined or dead."""
    assert all(service.call("GET", f"/v1/agents/pump{lane}").json["step"] > steps for lane in range(CONNECTIONS))
    assert service.call("GET", "/healthz").status == 200
    assert service.call("GET", "/readyz").json == {"status": "ready", "quarantined": 0}


def resident(process: int) -> int:
    """Return how many bytes of memory a process and those that it forked have."""
    forked = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    statuses = [Path(f"/proc/{number}/status").read_text() for number in (process, *forked)]
    return sum(1024 * int(re.search(r"VmRSS:\s+(\d+)", status)[1]) for status in statuses)
