"""Why agents lose on ``queueing-network``, whose reputation is hidden: ``python -m docs.responses``.

An agent that treats its aleatoric state as Markov estimates, while it follows a policy with some exploration, a model
of the aleatoric states: the mean over the hidden levels of the reputation, as often as they occur under that policy.
Its response is the best policy of that model.  This prints the relative loss of the best policy over aleatoric states
and of the responses to it, to the response, and so on.  Everything is computed, and nothing is simulated.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import everlearn as el
from everlearn.environments.queueing_network import QueueingNetwork

EXPLORED, ROUNDS, SWEEPS, FAST_COST = 0.1, 7, 20_000, 1.5

NETWORK = QueueingNetwork()
ACTIONS, MEMORIES = len(NETWORK.actions), NETWORK.memories
SEEN = np.ravel_multi_index(tuple(NETWORK.lengths), (NETWORK.capacity + 1,) * NETWORK.queues)
STATES = SEEN.max() + 1
P = np.array([NETWORK.transitions(action).toarray() for action in range(ACTIONS)])
CUSTOMERS = NETWORK.lengths.sum(axis=0)
FAST = np.array([[mode == "fast" for mode in modes] for modes in NETWORK.modes], dtype=float)
R = (P * (CUSTOMERS[:, None] < CUSTOMERS)).sum(axis=2) - FAST_COST / NETWORK.clock * FAST @ NETWORK.busy


def stationary(policy: Any) -> Any:
    """Return how often each memory occurs under a policy over aleatoric states."""
    chain = np.einsum("ma,amn->mn", policy[SEEN], P)
    equations = np.vstack([(chain.T - np.eye(MEMORIES))[:-1], np.ones(MEMORIES)])
    return np.linalg.solve(equations, np.append(np.zeros(MEMORIES - 1), 1.0))


def average(policy: Any) -> float:
    """Return the average reward of a policy over aleatoric states."""
    return float(stationary(policy) @ np.einsum("ma,am->m", policy[SEEN], R))


def response(policy: Any, discount: float) -> Any:
    """Return the best policy of the model that is estimated under a policy with exploration."""
    weights = np.zeros((STATES, MEMORIES))
    weights[SEEN, np.arange(MEMORIES)] = stationary((1 - EXPLORED) * policy + EXPLORED / ACTIONS)
    weights /= weights.sum(axis=1, keepdims=True)
    moves, rewards = weights @ P @ np.eye(STATES)[SEEN], R @ weights.T
    h = np.zeros(STATES)
    for _ in range(SWEEPS):
        q = rewards + discount * moves @ h
        h = q.max(axis=0) - q.max(axis=0)[0]
    return np.eye(ACTIONS)[q.argmax(axis=0)]


def main() -> None:
    """Print the losses."""
    theory = el.Theory("queueing-network")
    optimum, best = theory.optimum.average_reward, theory.best_aleatoric
    table = np.asarray(best.policy)
    print(f"optimum {optimum:.6f}; best over aleatoric states {best.average_reward:.6f}, here {average(table):.6f}")  # noqa: T201
    for name, action in (("slow", 0), ("fast", ACTIONS - 1)):
        loss = 1 - average(np.eye(ACTIONS)[np.full(STATES, action)]) / optimum
        print(f"always {name}: loses {loss:.3f}")  # noqa: T201
    for horizon in (np.inf, 100.0, 20.0):
        policy, losses = table, []
        for _ in range(ROUNDS):
            policy = response(policy, 1 - 1 / horizon)
            losses.append(f"{1 - average(policy) / optimum:.3f}")
        print(f"horizon {horizon:g}: responses lose {', '.join(losses)}")  # noqa: T201


if __name__ == "__main__":
    main()
