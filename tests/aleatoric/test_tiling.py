"""Tile coding on a grid: neighbours share tiles, and everything stays in its segment."""

from __future__ import annotations

import numpy as np
import pytest

from everlearn.agents.perception import feature, rows_of, seen_in_columns
from everlearn.aleatoric.tiling import network_inputs, tile_coding
from everlearn.errors import InputError
from everlearn.grids import Box, Grid
from tests.refusal import refusal

PLANE = Grid(range(64), range(64), ordered=[True, True])


def active(columns, s: int, grid=PLANE) -> list[int]:
    rows = rows_of(seen_in_columns(columns, grid), np.array(grid.places(s)) if grid.is_wide else s)
    return [int(feature(columns.parts, columns.segment, rows, j)) for j in range(columns.parts.shape[1])]


def test_points_share_tiles_by_distance():
    columns = tile_coding("tiles:8:8", PLANE)
    here = active(columns, PLANE.number((20, 20)))
    shared = [len({*here} & {*active(columns, PLANE.number((20 + d, 20)))}) for d in range(10)]
    assert shared[0] == 8
    assert shared == sorted(shared, reverse=True)
    assert shared[4] == 4  # half a tile
    assert shared[8] == 0  # a tile


def test_each_feature_is_in_its_segment_and_a_tile_has_the_width_of_its_levels():
    columns = tile_coding("tiles:4:8", PLANE)
    rows = np.array([active(columns, s) for s in range(0, len(PLANE), 7)])
    assert (rows // columns.segment == np.arange(4)).all()
    assert len(set(rows[:, 0].tolist())) == 64  # the first tiling is not shifted


def test_unordered_coordinates_are_told_apart():
    grid = Grid(range(64), range(3), ordered=[True, False])
    columns = tile_coding("tiles:4:8", grid)
    first, second = (active(columns, grid.number((20, k)), grid) for k in (0, 1))
    assert not {*first} & {*second}


def test_many_coordinates_are_taken_in_pairs():
    grid = Grid(*[range(256)] * 6, ordered=[True] * 6)
    columns = tile_coding("auto", grid)
    assert columns.parts.shape == (6 * 256, (6 + 15) * 2)
    assert len(active(columns, len(grid) - 1, grid)) == 42


def test_very_many_coordinates_are_taken_alone_and_with_their_neighbours():
    box = Box([0] * 64, [1] * 64)
    columns = tile_coding("auto", box)
    assert columns.parts.shape == (64 * 64, (64 + 63) * 2)
    here = box.number([0.5] * 64)
    changed = [box.number([0.5] * place + [0.9] + [0.5] * (63 - place)) for place in (0, 30)]
    shared = [len({*active(columns, here, box)} & {*active(columns, number, box)}) for number in changed]
    assert shared == [254 - 2 * 2, 254 - 2 * 3]  # those of the coordinate, and of its pairs
    with pytest.raises(InputError, check=refusal("features")):
        tile_coding("auto", Box([0] * 65, [1] * 65))


def test_the_places_of_a_wide_grid_are_seen_like_the_number_of_a_narrow_one():
    narrow, wide = Box([0] * 3, [1] * 3), Box([0] * 3 + [0] * 17, [1] * 20)
    assert (narrow.is_wide, wide.is_wide) == (False, True)
    point = [0.25, 0.5, 0.75]
    rows = [rows_of(seen_in_columns(network_inputs(narrow), narrow), narrow.number(point))]
    rows.append(
        rows_of(seen_in_columns(network_inputs(wide), wide), np.array(wide.places(wide.number(point + [0] * 17))))
    )
    levels = [[int(row) % size for row in each[:3]] for each, size in zip(rows, (1024, 64), strict=True)]
    assert levels == [[256, 512, 768], [16, 32, 48]]


def test_inputs_of_a_network_run_from_minus_one_to_one():
    grid = Grid(range(4), range(3), ordered=[True, False])
    columns = network_inputs(grid)
    assert columns.amounts.tolist() == [-0.75, -0.25, 0.25, 0.75, 1, 1, 1]
    assert [active(columns, grid.number((2, k)), grid) for k in range(3)] == [[0, 3], [0, 4], [0, 5]]


@pytest.mark.parametrize("name", ["pairs", "tiles", "tiles:8", "tiles:0:8", "tiles:8:x", "tiles:8:99", None])
def test_other_names_are_refused(name):
    with pytest.raises(InputError, check=refusal("features")):
        tile_coding(name, PLANE)
