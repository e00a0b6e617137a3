"""The tally against a transcription of its definition; how it tells leads apart; and who acts."""

from __future__ import annotations

import numpy as np
import pytest
from docs.frozen import Settled

import everlearn as el
from everlearn.agents import learned, phases, tally
from everlearn.agents.frozen import Kept, Tallied
from everlearn.agents.tree import FEATURE, NUMBER, VISITS, Tree
from tests.few import few
from tests.worlds import environment_stream, random_mdp


def make(task: object = "extended-tiger", **parameters: object) -> el.Agent:
    return el.Agent(task, "learned", parameters=parameters, seed=1)


def drive(agent: el.Agent, steps: int, seed: int = 1) -> None:
    environment = agent.task.start(environment_stream(seed))
    for _ in range(steps):
        agent.observe(environment.step(agent.act()))


def numbers(knowledge: Tree) -> list[int]:
    """The last event, the leaders and the leads."""
    return knowledge.past[knowledge.sizes.features :].tolist()


def literal(
    steps: list[tuple[int, int]], actions: int, events: set[int], most: int
) -> tuple[int, dict[int, list[int]]]:
    """The last event, and the leader and lead of each action that has one, from the list of all steps."""
    event, since = 0, []
    for action, observation in steps:
        if observation in events:
            event, since = observation, []
        else:
            since.append((action, observation))
    leads: dict[int, list[int]] = {}
    for one in range(actions):
        leader, lead = -1, 0
        for observation in [observation for action, observation in since if action == one]:
            leader = leader if lead else observation
            lead = min(lead + 1, most) if observation == leader else lead - 1
        if lead:
            leads[one] = [leader, lead]
    return event, leads


@pytest.mark.parametrize("seed", few(range(6), range(2)))
def test_the_tally_is_its_definition(seed):
    agent, random = make(), np.random.default_rng(seed)
    knowledge, actions = agent.knowledge, agent.indexed.actions
    knowledge.told[:] = 3
    knowledge.paid[:] = [[50, 40.0], [90, 72.0], [60, 47.5], [5, 5.0], [7, 0.0]]  # the mean of the usual one is 0.8
    knowledge.usual[0] = 1
    steps: list[tuple[int, int]] = []
    for _ in range(400):
        steps.append((int(random.integers(actions)), int(random.choice(5, p=[0.3, 0.4, 0.2, 0.05, 0.05]))))
        tally.move(knowledge, *steps[-1])
        event, *rest = numbers(knowledge)
        leads = {a: [rest[a], rest[actions + a]] for a in range(actions) if rest[actions + a]}
        assert (event, leads) == literal(steps, actions, {3, 4}, 4)


def test_the_lead_is_by_how_much_one_of_two_was_more_frequent():
    knowledge = make().knowledge
    knowledge.told[:] = tally.MOST_TOLD
    for heard in (1, 2, 1, 1, 2, 1, 1):  # five times the one, twice the other
        tally.move(knowledge, 0, heard)
    event, leader, *_, lead = numbers(knowledge)[:6]
    assert (event, leader, lead) == (0, 1, 3)


def test_a_mean_reward_near_that_of_the_usual_observation_is_no_event():
    knowledge = make().knowledge
    for observation, reward, times in ((0, 0.5, 9), (1, 0.51, 5), (2, 0.53, 5), (3, 0.47, 5)):
        for _ in range(times):
            tally.count(knowledge, observation, reward)
    assert [tally.is_event(knowledge, o) for o in range(5)] == [False, False, True, True, False]  # the last is unknown


def place(knowledge: Tree, leader: int, lead: int) -> int:
    """The row when the first action has a leader and a lead."""
    first = knowledge.sizes.features
    knowledge.past[first:] = 0
    knowledge.past[first + 1], knowledge.past[first + 1 + knowledge.sizes.actions] = leader, lead
    return tally.take_row(knowledge, 0)


def test_every_tally_has_a_row_of_its_own_until_the_table_is_full():
    knowledge = make().knowledge
    knowledge.told[:] = tally.MOST_TOLD
    first, actions = knowledge.sizes.features, knowledge.sizes.actions
    taken = {}
    for number in range(1500):
        digits = [number // 8**k % 8 for k in range(4)]
        knowledge.past[first] = number // 4096 % 5
        knowledge.past[first + 1 : first + 1 + actions] = 1
        knowledge.past[first + 1 + actions :] = digits
        taken[tuple(digits)] = tally.take_row(knowledge, 0)
    assert len(set(taken.values())) == len(taken) == 1500
    assert (knowledge.codes != tally.FREE).sum() == 1500


def test_a_full_table_still_has_a_row():
    knowledge = make().knowledge
    knowledge.codes[:] = 5
    assert 0 <= place(knowledge, 1, 1) < tally.ROWS
    assert (knowledge.codes == 5).all()


def test_leads_are_told_apart_up_to_the_learned_number():
    knowledge = make().knowledge
    knowledge.told[0, 1] = 2
    rows = [place(knowledge, 1, lead) for lead in (1, 2, 3)]
    assert rows[0] != rows[1] == rows[2]
    knowledge.told[0, 1] = 4
    assert [place(knowledge, 1, lead) for lead in (1, 2)] == rows[:2]  # what was learned of these is kept
    assert place(knowledge, 1, 3) != rows[2]


@pytest.mark.parametrize(("chances", "told"), [((0.7, 0.9), 2), ((0.8, 0.8), 1), ((0.99, 1.0), 1), ((1.0, 1.0), 1)])
def test_leads_are_told_apart_if_they_predict_by_more_than_chance_and_by_enough(chances, told):
    knowledge, random = make().knowledge, np.random.default_rng(3)
    for lead in random.integers(1, 3, size=6000).tolist():
        row = place(knowledge, 1, lead)
        if knowledge.told[0, 1] == 1:
            tally.compare(knowledge, row, 0, 1 if random.random() < chances[lead - 1] else 2)
    assert knowledge.told[0, 1] == told
    assert knowledge.told.sum() == knowledge.told.size + told - 1
    assert told == 1 or (knowledge.chances[:, 0] == 0).all()  # they begin again, for the next number


def test_the_products_are_those_of_the_errors_and_of_what_the_lead_adds():
    knowledge, random = make().knowledge, np.random.default_rng(4)
    hits: dict[int, list[float]] = {0: [], 1: [], 2: []}
    products = []
    for lead in random.integers(1, 3, size=300).tolist():
        hit = float(random.random() < 0.6)
        mean = {which: float(np.mean(seen)) if seen else 0.0 for which, seen in hits.items()}
        products.append((hit - mean[0]) * (mean[lead] - mean[0]))
        tally.compare(knowledge, place(knowledge, 1, lead), 0, 1 if hit else 2)
        hits[0].append(hit)
        hits[lead].append(hit)
    expected = [300, np.sum(products), np.sum(np.square(products))]
    assert knowledge.agreed[0, 1].tolist() == pytest.approx(expected)


def test_it_is_not_used_where_no_question_predicts_what_is_observed():
    agent = make("riverswim", **{"agent.threshold": 1e9})
    drive(agent, 2000)
    assert not tally.is_used(agent.knowledge)
    assert (agent.knowledge.codes == tally.FREE).all()
    assert numbers(agent.knowledge) == [0] * 5


@pytest.fixture(scope="module")
def driven() -> tuple[el.Agent, list[tuple[float, float, bool]]]:
    """An agent that uses the tally; after each step, whether it acted and what was earned."""
    agent, log = make(), []
    environment = agent.task.start(environment_stream(1))
    for _ in range(4000):
        acting, used = tally.acts(agent.knowledge), tally.is_used(agent.knowledge)
        reward = agent.observe(environment.step(agent.act()))
        log.append((float(acting), agent.learned(reward), used))
    return agent, log


def test_both_act_in_phases_of_growing_length(driven):
    _, log = driven
    used = [step for step, (_, _, using) in enumerate(log) if using]
    assert used == list(range(used[0], len(log)))
    begin, earned = used[0], {0.0: 0.0, 1.0: 0.0}
    while begin < len(log):
        end = begin + int(np.ceil(max(50.0, 0.02 * begin)))
        who = {acting for acting, _, _ in log[begin:end]}
        assert len(who) == 1, f"step {begin}"
        earned[who.pop()] += end - begin
        begin = end
    assert min(earned.values()) > 0


def test_both_learn_whoever_acts(driven):
    agent, _ = driven
    knowledge = agent.knowledge
    used = int(knowledge.tallied.sum())
    assert used == knowledge.paid[:, 0].sum()
    assert used > knowledge.choice["steps"][0, 0] > 0
    assert (knowledge.nodes[:, FEATURE] >= 0).any()


def test_the_policy_and_q_are_those_of_the_one_that_acts(driven):
    agent, _ = driven
    for acting in (0.0, 1.0):
        agent.knowledge.choice["tally"] = acting
        rows, _ = learned.present(agent.knowledge)
        for s in range(agent.indexed.states):
            row = tally.row_of(agent.knowledge, tally.code_of(agent.knowledge, s))
            assert (rows.cells[s] == agent.knowledge.rows[row]) == bool(acting)
        assert agent.policy.sum(axis=1).tolist() == pytest.approx([1] * agent.indexed.states)


def test_errors_are_noticed_only_while_the_tree_acts():
    noticed = []
    for acting in (0.0, 1.0):
        agent = make()
        choice = agent.knowledge.choice
        choice["hidden"], choice["tally"], choice["ends"] = 1.0, acting, 1e9
        drive(agent, 500)
        noticed.append(agent.knowledge.totals[:, :, NUMBER].sum())
        assert agent.knowledge.nodes[:, VISITS].sum() == 500
    assert noticed[0] > noticed[1] == 0


@pytest.mark.parametrize(("gap", "least"), [(0.0, 0.02), (0.01, 0.02), (0.1, 0.005)])
def test_the_one_that_earns_less_acts_rarely_where_that_is_expensive(monkeypatch, gap, least):
    agent, asked = make(), []
    choice = agent.knowledge.choice
    choice["steps"], choice["rewards"] = 1000.0, [[500.0, 500.0 + 1000.0 * gap]]
    monkeypatch.setattr(phases, "next_to_act", lambda _, share: asked.append(share) or 0.0)
    monkeypatch.setattr(phases, "end_phase", lambda *_: None)
    tally.take_turns(agent.knowledge, 0.5, 1.0)
    assert asked == pytest.approx([least])


def test_where_an_action_is_forbidden_the_tree_acts():
    agent = make(random_mdp(1, states=3, actions=2))
    agent.values[:, 0] = -np.inf
    agent.knowledge.choice["tally"], agent.knowledge.choice["hidden"] = 1.0, 1.0
    drive(agent, 200)
    assert not agent.knowledge.tallied.any()
    assert agent.policy.tolist() == [[0, 1]] * 3


def test_tries_are_not_held(monkeypatch):
    agent = make()
    values, now = tally.values_of(agent.knowledge), agent.upcoming
    step = learned.Experience(7, 2, 0, 0.5, 8)
    values.cells["held"][7, 0], values.cells["left"][7, 0] = 1, 4
    tally.learn_in_row(values, step, now)
    assert (values.cells["held"][7, 0], values.cells["left"][7, 0]) == (1, 4)
    values.cells["left"][7, 0] = 0
    values.cells["value"][7] = [0, 0, 1, 0]
    tally.learn_in_row(values, step, now)
    assert values.cells["held"][7, 0] == 2


def test_what_is_frozen_is_the_state_of_the_one_that_earned_more(driven):
    agent, _ = driven
    choice = agent.knowledge.choice
    for better, kept in ((0, Kept), (1, Tallied)):
        choice["steps"], choice["rewards"], choice["rewards"][0, better] = 1000.0, 0.0, 900.0
        assert tally.earned_more(agent.knowledge) == bool(better)
        assert isinstance(Settled(agent).kept, kept)


def test_the_frozen_tally_leads_to_the_row_of_the_agent(driven):
    agent, _ = driven
    knowledge, random = agent.knowledge, np.random.default_rng(1)
    kept, first = Tallied(knowledge), knowledge.sizes.features
    memory = kept.memory(knowledge.sizes.begin())
    knowledge.past[first:] = 0
    for _ in range(300):
        action, observation = int(random.integers(4)), int(random.integers(5))
        tally.move(knowledge, action, observation)
        memory = kept.follow(memory, action, observation)
        assert all(lead > 0 or leader == 0 for leader, lead in zip(memory[1:5], memory[5:], strict=True))
        for s in range(5):
            assert kept.row(memory, s) == tally.row_of(knowledge, tally.code_of(knowledge, s))


def test_the_frozen_policy_of_the_tally_earns_what_theory_says():
    """The whole frozen state and the chain of what the policy reaches, from one side, have the same average reward."""
    agent = make("tiger")
    agent.knowledge.choice["hidden"] = agent.knowledge.choice["tally"] = 1.0
    agent.knowledge.choice["ends"] = 1e9
    agent.knowledge.told[0] = 2
    drive(agent, 3000)
    task, policy = el.freeze(agent)
    settled = Settled(agent)
    begin = settled.kept.memory(agent.knowledge.sizes.begin())
    chain = settled.chain(("left", agent.task.aleatoric.start, begin))
    always = np.eye(len(task.actions))[policy.argmax(axis=1)]
    assert chain is not None
    assert chain.gain[0] == pytest.approx(el.Theory(task).average_reward(always), abs=1e-9)


def test_it_says_that_it_acts_by_the_tally(driven):
    agent, _ = driven
    agent.knowledge.choice["tally"] = 1.0
    agent.knowledge.told[0, 1] = 4
    text = agent.explain().splitlines()
    assert text[0] == "it acts by a tally of what each action brought since the last event, not by the tree below"
    assert text[1] == "events: 'treasure', 'tiger'"
    assert "after 'listen', it counts to 4 by how much 'hear left' leads" in text
    agent.knowledge.choice["tally"] = 0.0
    assert "tally" not in agent.explain()


@pytest.mark.parametrize("name", ["t-maze", pytest.param("extended-tiger", marks=pytest.mark.soak)])
def test_compiled_is_interpreted_while_both_act(name):
    known = []
    for engine in ("compiled", "reference"):
        agents: list[el.Agent] = []
        given = {"task.window": 1} if name == "t-maze" else {}
        el.run(name, "learned", parameters=given, steps=4000, seed=3, engine=engine, finished=agents.append)
        known.append(agents[0].knowledge)
    assert (known[0].choice["steps"] > 0).all()
    for field, one, other in zip(Tree._fields, *known, strict=True):
        assert not isinstance(one, np.ndarray) or one.tobytes() == other.tobytes(), field
