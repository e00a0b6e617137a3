"""Models from transition tables: the law of the environment itself, and optima found in other ways."""

from __future__ import annotations

from collections import defaultdict, deque

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv
from scipy.optimize import linprog
from scipy.sparse import coo_array
from scipy.stats import chi2

import everlearn as el
from everlearn.adapters.making import OWN, Maker
from everlearn.adapters.task import ModelWarning
from everlearn.adapters.transitions import Transitions, transitions
from everlearn.adapters.trials import Step, Trial
from everlearn.errors import InputError
from tests.few import few
from tests.refusal import refusal
from tests.worlds import environment_stream

STEPS = 15_000
WORLDS = {
    "frozen lake": ("FrozenLake-v1", {}),
    "frozen lake, short episodes": ("FrozenLake-v1", {"time_limit": 6}),
    "frozen lake without ice": ("FrozenLake-v1", {"options": "is_slippery=false", "time_limit": None}),
    "cliff": ("CliffWalking-v1", {}),
    "slippery cliff": ("CliffWalking-v1", {"options": "is_slippery=true", "time_limit": 9}),
    "taxi": ("Taxi-v4", {"time_limit": None}),
}


@pytest.mark.parametrize("name", few(WORLDS, ("frozen lake, short episodes",)))
def test_model_and_environment_agree_in_law(name):
    """Pearson's statistic of the transitions out of every (state, whether the limit is reached, action).

    What follows a memory and an action is drawn afresh at every visit, so the sum over rows is chi-square in the
    limit.  Rows with fewer than 5 expected of some outcome are left out.  A false alarm has probability 1e-4 for each
    world; the seeds are fixed.
    """
    identifier, arguments = WORLDS[name]
    model = el.from_gymnasium(identifier, **arguments).model
    environment = el.from_gymnasium(identifier, **arguments, model=False).start(environment_stream(5))
    random = np.random.default_rng(6)
    counts = defaultdict(lambda: defaultdict(int))
    rows, memory = {}, model.memory
    for action in random.integers(len(model.actions), size=STEPS).tolist():
        observation = environment.step(action)
        row = {one.observation: one for one in model.outcomes(memory, action)}
        assert observation in row, (memory, action, observation)
        key = frozenset((seen, round(one.probability, 9)) for seen, one in row.items()), action
        rows[key] = row
        counts[key][observation] += 1
        memory = row[observation].memory
    statistic, freedom = 0.0, 0
    for key, row in rows.items():
        visits = sum(counts[key].values())
        expected = {seen: visits * one.probability for seen, one in row.items()}
        if min(expected.values()) >= 5:
            statistic += sum((counts[key][seen] - mean) ** 2 / mean for seen, mean in expected.items())
            freedom += len(expected) - 1
    if name in ("frozen lake without ice", "cliff"):
        assert freedom == 0  # nothing is random there: that every observation was possible says it all
    elif name != "taxi":  # there an episode begins in one of 300 ways, and few rows are visited often
        assert freedom > 20
    assert statistic <= (chi2.isf(1e-4, freedom) if freedom else 0)


def best_average(environment, extra=0.0, limit=None):
    """The greatest average reward, as a linear program over the frequencies of (memory, action), straight from P.

    A memory is a state and the steps so far.  Puterman (1994), Section 8.8: frequencies balance at every memory, add up
    to one, and pay the most.  What is never visited, such as a hole, nothing leads to, so that its frequency is zero.
    """
    table, beginning = environment.P, environment.initial_state_distrib
    states, actions, steps = len(table), len(table[0]), limit or 1
    rows, columns, data, pay = [], [], [], []
    for column in range(states * steps * actions):
        memory, action = divmod(column, actions)
        state, past = divmod(memory, steps)
        rows.append(memory), columns.append(column), data.append(1.0)
        pay.append(sum(p * (reward + extra * over) for p, _, reward, over in table[state][action]))
        for p, following, _, over in table[state][action]:
            if over or (limit and past + 1 == limit):
                for start in np.flatnonzero(beginning):
                    rows.append(start * steps), columns.append(column), data.append(-p * beginning[start])
            else:
                rows.append(following * steps + (past + 1 if limit else 0)), columns.append(column), data.append(-p)
    rows += [states * steps] * len(pay)
    columns += range(len(pay))
    data += [1.0] * len(pay)
    balance = coo_array((data, (rows, columns)), shape=(states * steps + 1, len(pay))).tocsr()
    right = np.zeros(states * steps + 1)
    right[-1] = 1
    found = linprog(-np.array(pay), A_eq=balance, b_eq=right, method="highs")
    assert found.success
    return -found.fun


@pytest.mark.parametrize(
    ("identifier", "options", "limit", "extra"),
    [
        ("FrozenLake-v1", {}, None, 0.0),
        ("FrozenLake-v1", {}, 12, 0.0),
        pytest.param("FrozenLake-v1", {"map_name": "8x8"}, None, -0.25, marks=pytest.mark.soak),
        ("CliffWalking-v1", {"is_slippery": True}, None, 100.0),
        pytest.param("CliffWalking-v1", {"is_slippery": True}, 25, 30.0, marks=pytest.mark.soak),
    ],
)
def test_the_optimum_is_that_of_a_linear_program(identifier, options, limit, extra):
    task = el.from_gymnasium(identifier, options=options, time_limit=limit, termination_reward=extra)
    bare = gymnasium.make(identifier, **options).unwrapped
    expected = best_average(bare, extra, limit)
    assert el.Theory(task).optimal_average_reward == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize(("map_name", "steps"), few([("4x4", 6), ("8x8", 14)], [("4x4", 6)]))
def test_without_ice_the_goal_is_as_far_as_it_is(map_name, steps):
    lake = el.from_gymnasium("FrozenLake-v1", options={"is_slippery": False, "map_name": map_name})
    assert el.Theory(lake).optimal_average_reward == pytest.approx(1 / steps, abs=1e-9)


def test_the_shortest_way_along_the_cliff_has_thirteen_steps():
    cliff = el.from_gymnasium("CliffWalking-v1", termination_reward=100)
    assert el.Theory(cliff).optimal_average_reward == pytest.approx(100 / 13 - 1, abs=1e-9)


def test_nothing_is_to_be_gained_along_the_cliff_without_a_reward_for_arriving():
    assert el.Theory(el.from_gymnasium("CliffWalking-v1")).optimal_average_reward == pytest.approx(-1, abs=1e-9)


@pytest.mark.soak
def test_the_best_taxi_takes_the_shortest_ways():
    """An episode of L steps pays 21 - L, and begins afresh: E[21 - L] / E[L], the distances found breadth first."""
    bare = gymnasium.make("Taxi-v4").unwrapped
    backwards = defaultdict(list)
    distance = {}
    for state, row in bare.P.items():
        for [(_, following, reward, over)] in row.values():
            if over and reward == 20:
                distance[state] = 1
            elif reward == -1:
                backwards[following].append(state)
    queue = deque(distance)
    while queue:
        state = queue.popleft()
        for before in backwards[state]:
            if before not in distance:
                distance[before] = distance[state] + 1
                queue.append(before)
    starts = np.flatnonzero(bare.initial_state_distrib)
    lengths = np.array([distance[start] for start in starts])
    assert starts.size == 300
    taxi = el.Theory(el.from_gymnasium("Taxi-v4", time_limit=None))
    assert taxi.optimal_average_reward == pytest.approx((21 - lengths.mean()) / lengths.mean(), abs=1e-9)
    # 25 places, 4 destinations, the passenger at one of 3 other stops or in the taxi; and the start.
    assert taxi.pairs.memories == 401


def test_a_time_limit_makes_the_lake_harder_to_cross():
    free, limited = (el.Theory(el.from_gymnasium("FrozenLake-v1", time_limit=limit)) for limit in (None, 100))
    assert limited.pairs.memories <= 16 * 100
    assert limited.optimal_average_reward < free.optimal_average_reward


def why_not(environment):
    found = transitions(environment)
    assert isinstance(found, str)
    return found


def test_a_table_that_does_not_tell_all_is_not_used():
    assert why_not(gymnasium.make("CartPole-v1")) == "has no transition table"
    assert "fickle_passenger" in why_not(gymnasium.make("Taxi-v4", fickle_passenger=True))
    wrapped = gymnasium.wrappers.TransformReward(gymnasium.make("FrozenLake-v1"), lambda reward: 2 * reward)
    assert why_not(wrapped).startswith("is wrapped in TransformReward")
    assert isinstance(transitions(gymnasium.make("Taxi-v4", is_rainy=True)), Transitions)


def test_something_else_that_is_called_p_is_no_table():
    pole = gymnasium.make("CartPole-v1")
    pole.unwrapped.P, pole.unwrapped.initial_state_distrib = np.eye(4), np.ones(4)
    assert why_not(pole) == "has no transition table"


def test_an_environment_that_contradicts_its_table_is_found_out():
    maker = Maker("FrozenLake-v1", {}, OWN)
    table = transitions(maker.make())
    assert table.contradiction(Trial(maker, 300)) is None
    assert "went from 0 by 2 to 9" in table.contradiction([Step(0, 2, 9, 0.0, False)])
    assert table.contradiction([Step(0, 2, 1, 1.0, False)]) is not None
    assert table.contradiction([Step(0, 2, 1, 0.0, False, True, past=99)]) is None  # the limit of 100 steps


class RandomStart(FrozenLakeEnv):
    """Begins where its table says that nothing begins."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.s = int(self.np_random.choice([0, 1, 2, 4]))
        return self.s, {}


class OwnLimit(FrozenLakeEnv):
    """Truncates its episodes itself, of which no wrapper knows."""

    def reset(self, *, seed=None, options=None):
        self.past = 0
        return super().reset(seed=seed)

    def step(self, action):
        self.past += 1
        shown, reward, terminated, _, more = super().step(action)
        return shown, reward, terminated, self.past >= 5, more


@pytest.mark.parametrize("environment", [RandomStart, OwnLimit])
def test_an_environment_that_begins_or_ends_otherwise_is_found_out(environment):
    with pytest.warns(ModelWarning) as warned:
        assert el.from_gymnasium(environment).model is None
    (warning,) = [each.message for each in warned if isinstance(each.message, ModelWarning)]
    assert warning.environment == environment.__name__
    assert warning.reason == transitions(environment()).contradiction(Trial(Maker(environment, {}, OWN), 1000))
    with pytest.raises(InputError, check=refusal("task.model", True)):
        el.from_gymnasium(environment, model=True)


def test_a_wrapper_that_only_has_the_name_of_a_harmless_one():
    class TimeLimit(gymnasium.Wrapper):
        pass

    assert why_not(TimeLimit(gymnasium.make("FrozenLake-v1"))).startswith("is wrapped in TimeLimit")


def replaced(name, value):
    lake = gymnasium.make("FrozenLake-v1", desc=["SG"])
    setattr(lake.unwrapped, name, value)
    return lake


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("P", {}),
        ("P", {0: {}, 1: {}}),
        ("P", {state: {action: [(1.0, 0, 0.0)] for action in range(4)} for state in range(2)}),
        ("P", {state: {action: [(0.5, 0, 0.0, False)] for action in range(4)} for state in range(2)}),
        ("P", {state: {action: [(1.0, 7, 0.0, False)] for action in range(4)} for state in range(2)}),
        ("P", {0: {action: [(1.0, 0, 0.0, False)] for action in range(4)}}),
        ("initial_state_distrib", [0.5]),
        ("initial_state_distrib", [1.0, 0.0, 0.0]),
    ],
    ids=[
        "empty",
        "no actions",
        "three entries",
        "half",
        "beyond",
        "a state missing",
        "half a start",
        "too many starts",
    ],
)
def test_a_malformed_table_is_none(name, value):
    assert why_not(replaced(name, value)) == "has no transition table"


@pytest.mark.parametrize("name", few(["frozen lake", "slippery cliff", "taxi"], ["frozen lake", "slippery cliff"]))
def test_a_table_is_no_larger_than_was_said(name):
    from everlearn.tables import PairTable

    identifier, arguments = WORLDS[name]
    known = transitions(Maker(identifier, _options(arguments), arguments.get("time_limit", OWN)).make())
    table = PairTable(el.from_gymnasium(identifier, **arguments))
    table.complete()
    assert table.expanded * table.actions * table.width <= known.size


def _options(arguments):
    from everlearn.adapters.making import read_options

    return read_options(arguments.get("options"))
