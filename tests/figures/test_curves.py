"""Learning curves: what is drawn is what is in the result."""

from __future__ import annotations

import pytest
from matplotlib import pyplot as plt

import everlearn as el
from everlearn.errors import UnknownName
from everlearn.figures.curves import picture, thumbnail
from everlearn.figures.style import PALETTE


def result(runs: int = 3, **arguments) -> el.Result:
    return el.run("service-station", steps=200, runs=runs, engine="reference", **arguments)


def test_the_curve_is_the_average_with_two_standard_errors():
    found = result()
    axes = found.plot()
    curve = axes.get_lines()[0]
    assert curve.get_xdata().tolist() == found.times.tolist()
    assert curve.get_ydata().tolist() == found.average_reward.tolist()
    band = axes.collections[0].get_paths()[0].vertices
    assert band[:, 1].max() == pytest.approx((found.average_reward + 2 * found.standard_error).max())
    assert band[:, 1].min() == pytest.approx((found.average_reward - 2 * found.standard_error).min())


def test_axes_are_named_and_time_is_logarithmic():
    axes = result().plot()
    assert axes.get_xscale() == "log"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("time step", "cumulative average reward")


def labels(axes) -> list[str]:
    return [text.get_text() for text in axes.figure.legends[0].get_texts()]


def test_every_known_line_is_drawn_unless_one_is_named():
    assert labels(result().plot()) == [
        "versatile",
        "optimum over all policies = best over aleatoric states = always fast: 0.5",
        "always slow: 0.09094",
    ]
    for name in ("optimum", "optimum over all policies"):
        axes = result().plot(reference=name)
        assert labels(axes) == ["versatile", "optimum over all policies: 0.5"]
        assert axes.get_lines()[1].get_ydata() == [0.5, 0.5]


def test_nothing_is_left_open_by_pictures():
    thumbnail(result())
    assert picture(result()).legends
    assert not plt.get_fignums()


@pytest.mark.parametrize("draw", [picture, lambda found: found.plot().figure])
def test_the_legend_lies_within_the_figure(draw):
    figure = draw(result())
    figure.canvas.draw()
    assert figure.bbox.containsx(figure.legends[0].get_window_extent().x1)
    assert figure.bbox.containsx(figure.legends[0].get_window_extent().x0)


def test_one_run_has_no_band():
    assert not result(runs=1).plot().collections


def test_an_agent_without_a_schedule_is_labelled_alone_and_a_fixed_policy_is_named():
    for policy, label in ((None, "always at random"), ("slow", "always slow")):
        parameters = {"agent.policy": policy}
        run = el.run("service-station", "always", parameters=parameters, steps=50, engine="reference")
        assert labels(run.plot())[0] == label
    assert labels(el.run("service-station", "q-learning", steps=50, engine="reference").plot())[0] == "q-learning"


def test_axes_of_ones_own():
    axes = plt.figure().add_subplot()
    assert result().plot(axes=axes) is axes
    assert len(plt.get_fignums()) == 1


def test_many_results_share_one_figure():
    axes = plt.figure().add_subplot()
    for _ in range(8):
        result().plot(axes=axes)
    colours = [line.get_color() for line in axes.get_lines()]
    assert [colour for colour in colours if colour in PALETTE] == [*PALETTE, *PALETTE[:2]]
    assert len(colours) == 8 + 2  # the lines known for the task are drawn once


def test_an_unknown_line():
    with pytest.raises(UnknownName) as caught:
        result().plot(reference="best")
    assert caught.value.known == sorted(result().references)


def test_a_figure_names_the_task_the_runs_and_the_steps():
    drawn = result()
    wanted = f"{drawn.task}, {drawn.runs:,} run{'s' if drawn.runs > 1 else ''} of {drawn.steps:,} steps"
    assert drawn.plot().get_title() == wanted
    assert picture(drawn).axes[0].get_title() == wanted
