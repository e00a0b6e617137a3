"""What can be chosen on the page, and what an address can never reach."""

from __future__ import annotations

import sys

import pytest

from everlearn.agents.spec import AgentSpec, TaskSpec
from everlearn.errors import InputError, UnknownName
from everlearn.page.configuration import Configuration, read_query, read_toml
from everlearn.page.start import open_workshop
from tests.refusal import has, refusal
from tests.worlds import shop

MODULE = '''
import everlearn as el
from tests.worlds import shop as made

shop = made()
opened = []


def market(*, stalls: int = 3, share=0.5, file: str = "prices.csv", covered: bool = False):
    """A market of several stalls."""
    opened.append(file)
    return made()


def agent(*, epsilon: float = 0.1, log: str = "none"):
    from everlearn.agents.always import always

    return always()


def timed(*, duration: int | None = None):
    from everlearn.agents.registry import make_design

    return make_design("ucb-h", {"duration": duration})


def schedule(*, horizon: float = 7.0):
    from everlearn.agents.schedule import fixed

    return fixed(horizon=horizon)
'''


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A module of the user's own, in the current directory."""
    (tmp_path / "mine.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "mine"
    sys.modules.pop("mine", None)


def test_what_the_page_was_started_with_is_offered_first_beside_the_registries(mine):
    workshop = open_workshop("mine:shop", "mine:agent")
    offer = workshop.offer
    assert offer.names("task")[:2] == ["mine:shop", "access-control"]
    assert offer.names("agent")[:2] == ["mine:agent", "growing-horizon"]
    assert offer.names("schedule")[0] == "smooth"
    assert workshop.start == Configuration(TaskSpec("mine:shop"), (AgentSpec("mine:agent"),))
    assert offer.summary("mine:shop") == "Serve whoever comes."


def test_an_address_carries_its_name_and_is_read_back(mine):
    workshop = open_workshop("mine:market", "growing-horizon", schedule="mine:schedule", parameters={"task.stalls": 5})
    offer, shown = workshop.offer, workshop.start
    assert shown.query().startswith("task=mine:market&seed=1&agent=growing-horizon&schedule=mine:schedule")
    assert read_query(shown.query(), offer) == shown
    changed = read_query("task=mine:market&task.stalls=4&task.share=0.25&task.covered=yes", offer)
    assert changed.task.parameters == {"covered": True, "share": 0.25, "stalls": 4}
    assert read_query(changed.query(), offer) == changed


def test_what_was_set_at_the_start_is_the_default_on_the_page(mine):
    offer = open_workshop("mine:market", parameters={"task.stalls": "5", "task.file": "mine.csv"}).offer
    shown = {"stalls": 5, "share": 0.5, "covered": False, "aleatoric": "natural"}
    assert offer.defaults("task", "mine:market") == shown
    offer.task(TaskSpec("mine:market")).make()
    assert sys.modules["mine"].opened[-1] == "mine.csv"


def test_an_address_sets_numbers_of_a_users_own_function_and_never_texts(mine):
    offer = open_workshop("mine:market", "mine:agent", parameters={"agent.log": "kept"}).offer
    with pytest.raises(UnknownName, check=refusal("parameter", "task.file")):
        read_query("task=mine:market&task.file=/etc/passwd", offer)
    with pytest.raises(UnknownName, check=refusal("parameter", "agent.log")):
        read_query("task=mine:market&agent=mine:agent&agent.log=/tmp/x", offer)
    assert "/etc/passwd" not in sys.modules["mine"].opened


@pytest.mark.parametrize("key", ["task", "agent", "schedule"])
def test_an_address_imports_nothing(mine, tmp_path, key):
    """Neither a module that nobody named, nor another attribute of the module that the page was started with."""
    (tmp_path / "planted.py").write_text("raise SystemExit('imported')")
    offer = open_workshop("mine:shop").offer
    for name in ("planted:thing", "mine:market", "os:system", "gymnasium:FrozenLake-v1"):
        with pytest.raises(InputError, check=has(__class__=InputError, argument=key, value=name)):
            read_query(f"{key}={name}", offer)
        spec = {"task": "riverswim", "agent": "growing-horizon", "schedule": "smooth", key: name}
        text = 'steps = 1\ntask = "{task}"\n[[agent]]\nname = "{agent}"\nschedule = "{schedule}"'.format(**spec)
        with pytest.raises(InputError, check=has(__class__=InputError, argument=key, value=name)):
            read_toml(text, offer)
    assert "planted" not in sys.modules


def test_a_spec_repeats_it_from_the_command_line(mine):
    parameters = {"task.stalls": 5, "task.file": "mine.csv", "agent.epsilon": 0.2}
    workshop = open_workshop("mine:market", "mine:agent", parameters=parameters)
    offer, shown = workshop.offer, workshop.start
    spec = shown.spec(100, offer)
    assert 'name = "mine:market"\nparameters.stalls = 5\nparameters.file = "mine.csv"' in spec
    assert 'name = "mine:agent"' in spec
    assert read_toml(spec, offer).agents == shown.agents


def test_a_spec_of_something_that_was_passed_from_python_is_refused():
    workshop = open_workshop(shop())
    with pytest.raises(InputError, check=refusal("task", "serve")):
        workshop.start.spec(100, workshop.offer)


def test_a_spec_repeats_the_duration_that_an_agent_was_started_with(mine):
    workshop = open_workshop("riverswim", "mine:timed", parameters={"agent.duration": 500})
    assert "parameters.duration = 500\n" in workshop.start.spec(100, workshop.offer)
