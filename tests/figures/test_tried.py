"""What was tried: every candidate is drawn in every panel, and told apart without colours."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from everlearn.errors import InputError
from everlearn.figures.tried import Evaluated, tried
from tests.figures.clipping import check_readable
from tests.refusal import refusal


def trials(*, wide=False):
    random = np.random.default_rng(1)
    scores = random.uniform(0.1, 0.9, 20) if not wide else np.geomspace(0.001, 1, 20)
    return [
        Evaluated({"schedule.horizon_scale": float(scale), "agent.policy": policy}, float(score), rung)
        for scale, policy, score, rung in zip(
            random.uniform(1, 9, 20), ["slow", "fast"] * 10, scores, [1] * 12 + [2] * 5 + [3] * 3, strict=True
        )
    ]


def drawn(made, **options):
    return tried(made, {"default": made[0], "chosen": made[-1]}, **options)


def points(axes):
    return np.concatenate([np.asarray(one.get_offsets()) for one in axes.collections])


def test_every_candidate_is_in_every_panel_and_the_marked_ones_again():
    made = trials()
    figure = drawn(made)
    numbers, names = figure.axes
    assert (numbers.get_xlabel(), names.get_xlabel()) == ("schedule.horizon_scale", "agent.policy")
    expected = [(one.settings["schedule.horizon_scale"], one.score) for one in (*made, made[0], made[-1])]
    assert sorted(map(tuple, points(numbers).tolist())) == sorted(expected)
    assert [tick.get_text() for tick in names.get_xticklabels()] == ["slow", "fast"]
    assert set(points(names)[:, 0]) == {0.0, 1.0}


def test_rungs_have_shapes_of_their_own_and_the_further_are_darker():
    axes = drawn(trials()).axes[0]
    shapes = [one.get_paths()[0].vertices.tolist() for one in axes.collections]
    assert all(shapes[i] != shapes[j] for i in range(len(shapes)) for j in range(i))
    light = [np.array([0.2126, 0.7152, 0.0722]) @ one.get_facecolor()[0][:3] for one in axes.collections[:3]]
    assert light[0] > light[1] + 0.1 > light[2] + 0.2


def test_a_line_goes_through_the_default():
    made = trials()
    for axes in drawn(made).axes:
        (line,) = axes.lines
        assert set(line.get_ydata()) == {made[0].score}


def test_axes_are_logarithmic_where_that_is_asked_for_or_needed():
    one, other = (drawn(trials(wide=wide), logarithmic=["schedule.horizon_scale"]).axes for wide in (False, True))
    assert [axes.get_xscale() for axes in one] == ["log", "linear"]
    assert [axes.get_yscale() for axes in one] == ["linear", "linear"]
    assert [axes.get_yscale() for axes in other] == ["log", "log"]


def test_a_default_that_is_no_number_has_its_line_alone():
    made = [Evaluated({"agent.x": x}, 0.5, 1) for x in (None, 1.0, 2.0)]
    axes = drawn(made).axes[0]
    assert np.isnan(points(axes)[:, 0]).sum() == 2
    assert len(axes.lines) == 1


@pytest.mark.parametrize("parameters", [1, 4, *(pytest.param(number, marks=pytest.mark.soak) for number in (2, 7))])
def test_it_can_be_read(parameters):
    names = [f"schedule.parameter_number_{number}" for number in range(parameters)]
    made = [Evaluated(dict.fromkeys(names, float(k)), 1 / k, 1 + k // 4) for k in range(1, 12)]
    check_readable(drawn(made, measure="mean loss"))


def test_nothing_is_not_drawn():
    with pytest.raises(InputError, check=refusal("trials", [])):
        tried([], {})


@pytest.mark.parametrize("values", [(1.5, 2.0, 6.0), (0.02, 0.1, 0.4), (1e-6, 1.0), (3.0, 3.5)])
def test_numbers_of_a_logarithmic_axis_do_not_overlap(values):
    trials = [Evaluated({"schedule.horizon_scale": value, "agent.x": value}, value, 1) for value in values]
    figure = tried(trials, {"default": trials[0], "chosen": trials[-1]}, ["schedule.horizon_scale", "agent.x"])
    figure.canvas.draw()
    for axes in figure.axes:
        texts = [text for text in axes.get_xticklabels(which="both") if text.get_text()]
        boxes = sorted((box.x0, box.x1) for box in (text.get_window_extent() for text in texts))
        assert all(end < start for (_, end), (start, _) in pairwise(boxes))
