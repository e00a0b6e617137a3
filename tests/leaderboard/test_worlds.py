"""The tasks that only the fresh set has."""

from __future__ import annotations

import pytest

import everlearn as el
from everlearn.errors import InputError
from everlearn.leaderboard.worlds import flood, maze
from tests.refusal import refusal


def distances(task):
    """The numbers of steps from the first place to each other one, breadth first over the model."""
    reached, order = {0: 0}, [0]
    for place in order:
        for action in task.actions:
            for outcome in task.model.outcomes(place, action):
                if outcome.memory not in reached:
                    reached[outcome.memory] = reached[place] + 1
                    order.append(outcome.memory)
    return reached


def paid(task):
    """The one place of which the arrival pays."""
    model = task.model
    where = {
        outcome.memory
        for place in range(len(model.observations))
        for action in task.actions
        for outcome in model.outcomes(place, action)
        if task.reward.function(place, action, outcome.observation)
    }
    (far,) = where
    return far


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_place_of_a_maze_is_reached_and_the_farthest_pays(seed):
    task = maze(side=5, loops=3, seed=seed)
    reached = distances(task)
    far = paid(task)
    assert set(reached) == set(range(25))
    assert reached[far] == max(reached.values())
    assert el.Theory(task).optimal_average_reward == pytest.approx(1 / (reached[far] + 1))
    assert task.model.outcomes(far, "up")[0].memory == 0


def test_a_slip_goes_into_each_direction_as_often():
    sure, slippery = maze(side=4, seed=5), maze(side=4, slip=0.4, seed=5)
    for place in range(16):
        ways = {action: sure.model.outcomes(place, action)[0].memory for action in sure.actions}
        for action in sure.actions:
            chances = dict.fromkeys(ways.values(), 0.0)
            for other, following in ways.items():
                chances[following] += 0.1 + 0.6 * (other == action)
            found = {each.memory: each.probability for each in slippery.model.outcomes(place, action)}
            assert found == pytest.approx(chances)


def test_walls_are_seen_and_places_with_the_same_walls_look_alike():
    task = maze(side=4, see="walls", seed=5)
    assert len(task.states) < 16
    assert "far" in task.states


def test_what_is_best_in_summer_is_not_best_in_a_flood():
    task = flood(year=4, change="sudden")
    advance = [task.model.outcomes((step, 2), "right") for step in (0, 2)]
    summer, winter = ({each.observation: each.probability for each in outcomes}[3] for outcomes in advance)
    assert (summer, winter) == (0.35, 0.05)


@pytest.mark.parametrize(("name", "value"), [("side", 1), ("slip", 1.0), ("see", "all"), ("loops", -1), ("seed", -1)])
def test_mistakes_are_refused(name, value):
    with pytest.raises(InputError, check=refusal(name, value)):
        maze(**{name: value})
