"""Discretisers against numpy.digitize, numpy.ravel_multi_index and the quantiles of the standard library."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.adapters.discretisers import Discretiser, Grid, Tiles, quantile, tiles, uniform
from everlearn.errors import InputError
from tests.refusal import refusal

ordinary = st.floats(-1e6, 1e6)
anything = st.floats(allow_nan=False)


@st.composite
def boxes(draw):
    """The ends of each coordinate, and a number of bins for each."""
    size = draw(st.integers(1, 3))
    low = draw(st.lists(ordinary, min_size=size, max_size=size))
    widths = draw(st.lists(st.floats(1e-3, 1e6), min_size=size, max_size=size))
    bins = draw(st.lists(st.integers(1, 5), min_size=size, max_size=size))
    return low, [one + width for one, width in zip(low, widths, strict=True)], bins


@given(boxes(), st.data())
def test_a_grid_is_what_numpy_digitizes(box, data):
    grid = uniform(*box)
    size = len(box[0])
    places = [st.one_of(anything, st.sampled_from([*cuts, 0.0])) for cuts in grid.edges]  # edges themselves too
    point = data.draw(st.tuples(*places))
    label = grid(np.array(point))
    assert label == tuple(int(np.digitize(point[j], grid.edges[j])) for j in range(size))
    assert label in grid.labels


@given(boxes())
def test_a_uniform_grid_has_equal_bins(box):
    low, high, bins = box
    for j, cuts in enumerate(uniform(*box).edges):
        assert cuts == pytest.approx(np.linspace(low[j], high[j], bins[j] + 1)[1:-1].tolist(), rel=1e-9, abs=1e-9)
        assert list(cuts) == sorted(set(cuts))


@given(boxes())
def test_every_bin_of_a_uniform_grid_holds_its_middle(box):
    low, high, bins = box
    grid = uniform(*box)
    for label in grid.labels:
        middle = [low[j] + (high[j] - low[j]) * (label[j] + 0.5) / bins[j] for j in range(len(bins))]
        assert grid(middle) == label
    assert len(grid.labels) == math.prod(bins)


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=60), st.integers(1, 6))
def test_quantiles_are_those_of_the_standard_library(column, bins):
    [cuts] = quantile([[value] for value in column], bins).edges
    expected = statistics.quantiles(column, n=bins, method="inclusive") if bins > 1 else []
    for cut in cuts:
        assert min(abs(cut - one) for one in expected) < 1e-9
    assert list(cuts) == sorted(set(cuts))


def test_quantiles_share_out_what_has_no_ties():
    samples = np.random.default_rng(1).normal(size=(1000, 2))
    grid = quantile(samples, [4, 5])
    labels = [grid(point) for point in samples]
    for j, bins in enumerate((4, 5)):
        counts = np.bincount([label[j] for label in labels])
        assert counts.size == bins
        assert counts == pytest.approx(1000 / bins, abs=1)


def test_no_bin_of_quantiles_is_empty_where_samples_are_tied():
    samples = np.array([[0.0]] * 90 + [[1.0]] * 10)
    grid = quantile(samples, 4)
    assert {grid(point) for point in samples} == set(grid.labels)
    assert quantile([[3.0]] * 5, 4).labels == ((0,),)


@given(boxes(), st.integers(1, 4), st.data())
def test_tiles_are_numbered_as_numpy_ravels(box, tilings, data):
    cover = tiles(*box, tilings)
    point = data.draw(st.tuples(*[anything] * len(box[0])))
    expected = []
    for grid in cover.grids:
        places = [int(np.digitize(point[j], cuts)) for j, cuts in enumerate(grid.edges)]
        expected.append(int(np.ravel_multi_index(places, [len(cuts) + 1 for cuts in grid.edges])))
    assert cover(point) == tuple(expected)
    assert cover(point) in set(cover.labels)


@given(boxes(), st.integers(1, 4))
def test_tilings_are_moved_by_fractions_of_a_tile(box, tilings):
    low, high, bins = box
    for k, grid in enumerate(tiles(*box, tilings).grids):
        for j, cuts in enumerate(grid.edges):
            if bins[j] > 1:
                width = (high[j] - low[j]) / bins[j]
                moved = ((2 * j + 1) * k) % tilings / tilings
                inside = bins[j] - (moved == 0)
                expected = [low[j] + (i + 1 - moved) * width for i in range(inside)]
                assert cuts == pytest.approx(expected, rel=1e-9, abs=1e-9)
            else:
                assert cuts == ()


def test_the_labels_of_tiles_are_those_that_points_have():
    cover = tiles([0, 0], [1, 1], bins=2, tilings=3)
    steps = np.linspace(-0.5, 1.5, 61) + 1e-6
    assert {cover((x, y)) for x in steps for y in steps} == set(cover.labels)
    assert len(set(cover.labels)) == len(cover.labels)


def test_one_tiling_is_a_grid():
    one, grid = tiles([0, -1], [1, 1], bins=[3, 2], tilings=1), uniform([0, -1], [1, 1], [3, 2])
    for point in np.random.default_rng(1).normal(size=(100, 2)):
        assert one(point) == (np.ravel_multi_index(grid(point), (3, 2)),)


def test_what_lies_outside_counts_as_the_ends():
    grid = uniform([0], [1], 4)
    assert [grid([value]) for value in (-math.inf, -5, 0, 1, 5, math.inf)] == [(0,), (0,), (0,), (3,), (3,), (3,)]


def test_a_point_of_any_shape_is_taken_in_order():
    assert uniform([0] * 4, [1] * 4, 2)(np.array([[0.1, 0.9], [0.9, 0.1]])) == (0, 1, 1, 0)


@pytest.mark.parametrize(
    ("make", "refused"),
    [
        (lambda: uniform([0, -math.inf], [1, 2], 3), ("low, high of coordinate 1",)),
        (lambda: uniform([1], [0], 3), ("low, high of coordinate 0", (1.0, 0.0))),
        (lambda: uniform([0], [1, 2], 3), ("low, high", ([0.0], [1.0, 2.0]))),
        (lambda: uniform([0], [1], 0), ("bins", 0)),
        (lambda: uniform([0], [1], 2.5), ("bins", 2.5)),
        (lambda: uniform([-1.7e308], [1.7e308], 4), ("low, high of coordinate 0", (-1.7e308, 1.7e308))),
        (lambda: quantile([[-1.7e308], [1.7e308]], 4), ("samples", [-1.7e308])),
        (lambda: Grid(((math.nan,),)), ("edges", (math.nan,))),
        (lambda: Tiles((Grid(((1.0,),)), Grid(((1.0,), (2.0,))))), ("grids", [1, 2])),
        (lambda: Tiles(()), ("grids", [])),
        (lambda: tiles([0], [1], 2, tilings=2.5), ("tilings", 2.5)),
        (lambda: uniform([0], [1], 2)("here"), ("point", "here")),
        (lambda: uniform([0] * 9999, [1] * 9999, 9), ("number of labels", 4782969)),
        (lambda: uniform([0], [1], [2, 2]), ("bins", [2, 2])),
        (
            lambda: uniform([0] * 3, [1] * 3, 101),
            ("number of labels", 1030301),
        ),
        (lambda: tiles([0] * 3, [1] * 3, 50, tilings=4), ("number of labels", 8000000)),
        (lambda: tiles([0], [1], 2, tilings=0), ("tilings", 0)),
        (lambda: quantile([1, 2, 3], 2), ("samples", (3,))),
        (lambda: quantile([[math.nan]], 2), ("samples",)),
        (lambda: Grid(((1.0, 1.0),)), ("edges", (1.0, 1.0))),
        (lambda: uniform([0], [1], 2)([math.nan]), ("point",)),
        (lambda: uniform([0], [1], 2)([1.0, 2.0]), ("point", [1.0, 2.0])),
    ],
)
def test_what_cannot_be_is_refused(make, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        make()


def test_each_is_a_discretiser():
    for one in (uniform([0], [1], 2), quantile([[0], [1]], 2), tiles([0], [1], 2)):
        assert isinstance(one, Discretiser)


def test_numbers_of_numpy_are_numbers():
    assert (
        uniform([0, 0], [1, 1], np.int64(4)) == uniform([0, 0], [1, 1], np.array([4, 4])) == uniform([0, 0], [1, 1], 4)
    )


def test_lists_of_edges_are_taken():
    grid = Grid([[0, 1], []])
    assert grid == Grid(((0.0, 1.0), ()))
    assert hash(grid) == hash(Grid(((0.0, 1.0), ())))
