"""Modules of a user's own: where they are looked for, and what is said of one that cannot be imported."""

from __future__ import annotations

import sys

import pytest

from everlearn.errors import EverlearnError, InputError, UserCodeError
from everlearn.modules import import_own, look_in
from everlearn.registry import locate
from tests.refusal import refusal


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty current directory; imports and the import path are put back afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return tmp_path


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("def act(k s):\n    pass\n", InputError),
        ("x = 1\n  y = 2\n", InputError),
        ("\0", InputError),
        ("import no_such_library\n", InputError),
        ("from math import no_such_name\n", InputError),
        ("import broken_below\n", InputError),
        ("1 / 0\n", UserCodeError),
        ("def f():\n    f()\nf()\n", UserCodeError),
        ("raise MemoryError\n", UserCodeError),
        ("import sys\nsys.exit(3)\n", UserCodeError),
        ("import everlearn as el\nraise el.EverlearnError('ours')\n", EverlearnError),
    ],
)
def test_a_module_that_cannot_be_imported(here, text, kind):
    (here / "broken.py").write_text(text)
    (here / "broken_below.py").write_text("also broken\n")
    for _ in range(2):  # the second time as the first: nothing half-imported is left behind
        with pytest.raises(EverlearnError) as caught:
            locate("broken:agent", {}, "agent")
        assert type(caught.value) is kind
        assert "\n" not in str(caught.value)


def test_the_line_that_is_named_is_the_users(here):
    (here / "below.py").write_text("\n\nraise ValueError('no')\n")
    (here / "above.py").write_text("import below\n")
    with pytest.raises(UserCodeError) as caught:
        locate("above:agent", {}, "agent")
    assert 'below.py", line 3' in caught.value.frames
    assert caught.value.frames.count("File ") == 2


def test_ctrl_c_is_not_the_modules_fault(here):
    (here / "stopped.py").write_text("raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        locate("stopped:agent", {}, "agent")


@pytest.mark.parametrize("name", ["random", "graphlib", "numpy", "rich", "gymnasium"], ids=str)
@pytest.mark.parametrize("package", [False, True])
def test_a_file_with_the_name_of_a_library(here, name, package):
    path = here / name / "__init__.py" if package else here / f"{name}.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text("agent = 1\n")
    sys.modules.pop("gymnasium", None)
    with pytest.raises(InputError, check=refusal("agent")):
        locate(f"{name}:agent", {}, "agent")


def test_a_file_hides_no_library_which_is_not_loaded_yet(here):
    (here / "packaging.py").write_text("")
    (here / "mine.py").write_text("from packaging.version import Version as agent\n")
    for name in [name for name in sys.modules if name.partition(".")[0] == "packaging"]:
        del sys.modules[name]
    assert locate("mine:agent", {}, "agent")("2") > locate("mine:agent", {}, "agent")("1")
    with pytest.raises(InputError, check=refusal("agent", "packaging:agent")):
        locate("packaging:agent", {}, "agent")


def test_a_module_of_the_same_name_in_the_next_folder(here, monkeypatch):
    for folder in ("one", "other"):
        (here / folder).mkdir()
        (here / folder / "in_both.py").write_text(f"where = {folder!r}\n")
    monkeypatch.chdir(here / "one")
    assert [locate("in_both:where", {}, "task") for _ in range(2)] == ["one", "one"]
    monkeypatch.chdir(here / "other")
    with pytest.raises(InputError, check=refusal("task", "in_both:where")):
        locate("in_both:where", {}, "task")
    del sys.modules["in_both"]
    with pytest.raises(InputError, check=refusal("task", "in_both:where")):
        locate("in_both:where", {}, "task")


def test_whatever_is_on_the_import_path(here):
    (here / "on_path.py").write_text("agent = 1\n")
    sys.path.insert(0, here)
    sys.path.insert(0, "")
    assert [locate("on_path:agent", {}, "agent") for _ in range(2)] == [1, 1]


def test_a_file_with_the_name_of_a_module_of_another_folder(here, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    for folder in (other, here):
        (folder / "twice_there.py").write_text(f"where = {str(folder)!r}\n")
    look_in(other)
    with pytest.raises(InputError, check=refusal("agent", "twice_there:where")):
        locate("twice_there:where", {}, "agent")


def test_a_folder_comes_last(here):
    look_in(here)
    look_in(here)
    assert sys.path.count(str(here)) == 1
    assert sys.path[-1] == str(here)


def test_python_is_not_broken_by_what_a_user_calls_their_files(here):
    (here / "uuid.py").write_text("raise RuntimeError\n")
    sys.modules.pop("uuid", None)
    (here / "mine.py").write_text("import uuid\n\nagent = uuid.uuid4\n")
    assert callable(locate("mine:agent", {}, "agent"))


@pytest.mark.parametrize("name", ["mine.py", "folder/mine", "folder/mine.py"])
def test_the_name_of_a_file_is_not_that_of_a_module(here, name):
    (here / "mine.py").write_text("agent = 1\n")
    with pytest.raises(InputError, check=refusal("agent")):
        import_own(name, "agent", f"{name}:agent")
