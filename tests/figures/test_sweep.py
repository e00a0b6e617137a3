"""Sweeps: every arm has its own cell, nothing is averaged in silence, and every number can be read."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import pyplot as plt

from everlearn.analysis.statistics import interval
from everlearn.errors import InputError, UnknownName
from everlearn.figures.sweep import heat_maps, swept
from tests.analysis.arms import made
from tests.figures.clipping import check_readable
from tests.refusal import refusal


def grid(**axes):
    """Return an arm for each choice of settings; what it earns tells them apart."""
    names = [name.replace("_", ".", 1) for name in axes]
    choices = np.array(np.meshgrid(*[range(len(values)) for values in axes.values()], indexing="ij"))
    arms = []
    for places in choices.reshape(len(names), -1).T.tolist():
        settings = {name: values[p] for name, values, p in zip(names, axes.values(), places, strict=True)}
        rate = sum(p / 10 ** (rank + 1) for rank, p in enumerate(places))
        arms.append(made([rate - 0.005, rate + 0.005], settings=settings))
    return arms


def maps(figure):
    return [axes for axes in figure.axes if axes.get_images()]


def test_swept_is_what_varies_within_an_agent():
    arms = [made([1.0], agent="a", settings={"x": 1, "y": 1}), made([1.0], agent="b", settings={"x": 2, "y": 1})]
    assert swept(arms) == swept([]) == []
    assert swept([*arms, made([1.0], agent="b", settings={"x": 2, "y": 2})]) == ["y"]


def test_swept_has_most_values_first():
    assert swept(grid(agent_phase=[1, 2], task_window=[1, 2, 3])) == ["task.window", "agent.phase"]


def test_a_cell_is_the_mean_of_its_arm():
    (axes,) = maps(heat_maps(grid(agent_phase=[10, 2, 5], task_window=[1, 3])))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("agent.phase", "task.window")
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["2", "5", "10"]
    cells = axes.get_images()[0].get_array()
    assert cells.tolist() == pytest.approx(np.array([[0.1, 0.2, 0.0], [0.11, 0.21, 0.01]]))
    assert sorted(text.get_text() for text in axes.texts) == ["0", "0.01", "0.1", "0.11", "0.2", "0.21"]


def test_a_third_parameter_makes_further_panels():
    figure = heat_maps(grid(agent_a=[1, 2, 3], agent_b=[1, 2, 3], task_window=[4, 5]))
    assert [axes.get_title() for axes in maps(figure)] == ["shop: smooth (window=4)", "shop: smooth (window=5)"]
    first, second = (axes.get_images()[0] for axes in maps(figure))
    assert (second.get_array() - first.get_array()).tolist() == pytest.approx(np.full((3, 3), 0.001))
    assert first.get_clim() == second.get_clim()


def test_a_cell_without_an_arm_is_left_empty():
    (axes,) = maps(heat_maps(grid(agent_a=[1, 2], agent_b=[1, 2])[:3]))
    assert len(axes.texts) == 3
    assert np.isnan(axes.get_images()[0].get_array().filled(np.nan)).sum() == 1


def test_bright_is_better_whatever_the_measure():
    arms = grid(agent_a=[1, 2], agent_b=[1, 2])
    reward, regret = (maps(heat_maps(arms, measure))[0].get_images()[0] for measure in ("final", "regret"))
    best = max(arms, key=lambda arm: arm.average_reward[:, -1].mean())
    assert dict(best.settings) == {"agent.a": 2, "agent.b": 2}
    assert np.allclose(
        reward.cmap(reward.norm(reward.get_array()[1, 1])), regret.cmap(regret.norm(regret.get_array()[1, 1]))
    )


def test_numbers_stand_out_from_their_cells():
    (axes,) = maps(heat_maps(grid(agent_a=list(range(8)), agent_b=[1, 2])))
    image = axes.get_images()[0]
    for text in axes.texts:
        column, row = map(int, text.get_position())
        light = np.dot(image.cmap(image.norm(image.get_array()[row, column]))[:3], (0.2126, 0.7152, 0.0722))
        assert abs(light - (text.get_color() == "white")) > 0.4


def test_one_number_makes_a_line_with_intervals():
    arms = grid(agent_phase=[100, 1, 10])
    (axes,) = heat_maps(arms).axes
    assert axes.get_xscale() == "log"
    assert axes.get_lines()[0].get_xdata().tolist() == [1, 10, 100]
    assert axes.get_lines()[0].get_ydata() == pytest.approx([0.1, 0.2, 0.0])
    ends = np.array(axes.collections[0].get_segments())[:, :, 1]
    assert ends[2] == pytest.approx(np.array(interval(arms[0].average_reward[:, -1])))


def test_one_name_makes_points():
    (axes,) = heat_maps(grid(agent_policy=["slow", "fast"])).axes
    assert axes.get_lines()[0].get_linestyle() == "None"
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["slow", "fast"]


def test_one_run_has_no_bars():
    check_readable(heat_maps([made([0.1], settings={"agent.phase": phase}) for phase in (1, 2)]))


def test_a_setting_that_some_do_not_have():
    arms = [made([0.1, 0.2]), made([0.1, 0.3], settings={"agent.phase": 1})]
    assert [tick.get_text() for tick in heat_maps(arms).axes[0].get_xticklabels()] == ["None", "1"]


def test_the_same_arm_twice():
    arms = grid(agent_a=[1, 2], agent_b=[1, 2])
    with pytest.raises(InputError, check=refusal("arms", "a=1, b=1")):
        heat_maps([*arms, arms[0]])


def test_nothing_was_swept():
    with pytest.raises(InputError, check=refusal("arms", ["shop: smooth"])):
        heat_maps([made([1.0])])
    with pytest.raises(UnknownName, check=refusal("measure", "best")):
        heat_maps(grid(agent_a=[1, 2]), "best")


@pytest.mark.soak
@pytest.mark.parametrize(
    "measure",
    ["final", "late", "regret", "relative regret"],
)
@pytest.mark.parametrize(
    "axes",
    [
        {"agent_a": [1, 2], "agent_b": [1, 2]},
        {"agent_a": [1 / (n + 3) for n in range(12)], "agent_b": [10**n for n in range(10)]},
        {"agent_a": [1, 2, 3], "agent_b": ["one", "another name"], "task_window": [1, 2, 3, 4, 5]},
        {"schedule_horizon_scale": [0.1, 1.0, 3.0, 30.0]},
    ],
)
def test_everything_can_be_read(measure, axes):
    check_readable(heat_maps(grid(**axes), measure))


def test_pyplot_knows_nothing_of_it():
    heat_maps(grid(agent_a=[1, 2]))
    assert plt.get_fignums() == []
