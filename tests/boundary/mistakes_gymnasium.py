"""Mistakes with environments of Gymnasium."""

from __future__ import annotations

from tests.boundary.mistake import Mistake


def line(group: str, title: str, text: str, answer: str) -> Mistake:
    """Return a mistake in a script of one line or a few."""
    return Mistake(
        group, title, {"mine.py": f"import everlearn as el\n\n{text}\n"}, "python mine.py", answer, shown=text
    )


def lake(title: str, arguments: str, answer: str) -> Mistake:
    """Return a mistake in the arguments of a small environment."""
    return line("tasks", title, f'el.from_gymnasium("FrozenLake-v1", {arguments})', answer)


MISTAKES = [
    line(
        "tasks",
        "an environment that Gymnasium does not have",
        'el.from_gymnasium("NoSuchLake-v1")',
        "environment: 'NoSuchLake-v1'; Gymnasium cannot make it: Environment `NoSuchLake` doesn't exist.",
    ),
    lake(
        "a time limit of zero",
        "time_limit=0",
        "task.time_limit: 0; give a whole number of at least 1, none, or own",
    ),
    line(
        "tasks",
        "a number as an environment",
        "el.from_gymnasium(3)",
        "environment: 3; give an identifier, or a function",
    ),
    line(
        "tasks",
        "a function that makes no environment",
        "el.from_gymnasium(dict)",
        "environment: {}; the function must return a gymnasium.Env",
    ),
    line(
        "tasks",
        "a time limit for an environment that a function makes",
        "el.from_gymnasium(dict, time_limit=5)",
        "task.time_limit: 5; a function of yours sets it itself",
    ),
    lake(
        "a model that is neither true nor false",
        "model='perhaps'",
        "task.model: 'perhaps'; give auto, true or false",
    ),
    lake(
        "a trial of no steps",
        "trial_steps=0",
        "task.trial_steps: 0; give at least 1, and at most 1,000,000",
    ),
    lake(
        "a reward range that lacks a reward of the environment",
        "reward_range='0,0.5'",
        "task.reward_range: (0.0, 0.5); must contain every reward: 0, 1; widen it",
    ),
    lake(
        "raw that is neither true nor false",
        "raw='perhaps'",
        "task.raw: 'perhaps'; give true or false",
    ),
    lake(
        "bins that are no numbers",
        "bins='abc'",
        "task.bins: 'abc'; give a whole number of at least 1, or one for each coordinate, as in 3,3,6",
    ),
    lake(
        "a discretiser that is unknown",
        "discretiser='fuzzy'",
        "task.discretiser: 'fuzzy'; give one of uniform, quantile, tiles, fine, auto",
    ),
    lake(
        "a lower bound that is no number",
        "low='x'",
        "task.low: 'x'; give a number, or one for each coordinate with none for the box's own, as in -2.4,none",
    ),
    lake(
        "tilings of which there are none",
        "tilings=0",
        "task.tilings: 0; give at least 1, and at most 100",
    ),
    lake(
        "levels of rewards without their range",
        "reward_levels=5",
        "task.reward_range: None; give the ends between which rewards are rounded, as in -1,1",
    ),
    lake(
        "rewards that are both listed and rounded",
        "reward_levels=5, rewards='0,1', reward_range='0,1'",
        "task.rewards: '0,1'; are either listed or rounded; leave out task.reward_levels",
    ),
    lake(
        "more levels of rewards than a table can hold",
        "reward_levels=100000, reward_range='0,1'",
        "number of observations: 4800000; give fewer bins or reward levels, for at most 3,000,000",
    ),
    lake(
        "too many levels of rewards",
        "reward_levels=1000000000000, reward_range='0,1'",
        "task.reward_levels: 1000000000000; give at least 2, and at most 1,000,000",
    ),
    lake(
        "rewards of an environment that are no numbers",
        "rewards='one'",
        "task.rewards: 'one'; give numbers, as in -1,20",
    ),
    lake(
        "a reward range of an environment with its ends exchanged",
        "reward_range='1,0'",
        "task.reward_range: '1,0'; give two finite numbers, the lower first, as in -1,1",
    ),
    lake(
        "a termination reward that is not finite",
        'termination_reward=float("nan")',
        "task.termination_reward: nan; give a finite number",
    ),
    line(
        "tasks",
        "a single level for an action",
        'el.from_gymnasium("Pendulum-v1", action_levels=1)',
        "task.action_levels: 1; give at least 2 levels per coordinate, and at most 1,000 actions in all; "
        "every coordinate must be bounded",
    ),
    line(
        "tasks",
        "an unbounded coordinate without its bounds",
        'el.from_gymnasium("CartPole-v1", discretiser="uniform", bins="3")',
        "coordinates of the observation: [1, 3]; the box is unbounded there; give task.low and task.high, "
        "or task.discretiser=quantile",
    ),
    line(
        "tasks",
        "as many bins as the box has not coordinates",
        'el.from_gymnasium("CartPole-v1", bins="1,2,3")',
        "task.bins: '1,2,3'; give a whole number of at least 1, or 4 of them, as in 3,3,3,3",
    ),
    line(
        "tasks",
        "more labels than there may be",
        'el.from_gymnasium("CartPole-v1", bins="1000000", low="-1", high="1")',
        "number of labels: 1000000000000; give fewer bins, for at most 1,000,000",
    ),
    line(
        "tasks",
        "as many bounds as the box has not coordinates",
        'el.from_gymnasium("CartPole-v1", low="1,2,3", high=1)',
        "task.low: '1,2,3'; give one number, or 4, with none for the box's own, as in none,none,none,none",
    ),
]
