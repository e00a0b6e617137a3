"""Logged exploration over HTTP: the same proposals and propensities as in process, after a kill too."""

from __future__ import annotations

import everlearn as el
from everlearn.durable.reader import Reader

PUMP = {"actions": ["off", "on"], "observations": ["dry", "full"], "reward_range": [0, 1], "seed": 1, "explore": 0.5}


def test_it_proposes_and_records_as_in_process(start, tmp_path):
    service = start()
    service.create("mixed", PUMP)
    for step in range(1, 40):
        service.post("/v1/agents/mixed/observe", {"step": step, "observation": "dry", "reward": 1})
        if step == 20:
            service.post("/v1/agents/mixed/act")
            service.kill()
            service = start()
    with el.live(tmp_path / "twin", **PUMP) as twin:
        for _ in range(39):
            twin.act()
            twin.observe("dry", reward=1)
        names = ("proposed", "executed", "propensity")
        expected = [[row[name] for name in names] for row in twin.journal()]
    with Reader(service.directory) as reader:
        task = reader.enrolled("mixed").stored_setup().task
        rows = [entry.described(task) for entry in reader.rows(1)]
    assert [[row[name] for name in names] for row in rows] == expected
    assert {row["propensity"] for row in rows} == {0.25, 0.75}


def test_a_rate_that_is_no_probability_is_refused(service):
    for rate in (-1, 1.5, "0.1", True):
        answer = service.call("POST", "/v1/agents", {"name": "mixed", "setup": {**PUMP, "explore": rate}})
        assert answer.status == 422
