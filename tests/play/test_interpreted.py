"""A stream that cannot be compiled is the run of the reference loop, and can be looked into like any other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import everlearn as el
from everlearn.agents.knowledge import arrays
from everlearn.agents.registry import make_design
from everlearn.errors import UserCodeError
from everlearn.play.explanation import explain
from everlearn.play.interpreted import Interpreted
from everlearn.play.stream import Stream
from everlearn.tables import make_table
from everlearn.tasks.registry import make_task
from tests.worlds import pendulum


def test_it_is_the_run_of_the_reference_loop_however_it_was_advanced():
    task, design = pendulum().finish(), make_design("growing-horizon")
    at_once, halting = (Interpreted(task, design, 3) for _ in range(2))
    at_once.advance(300)
    for steps in (0, 1, 99, 100, 1, 99):
        halting.advance(steps)
    run = el.run(task, steps=300, seed=3)
    assert at_once.recorded() == halting.recorded() == (run.times.tolist(), run.average_reward.tolist())


@pytest.mark.parametrize("agent", ["growing-horizon", "always", "ucrl2"])
def test_it_tells_what_a_compiled_stream_tells(agent):
    task, design = make_task("service-station"), make_design(agent)
    with ThreadPoolExecutor(1) as pool:
        table = make_table(design.view(task), eager=64)
        compiled, interpreted = Stream(task, design, 2, table, pool), Interpreted(task, design, 2)
        for steps in (0, 1, 40):
            compiled.advance(steps)
            interpreted.advance(steps)
            assert interpreted.recorded() == compiled.recorded()
            assert (interpreted.aleatoric_state, interpreted.now) == (compiled.aleatoric_state, compiled.now)
            assert interpreted.memory == compiled.memory
            assert explain(interpreted) == explain(compiled)
            some, others = interpreted.known((1,)), compiled.known((1,))
            assert all(np.array_equal(some[name], others[name]) for name in others)
    taken = interpreted.taken
    before, after = arrays(taken.before), arrays(taken.after)
    assert agent == "always" or any(not np.array_equal(before[name], after[name]) for name in before)


def test_an_environment_that_fails_is_named_with_what_was_done():
    @el.task(actions=["push"], observations=["left"], name="swing")
    class Swing:
        def start(self, rng):
            self.left = 2

        def step(self, action):
            self.left -= 1
            return ["left"][-1 if self.left else 1]

    Swing.reward(lambda s, action, observation: 0.0)
    watched = Interpreted(Swing.finish(), make_design("always"), 0)
    with pytest.raises(UserCodeError, match=r"task 'swing': step raised IndexError at action 'push': list index"):
        watched.advance(5)
