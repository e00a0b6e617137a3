"""Data sets whose truth is known: what a learning agent or a fixed policy logged, and how intervals from them fare."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

import everlearn as el
from everlearn.agents.growing_horizon import learn
from everlearn.agents.policies import policy_table
from everlearn.analysis.evaluation import reasons_against
from everlearn.analysis.off_policy import estimate
from everlearn.durable.transitions import Transitions
from everlearn.engine.compiled import CompiledBatch
from everlearn.engine.plan import Plan
from everlearn.engine.runner import table_for
from everlearn.protocol import Experience, Table


class Logged(NamedTuple):
    """The knowledge of the paper's agent, and a log of aleatoric states, actions, rewards and next states."""

    cells: Any
    step_weight: float
    doubt: float
    rarity: float
    persistence: float
    persistence_most: float
    log: Any


def learn_and_log(knowledge, experience, now, stream):
    learn(knowledge, experience, now, stream)
    knowledge.log[now.t - 1, 0] = experience.aleatoric_state
    knowledge.log[now.t - 1, 1] = experience.action
    knowledge.log[now.t - 1, 2] = experience.reward
    knowledge.log[now.t - 1, 3] = experience.next_aleatoric_state


def learned(task: el.Task, steps: int, runs: int, seed: int = 0) -> Iterator[Transitions]:
    """Yield the transitions of runs of the default agent, which learns meanwhile, from the compiled engine."""
    design = el.Agent(task).design
    logging = replace(
        design, build=lambda indexed: Logged(*design.build(indexed), np.zeros((steps, 4))), learn=learn_and_log
    )
    logging = replace(logging, name="logging", by_state=False, masks=False, values=None, policy=None, inspect=None)
    plan = Plan(task, logging, steps, runs, seed)
    batch = CompiledBatch(plan, table_for(plan, "compiled"), range(runs), 1)
    with ThreadPoolExecutor(1) as pool:
        for _ in batch.advance(pool):
            pass
    low, high = task.reward.low, task.reward.high
    for group in batch.groups:
        for log in group.stored()["log"]:
            states, actions, following = (log[:, column].astype(np.int64) for column in (0, 1, 3))
            yield Transitions(states, actions, following, low + (high - low) * log[:, 2], following)


def driven(task: el.Task, steps: int, runs: int, seed: int = 0) -> Iterator[Transitions]:
    """Yield the same as :func:`learned`, from the agent that is driven step by step: nothing is compiled."""
    world = World(task)
    bounds = world.chances.cumsum(axis=2)[..., :-1]
    for run in range(runs):
        agent, draws = el.Agent(task, seed=seed, run=run), np.random.default_rng((seed, run)).random(steps)
        rows = []
        for draw in draws:
            state, action = agent.situation, agent.choose()
            following = int(np.searchsorted(bounds[state, action], draw, side="right"))
            reward = float(world.rewards[state, action])
            agent.learn(Experience(state, action, following, agent.learned(reward), following))
            rows.append((state, action, following, reward))
        states, actions, ends, rewards = (np.array(column) for column in zip(*rows, strict=True))
        yield Transitions(states, actions, ends, rewards, ends)


@dataclass(frozen=True)
class World:
    """A task whose aleatoric state is a Markov state, with its exact transitions and expected rewards."""

    task: el.Task

    @cached_property
    def theory(self) -> el.Theory:
        return el.Theory(self.task)

    @cached_property
    def chances(self) -> Table:
        pairs, size = self.theory.pairs, len(self.task.states)
        assert sorted(pairs.states) == list(pairs.visited)
        chances = np.zeros((size, len(self.task.actions), size))
        for action, matrix in enumerate(pairs.transitions):
            chances[np.ix_(pairs.states, [action], pairs.states)] = matrix.toarray()[:, None]
        return chances

    @cached_property
    def rewards(self) -> Table:
        rewards = np.zeros(self.chances.shape[:2])
        rewards[self.theory.pairs.states] = self.theory.pairs.rewards.T
        return rewards

    def policy(self, text: str) -> Table:
        size, actions = self.rewards.shape
        if text == "best":
            return self.theory.best_deterministic.policy
        if text == "random":
            return np.eye(actions)[np.random.default_rng(1).integers(actions, size=size)]
        return policy_table(self.task, None if text == "uniform" else text)

    def followed(self, policy: Table, steps: int, runs: int, seed: int = 0) -> Iterator[Transitions]:
        """Yield the transitions of runs of a fixed policy."""
        random, shape = np.random.default_rng(seed), (steps, runs)
        states, actions, following = (np.zeros(shape, dtype=np.int64) for _ in range(3))
        bounds, choices = self.chances.cumsum(axis=2)[..., :-1], policy.cumsum(axis=1)[:, :-1]
        state = np.full(runs, self.theory.pairs.states[self.theory.pairs.start])
        for step in range(steps):
            action = (random.random((runs, 1)) >= choices[state]).sum(axis=1)
            states[step], actions[step] = state, action
            state = following[step] = (random.random((runs, 1)) >= bounds[state, action]).sum(axis=1)
        for s, a, y in zip(states.T, actions.T, following.T, strict=True):
            yield Transitions(s, a, y, self.rewards[s, a], y)


class Score(NamedTuple):
    """How the intervals of many data sets fared."""

    covered: float  # the share of the intervals that cover the truth
    intervals: int
    supported: int  # the data sets in which every pair with 0.001 of the steps has 10 visits
    abstained: int  # how many of these got no interval
    width: float  # the median of half-widths, divided by those of an oracle that knows all variances


def score(world: World, policy: Table, data: Iterator[Transitions], confidence: float = 0.95) -> Score:
    """Evaluate a policy from many data sets, and compare with the truth."""
    chain = world.theory.policy(policy).chain
    truth, places = world.theory.average_reward(policy), world.theory.pairs.states
    (recurrent,) = chain.classes
    stationary, bias = np.zeros(len(policy)), np.zeros(len(policy))
    stationary[places[recurrent.members]], bias[places] = recurrent.stationary, chain.bias
    weights = stationary[:, None] * policy
    variance = world.chances @ bias**2 - (world.chances @ bias) ** 2
    span, normal = world.task.reward.high - world.task.reward.low, ndtri((1 + confidence) / 2)
    covered, supported, abstained, widths = 0, 0, 0, []
    for rows in data:
        found = estimate(rows, policy, confidence, span)
        enough = bool((found.visits[weights > 1e-3] >= 10).all())
        supported += enough
        if reasons_against(found, world.task, float(np.ptp(rows.rewards))):
            abstained += enough
            continue
        oracle = normal * np.sqrt(np.sum(weights**2 * variance / np.maximum(found.visits, 1)))
        covered += abs(found.average - truth) <= found.half_width
        widths.append(found.half_width / oracle)
    return Score(covered / max(1, len(widths)), len(widths), supported, abstained, float(np.median(widths or [np.nan])))
