"""The planner against a transcription that keeps its whole past, exact optima, and the bounds of its memory."""

from __future__ import annotations

import math

import numpy as np
import pytest

import everlearn as el
from everlearn.agents import backups, sparse_model
from everlearn.agents import planner as module
from everlearn.agents.knowledge import copied
from everlearn.agents.planner import planner
from everlearn.errors import InputError
from tests.agents.side_by_side import compare
from tests.refusal import refusal
from tests.worlds import environment_stream, random_mdp


class Literal:
    """The definitions of the module, from the list of all visits of each pair."""

    def __init__(self, states, actions, *, recency=1.0, fading=0.01, commitment=100.0, persistence=0.2, backups=10):
        self.shape, self.recency, self.fading = (states, actions), recency, fading
        self.gains, self.follows, self.times = [], False, {s: [] for s in range(states)}
        self.patience, self.persistence, self.backups = commitment / (states * actions), persistence, backups
        self.past = {(s, a): [] for s in range(states) for a in range(actions)}
        self.values, self.V, self.met = np.zeros(self.shape), np.zeros(states), []
        self.held, self.turn, self.top, self.low = {}, 0, 0.0, 0.0
        self.seen_top, self.seen_low, self.t, self.s = -math.inf, math.inf, 0, 0
        self.reached, self.changes, self.rests = [0] * states, [[math.inf], []], 0

    @property
    def N(self):  # noqa: N802
        return [[float(len(self.past[s, a])) for a in range(self.shape[1])] for s in range(self.shape[0])]

    @property
    def R(self):  # noqa: N802
        rows = np.zeros(self.shape)
        for pair, visits in self.past.items():
            rows[pair] = sum(weight * reward for weight, (reward, _) in zip(self.weights(visits), visits, strict=True))
        return rows.tolist()

    @property
    def Q(self):  # noqa: N802
        return self.values.tolist()

    def weights(self, visits):
        return self.spread_over(range(1, len(visits) + 1))

    def recent_counts(self, s, a):
        """The count of recent visits after each visit of the pair, and now."""
        count, counts = 0.0, []
        for taken in self.times[s]:
            count = (1 - self.fading) * count + (taken == a)
            counts += [count] * (taken == a)
        return counts, count

    def spread_over(self, counts):
        steps = [min(1.0, (1 + self.recency) / (n + self.recency)) for n in counts]
        return [step * math.prod(1 - later for later in steps[n + 1 :]) for n, step in enumerate(steps)]

    def act(self, draw):
        action, left = self.held.get(self.s, (0, 0.0))
        if left >= 1 and not self.follows:
            return action
        best = np.flatnonzero(self.values[self.s] == self.values[self.s].max())
        return int(best[0]) if len(best) == 1 else int(best[int(draw() * len(best))])

    def learn(self, action, reward, following):
        self.t += 1
        for s in (self.s, following):
            self.reached[s] = self.t
            if s not in self.met:
                self.met.append(s)
                self.V[s] = self.top
        if self.fading > 0:
            self.compare(action, reward, following)
        self.times[self.s].append(action)
        self.past[self.s, action].append((reward, following))
        self.back_up(self.s)
        self.back_up(following)
        visits = len(self.past[self.s, action])
        rests = max(self.changes[-2] + self.changes[-1]) <= backups.TOLERANCE
        self.rests += rests
        for _ in range(min(1, self.backups) if rests else self.backups):
            self.back_up(self.met[self.turn])
            self.turn += 1
            if self.turn == len(self.met):
                self.turn, self.top, self.low = 0, self.seen_top, self.seen_low
                self.changes.append([])
                self.seen_top, self.seen_low = -math.inf, math.inf
        held, left = self.held.get(self.s, (0, 0.0))
        if left >= 1 and held == action:
            self.held[self.s] = held, left - 1
        else:
            self.held[self.s] = action, min(max(self.patience, self.persistence * visits), 50.0)
        self.s = following

    def compare(self, action, reward, following):
        """Note by how much the recent model predicts better, and decide."""
        visits, (counts, now) = self.past[self.s, action], self.recent_counts(self.s, action)
        gained = None
        if now >= 1:
            gamma = 1 - 1 / (12 * self.t**0.2)
            targets = np.array([r + gamma * self.V[to] for r, to in visits])
            seen = reward + gamma * self.V[following]
            first, recent = (np.array(shares) @ targets for shares in (self.weights(visits), self.spread_over(counts)))
            gained = (seen - first) ** 2 - (seen - recent) ** 2
            self.gains.append((self.t, gained))
        if gained is not None:
            kept = [math.prod(1 - 2 / (2 + t) for t, _ in self.gains[n + 1 :]) for n in range(len(self.gains))]
            gain = sum(share * each for share, (_, each) in zip(kept, self.gains, strict=True))
            noise = sum(share * each**2 for share, (_, each) in zip(kept, self.gains, strict=True))
            followed = self.follows
            self.follows = gain >= 0 and (self.follows or gain > sparse_model.EVIDENCE * math.sqrt(noise))
            self.changes[-1] += [math.inf] if self.follows != followed else []

    def back_up(self, s):
        gamma, level = 1 - 1 / (12 * self.t**0.2), math.log(1 + self.t)
        mean = sum(self.V[known] for known in self.met) / len(self.met)
        for a in range(self.shape[1]):
            value, visits = 1 + gamma * self.top, self.past[s, a]
            for _, to in visits:
                self.reached[to] = max(self.reached[to], self.reached[s])
            if visits:
                shares, count = self.weights(visits), len(visits)
                if self.follows:
                    counts, count = self.recent_counts(s, a)
                    shares = self.spread_over(counts)
                shares = np.array(shares)
                rewards, after = np.array([r for r, _ in visits]), np.array([self.V[to] for _, to in visits])
                r, h = shares @ rewards, shares @ after
                variance = shares @ (after - h) ** 2 + shares @ (rewards - r) ** 2
                bonus = 0.3 * math.sqrt(level * variance / count)
                bonus += 0.03 * level * (1 + self.top - self.low) / count
                value = min(value, r + gamma * h + bonus)
            self.values[s, a] = value - mean
        self.changes[-1].append(abs(self.values[s].max() - self.V[s]))
        self.V[s] = self.values[s].max()
        if self.reached[s] >= self.t / 2:
            self.top, self.low = max(self.top, self.V[s]), min(self.low, self.V[s])
            self.seen_top, self.seen_low = max(self.seen_top, self.V[s]), min(self.seen_low, self.V[s])


@pytest.mark.parametrize("given", [{}, {"recency": 3.0, "fading": 0.0, "persistence": 0.0, "commitment": 0.0}])
@pytest.mark.parametrize(
    "task", [pytest.param(random_mdp(1), marks=pytest.mark.soak), "riverswim"], ids=["mdp", "river"]
)
def test_it_is_the_literal_form(task, given, monkeypatch):
    monkeypatch.setattr(backups, "TOLERANCE", 0.1)  # it rests within few steps, and wakes up again
    agent = el.Agent(task, planner(**given), seed=3)
    literal = Literal(agent.indexed.states, agent.indexed.actions, **given)
    literal.s = agent.situation
    visited = compare(agent, literal, 3, 150)
    assert 0 < literal.rests < 150
    assert (visited > 0).sum() > visited.size / 2


def follows(agent) -> bool:
    return bool(agent.snapshot().epistemic["run"][0, -1])


def test_it_is_the_literal_form_when_the_environment_changes(monkeypatch):
    monkeypatch.setattr(sparse_model, "EVIDENCE", 1.1)  # few steps are enough; with 1, the first would be a tie
    given = {"fading": 0.1, "backups": 3}
    drift = {"task.period": 60, "task.window": 0, "task.floor": 0.0, "task.height": 1.0}
    agent = el.Agent("drifting", planner(**given), parameters=drift, seed=3)
    literal = Literal(agent.indexed.states, agent.indexed.actions, **given)
    compare(agent, literal, 3, 140)
    assert literal.follows
    assert follows(agent)


def test_it_rests_while_there_is_nothing_to_plan():
    """The values of a deterministic world settle; other rewards, or the other model, are reason to plan again."""
    agent = el.Agent("garnet", planner(), parameters={"task.branching": 1, "task.seed": 11}, seed=1)
    environment = agent.task.start(environment_stream(1))
    for _ in range(1500):
        agent.observe(environment.step(agent.act()))
    assert backups.settled(agent.knowledge.run)
    s, a = agent.situation, agent.task.actions.index(agent.act())
    following = int(agent.knowledge.links["to"].reshape(20, 3, -1)[s, a, 0])
    for reward, nothing_new in ((agent.inspect()["R"][s, a], True), (-9.0, False)):
        knowledge = copied(agent.knowledge)
        module.study(knowledge, el.Experience(s, a, following, reward, following), 1501)
        assert backups.settled(knowledge.run) == nothing_new
    knowledge = copied(agent.knowledge)
    knowledge.run["gain"], knowledge.run["noise"] = 1e3, 1.0
    sparse_model.weigh(knowledge, 0.0, 1501)
    assert knowledge.run["follows"][0, 0] == 1
    assert not backups.settled(knowledge.run)


def test_its_values_are_those_of_the_optimal_policy_of_a_known_model():
    """Without a bonus, differences of V solve the Bellman equation of the empirical model, found by a linear solve."""
    agent = el.Agent(random_mdp(2), planner(spread=0.0, rarity=0.0, recency=0.0, backups=3, horizon_power=0.0), seed=1)
    environment, counts = agent.task.start(environment_stream(1)), np.zeros((3, 3, 3))
    for t in range(900):
        s, a = agent.situation, t % 3
        agent.observe(environment.step(agent.task.actions[a]), executed=agent.task.actions[a])
        counts[s, a, agent.situation] += 1
    for _ in range(300):  # one pair hardly changes any more, and the others are planned through to the end
        agent.observe(environment.step(agent.task.actions[0]), executed=agent.task.actions[0])
    P = counts / counts.sum(axis=2, keepdims=True)
    shown, gamma = agent.inspect(), 1 - 1 / 12
    best = shown["Q"].argmax(axis=1)
    exact = np.linalg.solve(np.eye(3) - gamma * P[range(3), best], shown["R"][range(3), best])
    np.testing.assert_allclose(shown["V"] - shown["V"][0], exact - exact[0], atol=0.02)
    assert ((shown["R"] + gamma * P @ exact).argmax(axis=1) == best).all()


def test_a_start_that_never_returns_does_not_inflate_the_bonus():
    """From the start, one of two actions leads to a loop of one state that earns 0.5 and never ends."""
    P = np.zeros((2, 2, 2))
    P[:, :, 1] = 1.0
    agent = el.Agent(el.mdp(P, np.full((2, 2), 0.5), start=0), planner(), seed=1)
    environment = agent.task.start(environment_stream(1))
    for _ in range(400):
        agent.observe(environment.step(agent.act()))
    start, loop = agent.inspect()["V"]
    assert 0 < start - loop < 1


def test_it_remembers_a_bounded_number_of_next_states():
    agent = el.Agent("garnet", planner(successors=2), parameters={"task.branching": 6}, seed=1)
    environment = agent.task.start(environment_stream(1))
    for _ in range(2000):
        agent.observe(environment.step(agent.act()))
    chances = agent.knowledge.links["chance"].reshape(20, 3, 2)
    visited = agent.inspect()["N"] > 0
    np.testing.assert_allclose(chances.sum(axis=2)[visited], 1.0, atol=1e-12)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("task", "parameters", "changes"),
    [("drifting", {"task.period": 2000}, True), ("riverswim", {}, False), ("maintenance", {}, False)],
)
def test_it_follows_changes_and_only_changes(task, parameters, changes):
    agents: list[el.Agent] = []
    el.run(task, "planner", steps=10_000, seed=1, parameters=parameters, finished=agents.append)
    assert follows(agents[0]) == changes


def test_an_action_is_tried_again_after_a_change():
    """The first option pays for 400 steps, then the other: the agent finds out, and without fading it does not."""
    late = {}
    for fading in (0.0, 0.02):
        agent = el.Agent("drifting", planner(fading=fading), parameters={"task.window": 0}, seed=1)
        earned = []
        for t in range(800):
            success = (agent.act() == 0) == (t < 400)
            earned.append(agent.observe(int(success)))
        late[fading] = sum(earned[-200:]) / 200
    assert late[0.0] < 0.5 < late[0.02]


def test_an_error_is_that_of_the_model_in_use():
    """In a single state, what follows is certain, so that the error is that of the reward alone."""
    agent = el.Agent("drifting", parameters={"task.window": 0}, agent=planner(), seed=1)
    for reward in (1, 0, 0, 0):
        agent.observe(reward, executed=0)
    for follows, field in ((0.0, "reward"), (1.0, "recent_reward")):
        knowledge = copied(agent.knowledge)
        knowledge.run["follows"], knowledge.run["gain"], knowledge.run["noise"] = follows, 1.0, 1e9
        expected = 1.0 - knowledge.cells[field][0, 0]
        assert module.study(knowledge, el.Experience(0, 0, 1, 1.0, 0), 5) == pytest.approx(expected)
    assert knowledge.cells["reward"][0, 0] != knowledge.cells["recent_reward"][0, 0]


@pytest.mark.soak
def test_regret_on_riverswim_is_below_a_hundred():
    result = el.run("riverswim", "planner", steps=1e4, runs=24, seed=7)
    regret = 1e4 * 0.428622 - result.total_reward[:, -1]
    assert regret.mean() < 100


@pytest.mark.parametrize(
    "given",
    [
        {"horizon_power": 400.0},
        {"fading": 2.0},
        {"horizon_scale": 0.5},
        {"rarity": -1.0},
        {"backups": -1},
        {"successors": 0},
    ],
)
def test_mistakes_are_named(given):
    [(name, value)] = given.items()
    with pytest.raises(InputError, check=refusal(f"agent.{name}", value)):
        planner(**given)
