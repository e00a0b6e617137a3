"""What the page shows, as data; and how it is read from an address and from a spec."""

from __future__ import annotations

import tomllib
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.agents.registry import AGENTS, SCHEDULES, make_design
from everlearn.agents.spec import AgentSpec, TaskSpec
from everlearn.errors import EverlearnError, InputError
from everlearn.experiments.execute import execute
from everlearn.experiments.experiment import Experiment
from everlearn.experiments.spec import load_spec, read_spec
from everlearn.experiments.variants import make_variants
from everlearn.page.configuration import Configuration, label, read_query, read_toml
from everlearn.page.offer import REGISTERED
from everlearn.page.pace import SPEEDS
from everlearn.page.race import Workshop
from everlearn.tasks.registry import TASKS
from tests.refusal import refusal

SEVERAL = Configuration(
    TaskSpec("service-station", {"window": 6, "cap": 4}),
    (
        AgentSpec("growing-horizon", "smooth"),
        AgentSpec("growing-horizon", "practical", {}, {"doubt": 0.5}),
        AgentSpec("always", None, {"policy": "0=slow,1=fast:0.5"}),
        AgentSpec("optimistic-q"),
    ),
    seed=7,
)


def test_the_default_is_the_papers_agent_with_its_default_schedule_on_the_papers_station():
    assert Configuration().checked() == Configuration()
    [agent] = Configuration().agents
    design = make_design("growing-horizon")
    assert (agent.given, agent.schedule, agent.settings) == (design.name, design.schedule.name, {})


@pytest.mark.parametrize(
    ("changed", "refused"),
    [
        ({"task": TaskSpec("nothing")}, ("task", "nothing")),
        ({"task": TaskSpec("os:system")}, ("task", "os:system")),
        ({"task": TaskSpec("service-station", {"window": "wide"})}, ("task.window", "wide")),
        ({"seed": -1}, ("seed", -1)),
        ({"seed": 2**63}, ("seed", 2**63)),
        ({"speed": 7}, ("speed", 7)),
        ({"agents": ()}, ("agents", 0)),
        ({"agents": Configuration().agents * 5}, ("agents", 5)),
        ({"agents": Configuration().agents * 2}, ("agent", "growing-horizon, practical")),
    ],
)
def test_what_cannot_be_is_refused(changed, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        replace(Configuration(), **changed).checked()


def test_a_spec_describes_the_same():
    spec = SEVERAL.checked().spec(1000)
    assert replace(read_toml(spec), speed=SEVERAL.speed) == SEVERAL.checked()
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
    for result, run in zip(results, race.runs, strict=True):
        assert (result.times.tolist(), result.average_reward.tolist()) == run.recorded()


def test_nothing_said_is_the_default():
    assert read_query("") == read_query("?") == Configuration()


def test_what_is_not_said_is_what_the_page_began_with():
    start = Configuration(TaskSpec("riverswim", {"states": 8}), (AgentSpec("q-learning"),), seed=5)
    assert read_query("", blank=start) == start
    assert read_query("seed=9", blank=start) == replace(start, seed=9)
    assert read_query("task=t-maze", blank=start) == replace(start, task=TaskSpec("t-maze"))
    assert read_query("2.agent=always", blank=start).agents == (*start.agents, AgentSpec("always"))


others = st.lists(
    st.one_of(
        st.sampled_from([name for name in AGENTS if name != "growing-horizon"]).map(AgentSpec),
        st.floats(1, 100).map(lambda x: AgentSpec("growing-horizon", "smooth", {}, {"horizon_scale": x})),
        st.sampled_from(sorted(SCHEDULES)).map(lambda name: AgentSpec("growing-horizon", name)),
    ),
    max_size=3,
    unique_by=lambda agent: label(REGISTERED.check_agent(agent)),
)


@given(st.sampled_from(sorted(TASKS)), others, st.integers(0, 2**63 - 1), st.sampled_from(SPEEDS), st.booleans())
def test_an_address_carries_the_whole_configuration(task, several, seed, speed, growing):
    [first] = Configuration().agents
    agents = (first, *(agent for agent in several if REGISTERED.check_agent(agent) != first))
    shown = Configuration(TaskSpec(task), agents, seed, speed, growing).checked()
    assert read_query(shown.query()) == shown


@pytest.mark.parametrize(
    ("query", "refused"),
    [
        ("task=rivrswim", ("task", "rivrswim")),
        ("task=os%3Asystem", ("task", "os:system")),
        ("nonsense=1", ("key", "nonsense")),
        ("agent=always&agent=static", ("agent", "static")),
        ("seed=many", ("seed", "many")),
        ("speed=warp", ("speed", "warp")),
        ("growing=perhaps", ("growing", "perhaps")),
        ("3.agent=always", ("agents", [1, 3])),
        ("5.agent=always", ("key", "5.agent")),
        ("2.task.window=3", ("key", "2.task.window")),
        (
            "schedule.horizon_scale=" + "9" * 3000,
            ("schedule.horizon_scale", f"{'9' * 40}..."),
        ),
        ("x" * 5000, ("address", f"{'x' * 40}...")),
        ("task.window=0x10", ("task.window", "0x10")),
    ],
)
def test_nonsense_is_refused_with_the_remedy(query, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        read_query(query)


@given(st.text(max_size=60))
def test_whatever_is_sent_is_read_or_refused(text):
    with suppress(EverlearnError):
        assert read_query(text).checked() is not None


@pytest.mark.parametrize(
    ("spec", "refused"),
    [
        ("steps = ", ("spec", "steps = ...")),
        ("a = " + "[" * 9000, ("spec", f"a = {'[' * 36}...")),
        ("#" * 20_001, ("spec", f"{'#' * 40}...")),
        ('steps = 1\ntask = "os:system"\nagent = "always"', ("task", "os:system")),
        ('steps = 1\ntask = ["riverswim", "t-maze"]\nagent = "always"', ("task", ["riverswim", "t-maze"])),
        (
            'steps = 1\nagent = "always"\n[[task]]\nname = "garnet"\nfamily.seed = 3',
            ("task[1].family", {"seed": [0, 1, 2]}),
        ),
        (
            'steps = 1\ntask = "garnet"\n[[agent]]\nname = "growing-horizon"\nschedule = ["smooth", "fixed"]',
            ("agent[1].schedule", ["smooth", "fixed"]),
        ),
    ],
)
def test_a_spec_that_a_page_cannot_show_is_refused(spec, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        read_toml(spec)
