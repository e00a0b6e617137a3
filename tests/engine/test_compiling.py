"""Compiled code is kept between processes, is never stale, and its absence is survived.

Each test starts processes of its own, since staleness and caches are about processes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

AGENT = """
from typing import NamedTuple
import numpy as np
import everlearn as el
from helpers import preferred

class Nothing(NamedTuple):
    count: np.ndarray

def act(knowledge, aleatoric_state, now, stream):
    return {choice}

def learn(knowledge, experience, now, stream):
    knowledge.count[0] += 1

design = el.Design(lambda interface: Nothing(np.zeros(1)), act, learn, name="mine")
"""

SCRIPT = """
import json, warnings
import everlearn as el
from agent import design
from everlearn.engine import driver
from everlearn.engine.compiled import options
from everlearn.engine.compiling import compiled
from everlearn.engine.kernels import Token
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    total = [el.run("service-station", design, steps=300, engine=engine).total_reward[0].tolist()
             for engine in ("compiled", "reference")]
stats = compiled(driver.advance, Token(design.act, design.learn, options=options(design))).stats
print(json.dumps({"same": total[0] == total[1], "total": total[0][-1], "hits": sum(stats.cache_hits.values()),
                  "misses": sum(stats.cache_misses.values()), "warnings": [str(one.message) for one in caught]}))
"""


class Workshop:
    """A folder with an agent, a helper in another file, and a cache."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache = folder / "cache"
        self.write()

    def write(self, choice: str = "preferred(aleatoric_state)", preferred: str = "1") -> None:
        (self.folder / "agent.py").write_text(AGENT.format(choice=choice))
        (self.folder / "helpers.py").write_text(f"def preferred(s):\n    return {preferred}\n")

    def run(self, script: str = SCRIPT) -> dict:
        environment = {**os.environ, "EVERLEARN_CACHE_DIR": str(self.cache), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def workshop(tmp_path):
    return Workshop(tmp_path)


def test_compiled_code_survives_into_a_new_process(workshop):
    first, second = workshop.run(), workshop.run()
    assert first["same"]
    assert second["same"]
    assert (first["hits"], second["misses"]) == (0, 0)
    assert second["hits"] > 0


def test_an_edited_callee_in_another_file_is_never_served_stale(workshop):
    before = workshop.run()
    workshop.write(preferred="0")
    after = workshop.run()
    assert after["same"]
    assert after["total"] != before["total"]


def test_an_edited_agent_is_never_served_stale(workshop):
    before = workshop.run()
    workshop.write(choice="1 - preferred(aleatoric_state)")
    after = workshop.run()
    assert after["same"]
    assert after["total"] != before["total"]


@pytest.mark.parametrize("below", ["a file", "a folder that cannot be written"])
def test_a_cache_that_cannot_be_written_is_survived_with_a_warning(workshop, below):
    if below == "a file":
        workshop.cache.write_text("in the way")
        workshop.cache = workshop.cache / "cache"
    else:
        workshop.cache = Path("/proc/everlearn")
    found = workshop.run()
    assert found["same"]
    assert any("compiled code cannot be kept" in message for message in found["warnings"])
    assert any("set EVERLEARN_CACHE_DIR" in message for message in found["warnings"])


CHILDREN = """
import json, multiprocessing
import everlearn as el
from agent import design

def total(seed):
    return el.run("service-station", design, steps=300, runs=2, seed=seed, engine="compiled").total_reward.tolist()

if __name__ == "__main__":
    mine = [total(seed) for seed in range(3)]
    found = {}
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            found[method] = pool.map(total, range(3)) == mine
    print(json.dumps(found))
"""


def test_forked_and_spawned_children_run_it_too(workshop):
    (workshop.folder / "children.py").write_text(CHILDREN)
    environment = {**os.environ, "EVERLEARN_CACHE_DIR": str(workshop.cache)}
    command = [sys.executable, "children.py"]
    done = subprocess.run(command, cwd=workshop.folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"fork": True, "spawn": True}
