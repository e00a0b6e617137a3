"""Evaluate exactly what ``learned`` has settled on: ``python -m docs.frozen [--steps 5e6] [--seeds 4] [--task NAME]``.

The tasks are those for which MC-AIXI was reported (Veness et al., 2011).  After a run, the agent goes on for a moment
in an environment whose hidden memory can be read.  Then it is frozen: in each leaf it takes the action that it has
settled on, always.  This policy and the environment make a Markov chain of what follows from here, which is much
smaller than all that could be remembered, and ``everlearn.theory`` solves it.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
from scipy.sparse import csr_array

import everlearn as el
from everlearn.agents.frozen import Kept, Tallied, settled_policy, simplified
from everlearn.agents.tally import earned_more
from everlearn.agents.tree import Tree
from everlearn.protocol import Label
from everlearn.theory.chains import Chain

REPORTED = {"cheese-maze": 1.28, "extended-tiger": 3.97, "grid-4x4": 0.24, "biased-rps": 0.25, "kuhn-poker": 0.06}
"""What MC-AIXI was reported to earn per cycle."""

AFTERWARDS = 1000
"""The steps in the environment whose memory can be read."""

MOST = 400_000
"""The most states of a chain."""

Place = tuple[Label, Label, tuple[int, ...]]
"""The memory of the environment, the aleatoric state, and what the agent remembers."""


class Settled:
    """The policy on which an agent has settled, and how it goes on."""

    def __init__(self, agent: el.Agent) -> None:
        tree: Tree = agent.knowledge
        self.kept: Kept | Tallied
        if earned_more(tree):
            self.kept, policy = Tallied(tree), settled_policy(tree.rows)
        else:
            rows = settled_policy(tree.cells)
            smaller, policy = simplified(tree, np.eye(rows.shape[1])[rows.argmax(axis=1)], 0.0)
            self.kept = Kept(smaller)
        self.actions = policy.argmax(axis=1)
        self.task, self.indexed = agent.task, agent.indexed

    def outcomes(self, place: Place) -> tuple[float, list[tuple[float, Place]]]:
        """Return the expected reward of the action at a place, and where it leads with which probability."""
        memory, state, remembered = place
        number = int(self.actions[self.kept.row(remembered, self.indexed.state(state))])
        action, reward, places = self.task.actions[number], 0.0, []
        model: Any = self.task.model
        for seen in model.outcomes(memory, action):
            later = self.kept.follow(remembered, number, self.indexed.observation(seen.observation))
            following = self.task.aleatoric.follow(state, action, seen.observation)
            reward += seen.probability * self.task.reward(state, action, seen.observation)
            places.append((seen.probability, (seen.memory, following, later)))
        return reward, places

    def chain(self, start: Place) -> Chain | None:
        """Return the chain of all places that are reached from one; None if there are too many."""
        numbers, queue = {start: 0}, [start]
        rewards, entries = [], []
        for origin, place in enumerate(queue):
            reward, places = self.outcomes(place)
            rewards.append(reward)
            for probability, following in places:
                if following not in numbers:
                    numbers[following] = len(queue)
                    queue.append(following)
                entries.append((probability, origin, numbers[following]))
            if len(queue) > MOST:
                return None
        chances, rows, columns = zip(*entries, strict=True)
        return Chain(csr_array((chances, (rows, columns)), shape=(len(queue), len(queue))), np.array(rewards))


def frozen(task: str, steps: float, seed: int) -> Chain | None:
    """Run the agent, go on for a moment, and return the chain from there."""
    agents: list[el.Agent] = []
    el.run(task, "learned", steps=steps, seed=seed, finished=agents.append)
    agent = agents[0]
    environment: Any = agent.task.start(np.random.default_rng(seed))
    for _ in range(AFTERWARDS):
        agent.observe(environment.step(agent.act()))
    settled = Settled(agent)
    return settled.chain((environment.memory, agent.aleatoric_state, settled.kept.memory(agent.knowledge.past.copy())))


def main(arguments: list[str]) -> None:
    """Print a line per run: what the policy earns, the bound of the error, and the number of states of the chain."""
    parser = argparse.ArgumentParser(prog="python -m docs.frozen")
    parser.add_argument("--steps", type=float, default=5e6)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--task", action="append", choices=list(REPORTED), help="may be repeated")
    chosen = parser.parse_args(arguments)
    for task in chosen.task or REPORTED:
        best = el.Theory(task).optimal_bounds.lower
        for seed in range(1, chosen.seeds + 1):
            chain = frozen(task, chosen.steps, seed)
            if chain is None:
                sys.stdout.write(f"{task}, seed {seed}: more than {MOST:,} states\n")
            else:
                earned, size = float(chain.gain[0]), len(chain.rewards)
                lost = f"{100 * (best - earned) / abs(best):.2f} percent below {best:.6g}"
                sys.stdout.write(f"{task}, seed {seed}: {earned:.6f} ± {chain.error:.0e}, {lost}, {size:,} states\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
