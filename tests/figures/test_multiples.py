"""Small multiples: what is drawn is what was earned, and everything can be read and told apart."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import colors
from matplotlib import pyplot as plt

from everlearn.analysis.statistics import bands
from everlearn.errors import InputError
from everlearn.figures.multiples import average_rewards, looks, regrets
from everlearn.results.arm import Arm
from everlearn.results.references import AT_LEAST, AT_MOST, BEST, FOUND, OPTIMUM
from tests.analysis.arms import made
from tests.figures.clipping import check_readable
from tests.refusal import refusal


def learning(agent: str = "smooth", task: str = "shop", units: int = 5, **settings) -> Arm:
    """Return an arm whose average reward rises to 1, with noise."""
    arm = made(
        np.ones(units), agent=agent, task=task, settings={k.replace("_", ".", 1): v for k, v in settings.items()}
    )
    noise = np.random.default_rng(1).normal(size=arm.total_reward.shape)
    return Arm(arm.task, arm.agent, arm.settings, arm.times, arm.total_reward - arm.times**0.5 + noise, arm.optimum)


def labels(figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_a_curve_is_the_mean_and_its_band_the_bootstrap():
    arm = learning()
    (axes,) = average_rewards([arm]).axes
    curve = axes.get_lines()[0]
    assert curve.get_xdata().tolist() == arm.times.tolist()
    assert curve.get_ydata().tolist() == arm.average_reward.mean(axis=0).tolist()
    heights = axes.collections[0].get_paths()[0].vertices[:, 1]
    low, high = bands(arm.average_reward)
    assert (heights.min(), heights.max()) == pytest.approx((low.min(), high.max()))


def test_axes_are_named_and_time_is_logarithmic():
    (axes,) = average_rewards([learning()]).axes
    assert (axes.get_xscale(), axes.get_xlabel(), axes.get_ylabel()) == (
        "log",
        "time step",
        "cumulative average reward",
    )
    (axes,) = regrets([learning()]).axes
    assert (axes.get_xscale(), axes.get_yscale(), axes.get_ylabel()) == ("log", "log", "realized regret")


def test_a_panel_for_each_task_and_one_legend():
    arms = [learning(agent, task_window=window) for window in (2, 3) for agent in ("smooth", "static")]
    figure = average_rewards([*arms, learning("smooth", task="mall")])
    assert [axes.get_title() for axes in figure.axes] == ["shop (window=2)", "shop (window=3)", "mall"]
    assert labels(figure) == ["smooth", "static", OPTIMUM]
    assert figure.legends[0].get_title().get_text() == (
        "means over 5 runs; bands are 95% bootstrap intervals at each time"
    )


@pytest.mark.parametrize("draw", [average_rewards, regrets])
def test_an_agent_looks_the_same_everywhere(draw):
    arms = [learning(*pair) for pair in (("a", "x"), ("b", "x"), ("b", "y"), ("c", "y"))]
    x, y = draw(arms).axes
    b, again = x.get_lines()[1], y.get_lines()[0]
    for aspect in ("color", "linestyle", "marker"):
        assert getattr(b, f"get_{aspect}")() == getattr(again, f"get_{aspect}")()


@pytest.mark.parametrize("draw", [average_rewards, regrets])
def test_many_agents_are_named_at_the_ends_of_their_curves(draw):
    names = [f"agent {number}" for number in range(9)]
    figure = draw([learning(name) for name in names])
    (axes,) = figure.axes
    assert not set(names) & set(labels(figure))
    placed = {text.get_text(): text.get_position() for text in axes.texts}
    assert set(placed) == set(names)
    heights = sorted(y for _, y in placed.values())
    assert all(x > 1 for x, _ in placed.values())
    assert min(np.diff(heights)) > 0.03
    assert set(labels(draw([learning(name) for name in names[:6]]))) >= set(names[:6])


def test_a_legend_takes_at_most_a_fifth():
    arms = [learning(f"agent {number}", task=task) for number in range(14) for task in ("one", "two")]
    figure = average_rewards(arms)
    figure.canvas.draw()
    assert figure.legends[0].get_window_extent().height <= 0.2 * figure.bbox.height


def test_a_dozen_agents_differ_without_their_colours():
    found = looks(f"agent {number}" for number in range(12)).values()
    assert len({(str(look["linestyle"]), look["marker"]) for look in found}) == 12
    assert len({look["marker"] for look in found}) == 12
    assert all(colors.is_color_like(look["color"]) for look in found)
    assert len({str(look) for look in looks(map(str, range(48))).values()}) == 48


def test_known_lines_are_drawn_where_they_are_known():
    arms = [
        made([0.1, 0.2], task="x", optimum=None, references={"optimum": 0.5, "always fast": 0.4}),
        made([0.1, 0.2], task="y", optimum=None),
    ]
    figure = average_rewards(arms)
    assert [len(axes.get_lines()) for axes in figure.axes] == [3, 1]
    assert figure.axes[0].get_lines()[2].get_ydata() == [0.4, 0.4]


def test_of_too_many_lines_the_optimum_is_drawn():
    many = {f"policy {number}": 0.1 * number for number in range(5)}
    assert labels(average_rewards([made([0.1, 0.2], references=many)])) == ["smooth", OPTIMUM]


def test_the_best_over_aleatoric_states_is_drawn_where_it_is_less():
    assert labels(average_rewards([made([0.1, 0.2], references={FOUND: 0.5})])) == ["smooth", OPTIMUM, FOUND]
    assert labels(average_rewards([made([0.1, 0.2], references={BEST: 1.0})])) == ["smooth", OPTIMUM]


def test_regret_says_against_what():
    assert OPTIMUM in regrets([learning()]).legends[0].get_title().get_text().replace("\n", " ")


def test_a_line_that_is_named_like_an_agent():
    arm = made([0.1, 0.2], agent="always slow", optimum=None, references={"always slow": 0.15})
    assert labels(average_rewards([arm])) == ["always slow", "always slow, known"]


def test_a_family_is_measured_against_the_mean_of_its_optima():
    arm = Arm("family", "smooth", {}, np.array([1, 10]), np.ones((2, 2)), np.array([0.5, 1.0]), unit="member")
    figure = average_rewards([arm])
    assert figure.axes[0].get_lines()[1].get_ydata() == [0.75, 0.75]
    assert "over 2 members" in figure.legends[0].get_title().get_text()


def test_one_run_has_no_band():
    figure = average_rewards([learning(units=1)])
    assert not figure.axes[0].collections
    assert figure.legends[0].get_title().get_text() == "one of the runs each, so no interval"
    assert "over 1 to 5 runs" in average_rewards([learning(units=1), learning("b")]).legends[0].get_title().get_text()


def test_regret_has_gaps_where_it_is_not_positive():
    times = np.array([1, 10, 100])
    arm = Arm("shop", "smooth", {}, times, np.array([[0.0, 11.0, 90.0], [0.5, 12.0, 99.5]]), np.ones(2))
    (axes,) = regrets([arm]).axes
    assert axes.get_lines()[0].get_ydata() == pytest.approx([0.75, np.nan, 5.25], nan_ok=True)
    heights = np.concatenate([path.vertices[:, 1] for path in axes.collections[0].get_paths()])
    assert np.nanmin(heights) > 0


def test_regret_that_is_nowhere_positive_is_said_to_be():
    figure = regrets([made([2.0, 3.0])])
    assert [text.get_text() for text in figure.axes[0].texts] == ["nowhere positive"]
    check_readable(figure)


def test_arms_without_an_optimum_are_left_out_of_regret():
    assert len(regrets([learning(), made([1.0], task="mall", optimum=None)]).axes) == 1
    with pytest.raises(InputError, check=refusal("arms", ["mall"])):
        regrets([made([1.0], task="mall", optimum=None)])


@pytest.mark.parametrize("draw", [average_rewards, regrets])
def test_nothing_to_draw(draw):
    with pytest.raises(InputError, check=refusal("arms", [])):
        draw([])


@pytest.mark.parametrize("draw", [average_rewards, regrets])
def test_a_single_time(draw):
    check_readable(draw([made([0.5, 0.7], steps=1)]))


@pytest.mark.soak
@pytest.mark.parametrize(("tasks", "agents"), [(1, 1), (2, 3), (1, 12), (7, 4)])
@pytest.mark.parametrize("draw", [average_rewards, regrets])
def test_everything_can_be_read(draw, tasks, agents):
    arms = [learning(f"agent number {a}", f"a task by the name of {t}") for t in range(tasks) for a in range(agents)]
    check_readable(draw(arms))


@pytest.mark.soak
def test_thirty_panels_can_be_read():
    check_readable(average_rewards([learning(task="random", task_number=number) for number in range(30)]))


def test_pyplot_knows_nothing_of_it():
    average_rewards([learning()])
    assert plt.get_fignums() == []


@pytest.mark.parametrize("units", [1, 2])
def test_bounds_of_an_optimum_are_both_drawn(units):
    arm = made([0.5, 0.75][:units], optimum=1.0, upper=1.5)
    assert labels(average_rewards([arm])) == ["smooth", AT_LEAST, AT_MOST]
    figure = regrets([arm])
    (band,) = figure.axes[0].collections
    highest = 1000 * (1.5 - 0.5)
    assert band.get_paths()[0].vertices[:, 1].max() == pytest.approx(highest)
    assert "from the lower to the upper" in figure.legends[0].get_title().get_text().replace("\n", " ")
