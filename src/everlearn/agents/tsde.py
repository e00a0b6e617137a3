"""TSDE, Thompson sampling with dynamic episodes: follow the best policy of a model drawn from the posterior.

Yi Ouyang, Mukul Gagrani, Ashutosh Nayyar and Rahul Jain, "Learning Unknown Markov Decision Processes: A Thompson
Sampling Approach", NeurIPS 30, 2017; arXiv 1709.04570.  The agent works in episodes.  When one begins, it draws a
Markov decision process from its posterior distribution and follows a policy that is optimal for it.  The episode ends
when it is one step longer than the episode before, or when the visits of some pair have doubled.

Deviations from the source, in addition to those in :mod:`everlearn.agents`:

- Rewards, which the source takes as known, are learned: the mean reward of a pair has a beta distribution, in which a
  reward r in [0, 1] counts as r successes and 1 - r failures.  Rewards are scaled to [0, 1] by the declared range, even
  if the task is raw.
- The prior over transitions, which the source leaves open, is a symmetric Dirichlet distribution.
- Planning is value iteration, starting from the values of the episode before.  It stops at a precision that grows with
  the episodes, or after a bounded number of sweeps.
- In the first episode, which is one step, all actions are alike, so the optimal policy of a draw from the prior is a
  uniform draw from all policies: no model is drawn for it.

Episode k draws from a separate stream, numbered k.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.checks import check_model_size, check_positive, check_sweeps
from everlearn.agents.counts import BEFORE, EARNED, REWARD, VISITS, count_step, planned_policy, show_plan
from everlearn.agents.design import Design
from everlearn.agents.planning import relative_value_iteration
from everlearn.agents.sampling import check_shape, fill_log_gamma, normalise
from everlearn.errors import require
from everlearn.protocol import Experience, ScheduleValues, Table
from everlearn.randomness import KEY, WORDS, choose, draw_key, seed_words, stream_of
from everlearn.tasks.indexed import IndexedTask

GOOD, BAD, NUMBERS = -5, -6, 6
"""The places in a row of the shapes of the distribution of the mean reward; the numbers at the end of a row."""

EPISODE, BEGAN, LAST = KEY, KEY + 1, KEY + 2
PROGRESS = KEY + 3


class Posterior(NamedTuple):
    """The counts, the model and the policy of the episode, and work space for planning the next episode."""

    pairs: Table
    """Rows as in :mod:`everlearn.agents.counts`; after the counts come the probabilities in the model."""
    values: Table
    """The key of the streams; k, the number of the episode; t_k, the time at which it began; T_{k-1}, the length of the
    episode before.  Then the value of each aleatoric state in the model, and its change."""
    chosen: NDArray[np.int64]
    """The policy: an action for each aleatoric state."""
    room: NDArray[np.uint64]
    """The words of the stream of the episode."""
    prior: float
    reward_prior: float
    reward_mean: bool
    precision: float
    sweeps: int


def act(knowledge: Posterior, aleatoric_state: int, now: ScheduleValues, stream: Any) -> int:  # noqa: ARG001
    """Follow the policy of the episode; in the first, draw from all actions."""
    if knowledge.values[EPISODE] > 1.0:
        return knowledge.chosen[aleatoric_state]  # type: ignore[no-any-return]
    ensure_key(knowledge.values, stream)
    seed_words(knowledge.room, knowledge.values, 1)
    return choose(stream_of(knowledge.room), knowledge.pairs.shape[1])


def learn(knowledge: Posterior, experience: Experience, now: ScheduleValues, stream: Any) -> None:
    """Count the step, and begin an episode if this one is longer than the last, or the visits of a pair doubled."""
    pairs = knowledge.pairs
    values = knowledge.values
    count_step(pairs, experience)
    s = experience.aleatoric_state
    a = experience.action
    t = float(now.t + 1)
    if t > values[BEGAN] + values[LAST] or pairs[s, a, VISITS] > 2.0 * pairs[s, a, BEFORE]:
        ensure_key(values, stream)
        begin_episode(knowledge, t)


def ensure_key(key: Table, stream: Any) -> None:
    """Draw the key of the streams, unless it was drawn before: ``act`` or ``learn`` may be called first."""
    if key[0] == 0.0 and key[1] == 0.0 and key[2] == 0.0:
        draw_key(key, stream)


def begin_episode(knowledge: Posterior, t: float) -> None:
    """Draw a model and find a policy for it, starting from the values of the last model, which are near."""
    values = knowledge.values
    states = knowledge.pairs.shape[0]
    values[EPISODE] += 1.0
    values[LAST] = t - values[BEGAN]
    values[BEGAN] = t
    seed_words(knowledge.room, values, int(values[EPISODE]))
    draw_model(knowledge, stream_of(knowledge.room))
    relative_value_iteration(
        knowledge.pairs[:, :, states : 2 * states],
        knowledge.pairs[:, :, REWARD],
        values[PROGRESS : PROGRESS + states],
        values[PROGRESS + states :],
        knowledge.chosen,
        knowledge.precision / (values[EPISODE] + 1.0),
        knowledge.sweeps,
    )


def draw_model(knowledge: Posterior, stream: Any) -> None:
    """Draw the transitions and the reward of every pair, and note its visits."""
    pairs = knowledge.pairs
    states = pairs.shape[0]
    for s in range(states):
        for a in range(pairs.shape[1]):
            pairs[s, a, BEFORE] = pairs[s, a, VISITS]
            for following in range(states):
                pairs[s, a, states + following] = pairs[s, a, following] + knowledge.prior
            pairs[s, a, GOOD] = knowledge.reward_prior + pairs[s, a, EARNED]
            pairs[s, a, BAD] = knowledge.reward_prior + max(0.0, pairs[s, a, VISITS] - pairs[s, a, EARNED])
            pairs[s, a, REWARD] = pairs[s, a, GOOD] / (pairs[s, a, GOOD] + pairs[s, a, BAD])
            fill_log_gamma(pairs[s, a, states:REWARD], stream)
            normalise(pairs[s, a, states:BAD])
            normalise(pairs[s, a, BAD:REWARD])
            if not knowledge.reward_mean:
                pairs[s, a, REWARD] = pairs[s, a, GOOD]


def policy(knowledge: Posterior) -> Table:
    """Return the policy of the episode; in the first episode it is drawn uniformly."""
    states, actions, _ = knowledge.pairs.shape
    if knowledge.values[EPISODE] > 1.0:
        return planned_policy(knowledge.chosen, actions)
    return np.full((states, actions), 1.0 / actions)


def inspect(knowledge: Posterior, now: ScheduleValues) -> dict[str, Table]:  # noqa: ARG001
    """Return N, the values V (the least is 0) and gain of the model that was drawn, and the number of the episode."""
    value, change = np.split(knowledge.values[PROGRESS:], 2)
    return show_plan(knowledge.pairs, value, change, knowledge.values[EPISODE])


def tsde(
    *,
    prior: float = 0.1,
    rewards: str = "beta",
    reward_prior: float = 1.0,
    precision: float = 1.0,
    sweeps: int = 1000,
) -> Design:
    """Follow the best policy of a model drawn from the posterior, in growing episodes (Thompson sampling, TSDE).

    Parameters
    ----------
    prior:
        the count of each next state before the first step (a symmetric Dirichlet distribution)
    rewards:
        the mean reward of a pair in the model: "beta", drawn from a beta distribution, or "mean", the mean of that
    reward_prior:
        the number of rewards of 0, and of rewards of 1, counted for each pair before the first step
    precision:
        planning stops when the gain is certain to within this over k + 1, in episode k; 1 is the source
    sweeps:
        planning stops after so many sweeps of value iteration in any case

    Examples
    --------
    >>> from everlearn.agents.agent import Agent
    >>> agent = Agent("service-station", tsde(), seed=1)
    >>> for _ in range(20):
    ...     reward = agent.observe("nothing", executed="slow")
    >>> agent.inspect()["N"].tolist(), agent.inspect()["episode"].tolist()
    ([[0.0, 20.0], [0.0, 0.0]], [6.0])

    """
    return posterior_design("tsde", learn, prior, rewards, reward_prior, precision, sweeps)


def posterior_design(
    name: str,
    learn: Callable[..., None],
    prior: float,
    rewards: str,
    reward_prior: float,
    precision: float,
    sweeps: int,
) -> Design:
    """Return a design that follows the best policy of a drawn model; ``learn`` decides when an episode ends."""
    check_shape(prior, "agent.prior")
    require(rewards in ("beta", "mean"), "agent.rewards", rewards, "give beta or mean")
    check_shape(reward_prior, "agent.reward_prior")
    check_positive(precision=precision)
    check_sweeps(sweeps)

    def build(indexed: IndexedTask) -> Posterior:
        check_model_size(indexed, name)
        states, actions = indexed.states, indexed.actions
        return Posterior(
            np.zeros((states, actions, 2 * states + NUMBERS)),
            np.array([0.0] * KEY + [1.0, 1.0, 1.0] + [0.0] * (2 * states)),
            np.zeros(states, dtype=np.int64),
            np.zeros(WORDS, dtype=np.uint64),
            prior,
            reward_prior,
            rewards == "mean",
            precision,
            sweeps,
        )

    return Design(build, act, learn, policy, inspect=inspect, unit=True, plans=True, name=name)
