"""What can be taken away."""

from __future__ import annotations

import csv
import io
from typing import NamedTuple

import numpy as np
import pytest
from PIL import Image

import everlearn as el
from everlearn.errors import UserCodeError
from everlearn.page import exports
from everlearn.page.configuration import read_query
from everlearn.page.offer import Entry, Offer
from everlearn.page.race import Workshop
from everlearn.page.start import open_workshop
from tests.refusal import has


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


class Count(NamedTuple):
    count: np.ndarray


def count_until_300(knowledge, experience, now, stream):
    knowledge.count[0] += 1.0
    knowledge.count[1 if now.t == 300 else 0] += 0.0


@pytest.mark.soak
def test_a_race_in_which_one_failed_stays_where_it_is_and_can_be_taken_away():
    mine = el.Design(lambda indexed: Count(np.zeros(1)), lambda *_: 0, count_until_300, name="mine")
    workshop = open_workshop("riverswim", mine)
    race = workshop.race(read_query("task=riverswim&agent=q-learning&2.agent=mine", workshop.offer))
    race.advance(200)
    times = []
    for _ in range(3):
        with pytest.raises(UserCodeError, check=has(function="agent 'mine': learn", at="step 300")):
            race.advance(200)
        times.append([run.t for run in race.runs])
    assert times == [[400, race.runs[1].t]] * 3
    assert 200 <= race.t == race.runs[1].t < 300
    heads, *rows = csv.reader(io.StringIO(exports.write_csv(race)))
    assert heads == ["t", "q-learning", "mine"]
    assert 0 < int(rows[-1][0]) <= race.t
    alone = el.run("riverswim", "q-learning", steps=200, seed=race.configuration.seed)
    averages = dict(zip(alone.times.tolist(), alone.average_reward.tolist(), strict=True))
    assert [float(row[1]) for row in rows if int(row[0]) in averages] == [
        averages[int(row[0])] for row in rows if int(row[0]) in averages
    ]


def test_the_command_names_what_the_page_was_started_with():
    own = {
        ("task", "mine:shop"): Entry("mine:shop", None, {"goods": "a b"}, own=True),
        ("agent", "mine:agent"): Entry("mine:agent", None, own=True),
    }
    assert exports.write_command(Offer(own)) == "everlearn play mine:shop --set 'task.goods=a b' --agent mine:agent"
    assert exports.write_command(Offer()) == "everlearn play"
    assert exports.write_command(Offer({("task", "shop"): Entry(object(), None, own=True)})) is None
