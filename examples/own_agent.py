"""Your own agent, compiled like the built-in agents: R-learning with epsilon-greedy exploration.

As a script:            python own_agent.py
From this directory:    everlearn run service-station --agent own_agent:r_learning --set agent.epsilon=0.2
"""

import sys
from typing import NamedTuple

import numpy as np

import everlearn as el


class Relative(NamedTuple):
    value: np.ndarray  # a row for each aleatoric state, a column for each action
    average: np.ndarray  # an array of length one: the estimated average reward, shared by all states
    rates: np.ndarray  # step size, step size of the average, epsilon


def r_learning(*, step: float = 0.05, average_step: float = 0.001, epsilon: float = 0.1) -> el.Design:
    """R-learning (Schwartz, 1993): action values relative to the average reward, which is estimated too."""

    def build(task: el.IndexedTask) -> Relative:
        rates = np.array([step, average_step, epsilon])
        return Relative(np.zeros((task.states, task.actions)), np.zeros(1), rates)

    return el.Design(build, act, learn)


def act(knowledge, aleatoric_state, _now, stream):
    if el.uniform(stream) < knowledge.rates[2]:
        return el.choose(stream, knowledge.value.shape[1])
    return best_action(knowledge.value, aleatoric_state)


def learn(knowledge, experience, _now, _stream):
    value = knowledge.value
    s, a = experience.aleatoric_state, experience.action
    following = value[experience.next_aleatoric_state, best_action(value, experience.next_aleatoric_state)]
    greedy = a == best_action(value, s)
    difference = experience.reward - knowledge.average[0] + following - value[s, a]
    value[s, a] += knowledge.rates[0] * difference
    if greedy:
        knowledge.average[0] += knowledge.rates[1] * difference


def best_action(value, s):
    best = 0
    for a in range(1, value.shape[1]):
        if value[s, a] > value[s, best]:
            best = a
    return best


def main(steps: float = 1_000_000) -> None:
    final = el.run("service-station", r_learning, steps=steps, runs=4, seed=1, engine="compiled").final
    print(f"{final['mean']:.3f} ± {final['standard_error']:.3f} per step")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
