"""What can be taken away."""

from __future__ import annotations

import csv
import io

import pytest
from PIL import Image

from everlearn.play import exports
from everlearn.play.race import Workshop
from everlearn.play.reading import read_query


@pytest.fixture(scope="module")
def race():
    begun = Workshop().race(read_query("task=riverswim&2.agent=always"))
    begun.advance(1234)
    return begun


def test_the_data_are_the_curves_to_the_last_bit(race):
    heads, *rows = csv.reader(io.StringIO(exports.data(race)))
    assert heads == ["t", "growing-horizon, practical", "always"]
    for column, stream in enumerate(race.streams, start=1):
        times, averages = stream.recorded()
        assert [int(row[0]) for row in rows] == times
        assert [float(row[column]) for row in rows] == averages


def test_the_picture_has_the_colours_of_the_curves(race):
    image = Image.open(io.BytesIO(exports.png(race, {"optimum over all policies": 0.5}))).convert("RGB")
    colours = {colour for _, colour in image.getcolors(1 << 20)}
    assert {(0x00, 0x72, 0xB2), (0xD5, 0x5E, 0x00)} <= colours
    assert image.width > 800


def test_nothing_run_yet_can_be_taken_away_too():
    race = Workshop().race(read_query("task=riverswim"))
    assert exports.data(race).splitlines() == ['t,"growing-horizon, practical"']
    assert exports.png(race, {})[:4] == b"\x89PNG"
