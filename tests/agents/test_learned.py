"""The tree that an agent learns: its best question is that of an exhaustive search, and it keeps within its bounds."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest

import everlearn as el
from everlearn.agents import learned, splits
from everlearn.agents.evidence import PRIOR, best_question, gain_of, is_outdated, notice
from everlearn.agents.past import value_of
from everlearn.agents.splits import merge, split
from everlearn.agents.tree import CODES, ERRORS, FEATURE, FREE, NO, NUMBER, SPAN, YES, Tree, leaf, visits
from everlearn.errors import InputError
from tests.few import few
from tests.refusal import refusal
from tests.worlds import environment_stream, random_mdp

MAZE = {"task.length": 3, "task.window": 1}


def make(task: object = "t-maze", schedule: str = "practical", **parameters: object) -> el.Agent:
    given = {f"agent.{name}": value for name, value in parameters.items()}
    return el.Agent(task, "learned", schedule=schedule, parameters=(MAZE if task == "t-maze" else {}) | given, seed=1)


def drive(agent: el.Agent, steps: int, seed: int = 1) -> None:
    environment = agent.task.start(environment_stream(seed))
    for _ in range(steps):
        agent.observe(environment.step(agent.act()))


def check_tree(knowledge: Tree) -> int:
    """Check that every node that is not free hangs below exactly one root; return the number of inner nodes."""
    nodes, reached, inner = knowledge.nodes, [], 0
    queue = list(range(knowledge.states))
    for node in queue:
        reached.append(node)
        if nodes[node, FEATURE] >= 0:
            inner += 1
            queue += [int(nodes[node, YES]), int(nodes[node, NO])]
    assert len(reached) == len(set(reached))
    assert set(np.flatnonzero(nodes[:, FEATURE] == FREE)) == set(range(len(nodes))) - set(reached)
    return inner


def variance_of_mean(errors: np.ndarray, all_errors: np.ndarray) -> float:
    """The variance of a mean, with the variance of all errors as prior knowledge of that of some."""
    return (len(errors) * errors.var() + PRIOR * all_errors.var()) / (len(errors) + PRIOR) / len(errors)


class Question(NamedTuple):
    """A question that is significant, and by how much the errors for its two answers differ."""

    feature: int
    value: int
    explained: float  # the reduction of the sum of squared errors
    difference: float
    significance: float


def exhaustive(rows: np.ndarray, errors: np.ndarray, ordered: int, threshold: float) -> list[Question]:
    """All questions that are significant."""
    found = []
    for feature in range(rows.shape[1]):
        for value in np.unique(rows[:, feature]):
            yes = rows[:, feature] >= value if feature >= ordered else rows[:, feature] == value
            if min(yes.sum(), (~yes).sum()) >= 10:
                d = abs(errors[yes].mean() - errors[~yes].mean())
                within = sum(len(errors[side]) * errors[side].var() for side in (yes, ~yes))
                significance = d**2 / sum(variance_of_mean(errors[side], errors) for side in (yes, ~yes))
                if significance > threshold:
                    found.append(Question(feature, int(value), len(errors) * errors.var() - within, d, significance))
    return found


def random_past(agent: el.Agent, random: np.random.Generator) -> tuple[list[np.ndarray], np.ndarray]:
    """500 pasts, each with one more random step, and the values of their features."""
    sizes = agent.knowledge.sizes
    pasts = [sizes.begin()]
    for _ in range(500):
        pasts.append(pasts[-1].copy())
        learned.update(pasts[-1], sizes, int(random.integers(sizes.actions)), int(random.integers(sizes.observations)))
    rows = [[value_of(past, sizes, feature) for feature in range(len(sizes.kinds))] for past in pasts[1:]]
    return pasts[1:], np.array(rows)


def check_best(
    agent: el.Agent, pasts: list[np.ndarray], errors: np.ndarray, questions: list[Question], signal: int = ERRORS
) -> None:
    knowledge = agent.knowledge
    for past, error in zip(pasts, errors, strict=True):
        knowledge.before[:] = past
        notice(knowledge, 3, 1, error if signal == ERRORS else 0.0, error if signal == CODES else 0.0)
    assert knowledge.totals[3, 1, [signal, signal + 1]].tolist() == pytest.approx([errors.sum(), (errors**2).sum()])
    feature, value = best_question(knowledge, 3, 1, signal)
    best = max(questions, key=lambda question: question.explained)
    assert feature == best.feature
    assert value == best.value or knowledge.sizes.values[feature] == 2  # of two values, both questions are the same
    assert (gain_of(knowledge, 3, 1, feature, value, agent.upcoming) > 0) == (signal == ERRORS)


@pytest.mark.parametrize("signal", [ERRORS, CODES])
@pytest.mark.parametrize("seed", few(range(6), range(2)))
def test_the_best_question_is_that_of_an_exhaustive_search(seed, signal):
    agent, random = make(threshold=30.0, effect=0.0, share=0.0), np.random.default_rng(seed)
    sizes, (pasts, rows) = agent.knowledge.sizes, random_past(agent, random)
    planted = 1 + 3 * seed  # of every kind, the first with "at least" among them
    seen = np.unique(rows[:, planted])
    middle = seen[len(seen) // 2]
    yes = rows[:, planted] >= middle if planted >= sizes.ordered else rows[:, planted] == middle
    errors = random.normal(size=500) * np.where(yes, 0.3, 1.0) + 1.0 * yes
    check_best(agent, pasts, errors, exhaustive(rows, errors, sizes.ordered, 30.0), signal)  # log 1 is 0


@pytest.mark.parametrize("seed", few(range(3), range(2)))
def test_a_rare_large_difference_explains_less_than_a_frequent_one(seed):
    """The rankings by difference and by significance are others, and both are wrong."""
    agent, random = make(threshold=30.0, effect=0.0, share=0.0), np.random.default_rng(seed)
    sizes, (pasts, rows) = agent.knowledge.sizes, random_past(agent, random)
    frequent, rare = rows[:, sizes.kinds.index(("action", 2))] == 0, rows[:, 0] == rows[0, 0]  # a half, and a sixth
    errors = random.normal(size=500) * np.where(rare, 0.01, 0.5) + 1.0 * frequent + 1.2 * rare
    questions = exhaustive(rows, errors, sizes.ordered, 30.0)
    best = [max(questions, key=lambda question: question[place]) for place in (2, 3, 4)]
    assert best[0].feature not in (best[1].feature, best[2].feature)
    check_best(agent, pasts, errors, questions)


def test_a_question_must_explain_a_share_of_the_signal():
    """With enough errors any difference is significant, and a tree that asks about small ones is soon full."""
    pasts = np.random.default_rng(1).integers(2, size=800)
    signal = np.random.default_rng(2).normal(size=800) + 0.4 * pasts  # explains 0.04 of the variance
    found = []
    for share in (0.02, 0.08):
        agent = make(share=share, effect=0.0)
        for value, number in zip(pasts, signal, strict=True):
            agent.knowledge.before[0] = value
            notice(agent.knowledge, 3, 1, 0.0, number)
        found.append(best_question(agent.knowledge, 3, 1, CODES)[0])
    assert found == [0, -1]


def test_codes_tell_all_observations_apart_and_change_with_each_review():
    agent = make()
    codes = []
    for agent.knowledge.totals[0, 0, SPAN] in (40.0, 80.0, 160.0):
        codes.append([learned.code(agent.knowledge, 0, 0, o) for o in range(len(agent.task.observations))])
    assert all(len(set(row)) == len(row) for row in (*codes, *zip(*codes, strict=True)))
    assert np.min(codes) > 0
    assert np.max(codes) < 1


def test_it_notices_what_predicts_observations_although_nothing_is_earned():
    """Three days of rain follow three of sun, and so on; only the past tells which day it is, and nobody pays."""

    @el.task(actions=["go", "stay"], observations=["sun", "rain"], memory=0, hidden=True)
    def weather(day, _action):
        yield "sun" if day < 3 else "rain", 1.0, (day + 1) % 6

    @weather.reward
    def _nothing(*_):
        return 0.0

    agent = make(weather, effect=1e9)  # no error is large enough
    drive(agent, 1000)
    assert (agent.knowledge.nodes[:, FEATURE] >= 0).any()


def test_many_values_share_slots_first_come_first_served():
    agent = make(random_mdp(1, states=40, actions=2), threshold=0.0, effect=0.0)
    knowledge = agent.knowledge
    for step in range(400):
        knowledge.before[:4] = 5 if step % 2 else 30 + step % 10
        notice(knowledge, 0, 0, float(step % 2), 0.0)
    assert best_question(knowledge, 0, 0, ERRORS)[1] == 5
    assert (knowledge.noticed[0, 0, :, NUMBER] > 0).sum() == 6 * 4 + 6  # and one value of each of the others


def test_a_split_starts_from_the_values_of_the_leaf_and_a_merge_averages():
    agent = make(random_mdp(1, states=3, actions=2), schedule="change-points")
    drive(agent, 300)
    knowledge, now = agent.knowledge, agent.upcoming
    value, count = (knowledge.cells[name][1].copy() for name in ("value", "count"))
    split(knowledge, 1, 0, 2, now)
    yes, no = knowledge.nodes[1, [YES, NO]]
    assert check_tree(knowledge) == 1
    errors = knowledge.totals[1, :, ERRORS] / knowledge.totals[1, :, NUMBER]
    low, high = np.sort(knowledge.cells["value"][[yes, no]], axis=0)
    assert (low <= value + np.maximum(errors, 0)).all()
    assert (high >= value + np.minimum(errors, 0)).all()
    knowledge.cells["value"][[yes, no]] = value
    merge(knowledge, 1, now)
    assert check_tree(knowledge) == 0
    assert knowledge.cells["value"][1].tolist() == pytest.approx(value.tolist())
    assert (knowledge.cells["count"][1] <= count + 1e-9).all()


def test_forbidden_actions_stay_forbidden_when_leaves_split_and_merge():
    agent = make(random_mdp(1, states=3, actions=2))
    agent.values[1, 0] = -math.inf
    split(agent.knowledge, 1, 0, 2, agent.upcoming)
    yes, no = agent.knowledge.nodes[1, [YES, NO]]
    assert agent.knowledge.cells["value"][[yes, no], 0].tolist() == [-math.inf, -math.inf]
    assert agent.values[1, 0] == -math.inf
    assert agent.policy[1].tolist() == [0, 1]
    merge(agent.knowledge, 1, agent.upcoming)
    assert agent.values[1, 0] == -math.inf


@pytest.mark.parametrize("schedule", ["practical", "change-points"])
def test_a_full_tree_merges_and_keeps_within_its_bounds(monkeypatch, schedule):
    monkeypatch.setattr(splits, "YOUTH", 50)
    monkeypatch.setattr(splits, "LEAST_GAIN", 0.1)
    agent = make(random_mdp(4, states=3, actions=2), schedule, nodes=5, effect=0.0, window=40.0)
    agent.knowledge = agent.knowledge._replace(threshold=-1e9)  # any question passes
    merged, inner = 0, set()
    for seed in range(30):
        before = agent.knowledge.nodes[:, [YES, NO]].copy()
        drive(agent, 100, seed)
        inner.add(check_tree(agent.knowledge))
        merged += bool((before != agent.knowledge.nodes[:, [YES, NO]]).any() and max(inner) == 2)
        assert np.isfinite(agent.policy).all()
    assert max(inner) == 2  # five nodes are two splits
    assert merged > 1


def test_it_remembers_a_cue_that_the_aleatoric_state_forgets():
    agent = make(window=40.0)
    drive(agent, 6000)
    junction = agent.task.states.index(("junction",))
    assert agent.knowledge.nodes[junction, FEATURE] >= 0
    for cue in ("left", "right"):
        story = [cue, "corridor", "corridor", "junction"]
        for observation in story:
            agent.observe(observation, executed="left")
        row = agent.knowledge.cells["value"][leaf(agent.knowledge, junction)]
        assert agent.task.actions[int(row.argmax())] == cue
        agent.observe("prize", executed=cue)


def test_it_is_the_growing_horizon_agent_until_it_splits():
    task = random_mdp(7, states=3, actions=2)
    one, other = make(task, threshold=1e9, curiosity=0.0), el.Agent(task, "growing-horizon", seed=1)
    drive(one, 500)
    drive(other, 500)
    assert one.knowledge.cells[:3].tobytes() == other.knowledge.cells.tobytes()
    assert (one.knowledge.nodes[:, FEATURE] >= 0).sum() == 0
    assert one.inspect()["leaves"].tolist() == [3]
    assert one.inspect()["Q"].tolist() == other.inspect()["Q"].tolist()


def test_a_try_is_taken_once_and_leaves_the_held_action_alone():
    agent = make(random_mdp(7, states=3, actions=2), curiosity=0.0)
    drive(agent, 300)
    cells, s = agent.knowledge.cells, agent.indexed.state(agent.aleatoric_state)
    cells["held"][s, 0], cells["left"][s, 0] = 1, 7
    before = visits(agent.knowledge, s, 0, agent.upcoming)
    agent.observe(agent.task.observations[0], executed=agent.task.actions[0])
    assert visits(agent.knowledge, s, 0, agent.upcoming) > before
    assert (cells["held"][s, 0], cells["left"][s, 0]) == (1, 7)


def test_tries_become_rare_in_a_leaf_that_is_visited_often():
    agent = make(random_mdp(7, states=3, actions=2), curiosity=0.5)
    chances = [learned.curious(agent.knowledge, visited) for visited in (0, 99, 9999)]
    assert chances == pytest.approx([0.1, 0.05, 0.005])


def test_errors_of_a_greedy_action_are_sampled_and_others_are_all_noticed():
    agent = make(random_mdp(7, states=3, actions=2))
    knowledge, times = agent.knowledge, range(1, 2001)
    knowledge.cells["value"][0] = [1.0, 0.0]
    knowledge.totals[0, :, SPAN] = 3200.0
    shares = [np.mean([learned.due(knowledge, 0, a, agent.upcoming._replace(t=t)) for t in times]) for a in (0, 1)]
    assert shares == pytest.approx([learned.OFTEN / 3200, 1.0], abs=0.01)


def test_all_errors_are_noticed_soon_after_an_action_that_was_not_greedy():
    agent = make(random_mdp(7, states=3, actions=2), curiosity=0.0)
    drive(agent, 100)
    knowledge, greedy = agent.knowledge, []
    knowledge.totals[:, :, SPAN] = 1e9
    for best in (False, True, True, True, True):
        s = agent.indexed.state(agent.aleatoric_state)
        row = knowledge.cells["value"][leaf(knowledge, s)]
        action = int(row.argmax() if best else row.argmin())
        agent.observe(agent.task.observations[0], executed=agent.task.actions[action])
        never = agent.upcoming._replace(t=1)  # 0.6 is not among the 1 in 20
        rows = knowledge.cells["value"]
        greedy.append(learned.due(knowledge, 0, int(rows[0].argmax()), never))
    assert greedy == [True, True, True, False, False]


def test_a_value_is_outdated_if_its_errors_have_a_mean():
    agent, random = make(), np.random.default_rng(1)
    for action, mean in ((0, 0.0), (1, 0.5)):
        for error in random.normal(size=400) + mean:
            notice(agent.knowledge, 3, action, error, 0.0)
    assert [is_outdated(agent.knowledge, 3, action) for action in (0, 1)] == [False, True]


@pytest.mark.parametrize(
    ("name", "value"), [("nodes", 0), ("lags", 0), ("changes", 0), ("window", 10), ("effect", -1), ("curiosity", -1)]
)
def test_parameters_out_of_range_are_refused(name, value):
    with pytest.raises(InputError, check=refusal(f"agent.{name}", value)):
        make(**{name: value})


def test_a_tree_that_does_not_fit_is_refused():
    with pytest.raises(InputError, check=refusal("agent", "learned")):
        make(nodes=10**8)


@pytest.mark.parametrize("name", ["lags", "changes"])
def test_a_past_that_does_not_fit_is_refused_before_it_is_listed(name, monkeypatch):
    monkeypatch.setattr("everlearn.agents.learned.sizes_of", None)
    with pytest.raises(InputError, check=refusal("agent", "learned")):
        make(**{name: 10**8})


def test_a_tree_with_a_cycle_has_an_end():
    agent = el.Agent("service-station", "learned")
    state = agent.snapshot()
    state.epistemic["nodes"][:2, :4] = 0
    agent.restore(state)
    assert agent.act() in agent.task.actions
