"""Specs: what they mean, and a line for every mistake."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import everlearn as el
from everlearn.cli.main import main
from everlearn.errors import InputError
from everlearn.experiments.spec import MOST_MEMBERS, load_spec, read_spec
from everlearn.experiments.variants import make_variants
from tests.refusal import refusal

UNIQUE = """labels must be unique; set one: label = "..." in a spec, {"name": ..., "label": "..."} in Python"""
GOOD = {"steps": 100, "task": [{"name": "service-station"}], "agent": [{"name": "growing-horizon"}]}
WHOLE = """
name = "stations"
steps = 1e4
runs = 5
seed = 7
engine = "reference"
max_pairs = 1e5

[recording]
per_decade = 10

[[task]]
name = "service-station"
label = "station"
parameters.window = [2, 3]
parameters.raw = false
family.fast_cost = [0.4, 0.5]

[[agent]]
name = "growing-horizon"
schedule = ["smooth", "change-points"]
schedule_parameters.horizon_scale = [1.5, 3]

[[agent]]
name = "static"
label = "baseline"
parameters.phase = 50
"""

KNOWN_PARAMETERS = (
    "task.aleatoric, task.arrival_decay, task.arrival_floor, task.arrival_height, task.cap, task.fast_cost, "
    "task.features, task.raw, task.revenue, task.slow_completion, task.slow_cost, task.window"
)
KNOWN_TASKS, KNOWN_AGENTS = (", ".join(sorted(known)) for known in (el.TASKS, el.AGENTS))


def written(text: str, path: Path) -> Path:
    file = path / "spec.toml"
    file.write_text(text)
    return file


def entries(task: str = "", agent: str = "", top: str = "steps = 100") -> str:
    """A spec with one task and one agent, and something more in each."""
    return f"""
{top}
[[task]]
name = "service-station"
{task}
[[agent]]
name = "growing-horizon"
{agent}
"""


def test_a_whole_spec(tmp_path):
    spec = load_spec(written(WHOLE, tmp_path))
    assert (spec.name, spec.steps, spec.runs, spec.seed) == ("stations", 10_000, 5, 7)
    assert (spec.engine, spec.max_pairs, spec.per_decade) == ("reference", 100_000, 10)
    assert spec.folder == str(tmp_path)
    (task,), (paper, baseline) = spec.tasks, spec.agents
    assert (task.label, task.parameters, task.family) == (
        "station",
        {"window": [2, 3], "raw": [False]},
        {"fast_cost": [0.4, 0.5]},
    )
    assert paper.schedules == ["smooth", "change-points"]
    assert paper.schedule_parameters == {"horizon_scale": [1.5, 3]}
    assert (baseline.label, baseline.parameters) == ("baseline", {"phase": [50]})


def test_what_is_not_given_has_a_default():
    spec = read_spec(GOOD)
    assert (spec.name, spec.runs, spec.seed, spec.engine) == ("experiment", 1, 0, "auto")
    assert spec.agents[0].schedules == [None]


def test_a_file_lends_its_name(tmp_path):
    assert load_spec(written(entries(), tmp_path)).name == "spec"


@pytest.mark.parametrize(
    "task",
    ["service-station", ["service-station"], {"name": "service-station"}, [{"name": "service-station"}]],
    ids=["name", "names", "table", "tables"],
)
def test_one_entry_may_stand_alone(task):
    assert read_spec({**GOOD, "task": task}).tasks == read_spec(GOOD).tasks


@pytest.mark.parametrize(("given", "members"), [(3, [0, 1, 2]), ([5, 9], [5, 9]), ("2", [0, 1])], ids=str)
def test_members_of_a_family(given, members):
    task = {"name": "tests.experiments.small:world", "family": {"instance": given}}
    assert read_spec({**GOOD, "task": task}).tasks[0].family == {"instance": members}


def test_as_many_members_as_there_may_be():
    task = {"name": "service-station", "family": {"window": MOST_MEMBERS}}
    assert len(read_spec({**GOOD, "task": task}).tasks[0].family["window"]) == MOST_MEMBERS


@pytest.mark.parametrize("values", [[1, 2], [0, False], ["a", "b"], [[1], [1, 2]]], ids=str)
def test_values_that_differ_make_a_grid(values):
    task = {"name": "service-station", "parameters": {"window": values}}
    assert read_spec({**GOOD, "task": task}).tasks[0].parameters["window"] == values


def test_labels_of_tasks_and_of_agents_are_apart():
    task, agent = {"name": "service-station", "label": "same"}, {"name": "always", "label": "same"}
    assert read_spec({**GOOD, "task": [task], "agent": [agent]}).agents[0].label == "same"


MISTAKES = {
    "unknown key": (
        entries(top="steps = 100\nrunz = 3"),
        "key: 'runz'; known: agent, engine, max_pairs, name, recording, runs, seed, steps, task (did you mean runs?)",
    ),
    "unknown key of a task": (
        entries('lable = "x"'),
        "key: 'task[1].lable'; known: task[1].family, task[1].label, task[1].name, task[1].parameters "
        "(did you mean task[1].label?)",
    ),
    "unknown key of an agent": (
        entries(agent='scedule = "smooth"'),
        "key: 'agent[1].scedule'; known: agent[1].label, agent[1].name, agent[1].parameters, agent[1].schedule, "
        "agent[1].schedule_parameters (did you mean agent[1].schedule?)",
    ),
    "unknown key of recording": (
        entries(top="steps = 100\n[recording]\nper_decad = 3"),
        "key: 'recording.per_decad'; known: recording.per_decade (did you mean recording.per_decade?)",
    ),
    "no steps": (entries(top=""), "steps: None; is missing; say how many steps each run takes, as in steps = 1e6"),
    "no task": (
        'steps = 1\n[[agent]]\nname = "always"',
        'task: None; is missing; name at least one, as in [[task]] and name = "service-station" below it',
    ),
    "no agent": (
        'steps = 1\n[[task]]\nname = "service-station"',
        'agent: None; is missing; name at least one, as in [[agent]] and name = "growing-horizon" below it',
    ),
    "empty tasks": (
        'steps = 1\ntask = []\nagent = "always"',
        'task: []; name at least one, as in [[task]] and name = "service-station" below it',
    ),
    "empty agents": (
        'steps = 1\ntask = "service-station"\nagent = []',
        'agent: []; name at least one, as in [[agent]] and name = "growing-horizon" below it',
    ),
    "no name of a task": (
        'steps = 1\nagent = "always"\n[[task]]\nlabel = "x"',
        "task[1].name: None; is missing; give a registered name, or module:attribute",
    ),
    "empty name of an agent": (
        'steps = 1\ntask = "service-station"\n[[agent]]\nname = ""',
        "agent[1].name: ''; is missing; give a registered name, or module:attribute",
    ),
    "negative steps": (entries(top="steps = -5"), "steps: -5; give a whole number of at least 1"),
    "no step": (entries(top="steps = 0"), "steps: 0; give a whole number of at least 1"),
    "half a step": (entries(top="steps = 1.5"), "steps: 1.5; give a whole number, such as 10000 or 1e4"),
    "endless steps": (entries(top="steps = inf"), "steps: inf; give a whole number, such as 10000 or 1e4"),
    "steps in words": (entries(top='steps = "many"'), "steps: 'many'; give a whole number, such as 10000 or 1e4"),
    "steps in a list": (entries(top="steps = [10]"), "steps: [10]; give a whole number, such as 10000 or 1e4"),
    "steps that are true": (entries(top="steps = true"), "steps: True; give a whole number, such as 10000 or 1e4"),
    "no run": (entries(top="steps = 1\nruns = 0"), "runs: 0; give a whole number of at least 1"),
    "negative seed": (entries(top="steps = 1\nseed = -1"), "seed: -1; give a whole number of at least 0"),
    "no pair": (entries(top="steps = 1\nmax_pairs = 0"), "max_pairs: 0; give a whole number of at least 1"),
    "unknown engine": (
        entries(top='steps = 1\nengine = "fast"'),
        "engine: 'fast'; give one of auto, compiled, reference",
    ),
    "no recording": (
        entries(top="steps = 1\nrecording = {per_decade = 0}"),
        "recording.per_decade: 0; give a whole number of at least 1",
    ),
    "recording that is no table": (
        entries(top="steps = 1\nrecording = 5"),
        "recording: 5; give a table of names and values",
    ),
    "name that is no text": (entries(top="steps = 1\nname = 7"), "name: 7; give a text"),
    "label that is no text": (entries("label = 5"), "task[1].label: 5; give a text"),
    "empty label": (entries(agent='label = ""'), "agent[1].label: ''; give a text"),
    "parameters that are no table": (
        entries("parameters = 3"),
        "task[1].parameters: 3; give a table of names and values",
    ),
    "unknown task": (
        'steps = 1\ntask = "service-staton"\nagent = "always"',
        f"task[1], task: 'service-staton'; known: {KNOWN_TASKS} (did you mean service-station?); "
        "or name your own as module:attribute",
    ),
    "unknown agent": (
        'steps = 1\ntask = "service-station"\nagent = ["always", "growing"]',
        f"agent[2], agent: 'growing'; known: {KNOWN_AGENTS} (did you mean growing-horizon?); "
        "or name your own as module:attribute",
    ),
    "task that is a number": (
        'steps = 1\ntask = 5\nagent = "always"',
        "task[1], task: 5; is neither a task nor a function that makes one",
    ),
    "unknown schedule": (
        entries(agent='schedule = "smoth"'),
        "agent[1], schedule: 'smoth'; known: change-points, fixed, practical, smooth (did you mean smooth?); "
        "or name your own as module:attribute",
    ),
    "schedule for an agent that takes none": (
        'steps = 1\ntask = "service-station"\nagent = {name = "always", schedule = "smooth"}',
        "agent[1], schedule: 'smooth'; the agent 'always' takes no schedule; leave it out",
    ),
    "parameter of a schedule for an agent that takes none": (
        'steps = 1\ntask = "service-station"\nagent = {name = "always", schedule_parameters = {horizon_scale = 3}}',
        "agent[1], schedule: 'schedule.horizon_scale'; the agent 'always' takes no schedule; leave it out",
    ),
    "unknown parameter of a task": (
        entries("parameters.windw = 3"),
        f"task[1], parameter: 'task.windw'; known: {KNOWN_PARAMETERS} (did you mean task.window?)",
    ),
    "unknown parameter of an agent": (
        entries(agent="parameters.speed = 3"),
        "agent[1], parameter: 'agent.speed'; known: none",
    ),
    "unknown parameter of a schedule": (
        entries(agent="schedule_parameters.horizon_scal = 3"),
        "agent[1], parameter: 'schedule.horizon_scal'; known: schedule.doubt, schedule.forgetting, "
        "schedule.horizon_power, schedule.horizon_scale, schedule.optimism_power, schedule.optimism_scale, "
        "schedule.persistence, schedule.persistence_most, schedule.rarity, schedule.step_weight "
        "(did you mean schedule.horizon_scale?)",
    ),
    "text for a number": (
        entries('parameters.window = [2, "wide"]'),
        "task[1], task.window: 'wide'; give a whole number",
    ),
    "perhaps for true or false": (
        entries('parameters.raw = "perhaps"'),
        "task[1], task.raw: 'perhaps'; give true or false",
    ),
    "parameter that the task refuses": (
        entries("parameters.revenue = -1"),
        "task[1], revenue: -1.0; give a positive number",
    ),
    "parameter that the agent refuses": (
        'steps = 1\ntask = "service-station"\nagent = {name = "static", parameters.phase = 0}',
        "agent[1], agent.phase: 0; give at least 1 step",
    ),
    "empty list": (
        entries("parameters.window = []"),
        "task[1].parameters.window: []; is an empty list; give at least one value",
    ),
    "value twice": (
        entries("parameters.window = [2, 3, 2]"),
        "task[1].parameters.window: 2; appears twice; the values of a grid must differ",
    ),
    "nought twice": (
        entries("parameters.slow_cost = [0, 0]"),
        "task[1].parameters.slow_cost: 0; appears twice; the values of a grid must differ",
    ),
    "schedule twice": (
        entries(agent='schedule = ["smooth", "smooth"]'),
        "agent[1].schedule: 'smooth'; appears twice; the values of a grid must differ",
    ),
    "label twice": (
        'steps = 1\nagent = "always"\n'
        '[[task]]\nname = "service-station"\nlabel = "x"\n[[task]]\nname = "service-station"\nlabel = "x"',
        f"task[2].label: 'x'; is also the label of task[1]; {UNIQUE}",
    ),
    "task twice": (
        'steps = 1\nagent = "always"\ntask = ["service-station", "service-station"]',
        f"task[2].label: 'service-station'; is also the label of task[1]; {UNIQUE}",
    ),
    "agent twice": (
        'steps = 1\ntask = "service-station"\nagent = ["growing-horizon", "growing-horizon"]',
        f"agent[2].label: 'growing-horizon, practical'; is also the label of agent[1]; {UNIQUE}",
    ),
    "family of what is no parameter": (
        entries("family.instance = 3"),
        f"task[1], parameter: 'task.instance'; known: {KNOWN_PARAMETERS} (did you mean task.fast_cost?)",
    ),
    "family among the parameters": (
        entries("family.window = [2, 3]\nparameters.window = 4"),
        "task[1].family.window: [2, 3]; is also among the parameters; leave it out of one",
    ),
    "family of nobody": (
        entries("family.window = 0"),
        "task[1].family.window: 0; give a whole number of at least 1",
    ),
    "family too large": (
        entries("family.window = 1e6"),
        "task[1].family.window: 1000000.0; give a list of values, or a number of members up to 100,000",
    ),
    "family in words": (entries('family.window = "all"'), "task[1].family.window: 'all'; give a whole number"),
    "family that is no table": (entries("family = 3"), "task[1].family: 3; give a table of names and values"),
    "no such module": (
        'steps = 1\ntask = "no_such_module:task"\nagent = "always"',
        "task[1], task: 'no_such_module:task'; there is no module 'no_such_module' here or among the installed "
        "packages",
    ),
    "no module": (
        'steps = 1\ntask = "service-station"\nagent = ":agent"',
        "agent[1], agent: ':agent'; write module:attribute, with the full name of the module",
    ),
}


@pytest.fixture
def refused(monkeypatch, capsys, tmp_path):
    """Run a spec that is wrong: exit code 2, one line, no traceback, nothing written; return the line."""

    def run(spec: Path) -> str:
        out = tmp_path / "out"
        monkeypatch.setattr(sys, "path", list(sys.path))
        monkeypatch.setattr(sys, "argv", ["everlearn", "experiment", "run", str(spec), "--out", str(out), "--json"])
        with pytest.raises(SystemExit) as caught:
            main()
        printed = capsys.readouterr()
        assert caught.value.code == 2
        assert printed.out == ""
        assert printed.err.count("\n") == 1
        assert not out.exists()
        return printed.err.removeprefix("everlearn: ").rstrip("\n")

    return run


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_with_its_remedy(tmp_path, refused, mistake):
    text, message = MISTAKES[mistake]
    assert refused(written(text, tmp_path)) == message


def test_a_spec_that_is_not_there(tmp_path, refused):
    path = tmp_path / "none.toml"
    assert refused(path) == f"spec: '{path}'; there is no such file"


def test_a_directory_for_a_spec(tmp_path, refused):
    assert refused(tmp_path) == f"spec: '{tmp_path}'; is a directory; give a TOML file"


def test_a_spec_that_is_not_text(tmp_path, refused):
    path = tmp_path / "spec.toml"
    path.write_bytes(b"steps = 1 # \xff\xfe")
    assert refused(path) == f"spec: '{path}'; is not text; give a TOML file in UTF-8"


@pytest.mark.parametrize(
    "text", ["steps = ", "steps = 1\nsteps = 2", "[[task]\n"], ids=["no value", "key twice", "open bracket"]
)
def test_a_spec_that_is_not_toml(tmp_path, refused, text):
    path = written(text, tmp_path)
    assert refused(path).startswith(f"spec: '{path}'; is not TOML: ")


def test_an_action_that_the_task_does_not_have(tmp_path, refused):
    agent = 'agent = {name = "always", parameters.policy = "faster"}'
    message = refused(written(f'steps = 1\ntask = "service-station"\n{agent}', tmp_path))
    assert "action in the policy: 'faster'; known: fast, slow" in message


@pytest.mark.parametrize("value", [0, False, 0.0, ""], ids=repr)
def test_a_value_that_counts_for_nothing_is_seen_twice_too(value):
    task = {"name": "service-station", "parameters": {"raw": [value, value]}}
    with pytest.raises(InputError, check=refusal("task[1].parameters.raw")):
        read_spec({**GOOD, "task": task})


def test_a_module_beside_the_spec_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "beside_the_spec.py").write_text("from everlearn.agents.always import always as mine\n")
    spec = load_spec(written('steps = 1\ntask = "service-station"\nagent = "beside_the_spec:mine"', tmp_path))
    assert make_variants(spec)[0].agent.label == "beside_the_spec:mine"
