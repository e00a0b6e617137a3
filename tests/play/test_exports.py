"""What can be taken away."""

from __future__ import annotations

import csv
import io

import pytest
from PIL import Image

from everlearn.play import exports
from everlearn.play.configuration import read_query
from everlearn.play.race import Workshop


@pytest.fixture(scope="module")
def race():
    begun = Workshop().race(read_query("task=riverswim&2.agent=always"))
    begun.advance(1234)
    return begun


def test_the_data_are_the_curves_to_the_last_bit(race):
    heads, *rows = csv.reader(io.StringIO(exports.write_csv(race)))
    assert heads == ["t", "growing-horizon, practical", "always"]
    for column, run in enumerate(race.runs, start=1):
        times, averages = run.recorded()
        assert [int(row[0]) for row in rows] == times
        assert [float(row[column]) for row in rows] == averages


def test_the_picture_has_the_colours_of_the_curves(race):
    image = Image.open(io.BytesIO(exports.write_png(race, {"optimum over all policies": 0.5}))).convert("RGB")
    colours = {colour for _, colour in image.getcolors(1 << 20)}
    assert {(0x00, 0x72, 0xB2), (0xD5, 0x5E, 0x00)} <= colours
    assert image.width > 800


def test_nothing_run_yet_can_be_taken_away_too():
    race = Workshop().race(read_query("task=riverswim"))
    assert exports.write_csv(race).splitlines() == ['t,"growing-horizon, practical"']
    assert exports.write_png(race, {})[:4] == b"\x89PNG"
