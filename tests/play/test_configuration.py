"""What the page shows, as data."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import pytest

from everlearn.agents.registry import make_design
from everlearn.errors import InputError
from everlearn.experiments.execute import execute
from everlearn.experiments.experiment import Experiment
from everlearn.experiments.spec import load_spec, read_spec
from everlearn.experiments.variants import make_variants
from everlearn.play.configuration import MOST, Configuration
from everlearn.play.contender import Contender
from everlearn.play.race import Workshop
from everlearn.play.reading import read_text

SEVERAL = Configuration(
    "service-station",
    {"task.window": 6, "task.cap": 4},
    (
        Contender("growing-horizon", "smooth"),
        Contender("growing-horizon", "practical", {"schedule.doubt": 0.5}),
        Contender("always", None, {"agent.policy": "0=slow,1=fast:0.5"}),
        Contender("optimistic-q", None),
    ),
    seed=7,
)


def test_the_default_is_the_default_agent_on_the_papers_station():
    assert Configuration().checked() == Configuration()
    [one] = Configuration().contenders
    design = make_design("growing-horizon")
    assert (one.agent, one.schedule, one.parameters) == (design.name, design.schedule.name, {})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"task": "nothing"}, "task: 'nothing'; known: access-control"),
        ({"task": "os:system"}, "the page offers registered names and what it was started with"),
        ({"task_parameters": {"task.window": "wide"}}, "task.window: 'wide'; give a whole number"),
        ({"seed": -1}, "seed: -1; give a whole number of at least 0"),
        ({"seed": 2**63}, "below 2"),
        ({"speed": 7}, "speed: 7; give one of 1, 3, 10"),
        ({"contenders": ()}, f"agents: 0; compare 1 to {MOST} agents"),
        ({"contenders": (Contender(),) * 5}, f"agents: 5; compare 1 to {MOST} agents"),
        ({"contenders": (Contender(),) * 2}, "appears twice"),
    ],
)
def test_what_cannot_be_is_refused(changed, message):
    with pytest.raises(InputError, match=message):
        replace(Configuration(), **changed).checked()


def test_a_spec_describes_the_same():
    spec = SEVERAL.checked().spec(1000)
    assert replace(read_text(spec), speed=SEVERAL.speed) == SEVERAL.checked()
    assert [one.plan.steps for one in make_variants(read_spec(tomllib.loads(spec)))] == [1000] * 4


def test_an_experiment_from_the_spec_repeats_what_was_seen_to_the_last_bit(tmp_path):
    configuration = SEVERAL.checked()
    race = Workshop().race(configuration)
    race.advance(700)
    race.advance(300)
    path = tmp_path / "everlearn.toml"
    path.write_text(configuration.spec(race.t))
    results = Experiment(execute(load_spec(path), tmp_path / "out").path).results
    assert len(results) == 4
    for result, stream in zip(results, race.streams, strict=True):
        assert (result.times.tolist(), result.average_reward.tolist()) == stream.recorded()
