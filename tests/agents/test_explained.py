"""The words for a tree: each question is in the task's labels, and each leaf says what is done there."""

from __future__ import annotations

import numpy as np

import everlearn as el
from everlearn.agents.explained import question
from everlearn.agents.splits import split
from tests.worlds import environment_stream


def maze() -> el.Agent:
    return el.Agent("t-maze", "learned", parameters={"task.length": 3, "task.window": 1}, seed=1)


def test_nothing_is_said_before_the_first_step():
    assert maze().explain() == "nothing has been learned yet"


def test_the_tree_is_read_from_its_roots_to_its_leaves():
    agent = maze()
    junction = agent.task.states.index(("junction",))
    feature = agent.knowledge.sizes.kinds.index(("change", 2))
    split(agent.knowledge, junction, feature, 0, agent.upcoming)
    for _ in range(4):
        for cue in ("left", "right"):
            for observation in (cue, "corridor", "corridor", "junction"):
                agent.observe(observation, executed="left")
            agent.observe("prize" if cue == "left" else "nothing", executed="left")
            agent.observe(cue, executed="left")
    lines = agent.explain().split("\n")
    place = lines.index("in ('junction',):")
    assert lines[place + 1].startswith("  if the 2nd last different observation was 'left': ")
    assert lines[place + 2].startswith("  otherwise: ")
    assert lines[place + 1].endswith("(4 visits)")
    assert "in ('prize',): 'right' (4 visits)" in lines


def test_every_question_has_words_of_its_own():
    agent = maze()
    sizes = agent.knowledge.sizes
    ordered = sizes.ordered
    texts = [
        question(sizes, feature, value, agent.task)
        for feature, number in enumerate(sizes.values)
        for value in range(1 if feature >= ordered else 0, number)  # "at least the least" is no question
    ]
    assert len(texts) == len(set(texts))


def test_designs_that_are_given_their_state_say_nothing():
    assert el.Agent("t-maze", "growing-horizon").explain() is None


def test_a_run_hands_over_what_its_first_run_knows():
    seen = []
    given = {"task.length": 3, "task.window": 1}
    el.run("t-maze", "learned", steps=300, runs=2, seed=1, engine="reference", parameters=given, finished=seen.append)
    agent, [handed] = maze(), seen
    environment = agent.task.start(environment_stream(1))
    for _ in range(300):
        agent.observe(environment.step(agent.act()))
    assert handed.explain() == agent.explain()
    assert np.array_equal(handed.inspect()["Q"], agent.inspect()["Q"])
