"""The package as it is imported: what is public, and what is loaded when."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys

import pytest

import everlearn as el
from everlearn.registry import locate
from tests.refusal import has

REGISTRIES = {"task": el.TASKS, "agent": el.AGENTS, "schedule": el.SCHEDULES}


def python(code: str) -> str:
    """Run code in a fresh interpreter, with warnings as errors; return what it printed."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded_after(code: str) -> set[str]:
    return set(json.loads(python(f"{code}\nimport json, sys; print(json.dumps(sorted(sys.modules)))").splitlines()[-1]))


def test_all_is_sorted():
    # Constants first, then classes, then functions, as the linter sorts them.
    assert el.__all__ == sorted(el.__all__, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    assert len(set(el.__all__)) == len(el.__all__)


@pytest.mark.parametrize("name", el.__all__)
def test_every_public_name_is_there(name):
    assert getattr(el, name) is not None
    assert name in dir(el)


def test_every_name_can_be_imported_at_once():
    python("from everlearn import *; import everlearn; assert set(everlearn.__all__) <= set(globals())")


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, check=has(name="nothing", obj=el)):
        _ = el.nothing


def test_importing_the_package_imports_nothing_heavy():
    loaded = loaded_after("import everlearn")
    assert not loaded & {"numpy", "scipy", "numba", "matplotlib", "typer", "rich"}


WORKING = """
import everlearn
agent = everlearn.Agent("service-station", "growing-horizon", seed=1)
for observation in ("arrival", "nothing", "departure"):
    agent.act()
    agent.observe(observation)
agent.inspect(), agent.policy, agent.snapshot()
"""


def test_an_agent_at_work_needs_numpy_alone():
    loaded = loaded_after(WORKING)
    assert "numpy" in loaded
    assert not loaded & {"scipy", "numba", "matplotlib", "typer", "rich"}


@pytest.mark.soak
def test_submodules_imported_first_do_not_shadow_public_names():
    python(
        """
import importlib, pkgutil, types
import everlearn
for found in pkgutil.walk_packages(everlearn.__path__, "everlearn."):
    importlib.import_module(found.name)
public = {name: getattr(everlearn, name) for name in everlearn.__all__}
shadowed = [name for name, value in public.items() if isinstance(value, types.ModuleType)]
assert not shadowed, shadowed
assert everlearn.run.__module__ == "everlearn.api" and everlearn.task.__module__ == "everlearn.tasks.define"
"""
    )


CALLABLE = [name for name in el.__all__ if inspect.isclass(getattr(el, name)) or inspect.isfunction(getattr(el, name))]


@pytest.mark.parametrize("name", CALLABLE)
def test_every_public_class_and_function_has_an_example(name):
    assert ">>>" in (getattr(el, name).__doc__ or "")


def described(function: object) -> list[str]:
    """Return the parameters that a docstring lists."""
    listed = (inspect.getdoc(function) or "").partition("Parameters\n----------\n")[2]
    return re.findall(r"^(\S.*):$", re.split(r"\n\n\w.*\n---", listed)[0], re.MULTILINE)


FACTORIES = [(kind, name) for kind, names in REGISTRIES.items() for name in names]


@pytest.mark.parametrize(("kind", "name"), [*(("public", name) for name in CALLABLE), *FACTORIES])
def test_a_docstring_that_lists_parameters_has_one_entry_for_each(kind, name):
    function = getattr(el, name) if kind == "public" else locate(name, REGISTRIES[kind], kind)
    if listed := described(function):
        parameters = [name for name in inspect.signature(function).parameters if not name.startswith("_")]
        assert sorted(listed) == sorted(parameters)


def test_the_version_is_a_version():
    assert all(part.isdigit() for part in el.__version__.split("."))
