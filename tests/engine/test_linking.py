"""Functions that are only linked into the driver: the same results, in half the time to compile."""

from __future__ import annotations

import subprocess
import sys

import numba
import pytest

from everlearn.engine.linking import LINKED, TRIED

SCRIPT = """
import sys
from everlearn.engine.linking import LINKED
if sys.argv[1] == "plain":
    LINKED.clear()
import everlearn as el
result = el.run("riverswim", agent=sys.argv[2], steps=3000, runs=2, seed=5, engine="compiled")
print(result.total_reward[:, -1].tolist())
"""


def test_it_was_tried_with_the_version_that_is_installed():
    """After an upgrade of Numba: try it (`make test TESTS=tests/engine`, and the soak), then change TRIED."""
    assert TRIED[0] <= numba.version_info.short <= TRIED[1]
    assert LINKED


@pytest.mark.soak
@pytest.mark.parametrize("agent", ["q-learning", "growing-horizon", "tsde", "ucrl2"])
def test_results_are_those_of_numba_alone(agent, tmp_path, monkeypatch):
    """Both are compiled anew; in every run of the tests, tests/conformance/test_engines.py has them interpreted."""

    def printed(how: str) -> str:
        # Neither reads what the other compiled.
        monkeypatch.setenv("EVERLEARN_CACHE_DIR", str(tmp_path / how))
        run = subprocess.run([sys.executable, "-c", SCRIPT, how, agent], capture_output=True, text=True, check=True)
        return run.stdout

    assert printed("plain") == printed("linked") != ""


PRINTS = """
import faulthandler
import numpy as np
from typing import NamedTuple
import everlearn as el

faulthandler.dump_traceback_later(900, exit=True)

class Knowledge(NamedTuple):
    q: np.ndarray

def act(knowledge, aleatoric_state, now, stream):
    print(knowledge.q[aleatoric_state])
    return 0

def learn(knowledge, experience, now, stream):
    knowledge.q[experience.aleatoric_state, experience.action] += 1.0

design = el.Design(lambda indexed: Knowledge(np.zeros((indexed.states, indexed.actions))), act, learn, name="prints")
el.run("service-station", design, steps=5, runs=1, engine="compiled")
"""


@pytest.mark.soak
def test_a_users_agent_may_print_an_array(tmp_path):
    """That needs an environment of Numba, which linked functions do not have: it would wait for ever."""
    script = tmp_path / "prints.py"
    script.write_text(PRINTS)
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "[1. 0.]" in run.stdout
