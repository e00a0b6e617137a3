"""The learned state, frozen: it answers every question of the tree as the agent does, and its policy is the agent's."""

from __future__ import annotations

import numpy as np
import pytest
from docs.frozen import Settled

import everlearn as el
from everlearn.agents.frozen import REST, Kept, needed, settled_policy, simplified
from everlearn.agents.past import update, value_of
from everlearn.agents.tabular import greedy_policy, records
from everlearn.agents.tree import FEATURE, FREE, LEAF, VISITS, leaf
from everlearn.errors import InputError
from tests.refusal import refusal
from tests.worlds import environment_stream, random_mdp


def grown(task: object, steps: int = 2500, **parameters: object) -> el.Agent:
    """An agent whose tree has many questions, useful or not."""
    agent = el.Agent(task, "learned", parameters={"agent.effect": 0.0, **parameters}, seed=2)
    agent.knowledge = agent.knowledge._replace(threshold=-1e9)
    environment = agent.task.start(environment_stream(2))
    for _ in range(steps):
        agent.observe(environment.step(agent.act()))
    return agent


def test_the_frozen_state_leads_to_the_leaf_of_the_agent():
    agent = grown(random_mdp(3, states=3, actions=2))
    kept, knowledge, random = Kept(agent.knowledge), agent.knowledge, np.random.default_rng(1)
    assert agent.inspect()["leaves"][0] > 10
    knowledge.past[:] = knowledge.sizes.begin()
    memory = kept.memory(knowledge.sizes.begin())
    for _ in range(600):
        action, observation = int(random.integers(2)), int(random.integers(3))
        past = kept.past(memory)
        update(past, knowledge.sizes, action, observation)
        memory = kept.memory(past)
        update(knowledge.past, knowledge.sizes, action, observation)
        leaves = [leaf(knowledge, state) for state in range(3)]
        assert [leaf(knowledge._replace(past=kept.past(memory)), state) for state in range(3)] == leaves


def test_a_clock_and_an_order_need_only_themselves():
    sizes = grown("alternating", 1).knowledge.sizes
    alone = [feature for feature, (kind, _) in enumerate(sizes.kinds) if kind in ("clock", "order")]
    assert {sizes.kinds[feature][0] for feature in alone} == {"clock", "order"}
    assert [needed(sizes, feature) for feature in alone] == [[feature] for feature in alone]


def test_every_feature_follows_from_what_it_needs():
    sizes, random = grown("alternating", 1).knowledge.sizes, np.random.default_rng(2)
    steps = random.integers(0, [sizes.actions, sizes.observations], (300, 2)).tolist()
    for feature in range(len(sizes.kinds)):
        places, past, part = needed(sizes, feature), sizes.begin(), sizes.begin()
        for action, observation in steps:
            update(past, sizes, action, observation)
            alone = sizes.begin()
            alone[places] = part[places]
            update(alone, sizes, action, observation)
            part = alone
            assert value_of(part, sizes, feature) == value_of(past, sizes, feature)


def leaf_of(values: list[float], counts: list[float]) -> np.ndarray:
    cells = records(1, value=len(values), count=len(values), stamp=0)
    cells["value"], cells["count"] = values, counts
    return cells


def test_an_action_that_is_just_being_tried_is_not_frozen():
    (policy,) = settled_policy(leaf_of([0.52, 0.5, 0.3], [20, 900, 80]))
    assert policy.argmax() == 1


def test_what_was_done_before_a_better_action_was_found_is_not_frozen():
    (policy,) = settled_policy(leaf_of([0.8, 0.5, 0.3], [200, 900, 80]))
    assert policy.argmax() == 0


def test_it_does_not_repeat_one_action_for_ever_where_the_agent_did_not():
    (policy,) = settled_policy(leaf_of([0.5, 0.5, 0.4], [500, 300, 0]))
    assert policy.tolist() == pytest.approx([1 - REST * 3 / 8, REST * 3 / 8, 0])


def test_a_leaf_that_was_never_visited_is_greedy():
    assert settled_policy(leaf_of([0.5, 0.5, 0.4], [0, 0, 0])).tolist() == [[0.5, 0.5, 0]]


def test_an_action_that_is_not_allowed_is_never_taken():
    (policy,) = settled_policy(leaf_of([-np.inf, 0.5, 0.4], [0, 1, 9]))
    assert policy.tolist() == pytest.approx([0, 1 - REST * 0.9, REST * 0.9])


def test_counts_that_a_schedule_has_scaled_are_compared_at_one_time():
    cells = records(2, value=2, count=2, stamp=2)
    cells["count"], cells["stamp"] = [[100, 60], [100, 60]], [[0, -1], [0, -(2.0**26)]]
    best = settled_policy(cells).argmax(axis=1)
    assert best.tolist() == [1, 1]  # 100 visits long ago count half, or nothing


@pytest.mark.soak
def test_what_is_frozen_earns_what_the_run_earns(monkeypatch):
    """In the first leaf the tree alone tries both actions; greedy at one moment, the policy never leaves that leaf."""
    monkeypatch.setattr("everlearn.agents.tally.begin", lambda *_: None)
    agents: list[el.Agent] = []
    run = el.run("alternating", "learned", steps=30_000, seed=1, finished=agents.append, engine="reference")
    task, policy = el.freeze(agents[0])
    knowledge, kept, theory = agents[0].knowledge, Kept(agents[0].knowledge), el.Theory(task)
    rows = [leaf(knowledge._replace(past=kept.past(memory)), 0) for _, memory in task.states]
    assert theory.average_reward(greedy_policy(knowledge.cells["value"][rows])) < 0.5
    assert theory.average_reward(policy) > 0.98
    assert run.final["mean"] > 0.98


def test_the_policy_is_one_of_the_frozen_state():
    agent = grown("alternating", 500)
    task, policy = el.freeze(agent)
    assert policy.shape == (len(task.states), len(task.actions))
    assert policy.sum(axis=1).tolist() == pytest.approx([1] * len(task.states))
    assert el.Theory(task).average_reward(policy) <= 1 + 1e-9


def test_a_simplified_tree_does_the_same_after_every_past():
    agent = grown(random_mdp(3, states=3, actions=2), 1200)
    knowledge, random = agent.knowledge, np.random.default_rng(1)
    rows = settled_policy(knowledge.cells)
    smaller, policy = simplified(knowledge, rows, 0)
    asked = [int((tree.nodes[:, FEATURE] >= 0).sum()) for tree in (knowledge, smaller)]
    assert 0 < asked[1] < asked[0]
    for _ in range(120):
        update(knowledge.past, knowledge.sizes, int(random.integers(2)), int(random.integers(3)))
        for state in range(3):
            assert policy[leaf(smaller, state)].argmax() == rows[leaf(knowledge, state)].argmax()


def asking(visits: list[int]) -> el.Agent:
    """An agent with one question, whether the observation before was 1; its answers were visited so often."""
    agent = el.Agent("alternating", "learned")
    agent.knowledge.nodes[0, :4] = 1, 1, 1, 2
    agent.knowledge.nodes[1:3, FEATURE] = LEAF
    agent.knowledge.nodes[1:3, VISITS] = visits
    return agent


def test_answers_after_which_the_agent_does_the_same_become_one():
    knowledge, rows = asking([300, 100]).knowledge, np.tile([0.5, 0.5], (300, 1))
    rows[1], rows[2] = [0.6, 0.4], [1, 0]
    smaller, policy = simplified(knowledge, rows[: len(knowledge.nodes)], 0)
    assert smaller.nodes[:3, FEATURE].tolist() == [LEAF, FREE, FREE]
    assert policy[0].tolist() == pytest.approx([0.7, 0.3])
    assert knowledge.nodes[0, FEATURE] == 1  # the agent's own tree is not changed


def test_a_rare_answer_is_left_out_only_if_it_is_rarer_than_asked_for():
    knowledge, rows = asking([99, 1]).knowledge, np.tile([0.5, 0.5], (300, 1))
    rows[1], rows[2] = [0.6, 0.4], [0, 1]
    rows = rows[: len(knowledge.nodes)]
    assert simplified(knowledge, rows, 0.01)[0].nodes[0, FEATURE] == 1
    smaller, policy = simplified(knowledge, rows, 0.011)
    assert smaller.nodes[0, FEATURE] == LEAF
    assert policy[0].tolist() == [0.6, 0.4]


def test_fewer_questions_need_a_smaller_state():
    sizes = [len(el.freeze(asking([99, 1]), rare=rare).task.states) for rare in (None, 0.5)]
    assert sizes[1] < sizes[0]


def test_the_chain_of_the_published_comparison_earns_what_theory_says():
    agent = grown("alternating", 500)
    task, policy = el.freeze(agent, rare=0)
    settled = Settled(agent)
    begin = settled.kept.memory(agent.knowledge.sizes.begin())
    chain = settled.chain((agent.task.model.memory, agent.task.aleatoric.start, begin))
    always = np.eye(len(task.actions))[policy.argmax(axis=1)]
    assert chain.gain[0] == pytest.approx(el.Theory(task).average_reward(always), abs=1e-9)
    assert len(chain.rewards) > 1


@pytest.mark.parametrize("rare", [-0.1, 1, "x"])
def test_a_share_is_less_than_one(rare):
    with pytest.raises(InputError, check=refusal("rare", rare)):
        el.freeze(el.Agent("alternating", "learned"), rare=rare)


def test_only_a_learned_state_can_be_frozen():
    with pytest.raises(InputError, check=refusal("agent", "growing-horizon")):
        el.freeze(el.Agent("alternating", "growing-horizon"))


def test_a_result_is_no_agent():
    with pytest.raises(InputError, check=refusal("agent", "Result")):
        el.freeze(el.run("alternating", "learned", steps=10, engine="reference"))
