"""What another policy would have earned, from a journal."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

import everlearn as el
from everlearn.analysis.evaluation import reasons_against
from everlearn.analysis.off_policy import estimate
from everlearn.durable.setup import make_setup
from everlearn.durable.store import Store
from everlearn.errors import Absent, InputError, LiveError, RewardError
from everlearn.tasks.registry import make_task
from tests.analysis.logged import World
from tests.memory import tmp_path, tmp_path_factory
from tests.refusal import has, refusal

__all__ = ["tmp_path", "tmp_path_factory"]

RIVER = World(make_task("riverswim"))
STEPS = 1500


def log(steps: int = STEPS, seed: int = 0) -> list[tuple[int, str]]:
    """Observations and actions of a policy that swims right in 8 of 10 steps."""
    (data,) = RIVER.followed(RIVER.policy("right:0.8"), steps, 1, seed)
    return [(int(end), ("left", "right")[action]) for end, action in zip(data.following, data.actions, strict=True)]


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    path = tmp_path_factory.mktemp("evaluated") / "agent"
    with el.live(path, task="riverswim", seed=1) as agent:
        agent.warm_start(log())
    return path


def test_the_interval_covers_the_truth(directory):
    for policy in ("right", "right:0.9", {0: "right", 1: "right:0.7"}, RIVER.policy("right:0.9")):
        found = el.evaluate(directory, policy)
        truth = RIVER.theory.average_reward(policy)
        assert found.lower < found.estimate < found.upper
        assert found.lower < truth < found.upper
        assert found.upper - found.lower < 0.2
        assert (found.supported, found.reasons, found.warnings, found.steps) == (True, (), (), STEPS)


def test_a_higher_confidence_makes_a_wider_interval(directory):
    narrow, wide = (el.evaluate(directory, "right", confidence=confidence) for confidence in (0.8, 0.99))
    assert (narrow.estimate, narrow.confidence, wide.confidence) == (wide.estimate, 0.8, 0.99)
    assert wide.upper - wide.lower > 1.8 * (narrow.upper - narrow.lower)


def test_what_was_earned(directory):
    with el.live(directory) as agent:
        rewards = [row["reward"] for row in agent.journal()]
        assert el.evaluate(directory, "right").earned == pytest.approx(np.mean(rewards))  # while it is in use


def test_some_steps_only(directory):
    found = el.evaluate(directory, "right", first=501, last=1200)
    assert found.steps == 700
    assert found.estimate != el.evaluate(directory, "right").estimate
    assert el.evaluate(directory, "right", first=1001).steps == 500


def test_few_steps_support_nothing(directory):
    found = el.evaluate(directory, "right", last=40)
    assert (found.estimate, found.lower, found.upper, found.supported) == (None, None, None, False)
    assert found.reasons[0].startswith("the journal has ")
    assert " of right in state " in found.reasons[0]


@pytest.fixture(scope="module")
def stuck(tmp_path_factory):
    """A directory whose agent hardly left the left bank."""
    path = tmp_path_factory.mktemp("stuck") / "agent"
    with el.live(path, task="riverswim") as agent:
        agent.warm_start([(0, "left")] * 300 + [(1, "right"), (0, "left")] * 3)
    return path


def test_an_action_that_was_hardly_taken_is_named(stuck):
    assert {reason.partition(",")[0] for reason in el.evaluate(stuck, "right").reasons} == {
        "the journal has 0 visits of right in state 1",
        "the journal has 3 visits of right in state 0",
    }
    (reason, *_) = el.evaluate(stuck, "0=right:0.9,1=left").reasons
    assert reason.startswith("the journal has 3 visits of right in state 0, and that is 47 percent of the steps")


def test_intervals_stay_within_the_range_of_rewards(stuck):
    found = el.evaluate(stuck, "left")
    assert found.estimate == pytest.approx(0.005, abs=1e-6)
    assert (found.lower, found.upper) == (0.0, pytest.approx(0.005 - np.log(0.05) / 306))


def test_outcomes_that_were_not_seen(tmp_path):
    """In state in it always stayed there, 30 times; had it fallen out once, that would have cost 50 steps."""
    setup = {"actions": ["stay", "jump"], "observations": ["in", "out"], "start": "in", "reward_range": (0, 1)}
    fall = [("out", "jump", 0), *[("out", "stay", 0)] * 49, ("in", "stay", 0)]
    with el.live(tmp_path / "agent", **setup) as agent:
        agent.warm_start([*fall, *fall, *[("in", "stay", 1)] * 30])
    (reason,) = el.evaluate(tmp_path / "agent", "stay").reasons
    assert reason.startswith("what 30 visits of stay in state in did not show could change the average by ")
    with el.live(tmp_path / "agent") as agent:
        agent.warm_start([*[("in", "stay", 1)] * 5000])
    assert el.evaluate(tmp_path / "agent", "stay").supported


def test_a_variance_that_few_visits_tell(directory):
    data = next(RIVER.followed(RIVER.policy("right"), 300, 1))
    found = estimate(data, RIVER.policy("right"))
    assert not reasons_against(found._replace(freedom=5.0), RIVER.task, 1.0)
    (reason,) = reasons_against(found._replace(freedom=4.9), RIVER.task, 1.0)
    assert reason.startswith("the uncertainty rests on ")
    assert reason.endswith(", which are too few to tell it")
    assert not reasons_against(found._replace(freedom=4.9, half_width=found.least_width), RIVER.task, 0.0)


def test_greedy_is_what_the_agent_knows(directory):
    with el.live(directory) as agent:
        known = {row["state"]: row["action"] for row in agent.policy()["actions"]}
    found = el.evaluate(directory, "greedy")
    assert found.estimate == el.evaluate(directory, known).estimate
    assert found.policy == "greedy"


def test_an_action_of_that_name_is_an_action(tmp_path):
    setup = {"actions": ["patient", "greedy"], "observations": ["x"], "reward_range": (0, 1)}
    with el.live(tmp_path / "agent", **setup) as agent:
        agent.warm_start([("x", action, reward) for action, reward in [("patient", 0.75), ("greedy", 0.25)] * 50])
    assert el.evaluate(tmp_path / "agent", "greedy").estimate == pytest.approx(0.25, abs=0.01)


def right_pays(s, action, observation):
    return 10.0 * (action == "right") + (observation == s + 1)


def test_another_reward(directory, monkeypatch):
    found = el.evaluate(directory, "right:0.9", reward=right_pays)
    assert 9.1 < found.lower < found.upper < 9.6
    assert found.earned == pytest.approx(8.3, abs=0.3)
    monkeypatch.syspath_prepend(__file__.rpartition("/")[0])
    assert el.evaluate(directory, "right:0.9", reward="tests.analysis.test_evaluation:right_pays") == found
    task = RIVER.task
    table = [[s, a, o, right_pays(s, a, o)] for s in task.states for a in task.actions for o in task.observations]
    assert el.evaluate(directory, "right:0.9", reward=table) == found
    with pytest.raises(RewardError):
        el.evaluate(directory, "right", reward=lambda s, action, observation: "much")


def test_all_modes_tell(tmp_path):
    with el.live(tmp_path / "agent", task="riverswim", seed=1) as agent:
        agent.act()
        agent.observe(0, executed="left")
        agent.freeze()
        agent.act()
        agent.observe(0, executed="left")
        agent.shadow()
        agent.observe(0, executed="left")
    assert el.evaluate(tmp_path / "agent", "left").steps == 3


def test_an_accepted_change_is_mentioned(tmp_path):
    setup = {"actions": ["a", "b"], "observations": ["x", "y"], "reward_range": (0, 1)}
    for scale in (0.25, 0.5):
        reward = (lambda s, a, o: 0.25) if scale == 0.25 else (lambda s, a, o: 0.5)
        with el.live(tmp_path / "agent", **setup, reward=reward, accept_changes=True) as agent:
            agent.warm_start([("x", "a")] * 30)
    found = el.evaluate(tmp_path / "agent", "a")
    assert "a change was accepted at step 30; to use what came after it, begin there" in found.warnings
    assert any(warning.startswith("the second half of the steps differs") for warning in found.warnings)
    later = el.evaluate(tmp_path / "agent", "a", first=31)
    assert (later.warnings, later.estimate) == ((), pytest.approx(0.5))


def test_a_state_that_is_not_markov_is_mentioned(tmp_path):
    """What follows is the observation before the last one."""
    random = np.random.default_rng(0)
    seen = ["x", "y"]
    for _ in range(600):
        seen.append(seen[-2] if random.random() < 0.9 else str(random.choice(["x", "y"])))
    setup = {"actions": ["a"], "observations": ["x", "y"], "reward_range": (0, 1)}
    with el.live(tmp_path / "agent", **setup) as agent:
        agent.warm_start([(label, "a", float(label == "x")) for label in seen])
    warning = el.evaluate(tmp_path / "agent", "a").warnings[0]
    assert warning.startswith("what follows depends on the state before the present one")


def test_rewards_that_have_not_come_are_left_out(tmp_path):
    setup = {"actions": ["off", "on"], "observations": ["dry"], "reward_range": (0, 1), "reward_delay": 5}
    with el.live(tmp_path / "agent", **setup) as agent:
        for step in range(1, 41):
            agent.act()
            agent.observe("dry", executed="on")
            if step > 3:
                agent.reward(step - 3, 0.75)
    found = el.evaluate(tmp_path / "agent", "on")
    assert (found.earned, found.steps) == (0.75, 37)
    assert "3 steps whose reward has not come: left out" in found.warnings
    paid = el.evaluate(tmp_path / "agent", "on", reward=lambda s, action, observation: 2.0)
    assert (paid.earned, paid.steps, paid.warnings) == (2, 40, ())
    with pytest.raises(LiveError, check=has(__class__=LiveError, agent="agent")):
        el.evaluate(tmp_path / "agent", "on", first=38)


def test_one_of_several_agents(tmp_path):
    with Store(tmp_path) as store:
        for name in ("north", "south"):
            store.create(name, make_setup(task="riverswim"))
    with pytest.raises(InputError, check=refusal("agent", None)):
        el.evaluate(tmp_path, "left")
    with pytest.raises(LiveError, check=has(__class__=LiveError, agent="south")):
        el.evaluate(tmp_path, "left", agent="south")
    with pytest.raises(Absent, check=has(agent="east")):
        el.evaluate(tmp_path, "left", agent="east")


@pytest.mark.parametrize("confidence", [0, 1, 95, "much", None])
def test_a_confidence_that_is_none(directory, confidence):
    with pytest.raises(InputError, check=refusal("confidence")):
        el.evaluate(directory, "left", confidence=confidence)


def test_a_design_that_was_given_as_an_object_is_needed_for_greedy_alone(tmp_path):
    design = el.Agent("riverswim").design
    with el.live(tmp_path / "agent", task="riverswim", agent=design) as agent:
        agent.warm_start(log(200))
    assert el.evaluate(tmp_path / "agent", "right").steps == 200
    with pytest.raises(InputError, check=refusal("agent", "a function or an object")):
        el.evaluate(tmp_path / "agent", "greedy")


def test_it_is_shown_in_a_line_and_written_as_json(directory):
    found = el.evaluate(directory, "right")
    assert repr(found).startswith(f"Evaluation({found.estimate:.4g}, {found.lower:.4g} to {found.upper:.4g} at 0.95; ")
    assert json.loads(json.dumps(found.to_dict()))["estimate"] == found.estimate
    few = el.evaluate(directory, "right", last=40)
    assert repr(few).startswith("Evaluation(not supported: the journal has ")
    assert few.to_dict()["estimate"] is None


def test_reasons_are_possible_numbers_and_name_what_matters(tmp_path):
    """Two states that the policy never leaves; half of the steps were in each."""
    setup = {"actions": ["stay", "move"], "observations": ["good", "jam"], "start": "good", "reward_range": (0, 1)}
    rows = [("good", "stay", 1.0)] * 40 + [("jam", "move", 0.0)] + [("jam", "stay", 0.0)] * 40 + [("good", "move", 0.0)]
    with el.live(tmp_path / "agent", **setup) as agent:
        agent.warm_start(rows * 3)
    first, second = el.evaluate(tmp_path / "agent", "stay").reasons
    assert first == "under this policy the system stays in good or in jam, depending on where it starts"
    assert second.endswith("could change the average by as much as rewards differ, 1")


def test_only_what_matters_is_named_and_percentages_are_plain():
    task = make_task("riverswim")
    (data,) = RIVER.followed(RIVER.policy("right:0.8"), 200, 1, 0)
    found = estimate(data, RIVER.policy("right"))
    weights, visits = np.zeros_like(found.weights), np.zeros_like(found.visits)
    weights[0, 0], weights[1, 0] = 1.0, 4.7e-9
    (reason,) = reasons_against(found._replace(weights=weights, visits=visits), task, 1.0)
    assert "and that is 100 percent of the steps" in reason


def test_what_has_no_agents_is_named(tmp_path):
    """As when a name is mistyped, or the arguments are swapped."""
    for call in (el.evaluate, lambda place, _policy: el.shadow_report(place), lambda place, _policy: el.replay(place)):
        with pytest.raises(InputError, check=refusal("directory")):
            call(tmp_path, "greedy")
    with pytest.raises(InputError, check=refusal("directory", "greedy")):
        el.evaluate("greedy", tmp_path)
    with pytest.raises(InputError, check=refusal("source", "pst.csv")):
        el.replay("pst.csv", actions=["a"])


def test_durations_are_ignored_if_that_is_asked_for(tmp_path):
    draw = random.Random(1)
    setup = {"actions": ["a", "b"], "observations": ["x", "y"], "reward_range": (0, 1), "durations": (1, 2)}
    with el.live(tmp_path, **setup) as agent:
        agent.warm_start([(draw.choice("xy"), draw.choice("ab"), draw.random(), None, 1.5) for _ in range(400)])
    with pytest.raises(InputError, check=refusal("agent", "agent")):
        el.evaluate(tmp_path, "greedy")
    assert el.evaluate(tmp_path, setup={"durations": None}).supported
