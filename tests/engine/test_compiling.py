"""Compiled code is kept between processes, is never stale, and its absence is survived.

Each test makes processes of its own, since staleness and caches are about processes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.boundary.runner import Done, Runner, spawn
from tests.few import few

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

design = el.Design(lambda indexed: Nothing(np.zeros(1)), act, learn, name="mine")
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


CHILDREN = """
import json, multiprocessing
import everlearn as el
from agent import design

def total(seed):
    return el.run("service-station", design, steps=300, runs=2, seed=seed, engine="compiled").total_reward.tolist()

if __name__ == "__main__":
    mine = [total(seed) for seed in range(2)]
    found = {}
    for method, number in (("fork", 2), ("spawn", 1)):
        with multiprocessing.get_context(method).Pool(number) as pool:
            found[method] = pool.map(total, range(2)) == mine
    print(json.dumps(found))
"""


class Workshop:
    """A folder with an agent, a helper in another file, and a cache."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache = folder / "cache"
        self.write()

    def write(self, choice: str = "preferred(aleatoric_state)", preferred: str = "1") -> None:
        files = {"agent.py": AGENT.format(choice=choice), "helpers.py": f"def preferred(s):\n    return {preferred}\n"}
        for name, text in {**files, "script.py": SCRIPT, "children.py": CHILDREN}.items():
            (self.folder / name).write_text(text)

    def run(self, make: Runner | Callable[..., Done], script: str = "script.py") -> dict:
        done = make(f"python {script}", self.folder, EVERLEARN_CACHE_DIR=str(self.cache))
        assert done.status == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def twice(tmp_path_factory) -> tuple[Workshop, dict, dict]:
    """A workshop, and what two processes say that were really started there, one after the other."""
    workshop = Workshop(tmp_path_factory.mktemp("workshop"))
    return workshop, workshop.run(spawn), workshop.run(spawn)


@pytest.mark.soak
def test_compiled_code_survives_into_a_new_process(twice):
    _, first, second = twice
    assert first["same"]
    assert second["same"]
    assert (first["hits"], second["misses"]) == (0, 0)
    assert second["hits"] > 0


@pytest.mark.parametrize(
    "edit",
    [{"preferred": "0"}, pytest.param({"choice": "1 - preferred(aleatoric_state)"}, marks=pytest.mark.soak)],
    ids=["a callee in another file", "the agent"],
)
def test_what_was_edited_is_never_served_stale(twice, runner, edit):
    workshop, before, _ = twice
    workshop.write(**edit)
    after = workshop.run(runner)
    workshop.write()
    assert after["same"]
    assert after["total"] != before["total"]


@pytest.mark.parametrize("below", few(["a file", "a folder that cannot be written"], ["a file"]))
def test_a_cache_that_cannot_be_written_is_survived_with_a_warning(tmp_path, runner, below):
    workshop = Workshop(tmp_path)
    if below == "a file":
        workshop.cache.write_text("in the way")
        workshop.cache = workshop.cache / "cache"
    else:
        workshop.cache = Path("/proc/everlearn")
    found = workshop.run(runner)
    assert found["same"]
    assert any("compiled code cannot be kept" in message for message in found["warnings"])
    assert any("set EVERLEARN_CACHE_DIR" in message for message in found["warnings"])


@pytest.mark.soak
def test_forked_and_spawned_children_run_it_too(twice):
    assert twice[0].run(spawn, "children.py") == {"fork": True, "spawn": True}
