"""The wheel, as somebody installs it who has never seen this repository."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import distribution, requires
from pathlib import Path

import pytest

import everlearn as el

ROOT = Path(__file__).parents[1]


def call(*command: object, cwd: Path, **variables: str) -> str:
    clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")}
    arguments = [os.fspath(part) for part in command]
    done = subprocess.run(
        arguments, cwd=cwd, env=clean | variables, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    call(*pip, "--no-deps", "--no-build-isolation", "-w", folder, ".", cwd=ROOT)
    [built] = folder.glob("*.whl")
    return built


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert wheel.name.startswith(f"everlearn-{el.__version__}-")
    assert {name.split("/")[0] for name in names} == {"everlearn", f"everlearn-{el.__version__}.dist-info"}
    assert "everlearn/py.typed" in names
    assert {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*.py")} <= set(names)
    assert {"everlearn/page/screen.js", "everlearn/page/style.css", "everlearn/page/game/engine.js"} <= set(names)


@pytest.mark.soak
def test_the_wheel_runs_elsewhere_with_what_it_says_it_needs(wheel, tmp_path):
    """Installed into an environment of its own, with links to the packages that it requires and to no others."""
    venv.create(tmp_path / "venv")
    programs = tmp_path / "venv" / "bin"
    pip = [sys.executable, "-m", "pip", "--python", programs / "python", "install", "--quiet"]
    call(*pip, "--disable-pip-version-check", "--no-deps", "--no-compile", wheel, cwd=tmp_path)
    [packages] = (tmp_path / "venv").glob("lib/python*/site-packages")
    for name in required("everlearn"):
        link(name, packages)
    check_installed(programs, tmp_path)


def check_installed(programs: Path, here: Path) -> None:
    (here / "elsewhere").mkdir(exist_ok=True)
    run = ["run", "riverswim", "--steps", "1e3", "--json"]
    document = json.loads(call(programs / "everlearn", *run, cwd=here / "elsewhere"))
    assert (document["steps"], document["version"]) == (1000, el.__version__)
    where = call(programs / "python", "-c", "import everlearn; print(everlearn.__file__)", cwd=here / "elsewhere")
    assert Path(where.strip()).is_relative_to(here)


def required(package: str) -> set[str]:
    """Return the packages that are installed with one, without any of its extras."""
    found: set[str] = set()
    queue = [package]
    while queue:
        lines = requires(queue.pop()) or []
        plain = {re.split(r"[^\w.-]", line)[0] for line in lines if ";" not in line}
        queue += plain - found
        found |= plain
    return found


def link(package: str, folder: Path) -> None:
    """Put links to all that a package has installed into a folder."""
    installed = distribution(package)
    for name in {path.parts[0] for path in installed.files or () if path.parts[0] not in ("..", "__pycache__")}:
        (folder / name).symlink_to(Path(installed.locate_file(name)))


@pytest.mark.soak
def test_the_wheel_is_installed_with_what_it_needs(wheel, tmp_path):
    venv.create(tmp_path / "venv", with_pip=True)
    programs = tmp_path / "venv" / "bin"
    pip = [programs / "pip", "install", "--quiet", "--disable-pip-version-check"]
    call(*pip, "-c", ROOT / "requirements" / "constraints.txt", wheel, cwd=tmp_path)
    check_installed(programs, tmp_path)
